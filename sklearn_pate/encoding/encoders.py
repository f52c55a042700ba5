"""Encoders of declared columns in terms of scikit-learn, for exports."""

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from .fitted_steps import as_floats
from .schema import CategoryColumn
from .vectorizer import calling


def encoder_of_numbers(schema):
    """Return a fitted transformer of the same numbers as `Columns.spread`, but for the last one.

    Parameters
    ----------
    schema : Columns
        What is public of the columns.

    Returns
    -------
    ColumnTransformer
    order : ndarray of shape (width - 1,), int
        The column of `Columns.spread` that each of its columns is.
    """
    starts = np.cumsum([0, *(column.width for column in schema.columns)])[:-1]
    steps, order = [], []
    for places, column in _alike(schema):
        spread = FunctionTransformer(np.interp, kw_args=column.points())
        zero_for_missing = SimpleImputer(strategy="constant", fill_value=0.0)
        steps.append((make_pipeline(_floats(schema), spread, zero_for_missing), places))
        order += [starts[k] for k in places]
    gaps = [k for k, column in _numbers(schema) if column.may_be_missing]
    steps.append((make_pipeline(_floats(schema), FunctionTransformer(np.isnan)), gaps))
    order += [starts[k] + 1 for k in gaps]
    texts, places = _one_hot(schema)
    steps.append((texts, places))
    order += [starts[k] + i for k in places for i in range(schema.columns[k].width)]
    return _fitted(steps, schema), np.array(order)


def encoder_of_bins(schema):
    """Return a fitted transformer of rows to their bins, one-hot, as `Columns.bins`.

    Parameters
    ----------
    schema : Columns
        What is public of the columns.

    Returns
    -------
    ColumnTransformer
    combine : callable
        Returns what each of its columns counts, (n_outputs, n_numbers), by a list of what each bin
        of each column of the schema counts, (n_bins, n_numbers).
    """
    numbers = _numbers(schema)
    steps = []
    for k, column in numbers:
        bins = FunctionTransformer(np.digitize, kw_args={"bins": column.inner_bounds()})
        one_hot = OneHotEncoder(categories=[np.arange(column.n_values)], sparse_output=False)
        steps.append((make_pipeline(_floats(schema), bins, one_hot), [k]))
    all_numbers = [k for k, _ in numbers]
    steps.append((make_pipeline(_floats(schema), FunctionTransformer(np.isnan)), all_numbers))
    texts, places = _one_hot(schema)
    steps.append((texts, places))

    def combine(counts):
        # A missing number is in the last bin of `np.digitize`, which is taken off again
        of_gap = [
            counts[k][column.n_values :].sum(axis=0) - counts[k][column.n_values - 1]
            for k, column in numbers
        ]
        of_bins = [counts[k][: column.n_values] for k, column in numbers]
        return np.vstack([*of_bins, *of_gap, *(counts[k] for k in places)])

    return _fitted(steps, schema), combine


def _numbers(schema):
    """Return the columns of numbers, each with its place."""
    columns = enumerate(schema.columns)
    return [(k, column) for k, column in columns if not isinstance(column, CategoryColumn)]


def _alike(schema):
    """Return the places of columns of numbers with equal bounds, and one of these columns."""
    groups = {}
    for k, column in _numbers(schema):
        bounds = tuple(column.points()["xp"].tolist())
        groups.setdefault(bounds, ([], column))[0].append(k)
    return groups.values()


def _one_hot(schema):
    """Return an encoder of all columns of categories, and their places; others are 0 everywhere.

    A missing value has a column of its own, the last, where it was declared.
    """
    columns = enumerate(schema.columns)
    found = [(k, column) for k, column in columns if isinstance(column, CategoryColumn)]
    categories = [column.categories(np.nan) for _, column in found]
    one_hot = OneHotEncoder(categories=categories, handle_unknown="ignore", sparse_output=False)
    return make_pipeline(_objects(schema), one_hot), [k for k, _ in found]


def _floats(schema):
    """Return a transformer of columns to floats, NaN for missing values."""
    return as_floats() if schema.names is None else calling("to_numpy", "float64", True, np.nan)


def _objects(schema):
    """Return a transformer of columns to objects, NaN for missing values."""
    if schema.names is None:
        return FunctionTransformer(np.asarray, kw_args={"dtype": "object"})
    return calling("to_numpy", "object", True, np.nan)


def _fitted(steps, schema):
    """Return a transformer of columns; fitting shows it their names and nothing else."""
    named = [(f"{k}", step, places) for k, (step, places) in enumerate(steps) if places]
    columns = ColumnTransformer(named).set_output(transform="default")
    return columns.fit(schema.any_rows(2, np.random.default_rng(0)))

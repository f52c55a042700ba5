"""Encoders of declared columns, made of scikit-learn's transformers, for exports."""

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from .fitted_steps import as_floats
from .schema import CategoryColumn
from .vectorizer import calling


def encoder_of_numbers(schema):
    """Return a fitted transformer that computes `Columns.spread` without its last column.

    Parameters
    ----------
    schema : Columns
        Public description of the columns.

    Returns
    -------
    ColumnTransformer
    order : ndarray of shape (width - 1,), int
        For each column of its output, the position of this column in `Columns.spread`.
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
    """Return a fitted transformer that encodes the bins of `Columns.bins` one-hot.

    Parameters
    ----------
    schema : Columns
        Public description of the columns.

    Returns
    -------
    ColumnTransformer
    combine : callable
        Returns weights of the output columns, (n_outputs, n_numbers), from a list with the weights
        of the bins of each column of the schema, (n_bins, n_numbers).
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
        # `np.digitize` puts missing numbers into the last bin, whose weight is subtracted again
        of_gap = [
            counts[k][column.n_values :].sum(axis=0) - counts[k][column.n_values - 1]
            for k, column in numbers
        ]
        of_bins = [counts[k][: column.n_values] for k, column in numbers]
        return np.vstack([*of_bins, *of_gap, *(counts[k] for k in places)])

    return _fitted(steps, schema), combine


def _numbers(schema):
    """Return the numeric columns, each with its position."""
    columns = enumerate(schema.columns)
    return [(k, column) for k, column in columns if not isinstance(column, CategoryColumn)]


def _alike(schema):
    """Return groups of numeric columns with equal bounds: their positions, and one column."""
    groups = {}
    for k, column in _numbers(schema):
        bounds = tuple(column.points()["xp"].tolist())
        groups.setdefault(bounds, ([], column))[0].append(k)
    return groups.values()


def _one_hot(schema):
    """Return a one-hot encoder of all categorical columns, and their positions.

    Undeclared values are encoded as zeros. A missing value has a column of its own, the last one,
    if it was declared.
    """
    columns = enumerate(schema.columns)
    found = [(k, column) for k, column in columns if isinstance(column, CategoryColumn)]
    categories = [column.categories(np.nan) for _, column in found]
    one_hot = OneHotEncoder(categories=categories, handle_unknown="ignore", sparse_output=False)
    return make_pipeline(_objects(schema), one_hot), [k for k, _ in found]


def _floats(schema):
    """Return a transformer that converts columns to floats, with NaN for missing values."""
    return as_floats() if schema.names is None else calling("to_numpy", "float64", True, np.nan)


def _objects(schema):
    """Return a transformer that converts columns to objects, with NaN for missing values."""
    if schema.names is None:
        return FunctionTransformer(np.asarray, kw_args={"dtype": "object"})
    return calling("to_numpy", "object", True, np.nan)


def _fitted(steps, schema):
    """Return a fitted transformer of columns; the fit depends on their names and nothing else."""
    named = [(f"{k}", step, places) for k, (step, places) in enumerate(steps) if places]
    columns = ColumnTransformer(named).set_output(transform="default")
    return columns.fit(schema.any_rows(2, np.random.default_rng(0)))

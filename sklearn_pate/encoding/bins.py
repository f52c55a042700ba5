"""One-hot encoding of the bins of declared columns by scikit-learn transformers, for exports."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._sklearn import pipeline, preprocessing
from .columns import CategoryColumn, Columns, NumberColumn
from .fitted_steps import as_floats, calling

if TYPE_CHECKING:
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import FunctionTransformer

    from .._typing import Estimator


def encoder_of_bins(
    schema: Columns,
) -> tuple[ColumnTransformer, Callable[[list[np.ndarray]], np.ndarray]]:
    """Return a transformer that encodes the bins of a table's columns, and a weight converter.

    Bins are encoded one-hot. A missing number has ones in two outputs, its column's last bin and an
    indicator of missing numbers, and `combine` computes the weights accordingly.

    Parameters
    ----------
    schema : Columns
        Public description of the columns.

    Returns
    -------
    encoder : ColumnTransformer
        The fitted transformer.
    combine : callable
        Converts weights of bins to weights of output columns. Its argument is a list with one
        array, (n_bins, n_numbers), for each column of the schema. It returns an array of shape
        (n_outputs, n_numbers).
    """
    numbers = _numbers(schema)
    steps: list[tuple[Any, list[int]]] = []
    for k, column in numbers:
        bins = preprocessing.FunctionTransformer(
            np.digitize, kw_args={"bins": column.inner_bounds()}
        )
        one_hot = preprocessing.OneHotEncoder(
            categories=[np.arange(column.n_values)], sparse_output=False
        )
        steps.append((pipeline.make_pipeline(_floats(schema), bins, one_hot), [k]))
    all_numbers = [k for k, _ in numbers]
    steps.append(
        (
            pipeline.make_pipeline(_floats(schema), preprocessing.FunctionTransformer(np.isnan)),
            all_numbers,
        )
    )
    texts, places = _one_hot(schema)
    steps.append((texts, places))

    def combine(counts: list[np.ndarray]) -> np.ndarray:
        # `np.digitize` puts missing numbers into the last bin, so the indicator of missing numbers
        # gets their weight minus the weight of this bin
        of_gap = [
            counts[k][column.n_values :].sum(axis=0) - counts[k][column.n_values - 1]
            for k, column in numbers
        ]
        of_bins = [counts[k][: column.n_values] for k, column in numbers]
        return np.vstack([*of_bins, *of_gap, *(counts[k] for k in places)])

    return _fitted(steps, schema), combine


def _numbers(schema: Columns) -> list[tuple[int, NumberColumn]]:
    """Return the numeric columns, each with its position."""
    columns = enumerate(schema.columns)
    return [(k, column) for k, column in columns if isinstance(column, NumberColumn)]


def _one_hot(schema: Columns) -> tuple[Estimator, list[int]]:
    """Return a one-hot encoder of all categorical columns, and their positions.

    Undeclared values are encoded as zeros. If missing values are declared, the last output of a
    column indicates them.
    """
    columns = enumerate(schema.columns)
    found = [(k, column) for k, column in columns if isinstance(column, CategoryColumn)]
    categories = [column.categories(np.nan) for _, column in found]
    one_hot = preprocessing.OneHotEncoder(
        categories=categories, handle_unknown="ignore", sparse_output=False
    )
    return pipeline.make_pipeline(_objects(schema), one_hot), [k for k, _ in found]


def _floats(schema: Columns) -> FunctionTransformer:
    """Return a transformer that converts columns to floats, with NaN for missing values."""
    return as_floats() if schema.names is None else calling("to_numpy", "float64", True, np.nan)


def _objects(schema: Columns) -> FunctionTransformer:
    """Return a transformer that converts columns to objects, with NaN for missing values."""
    if schema.names is None:
        return preprocessing.FunctionTransformer(np.asarray, kw_args={"dtype": "object"})
    return calling("to_numpy", "object", True, np.nan)


def _fitted(steps: list[tuple[Any, list[int]]], schema: Columns) -> ColumnTransformer:
    """Return a fitted transformer of columns; the fit depends on the schema only."""
    from sklearn.compose import ColumnTransformer

    named = [(f"{k}", step, places) for k, (step, places) in enumerate(steps) if places]
    columns = ColumnTransformer(named).set_output(transform="default")
    return columns.fit(schema.any_rows(2, np.random.default_rng(0)))

"""What the user says of the columns: bounds, categories, missing values."""

import math
from numbers import Integral, Real

import numpy as np
import pandas as pd

from .columns import holds_missing, kind_of
from .table import named, remedies


def categories_by_name(categories, dtype_by_name):
    """Return the categories of columns by name: those given, and those of dtypes."""
    given = {} if categories is None else categories
    _check_are_columns("categories", given, dtype_by_name)
    by_name = {}
    for name, dtype in dtype_by_name.items():
        if name in given:
            by_name[name] = _listed(name, given[name])
        elif isinstance(dtype, pd.CategoricalDtype):
            by_name[name] = list(dtype.categories)
        elif kind_of(dtype) == "b":
            by_name[name] = [False, True]
    return by_name


def _listed(name, values):
    values = values.tolist() if isinstance(values, np.ndarray | pd.Index) else values
    if not isinstance(values, list | tuple) or len(values) == 0:
        raise ValueError(
            f"categories of column {name!r} must be a list of values, in an order that does not "
            f"depend on the private rows; got {short(values)}"
        )
    return list(values)


def bounds_by_name(bounds, dtype_by_name, categories):
    """Return the bounds of columns of numbers by name, each a list of numbers."""
    numbers = [
        name
        for name, dtype in dtype_by_name.items()
        if name not in categories and kind_of(dtype) in "iuf"
    ]
    if bounds is None:
        return {}
    if not isinstance(bounds, dict) and _are_sequences(bounds):
        bounds = _by_position(bounds, list(dtype_by_name), numbers)
    if not isinstance(bounds, dict):
        edges = _checked_edges("bounds", bounds)
        return {name: edges for name in numbers}
    _check_are_columns("bounds", bounds, dtype_by_name)
    others = {name: dtype_by_name[name] for name in bounds if name not in numbers}
    if others:
        raise ValueError(
            f"bounds are for columns of numbers without categories, and not for {remedies(others)}"
        )
    return {
        name: _checked_edges(f"bounds of column {name!r}", edges) for name, edges in bounds.items()
    }


def _are_sequences(bounds):
    if isinstance(bounds, np.ndarray):
        return bounds.ndim > 1
    return len(bounds) > 0 and all(isinstance(edges, list | tuple | np.ndarray) for edges in bounds)


def _by_position(bounds, names, numbers):
    """Return bounds by name, of a pair for each column in order; refuse what may mean others.

    Two pairs for two columns may as well be all low and all high ones.
    """
    lengths = {len(edges) for edges in bounds}
    are_pairs = lengths == {2} and len(bounds) == len(names)
    if are_pairs and len(names) != 2 and len(numbers) == len(names):
        return dict(zip(names, bounds, strict=True))
    if len(bounds) == 2 and lengths == {len(names)} and len(names) != 2:
        hint = "of all low and all high bounds, make pairs, list(zip(*bounds))"
    elif len(bounds) == len(names):
        hint = "say which column each pair is of, dict(zip(X.columns, bounds)), of numbers alone"
        if names == list(range(len(names))):
            hint = "say which column each pair is of, dict(enumerate(bounds))"
    else:
        hint = "say which column each pair is of, {column: (low, high)}"
    raise ValueError(
        "bounds must be two finite numbers (low, high), low not above high, or more numbers that "
        f"increase, or a pair for each column; got {short(bounds)}: {hint}"
    )


def _checked_edges(what, edges):
    given = np.atleast_1d(edges) if isinstance(edges, np.ndarray) else edges
    given = given if isinstance(given, list | tuple | np.ndarray) else []
    # numpy's short numbers overflow
    numbers = [edge.item() if isinstance(edge, np.generic) else edge for edge in given]
    are_numbers = all(_is_finite(edge) for edge in numbers)
    is_pair = are_numbers and len(numbers) == 2 and numbers[0] <= numbers[1]
    is_ladder = are_numbers and len(numbers) > 2 and sorted(set(numbers)) == numbers
    if not is_pair and not is_ladder:
        raise ValueError(
            f"{what} must be two finite numbers (low, high), low not above high, or more numbers "
            f"that increase, the edges of bins; got {short(edges)}"
        )
    return numbers


def _is_finite(edge):
    is_whole = isinstance(edge, Integral)  # and maybe too large for a float
    return is_whole or (isinstance(edge, Real) and math.isfinite(edge))


def missing_names(missing, dtype_by_name):
    """Return the names of columns that may have missing values; None if nothing is said."""
    if missing is None:
        return None
    if not isinstance(missing, list | tuple | set | range | np.ndarray | pd.Index):
        raise ValueError(
            f"missing must be a list of columns that may have missing values; got {short(missing)}"
        )
    missing = list(missing)
    _check_are_columns("missing", missing, dtype_by_name)
    complete = [name for name in missing if not holds_missing(dtype_by_name[name])]
    if complete:
        raise ValueError(
            f"missing names {named(complete)}, whose dtype holds no missing values; leave them "
            "out, or convert them (Int64, boolean)"
        )
    return set(missing)


def _check_are_columns(parameter, names, dtype_by_name):
    unknown = [name for name in names if not _is_among(name, dtype_by_name)]
    if unknown:
        raise ValueError(
            f"{parameter} names {named(unknown)}, which X does not have; its columns are "
            f"{named(list(dtype_by_name))}"
        )


def _is_among(name, dtype_by_name):
    try:
        return name in dtype_by_name
    except TypeError:  # a list, say
        return False


def short(value):
    """Return the beginning of a value that the user gave."""
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."

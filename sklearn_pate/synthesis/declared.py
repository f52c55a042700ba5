"""What the columns of a table may hold, as the user declares it."""

from numbers import Real

import pandas as pd

from .columns import kind_of
from .parameters import short
from .table import checked_table, dtypes_of, named


class Schema:
    """What the columns of a table may hold: public, so safe to print and to publish.

    Parameters
    ----------
    columns : dict, list or tuple
        For each column a tuple of numbers, ``(low, high)`` or the edges of bins, or a list of
        categories. A dict goes by name, or by position in an array; a list has all columns in
        order; a tuple of numbers is for all columns of an array. Truth values and pandas'
        categoricals declare themselves.
    missing : list, default=()
        Columns that may have missing values. In others they count nowhere.

    Examples
    --------
    >>> from sklearn_pate.synthesis import Schema
    >>> Schema({"age": (18, 90), "job": ["clerk", "farmer"]}, missing=["job"])
    Schema({'age': (18, 90), 'job': ['clerk', 'farmer']}, missing=['job'])
    """

    def __init__(self, columns, *, missing=()):
        if not isinstance(missing, list | tuple | set):
            raise TypeError(
                f"missing must be a list of columns that may have gaps; got {missing!r}"
            )
        self.columns = columns
        self.missing = list(missing)

    def __repr__(self):
        return f"Schema({self.columns!r}, missing={self.missing!r})"

    def parameters(self, X):
        """Return bounds, categories and missing, as a synthesizer takes them.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
            Rows, of whose columns names and dtypes are looked at, no values.

        Returns
        -------
        dict

        Raises
        ------
        ValueError
            If a column is not declared, or not by a tuple or a list.
        """
        dtype_by_name = dtypes_of(checked_table(X))
        declared = self._by_name(list(dtype_by_name))
        absent = [name for name in declared if name not in dtype_by_name]
        if absent:
            raise ValueError(f"schema names columns {named(absent)}, which X does not have")
        bounds, categories = {}, {}
        for name, values in declared.items():
            if isinstance(values, list):
                _check_no_bounds(name, values, dtype_by_name[name])
                categories[name] = values
            elif isinstance(values, tuple) and kind_of(dtype_by_name[name]) in "iuf":
                bounds[name] = values
            else:
                raise ValueError(
                    "schema must have a tuple of numbers, (low, high), for each column of numbers, "
                    f"and a list of categories for others; got {short(values)} for {name!r}"
                )
        others = [
            name
            for name, values in categories.items()
            if isinstance(dtype_by_name.get(name), pd.CategoricalDtype)
            and set(values) != set(dtype_by_name[name].categories)
        ]
        if others:
            raise ValueError(
                f"columns {named(others)} are categorical, with other categories than declared, "
                "and those of a dtype are published: convert them, X[column].astype(object)"
            )
        unknown = [
            name
            for name, dtype in dtype_by_name.items()
            if name not in bounds and name not in categories
            if not isinstance(dtype, pd.CategoricalDtype) and kind_of(dtype) != "b"
        ]
        if unknown:
            raise ValueError(
                f"schema lacks {named(unknown)}; give (low, high) or a list of categories"
            )
        return {"bounds": bounds, "categories": categories, "missing": self.missing}

    def _by_name(self, names):
        if isinstance(self.columns, dict):
            return self.columns
        if isinstance(self.columns, tuple):
            return dict.fromkeys(names, self.columns)
        if not isinstance(self.columns, list) or len(self.columns) != len(names):
            raise ValueError(
                f"schema must be a dict, a tuple or a list; X has {len(names)} columns, got "
                f"{short(self.columns)}"
            )
        return dict(zip(names, self.columns, strict=True))


def _check_no_bounds(name, values, dtype):
    """Refuse a list of two numbers that are far apart: bounds are a tuple."""
    are_numbers = all(isinstance(value, Real) for value in values)
    if kind_of(dtype) in "iuf" and len(values) == 2 and are_numbers and values[1] - values[0] != 1:
        raise ValueError(
            f"column {name!r} has the list {values}, its only two values; bounds are a tuple"
        )

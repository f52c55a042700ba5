"""Tables of the fair table with other public rows: another population, unit, or preprocessing.

A shift is a function of a `Table` and a seed; it returns the table with other public rows.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from ..peers.tables import TABLES

#: Maximal number of public rows, so that shifts of a table have about equal numbers.
MOST_PUBLIC = 2000


def only(keep):
    """Public rows that a condition keeps."""

    def shifted(table, seed):
        rows = table.X_public[keep(table.X_public).to_numpy(dtype=bool)]
        return replace(table, X_public=rows)

    return shifted


def changed(change):
    """All public rows, changed."""

    def shifted(table, seed):
        return replace(table, X_public=change(table.X_public, np.random.default_rng(seed)))

    return shifted


def same(table, seed):
    return table


def scaled(name, factor):
    """A column in another unit."""

    def change(X, rng):
        if isinstance(X, pd.DataFrame):
            return X.assign(**{name: X[name] * factor})
        X = X.copy()
        X[:, name] *= factor
        return X

    return changed(change)


def standardized(name=None):
    """A scaler of the private and test rows alone: of one column, or of all numbers."""

    def shifted(table, seed):
        if not isinstance(table.X, pd.DataFrame):
            mean, std = table.X.mean(axis=0), table.X.std(axis=0) + 1e-9
            return replace(table, X=(table.X - mean) / std, X_test=(table.X_test - mean) / std)
        names = [name] if name else list(table.X.select_dtypes("number"))
        mean, std = table.X[names].mean(), table.X[names].std()
        X, X_test = (
            rows.assign(**((rows[names] - mean) / std)) for rows in (table.X, table.X_test)
        )
        X_public = table.X_public.astype(dict.fromkeys(names, float))
        return replace(table, X=X, X_public=X_public, X_test=X_test)

    return shifted


def swapped(first, second):
    """Two columns under each other's name."""

    def change(X, rng):
        if isinstance(X, pd.DataFrame):
            return X.assign(**{first: X[second], second: X[first]})
        X = X.copy()
        X[:, [first, second]] = X[:, [second, first]]
        return X

    return changed(change)


@changed
def independent(X, rng):
    """Columns that are permuted each by itself: the same distributions, and no relation."""
    if isinstance(X, pd.DataFrame):
        columns = {name: X[name].array[rng.permutation(len(X))] for name in X}
        return pd.DataFrame(columns).astype(X.dtypes)
    return np.column_stack([rng.permutation(column) for column in X.T])


def later(table, seed):
    """Public rows of the years up to 1998, of a survey from 1994 to 2006 without its year."""
    is_early = (table.X_public["year"] <= 1998).to_numpy()
    X, X_test = (rows.drop(columns="year") for rows in (table.X, table.X_test))
    return replace(
        table, X=X, X_public=table.X_public[is_early].drop(columns="year"), X_test=X_test
    )


#: Age groups of Diabetes below 50 years.
BELOW_50 = ("[0-10)", "[10-20)", "[20-30)", "[30-40)", "[40-50)")

#: Shifts of each table, by name.
SHIFTS = {
    "Adult": {
        "below 30 years": only(lambda X: X["age"] < 30),
        "women": only(lambda X: X["sex"] == "Female"),
        "no degree": only(lambda X: X["education-num"] <= 9),
        "independent columns": independent,
        "age in months": scaled("age", 12),
        "hours, twice": scaled("hours-per-week", 2),
        "two columns swapped": swapped("age", "hours-per-week"),
        "scaler of private rows": standardized(),
        "scaler of private ages": standardized("age"),
    },
    "flights": {
        "one month": only(lambda X: X["month"] == "7"),
        "one airport": only(lambda X: X["origin"] == "JFK"),
        "independent columns": independent,
        "distance in kilometres": changed(
            lambda X, rng: X.assign(**{"log miles": X["log miles"] + np.log(1.609)})
        ),
        "hour, hundredfold": scaled("hour", 100),
        "scaler of private rows": standardized(),
    },
    "Diabetes, natural": {
        "below 50 years": only(lambda X: X["age"].astype(str).isin(BELOW_50)),
        "women": only(lambda X: X["gender"] == "Female"),
        "independent columns": independent,
        "days in hours": scaled("time_in_hospital", 24),
        "medications, twice": scaled("num_medications", 2),
        "two columns swapped": swapped("num_medications", "num_lab_procedures"),
        "scaler of private rows": standardized(),
    },
    "very happy": {
        "other years": later,
        "women": only(lambda X: X["female"] == 1),
        "independent columns": independent,
        "prestige, twice": scaled("prestige", 2),
        "scaler of private rows": standardized(),
    },
    "pensions": {
        "below 35 years": only(lambda X: X["age"] < 35),
        "men": only(lambda X: X["male"] == 1),
        "income in dollars": scaled("inc", 1000),
        "wealth, twice": scaled("nettfa", 2),
        "two columns swapped": swapped("inc", "age"),
        "scaler of private rows": standardized(),
    },
    "working mothers": {
        "below 28 years": only(lambda X: X["age"] < 28),
        "age in months": scaled("age", 12),
        "independent columns": independent,
        "scaler of private rows": standardized(),
    },
    "breast cancer": {
        "one column, tenfold": scaled(3, 10),
        "two columns swapped": swapped(0, 1),
        "scaler of private rows": standardized(),
    },
    "digits": {
        "independent columns": independent,
        "two columns swapped": swapped(20, 21),
        "scaler of private rows": standardized(),
        "values up to 1": changed(lambda X, rng: X / 16),
    },
    "24 classes": {
        "one column, tenfold": scaled(0, 10),
        "one column, twice": scaled(0, 2),
        "two columns swapped": swapped(0, 1),
        "independent columns": independent,
    },
    "only together": {
        "one column, tenfold": scaled(0, 10),
        "one column, twice": scaled(0, 2),
        "first column positive": changed(lambda X, rng: X[X[:, 0] > 0]),
    },
}


def shifted(name, shift, seed):
    """Return the table with the public rows of a shift, at most `MOST_PUBLIC` of them."""
    table = TABLES[name](seed)
    if shift == "none":
        return table
    table = SHIFTS[name][shift](table, seed)
    n_public = len(table.X_public)
    if n_public <= MOST_PUBLIC:
        return table
    rows = np.random.default_rng(seed).permutation(n_public)[:MOST_PUBLIC]
    X = table.X_public
    return replace(table, X_public=X.iloc[rows] if hasattr(X, "iloc") else X[rows])

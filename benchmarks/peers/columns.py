"""The same rows as each peer takes them: numbers, by public knowledge alone.

Numbers lie between -1 and 1: where they are between public bounds, or, of columns with public
edges, between which edges. A missing number is 0.
"""

import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_pate.neighbors import RowVectorizer


def arrays(table, kind, seed):
    """Private and test rows of a table for a peer.

    Parameters
    ----------
    table : Table
    kind : {"wide", "codes", "learned"}
        Categories one-hot, or as codes between -1 and 1, or the columns of ours, `RowVectorizer`
        and a scaler, fitted on public rows.
    seed : int
        Of a person with several rows, one is kept, at random: peers protect rows.

    Returns
    -------
    dict of arrays
    """
    rows = np.arange(len(table.y)) if table.groups is None else one_each(table.groups, seed)
    X = table.X.iloc[rows] if hasattr(table.X, "iloc") else table.X[rows]
    codes = pd.factorize(table.y[rows], sort=True)[0]
    if kind == "learned":
        fitted = make_pipeline(RowVectorizer(random_state=0), StandardScaler()).fit(table.X_public)
        X, X_test = (np.asarray(fitted.transform(part), float) for part in (X, table.X_test))
    else:
        X, X_test = (numbers(part, table, kind) for part in (X, table.X_test))
    return {
        "X": X,
        "y": codes,
        "X_test": X_test,
        "n_categories": n_categories(table),
        "n_classes": len(table.classes),
    }


def one_each(groups, seed):
    """One row of each group, at random, in random order."""
    order = np.random.default_rng(seed).permutation(len(groups))
    _, first = np.unique(groups[order], return_index=True)
    return np.random.default_rng(seed + 1).permutation(order[first])


def numbers(rows, table, kind):
    frame = pd.DataFrame(rows)
    parts = [column(frame[name], name, table, kind) for name in frame.columns]
    return np.hstack(parts)


def column(values, name, table, kind):
    categories = categories_of(values, name, table)
    if categories is None:
        return scaled(values, bounds_of(name, table))[:, None]
    codes = pd.Categorical(values, categories=categories).codes
    if kind == "wide":
        return (codes[:, None] == np.arange(len(categories))).astype(float)
    return 2 * (codes[:, None].astype(float) + 1) / len(categories) - 1


def categories_of(values, name, table):
    """The public categories of a column; None of a number."""
    if table.categories is not None and name in table.categories:
        return table.categories[name]
    return values.cat.categories if values.dtype == "category" else None


def bounds_of(name, table):
    if isinstance(table.bounds, dict):
        return table.bounds[name]
    return table.bounds[name] if isinstance(table.bounds, list) else table.bounds


def scaled(values, edges):
    places = np.linspace(-1, 1, len(edges))
    return np.nan_to_num(np.interp(values.to_numpy(float), edges, places))


def n_categories(table):
    """How many values each column can have as a code; 0 for numbers."""
    frame = pd.DataFrame(table.X)
    found = [categories_of(frame[name], name, table) for name in frame.columns]
    return np.array([0 if categories is None else len(categories) + 1 for categories in found])



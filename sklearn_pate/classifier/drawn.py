"""Rows that were drawn from private data before, and are given as public ones again."""

import numpy as np
import pandas as pd

from ..public import row_hashes, table_of

__all__ = ["DRAWN_BEFORE", "note_drawn", "recalled"]

#: What `privacy_spent_.not_covered` says where the cost of such rows is not known.
DRAWN_BEFORE = "X_public, drawn from private data by an earlier fit, whose cost adds up"

#: What was drawn in this process: hashes of rows, sorted, and the `Synthesis` that drew them; None
#: where a pickle brought them, or a synthesizer of the user's drew them.
_drawn = {}

#: Rows count as drawn if most of them are equal to drawn ones, and hardly any two of those are
#: equal: where there are few values, unlike rows are equal by chance.
_MOST = 0.5
_FEW_REPEATED = 0.1


def note_drawn(rows, synthesis=None):
    """Remember rows that a synthesizer drew.

    Parameters
    ----------
    rows : array-like with n_rows rows
        Public, as they are drawn and paid for.
    synthesis : Synthesis, default=None
        What drew them, without data.
    """
    hashes = _hashes(rows)
    if synthesis is not None or hashes.tobytes() not in _drawn:
        _drawn[hashes.tobytes()] = hashes, synthesis


def recalled(X_public):
    """Return whether public rows were drawn from private ones, and by what.

    Both tables are public, so whatever follows from comparing them is.

    Parameters
    ----------
    X_public : array-like with n_public rows
        As given by the user.

    Returns
    -------
    are_drawn : bool
        Whether they, or most of them, were drawn.
    synthesis : Synthesis or None
        What drew all of them; None if that is not known.
    """
    if not _drawn:
        return False, None
    given = _hashes(X_public)
    if given.tobytes() in _drawn:
        return True, _drawn[given.tobytes()][1]
    for hashes, synthesis in _drawn.values():
        n_repeated = len(hashes) - len(np.unique(hashes))
        share = np.isin(given, hashes).mean()
        if share > _MOST and n_repeated <= _FEW_REPEATED * len(hashes):
            return True, synthesis if share == 1 else None
    return False, None


def _hashes(rows):
    """Return a number for each row, sorted: equal where values are, whatever holds them."""
    table = table_of(rows)
    columns = [_plain(table.iloc[:, k]) for k in range(table.shape[1])]
    return np.sort(row_hashes(pd.concat(columns, axis=1)).to_numpy())


def _plain(column):
    if getattr(column.dtype, "kind", "O") in "iufb":
        return column.astype("float64") + 0.0  # never -0.0
    return column.astype(object).map(str)

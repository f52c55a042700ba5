"""Rows that were drawn from private data before, and are given as public ones again."""

import numpy as np

from ..public import value_hashes

#: What `privacy_spent_.not_covered` says where the cost of such rows is not known.
DRAWN_BEFORE = "X_public, drawn from private data by an earlier fit, whose cost adds up"

#: What was drawn in this process: hashes of rows, sorted, and the `Synthesis` that drew them; None
#: where a pickle brought them, or a synthesizer of the user's drew them.
_drawn: dict = {}

#: Rows count as drawn if a tenth of them are equal to drawn ones of which hardly any two are equal,
#: or nine tenths to any: where there are few values, unlike rows are equal by chance.
_SOME = 0.1
_FEW_REPEATED = 0.1
_NEARLY_ALL = 0.9


def note_drawn(rows, synthesis=None):
    """Remember rows that a synthesizer drew.

    Parameters
    ----------
    rows : array-like with n_rows rows
        Public, as they are drawn and paid for.
    synthesis : Synthesis, default=None
        What drew them, without data.
    """
    hashes = np.sort(value_hashes(rows))
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
        Whether they, or some of them, were drawn, as far as can be told.
    synthesis : Synthesis or None
        What drew all of them; None if that is not known.
    """
    if not _drawn:
        return False, None
    given = np.sort(value_hashes(X_public))
    if given.tobytes() in _drawn:
        return True, _drawn[given.tobytes()][1]
    are_drawn = np.zeros(len(given), dtype=bool)
    are_surely_drawn = are_drawn.copy()
    for hashes, synthesis in _drawn.values():
        are_of_these = np.isin(given, hashes)
        are_drawn |= are_of_these
        n_repeated = len(hashes) - len(np.unique(hashes))
        if n_repeated <= _FEW_REPEATED * len(hashes):
            if are_of_these.all():
                return True, synthesis
            are_surely_drawn |= are_of_these
    return bool(are_surely_drawn.mean() >= _SOME or are_drawn.mean() >= _NEARLY_ALL), None

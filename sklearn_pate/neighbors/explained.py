"""How much of the public rows cells can tell: what no noise takes away, known before a fit."""

import numpy as np

from .cells import make_centers, nearest_cells

#: So many public rows are looked at: half make cells, and half are compared with them.
_MOST_ROWS = 4000
#: The share of rows whose distances count.
_KEPT = 0.9


def explained_share(public, n_cells, random_state):
    """Return the share of the spread of public rows that cells of other public rows explain.

    A record tells only in which cell it lies. Where cells explain nothing of how rows differ, as
    where many columns have little to do with each other, what they tell of labels is nothing too.

    Parameters
    ----------
    public : ndarray of shape (n_public, n_columns)
        Transformed public rows.
    n_cells : int
        Number of cells.
    random_state : int
        Seeds the choice of rows and the clustering.

    Returns
    -------
    float
        From 0 to 1; 0 where all rows are equal.
    """
    rng = np.random.default_rng(random_state)
    some = rng.permutation(len(public))[:_MOST_ROWS]
    made_of, held_out = public[some[::2]], public[some[1::2]]
    if not len(held_out):
        return 0.0
    centers = make_centers(made_of, min(n_cells, len(made_of)), random_state)
    cells = nearest_cells(held_out, centers)[:, 0]
    # Of all but the tenth farthest off: a single row far away would be most of a spread
    far = ((made_of - np.median(made_of, axis=0)) ** 2).sum(axis=1)
    middle = made_of[far <= np.quantile(far, _KEPT)].mean(axis=0)
    spread = _trimmed(((held_out - middle) ** 2).sum(axis=1))
    left = _trimmed(((held_out - centers[cells]) ** 2).sum(axis=1))
    return float(np.clip(1 - left / spread, 0, 1)) if spread > 0 else 0.0


def _trimmed(squares):
    return np.sort(squares)[: max(1, int(_KEPT * len(squares)))].mean()

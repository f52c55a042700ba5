"""Which public rows to ask the teachers about. A strategy never sees votes or private data."""

import numpy as np

__all__ = ["RandomQueries"]


class RandomQueries:
    """Ask public rows in random order, without repetition.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.queries import RandomQueries
    >>> rows = RandomQueries().select(np.zeros((50, 2)), 10, random_state=0)
    >>> len(set(rows.tolist()))
    10
    """

    def select(self, X_public, n_queries, random_state=None):
        """Choose the rows to ask.

        Parameters
        ----------
        X_public : array-like with n_public rows
            Public points.
        n_queries : int
            How many to choose, at most n_public.
        random_state : int, SeedSequence, Generator or None, default=None
            Source of the choice.

        Returns
        -------
        ndarray of shape (n_queries,), int
            Distinct row numbers, in the order in which they are asked.
        """
        n_public = X_public.shape[0] if hasattr(X_public, "shape") else len(X_public)
        return np.random.default_rng(random_state).permutation(n_public)[:n_queries]

"""Which public rows are asked next: calls the query strategy when it is its turn."""

import numpy as np

from .._sklearn import _num_samples
from ..isolation import seed_number, seeded
from ..queries import count_rounds, rehearse, select_rows, split_rounds
from .student import student_error


class Choice:
    """Chooses public rows to ask about, from public rows and released labels alone.

    Parameters
    ----------
    make_strategy : callable
        Returns a fresh query strategy.
    X_public : array-like with n_public rows
        All public rows.
    seed : numpy.random.SeedSequence
        Source of randomness of the strategy.

    Attributes
    ----------
    in_rounds : bool
        Whether the strategy asks in rounds, and so has to see labels before it chooses more rows.
    """

    def __init__(self, make_strategy, X_public, seed):
        with seeded(seed_number(seed)):
            self._strategy = make_strategy()
        self._X_public = X_public
        self._seed = seed
        self._rng = np.random.default_rng(seed)
        self.in_rounds = count_rounds(self._strategy) > 1

    def rows_to_vote_on(self, plan, *, n_classes):
        """Return the rows that teachers vote on: the queries or, if rounds will choose, all rows.

        This is called before any teacher is trained, so rounds are tried with made-up labels.
        """
        try:
            with seeded(seed_number(self._seed)):
                if not self.in_rounds:
                    return select_rows(self._strategy, self._X_public, plan.n_queries, self._rng)
                n_queries = plan.stages[0][1]
                rehearse(
                    self._strategy, self._X_public, n_queries, n_classes=n_classes, rng=self._rng
                )
        except Exception as error:
            tried = " when tried with made-up labels" if self.in_rounds else ""
            raise ValueError(
                f"query_strategy failed{tried}, before any teacher was trained; nothing was "
                f"spent. {type(error).__name__}: {error}"
            ) from error
        return np.arange(_num_samples(self._X_public))

    def rounds(self, n_queries):
        """Split the queries of a stage, numbered from 0, into rounds."""
        return split_rounds(self._strategy, n_queries)

    def wants_student(self, released):
        """Whether the strategy uses a student's probabilities, and labels can train a student."""
        if not self.in_rounds or not getattr(self._strategy, "uses_student_proba", False):
            return False
        return len(set(released.labels) - {-1}) > 1  # labels of two classes

    def next_positions(self, round_, released, proba):
        """Return the queries of a round, as positions among the rows that were voted on.

        Parameters
        ----------
        round_ : ndarray of shape (n_queries,), int
            One of `rounds`.
        released : Release
            What was released so far.
        proba : ndarray of shape (n_public, n_classes) or None
            Probabilities from a student of the labels so far, if the round needs them.
        """
        if not self.in_rounds:
            # Only the queries were voted on, in the order in which they are asked
            return released.query_indices.size + round_
        # All rows were voted on, so the rows that a strategy selects are positions as well
        asked = released.query_indices
        try:
            with seeded(int(self._rng.integers(2**32))):
                return select_rows(
                    self._strategy,
                    self._X_public,
                    round_.size,
                    self._rng,
                    proba,
                    asked=asked,
                    labels=released.labels[asked],
                )
        except Exception as error:
            raise student_error(
                f"query_strategy failed: {type(error).__name__}: {error}", released
            ) from error

"""Query strategies, which choose the public rows to query, from public rows and released labels.

A strategy is any object with ``select(X_public, n_queries, random_state=)``, which is called once.
If it has an attribute `n_rounds` above 1, `select` is called once per round of each stage, with the
labels released so far: ``select(..., queried=rows, labels=codes, student_proba=proba)``. The
`labels` belong to the rows `queried`; -1 means that a query has no answer. If the strategy has
``uses_student_proba = True``, `student_proba` has probabilities for all public rows, from a student
trained on these labels. It is None before labels of two classes are released. `random_state` is a
`numpy.random.Generator`. Each fit uses a clone of the strategy (`sklearn.base.clone`; an object
that is not an estimator is deep-copied). Before any teacher is trained, the fit tries the first two
rounds with made-up labels.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from ._sklearn import CheckedEstimator, HasMethods, Interval, _num_samples
from .rdp.checks import check_count
from .runtime.copies import seed_number, seeded
from .students import student_error

if TYPE_CHECKING:
    from ._typing import Estimator, Rows, Seed
    from .accounting.plan import Plan
    from .releases.published import Published

__all__ = ["DiversityQueries", "RandomQueries", "UncertaintyQueries"]


class RandomQueries(CheckedEstimator):
    """Query public rows in random order, without repetition.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.queries import RandomQueries
    >>> rows = RandomQueries().select(np.zeros((50, 2)), 10, random_state=0)
    >>> len(set(rows.tolist()))
    10
    """

    def select(self, X_public: Rows, n_queries: int, random_state: Seed = None) -> np.ndarray:
        """Choose the rows to query.

        Parameters
        ----------
        X_public : array-like with n_public rows
            Public points.
        n_queries : int
            Number of rows to choose, at most n_public.
        random_state : int, SeedSequence, Generator or None, default=None
            Seed or generator of the random order.

        Returns
        -------
        ndarray of shape (n_queries,), int
            Distinct row numbers, in the order in which they are queried.
        """
        return _not_queried_in_random_order(X_public, (), random_state)[:n_queries]


class UncertaintyQueries(CheckedEstimator):
    """Query the rows with the least certain predictions of the student, in rounds.

    The first round is random, and so is each round until labels of two classes are released. Before
    any other round, the student is trained on the labels released so far, and the rows with the
    lowest maximum probability are queried.

    Parameters
    ----------
    n_rounds : int, default=10
        Number of rounds of nearly equal size in each stage.

    References
    ----------
    Papernot, Abadi, Erlingsson, Goodfellow, Talwar (2017). Semi-supervised knowledge transfer for
    deep learning from private training data. ICLR, appendix B.2, "unconfident points".

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.queries import UncertaintyQueries
    >>> proba = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [1.0, 0.0]])
    >>> known = {"queried": [3], "labels": [0]}
    >>> UncertaintyQueries().select(np.zeros((4, 2)), 2, **known, student_proba=proba)
    array([1, 2])
    """

    uses_student_proba = True

    _parameter_constraints = {"n_rounds": [Interval(Integral, 2, None, closed="left")]}

    def __init__(self, n_rounds: int = 10) -> None:
        self.n_rounds = n_rounds

    def select(
        self,
        X_public: Rows,
        n_queries: int,
        random_state: Seed = None,
        *,
        queried: ArrayLike = (),
        labels: ArrayLike = (),
        student_proba: np.ndarray | None = None,
    ) -> np.ndarray:
        """Choose the rows to query next.

        Parameters
        ----------
        X_public : array-like with n_public rows
            Public points.
        n_queries : int
            Number of rows to choose.
        random_state : int, SeedSequence, Generator or None, default=None
            Seed or generator of random rounds, and of the order of equally uncertain rows.
        queried : array-like of shape (n_queried,), int
            Rows queried before; they are not queried again.
        labels : array-like of shape (n_queried,), int
            Not used.
        student_proba : ndarray of shape (n_public, n_classes), default=None
            The student's probabilities; None for a random round.

        Returns
        -------
        ndarray of shape (n_queries,), int
            Distinct row numbers.
        """
        self._validate_params()
        rows = _not_queried_in_random_order(X_public, queried, random_state)
        if student_proba is not None:
            confidence = np.asarray(student_proba)[rows].max(axis=1)
            rows = rows[np.argsort(confidence, kind="stable")]
        return rows[:n_queries]


class DiversityQueries(CheckedEstimator):
    """Query rows that cover the public data, by greedy k-center selection.

    The first row is random. Each further row has the largest distance to the nearest chosen row.

    Parameters
    ----------
    transformer : transformer, default=None
        Transformer that is fitted on `X_public`; distances are Euclidean distances of its outputs.
        If None, distances are those of the flattened rows, which must be numbers.

    References
    ----------
    Gonzalez (1985). Clustering to minimize the maximum intercluster distance; Sener, Savarese
    (2018). Active learning for convolutional neural networks: a core-set approach. ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.queries import DiversityQueries
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> sorted(int(row > 1) for row in DiversityQueries().select(X, 2, random_state=0))
    [0, 1]
    """

    _parameter_constraints = {"transformer": [HasMethods(["fit_transform"]), None]}

    def __init__(self, transformer: Estimator | None = None) -> None:
        self.transformer = transformer

    def select(self, X_public: Rows, n_queries: int, random_state: Seed = None) -> np.ndarray:
        """Choose the rows to query.

        Parameters
        ----------
        X_public : array-like with n_public rows
            Public points.
        n_queries : int
            Number of rows to choose, at most n_public.
        random_state : int, SeedSequence, Generator or None, default=None
            Seed or generator of the first row, and of the order of equally distant rows.

        Returns
        -------
        ndarray of shape (n_queries,), int
            Distinct row numbers, in the order in which they are queried.

        Raises
        ------
        ValueError
            If the rows, or the outputs of the transformer, are not numbers.
        """
        self._validate_params()
        rows = _not_queried_in_random_order(X_public, (), random_state)
        points = X_public
        if self.transformer is not None:
            points = clone(self.transformer).fit_transform(X_public)
        if not hasattr(points, "tocsr"):
            try:
                points = np.asarray(points, dtype=np.float64).reshape(len(rows), -1)
            except (TypeError, ValueError):
                raise ValueError(
                    "DiversityQueries requires rows of numbers: set a transformer that returns "
                    "numbers"
                ) from None
        from sklearn.metrics.pairwise import euclidean_distances

        points = points[rows]
        chosen = []
        distance = np.full(len(rows), np.inf)  # to the nearest chosen row
        for _ in range(n_queries):
            farthest = int(distance.argmax())
            chosen.append(farthest)
            distance = np.minimum(distance, euclidean_distances(points, points[[farthest]])[:, 0])
            distance[farthest] = -1.0  # not again, even where all others coincide with it
        return rows[chosen]


def _not_queried_in_random_order(
    X_public: Rows, queried: ArrayLike, random_state: Seed
) -> np.ndarray:
    """Return the rows that were not queried, in random order."""
    rows = np.random.default_rng(random_state).permutation(_num_samples(X_public))
    return rows[~np.isin(rows, queried)]


def count_rounds(strategy: Any) -> int:
    """Return the number of rounds of a strategy in each stage.

    A strategy with one round is called only once, for the queries of all stages.
    """
    return check_count("n_rounds of query_strategy", getattr(strategy, "n_rounds", 1))


class Choice:
    """Choose the public rows to query, from public rows and released labels alone.

    Parameters
    ----------
    make_strategy : callable
        Returns a fresh query strategy.
    X_public : array-like with n_public rows
        All public rows.
    seed : numpy.random.SeedSequence
        Source of randomness of the strategy.
    """

    def __init__(
        self, make_strategy: Callable[[], Any], X_public: Rows, seed: np.random.SeedSequence
    ) -> None:
        with seeded(seed_number(seed)):
            self._strategy = make_strategy()
        self._X_public = X_public
        self._seed = seed
        self._rng = np.random.default_rng(seed)
        self._n_rounds = count_rounds(self._strategy)
        self._uses_student = getattr(self._strategy, "uses_student_proba", False)

    def rows_to_vote_on(self, plan: Plan, *, n_classes: int) -> np.ndarray:
        """Return the rows that teachers vote on: the queries or, if there are rounds, all rows.

        This method is called before any teacher is trained. It tries the first two rounds with
        made-up labels, so that errors of the strategy are raised before anything is spent.
        """
        rows = np.arange(_num_samples(self._X_public))
        try:
            with seeded(seed_number(self._seed)):
                if self._n_rounds == 1:
                    return self._select(plan.n_queries)
                first, *later = self.rounds(plan.stages[0][1])
                queried = self._select(first.size, rows[:0], rows[:0])
                if later:
                    proba = np.full((rows.size, n_classes), 1 / n_classes)
                    self._select(later[0].size, queried, np.arange(queried.size) % n_classes, proba)
        except Exception as error:
            raise ValueError(
                "query_strategy failed when tried (in rounds, with made-up labels), before any "
                f"teacher was trained. {type(error).__name__}: {error}"
            ) from error
        return rows

    def _select(
        self,
        n_queries: int,
        queried: ArrayLike = (),
        labels: ArrayLike = (),
        proba: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the rows that the strategy chooses; in rounds, it gets the released labels."""
        shown: dict[str, Any] = {"random_state": self._rng}
        if self._n_rounds > 1:
            proba = proba if self._uses_student else None
            shown |= {"queried": queried, "labels": labels, "student_proba": proba}
        rows = np.asarray(self._strategy.select(self._X_public, n_queries, **shown))
        not_queried = np.setdiff1d(np.arange(_num_samples(self._X_public)), queried)
        are_numbers = rows.ndim == 1 and rows.dtype.kind in "iu"
        n_usable = np.intersect1d(rows, not_queried).size if are_numbers else 0
        if rows.size != n_queries or n_usable != n_queries:
            raise ValueError(
                f"query_strategy.select must return {n_queries} distinct numbers of rows of "
                f"X_public, none queried before; got {rows.dtype} {rows.shape}, with {n_usable} "
                "such numbers"
            )
        return rows.astype(np.intp)

    def rounds(self, n_queries: int) -> list[np.ndarray]:
        """Split the queries of a stage, numbered from 0, into nearly equal rounds."""
        return np.array_split(np.arange(n_queries), min(self._n_rounds, n_queries))

    def wants_student(self, released: Published) -> bool:
        """Return whether the strategy uses a student, and the labels can train one."""
        if self._n_rounds == 1 or not self._uses_student:
            return False
        return len(set(released.labels) - {-1}) > 1

    def next_positions(
        self, round_: np.ndarray, released: Published, proba: np.ndarray | None
    ) -> np.ndarray:
        """Return the queries of a round, as positions among the rows that were voted on.

        Parameters
        ----------
        round_ : ndarray of shape (n_queries,), int
            A round from `rounds`.
        released : Published
            Labels released so far.
        proba : ndarray of shape (n_public, n_classes) or None
            Probabilities from a student that is trained on the labels so far; None without one.

        Returns
        -------
        ndarray of shape (n_queries,), int

        Raises
        ------
        StudentError
            If the strategy fails.
        """
        if self._n_rounds == 1:
            # Teachers voted on the queries only, in the order in which they are queried
            return released.query_indices.size + round_
        # Teachers voted on all rows, so the rows that a strategy selects are positions as well
        queried = released.query_indices
        try:
            with seeded(int(self._rng.integers(2**32))):
                return self._select(round_.size, queried, released.labels[queried], proba)
        except Exception as error:
            problem = f"query_strategy failed: {type(error).__name__}: {error}"
            raise student_error(problem, released) from error

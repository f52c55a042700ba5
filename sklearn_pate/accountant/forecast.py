"""What labels to expect of a plan, computed from its mechanisms and made-up votes alone."""

import math
from dataclasses import KW_ONLY, dataclass

import numpy as np
from sklearn.base import clone

from ..rdp.facts import facts_of, has_distribution

#: So many labels are drawn where a share cannot be computed: its standard error is below 0.01.
_N_DRAWN = 4000

#: So many classes take their turn to be the right one, where a mechanism may prefer some.
_MOST_RIGHT = 20


@dataclass(frozen=True)
class TeacherVoters:
    """Teachers who vote, in public numbers.

    Attributes
    ----------
    n_teachers, n_classes : int
        Number of teachers and of classes.
    names : tuple of str
        Classes of the teachers' classifiers, dealt to the teachers in turn; empty if unknown.
    n_records : int or None
        Number of private records; None where it is private, or unknown.
    why : str
        Why they vote.
    are_sites : bool
        Whether each has private data of its own, so that no other voters can take its place.
    are_levels : bool
        Whether the classes are levels of a number.

    Examples
    --------
    >>> from sklearn_pate.accountant import TeacherVoters
    >>> TeacherVoters(n_teachers=100, n_classes=10, names=("GaussianNB",)).n_teachers
    100
    """

    _: KW_ONLY
    n_teachers: int
    n_classes: int
    names: tuple = ()
    n_records: int | None = None
    why: str = ""
    are_sites: bool = False
    are_levels: bool = False


@dataclass(frozen=True)
class RecordVoters:
    """Records that vote in the cells of a table, in public numbers.

    Attributes
    ----------
    n_cells, n_classes : int
        Rows and columns of the table.
    n_ballots : int
        Ballots in the whole table: of the records or, where their number is private, of as many
        records as there are public rows.
    n_records : int or None
        Number of private records; None where it is private.
    explained : float or None
        The share of the public rows' spread that the cells explain; None where it is not known.
    n_columns : int or None
        Number of columns that are summed, where there are no cells.
    name : str
        Class of the electorate.
    why : str
        Why they vote.
    are_levels : bool
        Whether the classes are levels of a number.

    Examples
    --------
    >>> from sklearn_pate.accountant import RecordVoters
    >>> RecordVoters(n_cells=50, n_classes=2, n_ballots=1000, n_records=1000).ballots_per_cell
    20.0
    """

    _: KW_ONLY
    n_cells: int
    n_classes: int
    n_ballots: int
    n_records: int | None = None
    explained: float | None = None
    n_columns: int | None = None
    name: str = ""
    why: str = ""
    are_levels: bool = False

    @property
    def ballots_per_cell(self):
        """Ballots in an average cell."""
        return self.n_ballots / self.n_cells


@dataclass(frozen=True)
class RowsCost:
    """What a synthesizer takes of epsilon and delta, for the public rows that it draws.

    Attributes
    ----------
    epsilon, delta : float
        Of the rows alone. With the labels' own they add up to no more than those of the plan, and
        often to less than the sum.
    adjacency : str
        The change of the private data that is covered.
    n_rows : int
        Number of rows that are drawn.
    problem : str or None
        What the synthesizer says where the noise has the better of the records.
    sums : str or None
        What else than rows it releases.

    Examples
    --------
    >>> from sklearn_pate.accountant import RowsCost
    >>> RowsCost(0.4, 0.0, adjacency="replace one record", n_rows=5000).epsilon
    0.4
    """

    epsilon: float
    delta: float
    _: KW_ONLY
    adjacency: str
    n_rows: int
    problem: str | None = None
    sums: str | None = None


def noise_of_stages(stages):
    """Return the largest standard deviation of the noise on a count, in votes; None if unknown."""
    sizes = [getattr(mechanism, "noise_std", None) for mechanism, _ in stages]
    known = [float(size) for size in sizes if size is not None]
    return max(known) if known else None


def shares_of_stages(stages, agreement, *, n_teachers, n_classes):
    """Return the share of queries that are answered, and that of the answers that are right.

    Each query has at least a share `agreement` of the votes for one class, which is right, and all
    others for one other class. No other spread of these votes is worse, if the noise is
    log-concave, as normal and Laplace noise are.

    Parameters
    ----------
    stages : list of (Aggregator, int)
        Mechanisms, and the queries of each.
    agreement : float
        Above 0.5, at most 1.
    n_teachers, n_classes : int
        Number of teachers and of classes.

    Returns
    -------
    answered, right : float
        `right` is NaN where nothing is answered.
    """
    n_for_right = math.ceil(check_agreement(agreement) * n_teachers - 1e-9)
    votes = made_up(n_for_right, n_teachers - n_for_right, n_classes)
    n_all = sum(n_queries for _, n_queries in stages)
    answered = 0.0
    right = 0.0
    for mechanism, n_queries in stages:
        of_stage = _outcomes(mechanism, n_queries, votes)
        answered += of_stage[0] * n_queries / n_all
        right += of_stage[1] * n_queries / n_all
    return answered, (right / answered if answered > 0 else math.nan)


def check_agreement(agreement):
    """Return a share of voters who agree, of whom most must be right."""
    if not 0.5 < agreement <= 1:
        raise ValueError(
            f"agreement must be a share of the voters, above 0.5 and at most 1; got {agreement!r}"
        )
    return float(agreement)


def made_up(n_right, n_wrong, n_classes):
    """Return a row of votes for each class: it is right, and all others vote for the next one."""
    votes = n_right * np.eye(n_classes, dtype=type(n_right))
    return votes + n_wrong * np.roll(np.eye(n_classes, dtype=type(n_right)), 1, axis=1)


def _outcomes(mechanism, n_queries, votes):
    """Return the share of queries that are answered, and the share that are answered right."""
    facts = facts_of(mechanism)
    if has_distribution(mechanism) and facts.total is None:
        return _computed(mechanism, votes, is_symmetric=facts.label_symmetric)
    return _drawn(mechanism, n_queries, votes, shares_queries=facts.total is not None)


def _computed(mechanism, votes, *, is_symmetric):
    """Return what `_outcomes` returns, from the distribution over outcomes."""
    n_classes = len(votes)
    n_right = 1 if is_symmetric else min(n_classes, _MOST_RIGHT)
    right = np.linspace(0, n_classes - 1, n_right).astype(int)
    proba = np.exp(
        mechanism.outcome_log_proba(votes[right], _no_student(mechanism, n_right, votes))
    )
    answered = proba[:, :n_classes].sum(axis=1).mean()
    return float(min(answered, 1.0)), float(proba[np.arange(n_right), right].mean())


def _drawn(mechanism, n_queries, votes, *, shares_queries):
    """Return what `_outcomes` returns, from draws with a fixed seed.

    Queries that share one cost stop together, so all of them are drawn; others one by one.
    """
    n_asked = n_queries if shares_queries else _N_DRAWN
    n_rounds = math.ceil(_N_DRAWN / n_asked)
    right = np.arange(n_asked) % len(votes)  # all classes in turn
    student = _no_student(mechanism, n_asked, votes)
    rng = np.random.default_rng(0)
    mechanism = clone(mechanism)
    n_answered = 0
    n_right = 0
    for _ in range(n_rounds):
        labels = np.asarray(mechanism.release(votes[right], student, rng).labels)
        n_answered += int((labels >= 0).sum())
        n_right += int((labels == right[: len(labels)]).sum())
    return n_answered / (n_rounds * n_asked), n_right / (n_rounds * n_asked)


def _no_student(mechanism, n_queries, votes):
    """Return the probabilities of a student that knows nothing, if the mechanism asks for one."""
    if not mechanism.uses_student_proba:
        return None
    return np.full((n_queries, votes.shape[1]), 1 / votes.shape[1])

"""Runs the electorate: enrols it before anything is trained, collects and checks its votes."""

import inspect

import numpy as np

from .._sklearn import _num_samples
from ..electorate import Ballots, Votes
from ..exceptions import TeacherError
from ..isolation import Quiet, attempt, seed_number, seeded
from .mechanism import is_ours

__all__ = ["are_complete", "collect", "enrol"]


#: What an electorate of the user's must accept.
_SIGNATURES = {
    "enrol": "enrol(self, private, X_public, *, seed=None, memory=None)",
    "vote": "vote(self, private, X_query, *, temperature=None, seed=None, on_done=None)",
}


def enrol(electorate, private, X_public, *, seed, memory):
    """Return the `Ballots` of an electorate; nothing is trained yet."""
    if is_ours(electorate):
        return electorate.enrol(private, X_public, seed=seed, memory=memory)
    _check_signature(electorate, "enrol", private, X_public, seed=seed, memory=memory)
    _check_signature(
        electorate, "vote", private, X_public, temperature=None, seed=seed, on_done=None
    )
    with Quiet():  # a user's electorate may print or warn of private values
        ballots, failed = attempt(
            lambda: electorate.enrol(private, X_public, seed=seed, memory=memory)
        )
    name = type(electorate).__name__
    if failed is not None:
        raise ValueError(
            f"enrol of {name} failed with {failed}, whose text is withheld, as it may quote "
            "records. Nothing was spent. To read the text, call enrol yourself"
        )
    if not isinstance(ballots, Ballots):
        raise TypeError(
            f"enrol of {name} must return electorate.Ballots(...), which says what one protected "
            f"unit can change of the votes; got {type(ballots).__name__}"
        )
    return ballots


def collect(electorate, private, X_query, ballots, *, temperature, seed, on_done):
    """Let an electorate vote on some public rows, and return its `Votes`."""

    def cast():
        return electorate.vote(
            private, X_query, temperature=temperature, seed=seed, on_done=on_done
        )

    if is_ours(electorate):
        counts = cast()
    else:
        with Quiet(), seeded(seed_number(seed)):
            counts, failed = attempt(lambda: np.asarray(cast()))
        if failed is not None:
            raise TeacherError(
                f"vote of {type(electorate).__name__} failed with {failed}, whose text is "
                "withheld, as it may quote records. No label was released. To read the text, call "
                "enrol and vote yourself"
            )
    n_queries = _num_samples(X_query)
    votes = Votes(
        counts,
        private.classes,
        ballots,
        temperature=temperature,
        teacher_indices=electorate.teacher_indices_,
        teachers=electorate.teachers_,
    )
    if counts.shape[:1] != (n_queries,) or not are_complete(votes):
        raise TeacherError(
            f"vote of {type(electorate).__name__} must return {n_queries} rows of "
            f"{len(private.classes)} counts, each of which sums to n_teachers="
            f"{ballots.n_teachers}, as enrol said. No label was released"
        )
    return votes


def _check_signature(electorate, name, *args, **kwargs):
    """Refuse a method that does not take what it is given, before it sees private data."""
    try:
        inspect.signature(getattr(electorate, name)).bind(*args, **kwargs)
    except TypeError:
        fits = False
    else:
        fits = True
    if not fits:
        raise TypeError(
            f"{name} of {type(electorate).__name__} does not take what it is given; it must be "
            f"{_SIGNATURES[name]}"
        )


def are_complete(votes):
    """Whether each row holds one vote of each teacher, or probabilities that sum to at most 1."""
    counts = votes.counts
    if counts.ndim != 2 or counts.shape[1] != len(votes.classes) or counts.dtype.kind not in "iuf":
        return False
    if not (counts >= 0).all():
        return False
    n_teachers = votes.ballots.n_teachers
    sums = counts.sum(axis=1)
    if votes.temperature is not None:  # probabilities are rounded down
        return bool((sums <= n_teachers * (1 + 1e-9)).all())
    return bool((sums == n_teachers).all() and (counts == np.floor(counts)).all())

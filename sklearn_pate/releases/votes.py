"""What is published of votes, and how they are collected: enrolled, cast, checked."""

import dataclasses
from abc import ABC, abstractmethod

import numpy as np

from .._sklearn import _num_samples
from ..electorate import Ballots, TableElectorate, Votes
from ..exceptions import TeacherError
from ..isolation import copied_data, fresh_seed, isolated, seed_number, withheld


class VotesRelease(ABC):
    """Base class: what is published of votes, planned, gathered, and drawn once it is paid for.

    It holds nothing: `given` says all that a fit was given, and `plan` what it will ask and spend.
    `fitting.given.release_of` says which electorate has which.
    """

    #: Whether what is released are rates of the classes, at any row. What is gathered for them
    #: follows from the noise that will be drawn.
    gives_rates = False

    #: The most rows that a student is tried on.
    most_rehearsed = np.inf

    def refused(self, estimator):
        """Return the parameters that say nothing here, each with what it says."""
        return {}

    @abstractmethod
    def mechanism(self, estimator):
        """Return what answers, as the parameters say; refuse what does not fit here."""

    @abstractmethod
    def plan(self, given):
        """Return what to ask and what it costs, a `Plan`, by public numbers."""

    def rehearse(self, given, plan):
        """Try what is the user's own on made-up votes."""
        return None

    @abstractmethod
    def forecast(self, given, plan, why):
        """Return who votes, and problems and obstacles, by public numbers."""

    def rows(self, given, plan):
        """Return the public rows that are voted on; here, all."""
        return np.arange(given.n_public)

    def of_rows(self, votes, rows):
        """Return votes on some of the rows that were voted on; here, what says something of all."""
        return votes

    @abstractmethod
    def gather(self, given, plan, rows, progress):
        """Return `Votes`: private, and free. It may take hours, and nothing leaves."""

    @abstractmethod
    def draw(self, given, plan, rows, votes, published, noise, progress):
        """Draw what is paid for, and add it to what is published, in place."""

    @abstractmethod
    def curator(self, published, votes, plan, delta):
        """Return the private view of what was released."""


def is_ours(part):
    """Whether an object's class is of this library, whose messages quote no private values."""
    return type(part).__module__.partition(".")[0] == __package__.partition(".")[0]


def enrol(electorate, private, X_public, *, seed, memory):
    """Return the `Ballots` of an electorate; nothing is trained yet."""
    if is_ours(electorate):
        return electorate.enrol(private, X_public, seed=seed, memory=memory)
    if isinstance(electorate, TableElectorate):
        raise ValueError(
            f"{type(electorate).__name__} is a TableElectorate of your own, or a subclass, and "
            "what its tables leave behind is not checked: use neighbors.ReverseNeighbors itself"
        )
    private, X_public = _handed_out(private, X_public)
    # A user's electorate may print or warn of private values, and leave them in the process
    name = type(electorate).__name__
    with isolated(fresh_seed() if seed is None else seed_number(seed)):
        ballots = withheld(
            lambda: electorate.enrol(private, X_public, seed=seed, memory=memory),
            f"enrol of {name} failed with",
            "To read the text, call enrol(private, X_public, seed=, memory=) yourself",
        )
    if not isinstance(ballots, Ballots):
        raise TypeError(
            f"enrol of {name} must return electorate.Ballots(...), which says what one protected "
            "unit can change of the votes; got another type"
        )
    if ballots.n_records not in (None, len(private.codes)):
        raise ValueError(
            f"Ballots.n_records of {name} must be the number of private records, or None where "
            "the adjacency does not leave it public"
        )
    return ballots


def collect(given, X_query, on_done):
    """Let the electorate vote on some public rows, and return its `Votes`."""
    electorate, ballots = given.electorate, given.ballots
    own = {"temperature": given.temperature, "seed": given.seeds["teachers"]}

    def cast(private, X_query, on_done):
        counts = electorate.vote(private, X_query, **own, on_done=on_done)
        return np.asarray(counts), electorate.teacher_indices_, electorate.teachers_

    if is_ours(electorate):
        cast_votes = cast(given.private, X_query, on_done)
    else:
        handed_out = _handed_out(given.private, X_query)
        with isolated(seed_number(own["seed"])):
            cast_votes = withheld(
                lambda: cast(*handed_out, lambda n: on_done(int(n))),
                f"vote of {type(electorate).__name__} failed with",
                "No label was released. To read the text, call enrol, and vote(private, X_query, "
                "temperature=, seed=, on_done=), yourself",
                TeacherError,
            )
    counts, teacher_indices, teachers = cast_votes
    votes = Votes(
        counts,
        given.classes,
        ballots,
        temperature=given.temperature,
        teacher_indices=teacher_indices,
        teachers=teachers,
    )
    n_queries = _num_samples(X_query)
    if counts.shape[:1] != (n_queries,) or not are_complete(votes):
        raise TeacherError(
            f"vote of {type(electorate).__name__} must return {n_queries} rows of "
            f"{len(given.classes)} counts, each of which sums to n_teachers="
            f"{ballots.n_teachers}, as enrol said. No label was released"
        )
    return votes


def _handed_out(private, X_public):
    """Return what an electorate of the user's gets: public parts, as it may write, are its own."""
    own = dataclasses.replace(private, classes=private.classes.copy())
    return own, copied_data(X_public)


def are_complete(votes):
    """Whether each row holds one vote of each teacher, or probabilities that sum to at most 1."""
    counts = votes.counts
    if counts.ndim != 2 or counts.shape[1] != len(votes.classes) or counts.dtype.kind not in "iuf":
        return False
    if not (counts >= 0).all():
        return False
    n_teachers = votes.ballots.n_teachers
    sums = counts.sum(axis=1, dtype=float)  # small types would round or overflow
    if votes.temperature is not None:  # probabilities are rounded down
        return bool((sums <= n_teachers * (1 + 1e-9)).all())
    return bool((sums == n_teachers).all() and (counts == np.floor(counts)).all())

"""Trials: candidates are drawn, fitted and scored; the best is kept, the rest forgotten."""

import math
from dataclasses import replace
from typing import NamedTuple

from sklearn.base import clone

from ..exceptions import StudentError
from ..fitting.given import check_given
from ..fitting.keeping import Paid
from ..fitting.release import poll
from ..isolation import Quiet, uncounted
from .candidates import Candidate, teachers_key


class Trial(NamedTuple):
    """One trial: private, unless it is the best.

    Attributes
    ----------
    score : float
        The higher the better; -inf if the student could not be trained.
    tie_breaker : float
        A random number that decides between equal scores.
    candidate : Candidate
        What was tried.
    fitted : PATEClassifier or StudentError
        The fitted estimator, or why there is none.
    """

    score: float
    tie_breaker: float
    candidate: Candidate
    fitted: object

    def beats(self, other):
        """Return whether this trial is better than another, or there is no other."""
        if other is None:
            return True
        return (self.score, self.tie_breaker) > (other.score, other.tie_breaker)


class Trials:
    """Runs trials; those that need the same teachers share the votes of these.

    Parameters
    ----------
    candidates : list of Candidate
        With their noise set.
    plans : list of Plan
        The plan of each candidate.
    fit_data : dict
        What `PATEClassifier.poll` takes.
    are_drawn : bool
        Whether a synthesizer drew the public rows.
    scorer : PublicScorer or PrivateScorer
        Scores the trials.
    rng : numpy.random.Generator
        Draws the number of trials and their candidates.
    seeded : bool
        Whether teachers and noise are seeded from `rng`; else by the operating system.
    """

    def __init__(self, candidates, plans, fit_data, scorer, rng, *, seeded, are_drawn):
        self._candidates = candidates
        self._plans = plans
        self._fit_data = fit_data
        self._scorer = scorer
        self._rng = rng
        self._seeded = seeded
        self._are_drawn = are_drawn
        self._votes = {}

    def best(self, count):
        """Return the best of a random number of trials; None if there were none.

        Parameters
        ----------
        count : TrialCount
            The random number of trials.
        """
        best = None
        # What trials print, warn of or count would tell how many there were
        with Quiet(), uncounted():
            for _ in range(count.draw(self._rng)):
                number = int(self._rng.integers(len(self._candidates)))
                trial = self._run(self._candidates[number], self._plans[number])
                if trial.beats(best):
                    best = trial
        return best

    def _run(self, candidate, plan):
        """Fit a candidate and score it."""
        teachers_seed, noise_seed = self._draw_seeds()
        # Votes are shared, noise never is: each trial answers with its own
        key = teachers_key(candidate.estimator)
        if key not in self._votes:
            teachers = clone(candidate.estimator).set_params(random_state=teachers_seed)
            given = check_given(teachers, **self._fit_data)
            self._votes[key] = poll(replace(given, are_drawn=self._are_drawn), Paid())
        # An error would tell which candidate was tried
        seeded = {"random_state": noise_seed, "on_bad_plan": "warn"}
        estimator = clone(candidate.estimator).set_params(**seeded)
        try:
            estimator.fit_votes(self._votes[key], self._fit_data["X_public"])
        except StudentError as error:
            return Trial(-math.inf, self._rng.random(), candidate, error)
        score = self._scorer.score(estimator, plan)
        if math.isnan(score):
            score = -math.inf
        return Trial(score, self._rng.random(), candidate, estimator)

    def _draw_seeds(self):
        """Draw the `random_state` of the teachers, and that of the noise."""
        if not self._seeded:
            return None, None
        return self._rng.integers(2**31, size=2).tolist()

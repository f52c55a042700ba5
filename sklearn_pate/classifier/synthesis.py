"""Public rows from a synthesizer: what they cost, rows to rehearse with, and the drawing."""

import contextlib
import dataclasses
import math
from typing import Any

import numpy as np
from sklearn.base import clone

from .._sklearn import InvalidParameterError
from ..accountant import least_scale_of
from ..adjacency import Adjacency
from ..exceptions import BudgetExceededError, warn
from ..identifiers import spelled_identifiers
from ..isolation import Quiet, attempt
from ..rdp import Cost
from ..rules import default_share
from ..teachers import Sites
from .mechanism import is_ours

__all__ = ["Synthesis", "check_no_public", "declared_synthesizer", "rehearsal_rows"]

#: Changes of the data that the histograms of one unit are added or removed by.
_ONE_MOVE = (Adjacency.ADD_OR_REMOVE_RECORD_ALONE, Adjacency.ADD_OR_REMOVE_GROUP_ALONE)


@dataclasses.dataclass(frozen=True, eq=False)
class Synthesis:
    """What a synthesizer releases in one fit.

    Attributes
    ----------
    synthesizer : Synthesizer
        Declared, with its noise set.
    n_moved : int
        By how many units the change that the guarantee covers moves the data: 2 where one takes
        the place of another.
    rows : array-like with n_rows rows or None
        What was drawn; None before.
    """

    synthesizer: Any
    n_moved: int
    rows: Any = None

    @classmethod
    def planned(cls, synthesizer, ballots, *, pure, sizes, epsilon, delta):
        """Set the noise of a declared synthesizer, so that it costs its share of `epsilon`.

        Parameters
        ----------
        synthesizer : Synthesizer
            Declared.
        ballots : Ballots or TableBallots
            They say which change of the data is covered.
        pure : bool
            Whether the votes cost a pure epsilon and nothing else.
        sizes : dict
            `n_columns` and `n_classes`.
        epsilon, delta : float
            The cap of the fit; epsilon may be None.
        """
        member = Adjacency.find(ballots.adjacency)
        if member is None:
            raise ValueError(
                f"adjacency {ballots.adjacency!r} is not one of adjacency.Adjacency, so what a "
                "synthesizer costs under it is not known; use another partition, or public rows"
            )
        n_moved = 1 if member in _ONE_MOVE else 2
        synthesizer = synthesizer.suited_to(pure=pure)
        if synthesizer.with_scale(1.0) is not None:
            if epsilon is None:
                raise ValueError(
                    f"{type(synthesizer).__name__} is calibrated to its share of epsilon, and "
                    "epsilon is None; set epsilon, or the noise of the synthesizer, such as "
                    "noise=LaplaceMechanism(scale), in records"
                )
            epsilon = float(epsilon)  # a cost that is compared with a short float is rounded to it
            share = synthesizer.share
            if share is None:
                share = default_share()
            synthesizer = _calibrated(synthesizer, n_moved, share, epsilon, delta)
        planned = cls(synthesizer, n_moved)
        spent, _ = planned.cost().epsilon(delta)
        if epsilon is not None and spent >= epsilon:
            raise BudgetExceededError(
                f"{type(synthesizer).__name__} costs epsilon={spent:.4g}, which leaves nothing of "
                f"the cap epsilon={epsilon:g} for votes. Use more noise, or raise epsilon. Nothing "
                "was spent"
            )
        return planned

    def cost(self, *orders):
        """Return the `Cost` of the rows, at Renyi orders."""
        cost = self.synthesizer.cost(self.n_moved, *orders)
        if not isinstance(cost, Cost) or math.isnan(cost.pure + cost.mu_squared + cost.delta):
            raise TypeError(
                f"cost of {type(self.synthesizer).__name__} must return a rdp.Cost; got another "
                "type, or no numbers"
            )
        return cost

    def drawn(self, private, ballots, noise, seed):
        """Return the same with its rows, drawn from private data: this is what the cost pays for.

        Parameters
        ----------
        private : PrivateData
            The private data.
        ballots : Ballots or TableBallots
            They say what is protected.
        noise : SeedSequence or BitGenerator
            Source of what protects the data.
        seed : SeedSequence
            Source of all else.
        """
        synthesizer = self.synthesizer
        given = {
            "n_classes": len(private.classes),
            "sample_weight": private.sample_weight,
            "groups": _units(private, ballots),
            "noise": np.random.default_rng(noise),
            "rng": np.random.default_rng(seed),
        }
        failed = None
        with Quiet():
            if is_ours(synthesizer):
                rows = synthesizer.draw(private.X, private.codes, **given)
            else:
                rows, failed = attempt(lambda: synthesizer.draw(private.X, private.codes, **given))
        if failed is not None:
            raise ValueError(
                f"{type(synthesizer).__name__} could not draw rows: {failed}, whose text is "
                "withheld, as it may quote records. What the plan costs is spent"
            )
        if is_ours(synthesizer):
            for text in synthesizer.findings_:
                warn(text)
        return dataclasses.replace(self, rows=rows)


def _calibrated(synthesizer, n_moved, share, epsilon, delta):
    """Return a synthesizer with the noise that costs its share of `epsilon`."""
    calibrated = None
    with contextlib.suppress(InvalidParameterError):  # it names the noise, which nobody gave
        scale = least_scale_of(synthesizer, n_moved, share * epsilon, delta)
        calibrated = synthesizer.with_scale(scale)
        calibrated.cost(n_moved)
    if calibrated is None:
        raise BudgetExceededError(
            f"epsilon={epsilon:g} pays for no rows: there is no noise so large, or so small, that "
            f"{type(synthesizer).__name__} costs its share, {share * epsilon:.3g}. Choose an "
            "epsilon nearer to 1. Nothing was spent"
        )
    return calibrated


def declared_synthesizer(estimator, X, X_public):
    """Return a clone of an estimator's synthesizer that knows the table's public schema, or None.

    Parameters
    ----------
    estimator : PATEClassifier
        Its synthesizer may be None.
    X : array-like with n_samples rows
        Private rows.
    X_public : array-like or None
        As given by the user: none where there is a synthesizer.
    """
    if estimator.synthesizer is None:
        return None
    check_no_public(X_public)
    if isinstance(X, Sites):
        raise ValueError(
            "synthesizer needs the private rows, and with Sites each teacher loads its own; give "
            "X_public"
        )
    synthesizer = clone(estimator.synthesizer)
    synthesizer.declare(X, estimator.classes)
    return synthesizer


def check_no_public(X_public):
    """Refuse public rows beside synthetic ones."""
    if X_public is not None:
        raise ValueError(
            "X_public and synthesizer are two ways to have public rows: give X_public, and "
            "synthesizer=None, or no X_public. Nothing was spent"
        )


def rehearsal_rows(synthesizer):
    """Return rows drawn from the schema alone, in place of those that will be."""
    return synthesizer.rehearsal_rows(synthesizer.n_rows, np.random.default_rng(0))


def _units(private, ballots):
    """Return the protected unit of each record; None where each is one by itself."""
    if private.groups is not None:
        return spelled_identifiers(private.groups, "groups")
    is_named = ballots.adjacency == Adjacency.ADD_OR_REMOVE_RECORD
    if is_named and hasattr(private.X, "index"):
        return spelled_identifiers(private.X.index, "the index of X")
    return None

"""Base classes: a step of a fit, a release of your own, and the release of labels."""

from __future__ import annotations

import sys
from abc import ABC, ABCMeta, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator

if TYPE_CHECKING:
    from .._typing import Estimator
    from ..accounting.findings import Finding
    from ..accounting.plan import MethodSummary, Plan
    from ..fitting.inputs import Inputs
    from ..methods.base import Method
    from ..rdp.contribution import Neighbors
    from ..rdp.event import Event, ProvedEvent
    from ..runtime.private_data import PrivateData
    from .published import Published
    from .votes import Votes


class Step(ABC):
    """One step of a fit: gathered, then paid for, and only then published.

    Each method takes part in one promise: `gather` reads private data and nothing of it leaves;
    `publish` draws noise and reads no private data. An interruption before `pay` costs nothing.
    """

    @abstractmethod
    def gather(self) -> Any:
        """Return the private statistic. It may take hours, and is free."""

    @abstractmethod
    def pay(self) -> None:
        """Record the cost of all steps up to the next one, before its noise is drawn."""

    @abstractmethod
    def publish(self, gathered: Any) -> None:
        """Add noise to the statistic and keep the result, also if a later step fails."""

    def take(self) -> None:
        """Do all three, in this order."""
        gathered = self.gather()
        self.pay()
        self.publish(gathered)


class BaseRelease(ABC):
    """Base class of everything that a fit releases in addition to labels.

    Subclass `Release` for your own releases; a `synthesis.Synthesizer` is a release as well. Plans,
    ledgers, statements and audits use only `with_scale` and `event`, and treat all releases alike.
    """

    #: The part of epsilon that the release costs if its noise is not set, above 0 and below 1: see
    #: `with_scale`. None is the default of its kind.
    epsilon_fraction: float | None = None

    def with_scale(self, scale: float) -> Self | None:
        """Return a copy with noise of this scale; None if the noise is set, as it is here.

        Where the event is pure, its pure epsilon must be proportional to ``1 / scale``.

        Parameters
        ----------
        scale : float
            Above 0.

        Returns
        -------
        BaseRelease or None
            ``clone(self).set_params(scale=scale) if self.scale is None else None``.
        """
        return None

    @abstractmethod
    def event(self, neighbors: Neighbors) -> Event | ProvedEvent:
        """Return the release as the accountant sees it: its cost must hold for every data set.

        Parameters
        ----------
        neighbors : rdp.Neighbors
            The neighboring data sets that are covered. `Neighbors.counts` and `n_units` depend on
            whether a unit is replaced, or joins or leaves.

        Returns
        -------
        rdp.Event or rdp.ProvedEvent
            A mechanism and the contribution of one unit, or a cost proved by hand.
        """


class Release(BaseRelease, BaseEstimator, metaclass=ABCMeta):
    """Base class: numbers of the private records that a fit publishes next to its labels.

    ``PATEClassifier(releases=[...])`` takes any number of them, under the cap of the fit. Planning
    calls `with_scale` and `event`, with public numbers, and a dry run calls `gather` and `publish`
    on public rows with made-up labels. A fit calls `gather` before anything is paid for, then
    writes the cost into the ledger, then calls `publish`, and only its result is published, in
    `released_`. Parameters follow scikit-learn's conventions, and one is `epsilon_fraction`, unless
    the noise is always set. Other attributes are not kept: each call is made on a clone, its output
    is suppressed, and errors about private records are withheld.

    **You prove that the contribution of `event` holds for every data set.** The library cannot
    check it; `audit.audit_release` may refute it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.aggregators import LaplaceMechanism
    >>> from sklearn_pate.rdp import Event
    >>> from sklearn_pate.releases import Release
    >>> class ClassCounts(Release):
    ...     '''Records of each class: one that joins or leaves changes one count by 1.'''
    ...
    ...     def __init__(self, scale=20.0):
    ...         self.scale = scale
    ...
    ...     def event(self, neighbors):
    ...         return Event(LaplaceMechanism(self.scale), neighbors.counts(1))
    ...
    ...     def gather(self, private):
    ...         return np.bincount(private.codes, minlength=len(private.classes))
    ...
    ...     def publish(self, gathered, rng):
    ...         return LaplaceMechanism(self.scale).noisy(gathered[None], rng)[0]
    ...
    ...     def describe(self):
    ...         return "how many records each class has"
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_pate import PATEClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = PATEClassifier(releases=[ClassCounts()], classes=[0, 1, 2], epsilon=4.0)
    >>> clf = clf.fit(X[::2], y[::2], X_public=X[1::2])
    >>> clf.released_[0].shape, clf.privacy_spent_.epsilon <= 4.0
    ((3,), True)
    """

    epsilon_fraction: float = 0.1

    #: Whether all records with one of `private.groups` count as one. Without, a fit whose guarantee
    #: covers groups of records is refused.
    counts_groups = False

    @abstractmethod
    def gather(self, private: PrivateData) -> Any:
        """Compute the private statistic. It may take hours, costs nothing, and does not leave.

        Parameters
        ----------
        private : PrivateData
            Copies: `X`, `codes` (labels as indices into `classes`), `classes`, `sample_weight`
            and `groups`, one whole number for each set of records that are protected together;
            None where each is by itself.

        Returns
        -------
        object
            Private.
        """

    @abstractmethod
    def publish(self, gathered: Any, rng: np.random.Generator) -> Any:
        """Add noise to the statistic, and return the published numbers.

        Parameters
        ----------
        gathered : object
            From `gather`.
        rng : numpy.random.Generator
            Source of all noise: the operating system's generator, unless the fit has a seed.

        Returns
        -------
        ndarray or number
            Of a shape and a kind that follow from public numbers.
        """

    @abstractmethod
    def describe(self) -> str:
        """Describe the release for plan and statement: a few words of public numbers.

        Returns
        -------
        str
        """


class VotesRelease(ABC):
    """Base class: how labels are released; planned, gathered, then published once paid for.

    It has no state: `inputs` are those of the fit, and `plan` has the queries and their cost. A
    `methods.base.Method` has one as its `release`.
    """

    #: Whether class probabilities are released, at any row. Their statistic depends on the noise
    #: that will be drawn.
    releases_proba = False

    #: The most rows that a student is tried on.
    max_dry_run_rows: int = sys.maxsize

    @abstractmethod
    def mechanism(self, estimator: Estimator, method: Method) -> Any:
        """Return the mechanism or the list of mechanisms that answer; refuse one that does not fit.

        Parameters
        ----------
        estimator : PATEClassifier
            It has the `aggregator`.
        method : Method
            The method of the fit.
        """

    @abstractmethod
    def plan(self, inputs: Inputs) -> Plan:
        """Return the queries and their cost, a `Plan`, by public numbers."""

    @abstractmethod
    def dry_run(self, inputs: Inputs, plan: Plan) -> None:
        """Try the user's own mechanisms on made-up votes."""

    @abstractmethod
    def forecast(
        self, inputs: Inputs, plan: Plan
    ) -> tuple[MethodSummary, Iterable[str | Finding], Iterable[str | Finding]]:
        """Return a `MethodSummary`, warnings and errors, by public numbers."""

    def check_votes(self, votes: Any, method: Method, *, is_given: bool) -> None:
        """Refuse votes that a method would not have cast.

        Parameters
        ----------
        votes : Votes or array-like
            As given by the user.
        method : Method
            Made from the parameters.
        is_given : bool
            Whether the parameters name it.
        """
        return None

    @abstractmethod
    def rows(self, inputs: Inputs, plan: Plan) -> np.ndarray:
        """Return the public rows that are voted on."""

    @abstractmethod
    def of_rows(self, votes: Votes, rows: np.ndarray) -> Votes:
        """Return votes on some of the rows that were voted on."""

    @abstractmethod
    def gather(self, inputs: Inputs, plan: Plan, rows: np.ndarray) -> Votes:
        """Return `Votes`: private, and free. It may take hours, and nothing leaves."""

    @abstractmethod
    def publish(
        self,
        inputs: Inputs,
        plan: Plan,
        rows: np.ndarray,
        votes: Votes,
        published: Published,
        noise: np.random.Generator,
    ) -> None:
        """Draw the noise, which is paid for, and add the results to `published`, in place."""

    @abstractmethod
    def curator(self, published: Published, votes: Votes, plan: Plan, delta: float) -> Any:
        """Return the private view of the results."""

"""Base classes of steps of a fit, of user-defined releases, and of releases of labels."""

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
    """One step of a fit: gather a private statistic, pay for it, and publish it with noise.

    `gather` computes a private statistic and publishes nothing. `publish` adds noise to this
    statistic and reads no other private data. An interruption before `pay` costs nothing.
    """

    @abstractmethod
    def gather(self) -> Any:
        """Return the private statistic. This may take hours and has no privacy cost."""

    @abstractmethod
    def pay(self) -> None:
        """Record the cost of all steps up to and including this one."""

    @abstractmethod
    def publish(self, gathered: Any) -> None:
        """Add noise to the statistic, and store the result even if a later step fails."""

    def take(self) -> None:
        """Call `gather`, `pay` and `publish`."""
        gathered = self.gather()
        self.pay()
        self.publish(gathered)


class BaseRelease(ABC):
    """Base class of releases other than labels.

    Subclass `Release` for your own releases. A `synthesis.Synthesizer` is a release as well.
    Calibration and privacy accounting use only `with_scale` and `event`.
    """

    #: Fraction of epsilon for the release if its noise is calibrated, see `with_scale`. It is above
    #: 0, and below 1 unless class sums get all of epsilon. None is the default of the synthesizer.
    epsilon_fraction: float | None = None

    def with_scale(self, scale: float) -> Self | None:
        """Return a copy with noise of this scale, or None if the noise is already set.

        This implementation returns None. If the event is pure, its pure epsilon must be
        proportional to ``1 / scale``.

        Parameters
        ----------
        scale : float
            Scale of the noise, above 0.

        Returns
        -------
        BaseRelease or None
            For a release with a parameter `scale`:
            ``clone(self).set_params(scale=scale) if self.scale is None else None``.
        """
        return None

    @abstractmethod
    def event(self, neighbors: Neighbors) -> Event | ProvedEvent:
        """Return the mechanism of the release; its cost must hold for every data set.

        Parameters
        ----------
        neighbors : rdp.Neighbors
            The neighboring data sets that the guarantee covers. `Neighbors.counts` and `n_units`
            depend on whether a unit is replaced, or is added or removed.

        Returns
        -------
        rdp.Event or rdp.ProvedEvent
            A mechanism and the contribution of one unit, or a cost with its own proof.
        """


class Release(BaseRelease, BaseEstimator, metaclass=ABCMeta):
    """Base class of user-defined statistics that a fit publishes in addition to labels.

    ``PATEClassifier(releases=[...])`` accepts any number of them. `epsilon` limits the cost of all
    releases together. Planning calls `with_scale` and `event`, with public numbers, and a dry run
    calls `gather` and `publish` on public rows with made-up labels. A fit calls `gather`, records
    the cost in the ledger, and calls `publish`. Only the result of `publish` is published, in
    `released_`. Parameters follow scikit-learn's conventions. `epsilon_fraction` should be one of
    them, unless the noise is always set. Other attributes are not kept: each call is made on a
    clone, its output is suppressed, and the text of errors on private records is redacted.

    **You must prove that the contribution of `event` holds for every data set.** The library
    cannot check this, although `audit.audit_release` can sometimes refute it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.aggregators import LaplaceMechanism
    >>> from sklearn_pate.rdp import Event
    >>> from sklearn_pate.releases import Release
    >>> class ClassCounts(Release):
    ...     '''Class counts: adding or removing a record changes one count by 1.'''
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
    ...         return "the number of records of each class"
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_pate import PATEClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = PATEClassifier(releases=[ClassCounts()], classes=[0, 1, 2], epsilon=4.0)
    >>> clf = clf.fit(X[::2], y[::2], X_public=X[1::2])
    >>> clf.released_[0].shape, clf.privacy_spent_.epsilon <= 4.0
    ((3,), True)
    """

    epsilon_fraction: float = 0.1

    #: Whether `gather` counts all records of a group in `private.groups` as one record. If False,
    #: a fit raises an error if its guarantee covers groups of records.
    counts_groups = False

    @abstractmethod
    def gather(self, private: PrivateData) -> Any:
        """Compute the private statistic. This may take hours and has no privacy cost.

        Parameters
        ----------
        private : PrivateData
            Copies of `X`, `codes` (labels as indices into `classes`), `classes`, `sample_weight`
            and `groups`. Records that are protected together have the same whole number in
            `groups`. It is None if each record is protected by itself.

        Returns
        -------
        object
            The private statistic. It is passed to `publish`, and not published itself.
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
            Published numbers. Their shape and dtype must depend on public numbers only.
        """

    @abstractmethod
    def describe(self) -> str:
        """Describe the release in a few words, from public numbers, for plan and statement.

        Returns
        -------
        str
        """


class VotesRelease(ABC):
    """Base class of releases of labels.

    An instance has no state. In all methods, `inputs` are the `Inputs` of the fit, and `plan` has
    the queries and their cost. A `methods.base.Method` has an instance as its `release`.
    """

    #: Whether class probabilities at any row are released. The layout of the private statistic then
    #: depends on the planned noise.
    releases_proba = False

    #: Whether `gather` reads the private records.
    reads_records = True

    #: Maximal number of rows in the dry run of a student.
    max_dry_run_rows: int = sys.maxsize

    @abstractmethod
    def mechanism(self, estimator: Estimator, method: Method) -> Any:
        """Return the mechanism, or a list of mechanisms.

        An unsuitable `aggregator` raises an error.

        Parameters
        ----------
        estimator : PATEClassifier
            Estimator with the parameter `aggregator`.
        method : Method
            The method of the fit.
        """

    @abstractmethod
    def plan(self, inputs: Inputs) -> Plan:
        """Return a `Plan` with the queries and their cost, from public numbers only."""

    @abstractmethod
    def dry_run(self, inputs: Inputs, plan: Plan) -> None:
        """Try user-defined mechanisms on made-up votes."""

    @abstractmethod
    def forecast(
        self, inputs: Inputs, plan: Plan
    ) -> tuple[MethodSummary, Iterable[str | Finding], Iterable[str | Finding]]:
        """Return a `MethodSummary`, warnings and errors, from public numbers only."""

    def check_votes(self, votes: Any, method: Method, *, is_given: bool) -> None:
        """Raise an error for votes of another method; this implementation accepts all votes.

        Parameters
        ----------
        votes : Votes or array-like
            As given by the user.
        method : Method
            The method of `fit_votes`.
        is_given : bool
            Whether the user set the parameter `method`. If False, it is "auto".
        """
        return None

    def check_several(self, estimator: Estimator, method: Method, strategy: Any) -> None:
        """Raise an error if labels of several targets cannot be released.

        This implementation accepts all parameters.

        Parameters
        ----------
        estimator : PATEClassifier
            Estimator with the parameters.
        method : Method
            The method of the fit.
        strategy : object
            The query strategy.

        Raises
        ------
        ValueError
            If a parameter is for one target.
        """
        return None

    @abstractmethod
    def rows(self, inputs: Inputs, plan: Plan) -> np.ndarray:
        """Return the indices of the public rows to vote on."""

    @abstractmethod
    def of_rows(self, votes: Votes, rows: np.ndarray) -> Votes:
        """Select the votes on some rows from votes on all public rows."""

    @abstractmethod
    def gather(self, inputs: Inputs, plan: Plan, rows: np.ndarray) -> Votes:
        """Return the private `Votes`. This may take hours and has no privacy cost."""

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
        """Draw the noise after it is paid for, and add the results to `published`, in place."""

    @abstractmethod
    def curator(self, published: Published, votes: Votes, plan: Plan, delta: float) -> Any:
        """Return the private view of the results."""

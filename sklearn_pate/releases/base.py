"""What is published of votes, and a release of your own beside it: the base classes."""

from abc import ABC, ABCMeta, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator


class Release(BaseEstimator, metaclass=ABCMeta):
    """Base class: numbers of the private records that a fit publishes beside its labels.

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

    #: The part of epsilon that the release costs if its noise is not set, above 0 and below 1: see
    #: `with_scale`.
    epsilon_fraction: float = 0.1

    #: Whether all records with one of `private.groups` count as one. Without, a fit whose guarantee
    #: covers groups of records is refused.
    counts_groups = False

    def with_scale(self, scale):
        """Return a copy with noise of this scale; None if the noise is set, as it is here.

        Where the event is pure, its pure epsilon must be proportional to ``1 / scale``.

        Parameters
        ----------
        scale : float
            Above 0.

        Returns
        -------
        Release or None
            ``clone(self).set_params(scale=scale) if self.scale is None else None``.
        """
        return None

    @abstractmethod
    def event(self, neighbors):
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

    @abstractmethod
    def gather(self, private):
        """Compute the private statistic. It may take hours, costs nothing, and does not leave.

        Parameters
        ----------
        private : electorate.PrivateData
            Copies: `X`, `codes` (labels as indices into `classes`), `classes`, `sample_weight`
            and `groups`, whole numbers that say which records are protected together; None where
            each is by itself.

        Returns
        -------
        object
            Private.
        """

    @abstractmethod
    def publish(self, gathered, rng):
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
    def describe(self):
        """Say what is released, for plan and statement: a few words of public numbers.

        Returns
        -------
        str
        """


class VotesRelease(ABC):
    """Base class: what is published of votes, planned, gathered, and drawn once it is paid for.

    It holds nothing: `given` says all that a fit was given, and `plan` what it will ask and spend.
    `release_of` says which electorate has which.
    """

    #: Whether what is released are rates of the classes, at any row. What is gathered for them
    #: follows from the noise that will be drawn.
    gives_rates = False

    #: The most rows that a student is tried on.
    most_rehearsed = np.inf

    @abstractmethod
    def refused(self, estimator):
        """Return the parameters that say nothing here, each with what it says."""

    @abstractmethod
    def mechanism(self, estimator):
        """Return what answers, as the parameters say; refuse what does not fit here."""

    @abstractmethod
    def plan(self, given):
        """Return what to ask and what it costs, a `Plan`, by public numbers."""

    @abstractmethod
    def rehearse(self, given, plan):
        """Try what is the user's own on made-up votes."""

    @abstractmethod
    def forecast(self, given, plan):
        """Return who votes, and problems and obstacles, by public numbers."""

    def check_votes(self, votes, electorate, *, is_given):
        """Refuse votes that an electorate would not have cast.

        Parameters
        ----------
        votes : Votes or array-like
            As given by the user.
        electorate : Electorate
            That of the parameters.
        is_given : bool
            Whether it was asked for.
        """
        return None

    @abstractmethod
    def rows(self, given, plan):
        """Return the public rows that are voted on."""

    @abstractmethod
    def of_rows(self, votes, rows):
        """Return votes on some of the rows that were voted on."""

    @abstractmethod
    def gather(self, given, plan, rows):
        """Return `Votes`: private, and free. It may take hours, and nothing leaves."""

    @abstractmethod
    def draw(self, given, plan, rows, votes, published, noise):
        """Draw what is paid for, and add it to what is published, in place."""

    @abstractmethod
    def curator(self, published, votes, plan, delta):
        """Return the private view of what was released."""

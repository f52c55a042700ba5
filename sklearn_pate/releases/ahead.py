"""What is released beside the votes: rows that a synthesizer draws first, and the user's own."""

import copy
import random
import sys
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone

from .._sklearn import _num_samples
from ..accountant.pricing import calibrated, priced, stated_cost, stated_event
from ..aggregators import TableMechanism
from ..aggregators.table import rehearse_table
from ..electorate import PrivateData
from ..exceptions import BudgetExceededError
from ..identifiers import spelled_groups, spelled_identifiers
from ..isolation import Quiet, copied_data, is_ours, isolated, kind_of, withheld, without_index
from ..rdp import NeighboringRelation, Neighbors
from ..rdp.contribution import OF_NAMED_GROUPS
from ..rules import default_share
from ..schema import difference
from ..secure import noise_generator
from ..targets import Target
from .base import Release


@dataclass(frozen=True, eq=False)
class Synthesis:
    """The steps of a synthesizer in one fit: the parts published so far, and the rows.

    Attributes
    ----------
    synthesizer : Synthesizer
        Declared, with its noise set.
    neighbors : Neighbors
        The neighboring data sets that are covered.
    target : targets.Target
        Classes or levels that the records vote for.
    published : tuple
        The part of each step so far.
    rows : array-like with n_rows rows or None
        The synthetic rows; None before they are drawn.
    entries : tuple of (ledger, entry)
        Ledgers that have recorded the steps so far, each with its entry.
    generator : str or None
        The source of the noise, as in `PrivacySpent`; None before the first step.
    ledgers : list
        Ledgers that have recorded the cost of all steps in an entry with labels. It grows, and is
        shared by all copies: each call of `fit_votes` on the same rows finds it.
    """

    synthesizer: Any
    neighbors: Neighbors
    target: Target
    published: tuple = ()
    rows: Any = None
    entries: tuple = field(default=(), repr=False)
    generator: str | None = None
    ledgers: list = field(default_factory=list, repr=False)

    @property
    def prior(self):
        """The statistics that the synthesizer released with its rows; None if it keeps none."""
        return getattr(self.synthesizer, "released_", None)

    @classmethod
    def planned(cls, synthesizer, private, neighbors, *, pure, epsilon, delta):
        """Set the noise of a declared synthesizer, so that it costs its share of `epsilon`.

        Parameters
        ----------
        synthesizer : Synthesizer
            Declared.
        private : PrivateData
            The private data.
        neighbors : Neighbors
            The neighboring data sets that are covered.
        pure : bool
            Whether the votes cost a pure epsilon and nothing else.
        epsilon, delta : float
            The cap of the fit; epsilon may be None.
        """
        units_of(private, neighbors)  # refuses what would fail once rows are paid for
        synthesizer = synthesizer.suited_to(pure=pure)
        share = default_share() if synthesizer.share is None else synthesizer.share
        event_of = partial(stated_event, neighbors=neighbors)
        synthesizer = calibrated(synthesizer, event_of, epsilon, delta, share=share)
        spent, _ = stated_cost(synthesizer, neighbors).epsilon(delta)
        is_all = synthesizer.share == 1
        if epsilon is not None and (spent > epsilon if is_all else spent >= epsilon):
            raise BudgetExceededError(
                f"{type(synthesizer).__name__} costs epsilon={spent:.4g}, which leaves nothing of "
                f"the cap epsilon={epsilon:g} for votes. Use more noise, or raise epsilon"
            )
        noise = getattr(synthesizer, "noise", None)
        if isinstance(noise, TableMechanism):
            n_classes = private.target.n_values
            rehearse_table(noise, contribution=neighbors.counts(1), n_classes=n_classes)
        return cls(synthesizer, neighbors, private.target)

    @property
    def cost(self):
        """The cost of the steps that are published; None before the first."""
        return self.cost_of_steps(len(self.published)) if self.published else None

    def cost_of_steps(self, n_steps):
        """Return the cost of the first steps; of all of them, the cost that the plan states."""
        is_all = n_steps == self.synthesizer.n_steps
        event = self.synthesizer.event(self.neighbors, n_steps=None if is_all else n_steps)
        return priced(event, self.synthesizer)

    def entry_in(self, ledger):
        """Return the entry of a ledger that has recorded steps; None if it has not."""
        return next((entry for own, entry in self.entries if own is ledger or own == ledger), None)

    def is_recorded_in(self, ledger):
        """Return whether an entry of a ledger has the cost."""
        return self.entry_in(ledger) is not None or ledger in self.ledgers

    def gather(self, private):
        """Return the statistics of the next step: private, and free."""
        synthesizer = self.synthesizer
        units = units_of(private, self.neighbors)
        records = (private.X, private.codes, private.sample_weight, units, private.target)

        def gather():
            X, codes, weight, groups, target = records
            given = {"sample_weight": weight, "groups": groups, "target": target}
            return synthesizer.gather(X, codes, **given, published=self.published)

        with Quiet():
            if is_ours(synthesizer):  # its errors quote no values
                return gather()
            records = copied_data(records)  # it may write into them
            name = type(synthesizer).__name__
            return withheld(gather, f"gather of {name} failed:", "Its step is not paid for")

    def publish(self, gathered, noise, *, generator):
        """Return the same with the part of the next step, which is paid for.

        Parameters
        ----------
        gathered : object
            From `gather`.
        noise : numpy.random.Generator
            Source of the noise that protects the data.
        generator : str
            Its kind, as in `PrivacySpent`.
        """
        synthesizer = self.synthesizer
        with Quiet():
            part = withheld(
                lambda: synthesizer.publish(gathered, noise, published=self.published),
                f"publish of {type(synthesizer).__name__} failed:",
                "It is paid for",
            )
        generator = "seed" if self.generator == "seed" else generator  # of an earlier step
        return replace(self, published=(*self.published, part), generator=generator)

    def with_rows(self, rng):
        """Return the same with rows, drawn from the published parts: it is free.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of the rows.
        """
        synthesizer = self.synthesizer
        name = type(synthesizer).__name__

        def draw():
            rows = synthesizer.draw(self.published, rng)
            # Without index or attributes
            is_bare = isinstance(rows, np.ndarray | list | tuple)
            return np.array(rows) if is_bare else without_index(rows)

        with Quiet():
            rows = withheld(draw, f"{name} could not draw rows:", "They are paid for")
        expected = rehearsal_rows(synthesizer)
        if np.shape(rows) != np.shape(expected) or difference(rows, expected) is not None:
            raise ValueError(
                f"draw of {name} must return n_rows={synthesizer.n_rows} rows with the columns and "
                "dtypes of rehearsal_rows; got others. They are paid for"
            )
        return replace(self, rows=rows)


def publish_rows(synthesis, private, noise, rng, *, generator, pay, keep):
    """Run the steps of a synthesizer that are left, and draw rows.

    Each step is gathered, then paid for, then published; an interruption keeps published steps.

    Parameters
    ----------
    synthesis : Synthesis
        Planned.
    private : PrivateData
        The private data.
    noise, rng : numpy.random.Generator
        Sources of the noise and of the rows.
    generator : str
        The kind of the noise's source, as in `PrivacySpent`.
    pay : callable
        ``pay(synthesis, n_steps)`` records the cost of the first steps up to the next, and returns
        the same with the ledger's entry.
    keep : callable
        ``keep(synthesis)`` is called after each step, and with the rows.

    Returns
    -------
    Synthesis
    """
    for n_steps in range(len(synthesis.published) + 1, synthesis.synthesizer.n_steps + 1):
        gathered = synthesis.gather(private)
        synthesis = pay(synthesis, n_steps)
        synthesis = synthesis.publish(gathered, noise, generator=generator)
        keep(synthesis)
    if synthesis.rows is None:
        synthesis = synthesis.with_rows(rng)
        keep(synthesis)
    return synthesis


def rehearsal_rows(synthesizer):
    """Return rows drawn from the schema alone, in place of those that will be."""
    return synthesizer.rehearsal_rows(synthesizer.n_rows, np.random.default_rng(0))


def units_of(private, neighbors):
    """Return the protected unit of each record; None where each is one by itself.

    All records of a unit count once in each histogram. So they must be known.
    """
    neighbors.check_known()
    if neighbors.unit == "record" and neighbors.relation not in OF_NAMED_GROUPS:
        is_identified = neighbors.relation == NeighboringRelation.ADD_REMOVE_OR_CHANGE_ONE
        are_identified = is_identified and hasattr(private.X, "index")
        return spelled_identifiers(private.X.index, "the index of X") if are_identified else None
    if private.groups is None:
        raise ValueError(
            f"this fit protects groups of records ({neighbors.relation}), and groups= is None: "
            "with a synthesizer or releases of yours, give groups=, one identifier per record"
        )
    return spelled_groups(private.groups, len(private.codes))


# --- releases of the user's own: calibrated, tried on public rows, gathered, drawn ----------------


#: Draws that are all equal do not follow the generator that they are given.
_N_DRAWS = 5


def planned(releases, private, neighbors, *, epsilon, delta):
    """Check releases, and set the noise of those that have none. None of them sees a record.

    Parameters
    ----------
    releases : list of Release or None
        As given by the user.
    private : PrivateData
        The private data.
    neighbors : Neighbors
        The neighboring data sets that are covered.
    epsilon, delta : float
        The cap of the fit; epsilon may be None.

    Returns
    -------
    tuple of Release
        With their noise set.
    """
    if not releases:
        return ()
    has_units = units_of(private, neighbors) is not None
    ready = []
    for release in releases:
        if not isinstance(release, Release):
            raise TypeError(
                "releases must be a list of releases.Release, each an instance; got "
                f"{type(release)}"
            )
        name, fraction = type(release).__name__, release.epsilon_fraction
        if has_units and not release.counts_groups:
            raise ValueError(
                f"{name} does not say counts_groups, and this fit protects all records of a group "
                f"or identifier together ({neighbors.relation})"
            )
        is_fraction = isinstance(fraction, Real) and 0 < fraction < 1
        if not is_fraction and release.with_scale(1.0) is not None:
            raise ValueError(
                f"epsilon_fraction of {name} must be a number between 0 and 1; got {fraction!r}"
            )
        # What is no parameter is not kept: what is drawn by is what costs are asked of
        event_of = partial(stated_event, neighbors=neighbors)
        release = calibrated(clone(release), event_of, epsilon, delta, share=fraction)
        release = clone(release)
        stated_cost(release, neighbors)
        ready.append(release)
    return tuple(ready)


def rehearse(releases, X_public, private):
    """Try all on public rows; return what each would publish.

    It comes before `gather`: errors here are told in full.
    """
    n_public = _num_samples(X_public)
    made_up = PrivateData(
        X=X_public,
        codes=private.target.alternating(n_public),
        target=private.target,
        sample_weight=None if private.sample_weight is None else np.ones(n_public),
    )
    tried = []
    for release in releases:
        own = replace(made_up, groups=np.arange(n_public)) if release.counts_groups else made_up
        try:
            with isolated(0):
                gathered = _gathered(release, own)
                copies = [copy.deepcopy(gathered) for _ in range(_N_DRAWS)]
                drawn = [_drawn_once(release, each, noise_generator()) for each in copies]
                if all(np.array_equal(drawn[0], other) for other in drawn):
                    raise RuntimeError(
                        f"{_N_DRAWS} draws were all equal: all noise must come from rng"
                    )
                tried.append(drawn[0])
        except Exception as error:
            raise ValueError(
                f"{type(release).__name__} failed when tried on public rows and made-up "
                f"labels. {type(error).__name__}: {error}"
            ) from error
    return tried


def gather(releases, private, neighbors, rng):
    """Return what each gathers of private records: private, and free."""
    units = units_of(private, neighbors)
    numbers = None if units is None else np.unique(units, return_inverse=True)[1]
    own = replace(private, groups=numbers)
    return [
        _silently(f"gather of {type(release).__name__}", rng, _gathered, release, own)
        for release in releases
    ]


def draw(releases, gathered, rng, tried):
    """Yield what is published of each, once all are paid for.

    Parameters
    ----------
    releases : tuple of Release
        From `planned`.
    gathered : list
        From `gather`.
    rng : Generator
        Source of the noise.
    tried : list
        From `rehearse`.
    """
    for release, private, expected in zip(releases, gathered, tried, strict=True):
        name = type(release).__name__
        drawn = _silently(f"publish of {name}", rng, _drawn_once, release, private, rng)
        if drawn.shape != expected.shape or drawn.dtype != expected.dtype:
            raise ValueError(
                f"publish of {name} must return an array of the form that it has for public rows, "
                f"shape {expected.shape} of {kind_of(expected.dtype)}; got another, withheld"
            )
        yield drawn


def _gathered(release, private):
    """Gather by a clone, which keeps nothing, from copies that it may write into."""
    return clone(release).gather(PrivateData(**copied_data(vars(private))))


def _drawn_once(release, gathered, rng):
    """Draw by a clone; what it draws becomes plain numbers."""
    before = _global_state()
    # A copy, without what a table or an object may carry beside it
    drawn = np.array(clone(release).publish(gathered, rng))
    if _global_state() != before:
        raise RuntimeError(
            "publish took numbers from a global generator: all noise must come from rng"
        )
    if drawn.dtype.kind not in "biuf":
        raise TypeError(f"publish must return numbers; got {kind_of(drawn.dtype)}")
    return drawn


def _global_state():
    """Return what changes as the global generator of numpy, Python or torch is drawn from."""
    torch = sys.modules.get("torch")
    of_torch = None if torch is None else torch.get_rng_state().numpy().tobytes()
    return str(np.random.get_state(legacy=False)), random.getstate(), of_torch


def _silently(said, rng, function, *given):
    """Call a function in silence; errors say no more than what failed."""
    with isolated(int(rng.integers(2**32))):
        return withheld(
            lambda: function(*given), f"{said} failed with", "Try it on made-up records"
        )

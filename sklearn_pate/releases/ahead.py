"""What is released beside the votes: rows that a synthesizer draws first, and the user's own."""

import copy
import random
import sys
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone

from .._sklearn import _num_samples
from ..accountant.pricing import calibrated, stated_cost
from ..aggregators import TableMechanism
from ..aggregators.table import rehearse_table
from ..electorate import Adjacency, PrivateData
from ..exceptions import BudgetExceededError
from ..identifiers import spelled_groups, spelled_identifiers
from ..isolation import Quiet, copied_data, is_ours, isolated, kind_of, withheld, without_index
from ..rules import default_share
from ..schema import difference
from ..secure import noise_generator
from .base import Release

#: Changes of the data that the histograms of one unit are added or removed by.
_ONE_MOVE = (Adjacency.ADD_OR_REMOVE_RECORD_ALONE, Adjacency.ADD_OR_REMOVE_GROUP_ALONE)

#: Changes of the data under which each record is a unit, by itself or by its identifier.
_OF_RECORDS = (
    Adjacency.REPLACE_RECORD,
    Adjacency.ADD_OR_REMOVE_RECORD,
    Adjacency.ADD_OR_REMOVE_RECORD_ALONE,
)


@dataclass(frozen=True, eq=False)
class Synthesis:
    """What a synthesizer releases in one fit.

    Attributes
    ----------
    synthesizer : Synthesizer
        Declared, with its noise set.
    ballots : Ballots or TableBallots
        They say which change of the data is covered.
    rows : array-like with n_rows rows or None
        What was drawn; None before.
    ledgers : list
        Those that have recorded the cost of the rows; one is added when it has.
    generator : str or None
        The source of their noise, as in `PrivacySpent`; None before the drawing.
    """

    synthesizer: Any
    ballots: Any
    rows: Any = None
    ledgers: list = field(default_factory=list, repr=False)
    generator: str | None = None

    @property
    def prior(self):
        """The statistics that the synthesizer released with its rows; None if it keeps none."""
        return getattr(self.synthesizer, "released_", None)

    @classmethod
    def planned(cls, synthesizer, private, ballots, *, pure, epsilon, delta):
        """Set the noise of a declared synthesizer, so that it costs its share of `epsilon`.

        Parameters
        ----------
        synthesizer : Synthesizer
            Declared.
        private : PrivateData
            The private data.
        ballots : Ballots or TableBallots
            They say which change of the data is covered.
        pure : bool
            Whether the votes cost a pure epsilon and nothing else.
        epsilon, delta : float
            The cap of the fit; epsilon may be None.
        """
        n_moved = moved_by(ballots)
        units_of(private, ballots)  # refuses what would fail once rows are paid for
        synthesizer = synthesizer.suited_to(pure=pure)
        share = default_share() if synthesizer.share is None else synthesizer.share
        synthesizer = calibrated(synthesizer, n_moved, epsilon, delta, share=share)
        spent, _ = stated_cost(synthesizer, n_moved).epsilon(delta)
        is_all = synthesizer.share == 1
        if epsilon is not None and (spent > epsilon if is_all else spent >= epsilon):
            raise BudgetExceededError(
                f"{type(synthesizer).__name__} costs epsilon={spent:.4g}, which leaves nothing of "
                f"the cap epsilon={epsilon:g} for votes. Use more noise, or raise epsilon"
            )
        noise = getattr(synthesizer, "noise", None)
        if isinstance(noise, TableMechanism):
            rehearse_table(noise, n_changed=n_moved, n_classes=len(private.classes))
        return cls(synthesizer, ballots)

    def drawn(self, private, noise, seed, *, generator):
        """Return the same with its rows, drawn from private data: this is what the cost pays for.

        Parameters
        ----------
        private : PrivateData
            The private data.
        noise : SeedSequence or BitGenerator
            Source of what protects the data.
        seed : SeedSequence
            Source of all else.
        generator : str
            What `noise` is, as in `PrivacySpent`.
        """
        synthesizer = self.synthesizer
        name = type(synthesizer).__name__
        units = units_of(private, self.ballots)
        records = (private.X, private.codes, private.sample_weight, units)
        sources = {"noise": np.random.default_rng(noise), "rng": np.random.default_rng(seed)}

        def draw():
            X, codes, weight, groups = records
            given = {"sample_weight": weight, "groups": groups, "n_classes": len(private.classes)}
            rows = synthesizer.draw(X, codes, **given, **sources)
            # Without what a table may carry beside them
            is_bare = isinstance(rows, np.ndarray | list | tuple)
            return np.array(rows) if is_bare else without_index(rows)

        with Quiet():
            if not is_ours(synthesizer):
                records = copied_data(records)  # what it writes into reaches nobody else
            rows = withheld(draw, f"{name} could not draw rows:", "They are paid for")
        expected = rehearsal_rows(synthesizer)
        if np.shape(rows) != np.shape(expected) or difference(rows, expected) is not None:
            raise ValueError(
                f"draw of {name} must return n_rows={synthesizer.n_rows} rows with the columns and "
                "dtypes of rehearsal_rows; got others. They are paid for"
            )
        return replace(self, rows=rows, generator=generator)


def rehearsal_rows(synthesizer):
    """Return rows drawn from the schema alone, in place of those that will be."""
    return synthesizer.rehearsal_rows(synthesizer.n_rows, np.random.default_rng(0))


def moved_by(ballots):
    """Return by how many units the change that is covered moves the data: 2 for a replacement."""
    if ballots.adjacency not in list(Adjacency):
        raise ValueError(
            f"adjacency {ballots.adjacency!r} is not one of electorate.Adjacency, so what rows or "
            "releases of yours cost under it is not known; use another partition"
        )
    return 1 if ballots.adjacency in _ONE_MOVE else 2


def units_of(private, ballots):
    """Return the protected unit of each record; None where each is one by itself.

    All records of a unit count once in each histogram. So they must be known.
    """
    adjacency = str(ballots.adjacency)
    if ballots.unit == "teacher" or adjacency == Adjacency.CHANGE_TEACHER:
        raise ValueError(
            f"adjacency {adjacency!r} protects the votes of one teacher; with a synthesizer or "
            "releases of yours, state an adjacency of records or groups"
        )
    if ballots.unit == "record" and adjacency in _OF_RECORDS:
        are_named = adjacency == Adjacency.ADD_OR_REMOVE_RECORD and hasattr(private.X, "index")
        return spelled_identifiers(private.X.index, "the index of X") if are_named else None
    if private.groups is None:
        raise ValueError(
            f"adjacency {adjacency!r} protects groups of records, and groups= is None: with a "
            "synthesizer or releases of yours, give groups=, one identifier per record"
        )
    return spelled_groups(private.groups, len(private.codes))


# --- releases of the user's own: calibrated, tried on public rows, gathered, drawn ----------------


#: Draws that are all equal do not follow the generator that they are given.
_N_DRAWS = 5


def planned(releases, private, ballots, *, epsilon, delta):
    """Check releases, and set the noise of those that have none. None of them sees a record.

    Parameters
    ----------
    releases : list of Release or None
        As given by the user.
    private : PrivateData
        The private data.
    ballots : Ballots or TableBallots
        They say which change of the data is covered.
    epsilon, delta : float
        The cap of the fit; epsilon may be None.

    Returns
    -------
    tuple of Release
        With their noise set.
    """
    if not releases:
        return ()
    has_units = units_of(private, ballots) is not None
    n_moved = moved_by(ballots)
    ready = []
    for release in releases:
        if not isinstance(release, Release):
            raise TypeError(
                "releases must be a list of releases.Release, each an instance; got "
                f"{type(release)}"
            )
        name, share = type(release).__name__, release.share
        if has_units and not release.counts_groups:
            raise ValueError(
                f"{name} does not say counts_groups, and this fit protects all records of a group "
                f"or identifier together ({ballots.adjacency})"
            )
        is_share = isinstance(share, Real) and 0 < share < 1
        if not is_share and release.with_scale(1.0) is not None:
            raise ValueError(f"share of {name} must be a number between 0 and 1; got {share!r}")
        # What is no parameter is not kept: what is drawn by is what costs are asked of
        release = clone(calibrated(clone(release), n_moved, epsilon, delta, share=share))
        stated_cost(release, n_moved)
        ready.append(release)
    return tuple(ready)


def rehearse(releases, X_public, private):
    """Try all on public rows; return what each would publish.

    It comes before `gather`: errors here are told in full.
    """
    n_public = _num_samples(X_public)
    made_up = PrivateData(
        X=X_public,
        codes=(np.arange(n_public) % len(private.classes)).astype(private.codes.dtype),
        classes=private.classes,
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


def gather(releases, private, ballots, rng):
    """Return what each gathers of private records: private, and free."""
    units = units_of(private, ballots)
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
        drawn = _silently(f"draw of {name}", rng, _drawn_once, release, private, rng)
        if drawn.shape != expected.shape or drawn.dtype != expected.dtype:
            raise ValueError(
                f"draw of {name} must return what has the form of what it drew for public rows, "
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
    drawn = np.array(clone(release).draw(gathered, rng))
    if _global_state() != before:
        raise RuntimeError(
            "draw took numbers from a global generator: all noise must come from rng"
        )
    if drawn.dtype.kind not in "biuf":
        raise TypeError(f"draw must return numbers; got {kind_of(drawn.dtype)}")
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

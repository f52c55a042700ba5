"""Releases of the user's own: calibrated, tried on public rows, gathered, and drawn."""

import copy
import random
import sys
from dataclasses import replace
from numbers import Real

import numpy as np
from sklearn.base import clone

from .._sklearn import _num_samples
from ..accountant.stages import check_with_scale
from ..accountant.table import calibrated, stated_cost
from ..electorate import PrivateData
from ..isolation import copied_data, isolated, kind_of, withheld
from ..secure import noise_generator
from .base import Release
from .rows import moved_by, units_of

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
    for release in releases:
        if not isinstance(release, Release):
            raise TypeError(
                "releases must be a list of releases.Release, each an instance; got "
                f"{release if isinstance(release, type) else type(release)}"
            )
    has_units = units_of(private, ballots) is not None
    for release in releases:
        if has_units and not release.counts_groups:
            raise ValueError(
                f"{type(release).__name__} does not say counts_groups, and this fit protects all "
                f"records of a group or identifier together ({ballots.adjacency})"
            )
    n_moved = moved_by(ballots)
    return tuple(_with_noise(clone(release), n_moved, epsilon, delta) for release in releases)


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
                gathered = _gathered(release, _handed_out(own))
                drawn = [
                    _drawn(release, copy.deepcopy(gathered), noise_generator())
                    for _ in range(_N_DRAWS)
                ]
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
        _silently(f"gather of {type(release).__name__}", rng, _gathered, release, _handed_out(own))
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
        drawn = _silently(f"draw of {name}", rng, _drawn, release, private, rng)
        if drawn.shape != expected.shape or drawn.dtype != expected.dtype:
            raise ValueError(
                f"draw of {name} must return what has the form of what it "
                f"drew for public rows, shape {expected.shape} of {kind_of(expected.dtype)}; "
                "got another, which is withheld"
            )
        yield drawn


def _with_noise(release, n_moved, epsilon, delta):
    """Return a release whose noise is set, by its share if the user left it open."""
    if release.with_scale(1.0) is None:
        stated_cost(release, n_moved)
        return release
    check_with_scale(release)
    share = release.share
    if not isinstance(share, Real) or not 0 < share < 1:
        raise ValueError(
            f"share of {type(release).__name__} must be a number between 0 and 1; got {share!r}"
        )
    part = None if epsilon is None else share * float(epsilon)
    # What is no parameter is not kept: what is drawn by is what costs are asked of
    return clone(calibrated(release, n_moved, part, delta))


def _handed_out(private):
    """Return private data that a release of the user's may write into."""
    names = ("X", "codes", "classes", "sample_weight", "groups")
    copies = copied_data(tuple(getattr(private, name) for name in names))
    return PrivateData(**dict(zip(names, copies, strict=True)))


def _gathered(release, private):
    """Gather by a clone, which keeps nothing."""
    return clone(release).gather(private)


def _drawn(release, gathered, rng):
    """Draw by a clone; what it draws becomes plain numbers."""
    before = _global_state()
    result = clone(release).draw(gathered, rng)
    if _global_state() != before:
        raise RuntimeError(
            "draw took numbers from a global generator, whose seed can be guessed: all noise must "
            "come from rng"
        )
    drawn = np.array(result)  # a copy, without what a table or an object may carry beside it
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

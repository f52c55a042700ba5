"""User-defined releases: calibration, dry run, gathering and publication."""

from __future__ import annotations

import copy
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from .._sklearn import _num_samples
from ..accounting.budget import calibrated, stated_cost, stated_event
from ..runtime.copies import copied_data
from ..runtime.isolation import isolated, kind_of, redacted
from ..runtime.private_data import PrivateData
from ..secure import noise_generator
from .base import Release
from .synthetic_rows import units_of

if TYPE_CHECKING:
    from .._typing import Rows
    from ..rdp.contribution import Neighbors

#: Number of draws in a dry run. If all are equal, the noise does not come from the generator.
_N_DRAWS = 5


def planned(
    releases: list[Release] | None,
    private: PrivateData,
    neighbors: Neighbors,
    *,
    epsilon: float | None,
    delta: float,
) -> tuple[Release, ...]:
    """Check releases, and calibrate those without a noise scale, from public numbers only.

    Parameters
    ----------
    releases : list of Release or None
        As given by the user.
    private : PrivateData
        The private data.
    neighbors : Neighbors
        The neighboring data sets that the guarantee covers.
    epsilon, delta : float
        Limits of the fit; epsilon may be None.

    Returns
    -------
    tuple of Release
        Clones with their noise set.

    Raises
    ------
    TypeError
        If an element is not a `Release`.
    ValueError
        If the guarantee covers groups and a release does not set `counts_groups`, or if a release
        has noise to calibrate and its `epsilon_fraction` is not between 0 and 1.
    """
    if not releases:
        return ()
    has_units = units_of(private, neighbors) is not None
    ready = []
    for release in releases:
        if not isinstance(release, Release):
            raise TypeError(
                "releases must be a list of instances of releases.Release; got an element of type "
                f"{type(release).__name__}"
            )
        name, fraction = type(release).__name__, release.epsilon_fraction
        if has_units and not release.counts_groups:
            raise ValueError(
                f"{name} does not set counts_groups, and this fit protects all records of a group "
                f"or identifier together ({neighbors.relation}): count them as one record in "
                "gather, and set counts_groups = True"
            )
        is_fraction = isinstance(fraction, Real) and 0 < fraction < 1
        if not is_fraction and release.with_scale(1.0) is not None:
            raise ValueError(
                f"epsilon_fraction of {name} must be a number between 0 and 1; got {fraction!r}"
            )
        # Clones keep only parameters, so the cost below is the cost of the clone in `publish`
        event_of = partial(stated_event, neighbors=neighbors)
        release = calibrated(clone(release), event_of, epsilon, delta, fraction=fraction)
        release = clone(release)
        stated_cost(release, neighbors)
        ready.append(release)
    return tuple(ready)


def dry_run(releases: Sequence[Release], X_public: Rows, private: PrivateData) -> list[Any]:
    """Try all releases on public rows with made-up labels, and return their results.

    Errors are shown in full, because no private record is read.
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
                sampled = [_publish_once(release, each, noise_generator()) for each in copies]
                if all(np.array_equal(sampled[0], other) for other in sampled):
                    raise RuntimeError(
                        f"{_N_DRAWS} draws were all equal: all noise must come from rng"
                    )
                tried.append(sampled[0])
        except Exception as error:
            raise ValueError(
                f"{type(release).__name__} failed when tried on public rows and made-up "
                f"labels. {type(error).__name__}: {error}"
            ) from error
    return tried


def gather(
    releases: Sequence[Release],
    private: PrivateData,
    neighbors: Neighbors,
    rng: np.random.Generator,
) -> list[Any]:
    """Return the private statistic of each release."""
    units = units_of(private, neighbors)
    numbers = None if units is None else np.unique(units, return_inverse=True)[1]
    own = replace(private, groups=numbers)
    return [
        _isolated_call(f"gather of {type(release).__name__}", rng, _gathered, release, own)
        for release in releases
    ]


def publish(
    releases: Sequence[Release], gathered: Any, rng: np.random.Generator, tried: list[Any]
) -> Iterator[Any]:
    """Yield the published numbers of each release, after all are paid for.

    Parameters
    ----------
    releases : tuple of Release
        Result of `planned`.
    gathered : list
        Result of `gather`.
    rng : numpy.random.Generator
        Source of the noise.
    tried : list
        Result of `dry_run`: the published numbers must have the same shapes and dtypes.
    """
    for release, private, expected in zip(releases, gathered, tried, strict=True):
        name = type(release).__name__
        sampled = _isolated_call(f"publish of {name}", rng, _publish_once, release, private, rng)
        if sampled.shape != expected.shape or sampled.dtype != expected.dtype:
            raise ValueError(
                f"publish of {name} must return an array of the same shape and dtype as for public "
                f"rows, {expected.shape} of {kind_of(expected.dtype)}; the returned one differs, "
                "and is redacted because it may depend on private data"
            )
        yield sampled


def _gathered(release: Release, private: PrivateData) -> Any:
    """Call `gather` of a clone on copies of the private data."""
    return clone(release).gather(PrivateData(**copied_data(vars(private))))


def _publish_once(release: Release, gathered: Any, rng: np.random.Generator) -> Any:
    """Call `publish` of a clone, and return the result as an array of numbers."""
    before = _global_state()
    # A copy without attributes, which could hold private data
    sampled = np.array(clone(release).publish(gathered, rng))
    if _global_state() != before:
        raise RuntimeError(
            "publish drew numbers from a global generator: all noise must come from rng"
        )
    if sampled.dtype.kind not in "biuf":
        raise TypeError(f"publish must return numbers; got {kind_of(sampled.dtype)}")
    return sampled


def _global_state() -> tuple[Any, ...]:
    """Return the states of the global generators of NumPy, Python and, if imported, torch."""
    torch = sys.modules.get("torch")
    of_torch = None if torch is None else torch.get_rng_state().numpy().tobytes()
    return str(np.random.get_state(legacy=False)), random.getstate(), of_torch


def _isolated_call(
    name: str, rng: np.random.Generator, function: Callable[..., Any], *given: Any
) -> Any:
    """Call a function with its output suppressed and the text of its errors redacted."""
    with isolated(int(rng.integers(2**32))):
        return redacted(
            lambda: function(*given), f"{name} failed with", "Try it on made-up records"
        )

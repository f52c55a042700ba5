"""Independent sources of random numbers, one for each use of randomness in a fit."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import warn
from ..secure import SystemGenerator

if TYPE_CHECKING:
    from .._typing import RandomState
    from ..accounting.spent import PrivacySpent

#: Uses of randomness. Their order determines the results of a seed, so it must not change.
_USES = (
    "partition",
    "queries",
    "teachers",
    "noise",
    "student",
    "test",
    "synthesis",
    "synthetic rows",
    "extra releases",
    "target",
    "second round of the target",
)

#: Uses that draw the noise of the privacy guarantee.
_NOISE = (
    "noise",
    "test",
    "synthesis",
    "extra releases",
    "target",
    "second round of the target",
)

#: Set when this process has issued the warning; an event, because threads share it.
_has_warned = threading.Event()


def warn_if_seeded(spent: PrivacySpent) -> None:
    """Warn about noise that follows from a `random_state`, once per process."""
    if spent.generator != "seed" or _has_warned.is_set():
        return
    _has_warned.set()
    warn(
        "the noise follows from a random_state, of this call or of the poll that drew the "
        "synthetic rows: anybody who knows or guesses this seed can subtract the noise. Use "
        "random_state=None for everything that you publish. The attribute generator of the privacy "
        "statement is 'seed'. This warning is issued once per process"
    )


@contextlib.contextmanager
def unwarned() -> Iterator[None]:
    """Suppress `warn_if_seeded` in a block, so that a later fit still warns."""
    was_set = _has_warned.is_set()
    _has_warned.set()
    try:
        yield
    finally:
        if not was_set:
            _has_warned.clear()


#: First spawn key of fits that continue interrupted fits. No use and no teacher has this key.
_GOES_ON = 2**31


def seed_streams(
    random_state: RandomState, secure: bool = False, *, n_attempts: int = 0
) -> dict[str, Any]:
    """Return independent sources of randomness, as a dict from use to source.

    Parameters
    ----------
    random_state, secure
        As in `PATEClassifier`.
    n_attempts : int, default=0
        Number of interrupted fits that this fit continues. Each number gives different noise,
        because the noise of an interrupted fit must not be drawn again.

    Returns
    -------
    dict of str to SeedSequence or SystemGenerator

    Raises
    ------
    ValueError
        If `secure` is True and `random_state` is not None.
    """
    if secure and random_state is not None:
        raise ValueError(
            "secure=True requires random_state=None, so that no seed can repeat the noise; got "
            f"random_state={random_state!r}"
        )
    if random_state is None:
        streams = {use: np.random.SeedSequence() for use in _USES}
        return streams | {use: SystemGenerator() for use in _NOISE}
    root = seed_sequence(random_state)
    if n_attempts:
        root = np.random.SeedSequence(root.entropy, spawn_key=(_GOES_ON, n_attempts))
    children = root.spawn(len(_USES))
    return dict(zip(_USES, children, strict=True))


class _Unrelated(np.random.SeedSequence):
    """SeedSequence with entropy from the operating system, independent for each child.

    Children of an ordinary `SeedSequence` are related: the output of one child's generator reveals
    its state, and the entropy of all children can be computed from this state.
    """

    def spawn(self, n_children: int) -> list[Any]:
        return [_Unrelated() for _ in range(n_children)]


def seed_sequence(random_state: Any) -> np.random.SeedSequence:
    """Return a `SeedSequence` that is determined by a `random_state`.

    If `random_state` is None, the sequence and its children get independent entropy from the
    operating system.
    """
    if random_state is None:
        return _Unrelated()
    if isinstance(random_state, np.random.RandomState):  # draws 128 bits
        random_state = random_state.randint(2**32, size=4, dtype=np.uint32).tolist()
    return np.random.SeedSequence(random_state)

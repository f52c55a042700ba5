"""Random numbers of a fit: one source per use, so that none depends on another."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import warn
from ..secure import SystemGenerator

if TYPE_CHECKING:
    from .._typing import RandomState
    from ..accounting.spent import PrivacySpent

#: The place of a use decides its numbers. In another order, the same seed gives other fits.
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
)

#: The uses that draw noise, which protects the votes.
_NOISE = ("noise", "test", "synthesis", "extra releases")

#: Set once this process has warned of a seed: tests set one in every fit.
_has_warned = threading.Event()


def warn_if_seeded(spent: PrivacySpent) -> None:
    """Warn, once in a process, of noise that follows from a `random_state`."""
    if spent.generator != "seed" or _has_warned.is_set():
        return
    _has_warned.set()
    warn(
        "random_state is set, so the noise follows from a seed: anybody who knows or guesses it "
        "can subtract the noise. Use random_state=None for everything that you publish; else "
        "privacy_spent_.generator is 'seed'. This warning is given once in a process"
    )


#: First of the spawn keys of fits that go on with others: no use or teacher has it.
_GOES_ON = 2**31


def seed_streams(
    random_state: RandomState, secure: bool = False, *, n_attempts: int = 0
) -> dict[str, Any]:
    """Return independent sources of randomness, a dict from use to source.

    Parameters
    ----------
    random_state, secure
        As in `PATEClassifier`.
    n_attempts : int, default=0
        Number of interrupted fits with which this one goes on: it must not draw their noise again.
    """
    if secure and random_state is not None:
        raise ValueError(
            "secure=True draws noise that no seed can repeat; give random_state=None, got "
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
    """A source from the operating system, and so is each that it spawns.

    Children of an ordinary one are related: the output of a generator gives away its state, from
    which the entropy of its seed can be computed.
    """

    def spawn(self, n_children: int) -> list[Any]:
        return [_Unrelated() for _ in range(n_children)]


def seed_sequence(random_state: Any) -> np.random.SeedSequence:
    """Return a `SeedSequence` that follows from a `random_state`; None draws from the system.

    With None, its children are unrelated, too.
    """
    if random_state is None:
        return _Unrelated()
    if isinstance(random_state, np.random.RandomState):  # 128 bits of it
        random_state = random_state.randint(2**32, size=4, dtype=np.uint32).tolist()
    return np.random.SeedSequence(random_state)

"""Noise from the operating system's random numbers, and exact samplers of integer noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from os import urandom
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from scipy.special import ndtri

if TYPE_CHECKING:
    from ._typing import Seed

__all__ = ["SystemGenerator", "noise_generator"]

#: Base of the digits of random numbers, so that one digit fits into NumPy's 64-bit integers.
_WORD = 2**62

#: Largest sum that is computed with NumPy's 64-bit integers.
_MOST_IN_64_BITS = 2**62


def noise_generator(random_state: Seed = None) -> np.random.Generator:
    """Return the random generator for noise.

    Parameters
    ----------
    random_state : int, SeedSequence, Generator or None, default=None
        None uses the operating system's generator. Any other value is passed to
        `numpy.random.default_rng`. Use it for tests only: anyone with the seed can subtract the
        noise.

    Returns
    -------
    numpy.random.Generator

    Examples
    --------
    >>> from sklearn_pate.secure import noise_generator
    >>> type(noise_generator()).__name__, type(noise_generator(0)).__name__
    ('SystemGenerator', 'Generator')
    """
    return SystemGenerator() if random_state is None else np.random.default_rng(random_state)


class SystemGenerator(np.random.Generator):
    """NumPy Generator that draws from the operating system's random numbers and has no state.

    This generator draws the noise if no seed is given. NumPy's own generators are not secure: the
    state of PCG64, the default, can be recovered from its output (Bouillaguet, Martinez, Sauvage
    (2020), Practical seed-recovery for the PCG pseudo-random number generator), and published noise
    contains such output. The methods `random`, `integers`, `normal`, `laplace`, `exponential` and
    `gumbel`, which the mechanisms of this library use, draw from the operating system. Continuous
    noise is computed from uniform numbers by the inverse distribution function. The uniform numbers
    have 51 random bits after their first bit that is 1, also if they are near 0. All other sampling
    methods raise NotImplementedError.

    Examples
    --------
    >>> from sklearn_pate.aggregators import GNMax
    >>> from sklearn_pate.secure import SystemGenerator
    >>> GNMax(40.0).aggregate([[400, 0, 0]], random_state=SystemGenerator())
    array([0])
    """

    def __init__(self) -> None:
        super().__init__(np.random.PCG64())

    def random(self, size: Any = None) -> Any:  # type: ignore[override]
        """Draw uniform numbers in (0, 1), with full precision even near 0."""
        mantissa = 1 + ((self._bits(size) >> np.uint64(12)) + 0.5) * 2.0**-52
        exponent = np.full(mantissa.shape, -1)
        # Count the zeros of random bits before the first 1, word by word
        all_zero = np.ones(mantissa.shape, dtype=bool)
        while all_zero.any():
            word = self._bits(int(all_zero.sum())) >> np.uint64(12)
            _, n_bits = np.frexp(word.astype(float))
            exponent[all_zero] -= 52 - n_bits
            all_zero[all_zero] = word == 0
        uniform = np.minimum(np.ldexp(mantissa, exponent), 1 - 2.0**-53)
        return float(uniform) if size is None else uniform

    def integers(  # type: ignore[override]
        self, low: Any, high: Any = None, size: Any = None
    ) -> Any:
        """Draw uniform integers in [low, high), or in [0, low) if `high` is None."""
        if high is None:
            low, high = 0, low
        width = int(high) - int(low)
        if not (0 < width <= 2**63 and low >= -(2**63) and high <= 2**63):
            raise ValueError(
                "high must exceed low, by at most 2**63, and both must fit into 64 bits; got "
                f"low={low} and high={high}"
            )
        sampled = self._bits(1 if size is None else size)
        most = 2**64 // width * width - 1  # with larger numbers, remainders are not uniform
        while most < 2**64 - 1 and (beyond := sampled > np.uint64(most)).any():
            sampled[beyond] = self._bits(int(beyond.sum()))
        whole = (sampled % np.uint64(width)).astype(np.int64) + low
        return int(whole[0]) if size is None else whole

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Draw normal noise."""
        size = _shape(size, loc, scale)
        return loc + scale * self._sign(size) * ndtri(self.random(size) / 2)

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Draw Laplace noise."""
        size = _shape(size, loc, scale)
        return loc + self._sign(size) * self.exponential(scale, size)

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        """Draw exponential noise."""
        return -scale * np.log(self.random(_shape(size, scale)))

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Draw Gumbel noise."""
        return loc - scale * np.log(self.exponential(1.0, _shape(size, loc, scale)))

    def _refused(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            "SystemGenerator has only the methods random, integers, normal, laplace, exponential "
            "and gumbel; NumPy's other methods would not draw from the operating system"
        )

    _refused.__doc__ = ""  # otherwise, the documentation would show NumPy's docstring

    def _sign(self, size: Any) -> Any:
        return 2 * self.integers(2, size=size) - 1

    def _bits(self, size: Any) -> np.ndarray:
        if size is None:
            return np.frombuffer(urandom(8), np.uint64).reshape(()).copy()
        n = size if type(size) is int else int(np.prod(size, dtype=int))
        return np.frombuffer(bytearray(urandom(8 * n)), np.uint64).reshape(size)

    def __reduce__(self) -> Any:
        raise TypeError("SystemGenerator has no state to pickle or copy; create a new one instead")


for _name in set(dir(np.random.Generator)) - set(vars(SystemGenerator)) - {"bit_generator"}:
    if not _name.startswith("_"):
        setattr(SystemGenerator, _name, SystemGenerator._refused)


def _shape(size: Any, *params: Any) -> Any:
    """Return `size` or, if it is None, the shape to which the parameters broadcast."""
    if size is not None:
        return size
    return np.broadcast_shapes(*map(np.shape, params)) or None


# --- integers of any size: NumPy's integers overflow silently, Python's integers do not -----------


def exact_type(most: int) -> type:
    """Return a dtype that holds integer sums of up to `most`, in absolute value, exactly."""
    return np.int64 if most <= _MOST_IN_64_BITS else object


def in_64_bits(whole: np.ndarray) -> np.ndarray:
    """Convert Python integers to int64; return them unchanged if one of them does not fit."""
    try:
        return whole.astype(np.int64)
    except OverflowError:
        return whole


def plus_noise(whole: np.ndarray, noise: np.ndarray, step: float) -> np.ndarray:
    """Add integer noise to integers exactly, and return the sums times `step` as floats."""
    return (whole.astype(object) + noise).astype(float) * step


# --- exact sampling: Canonne, Kamath, Steinke (2020) ---------------------------------------------


def discrete_laplace(rng: np.random.Generator, gamma: Fraction, shape: Any) -> np.ndarray:
    """Draw integers with probabilities proportional to ``exp(-gamma |x|)``."""
    return _by_rejection(lambda n: _discrete_laplace(rng, gamma, n), shape)


def discrete_gaussian(rng: np.random.Generator, sigma: Fraction, shape: Any) -> np.ndarray:
    """Draw integers with probabilities proportional to ``exp(-x**2 / (2 sigma**2))``."""
    return _by_rejection(lambda n: _discrete_gaussian(rng, sigma, n), shape)


def _by_rejection(attempt: Callable[[int], np.ndarray], shape: Any) -> np.ndarray:
    """Draw an array; ``attempt(n)`` makes `n` attempts and returns the accepted draws."""
    size = math.prod(shape)
    draws = np.empty(0, dtype=object)
    while draws.size < size:
        draws = np.append(draws, attempt(size - draws.size))
    return in_64_bits(draws).reshape(shape)


def _discrete_gaussian(rng: np.random.Generator, sigma: Fraction, n: int) -> np.ndarray:
    """Return the accepted draws of `n` attempts by Algorithm 3 of Canonne et al. (2020).

    An attempt draws discrete Laplace noise, and accepts it at random.
    """
    t = math.floor(sigma) + 1
    y = _discrete_laplace(rng, Fraction(1, t), n)
    numerator, denominator = (part**2 for part in sigma.as_integer_ratio())
    # (|y| - sigma**2 / t)**2 / (2 sigma**2) over a common denominator
    distance = (np.abs(y) * (t * denominator) - numerator) ** 2
    return y[_bernoulli_exp(rng, distance, 2 * t**2 * denominator * numerator)]


def _discrete_laplace(rng: np.random.Generator, gamma: Fraction, n: int) -> np.ndarray:
    """Return the accepted draws of `n` attempts by Algorithm 2 of Canonne et al. (2020).

    An attempt draws a geometric number in two parts, and a random sign.
    """
    s, t = gamma.as_integer_ratio()
    u = _integers(rng, t, n)
    u = u[_bernoulli_exp(rng, u, t)]
    v = np.zeros(u.size, dtype=np.int64)
    live = np.arange(u.size)
    while live.size:
        live = live[_bernoulli_exp_fraction(rng, np.ones(live.size, dtype=np.int64), 1)]
        v[live] += 1
    size = (u + v.astype(object) * t) // s
    negative = rng.integers(2, size=u.size) == 1
    accepted = ~negative | (size != 0)  # 0 has no sign, so one of its two draws is rejected
    return np.where(negative, -size, size)[accepted]


def _bernoulli_exp(rng: np.random.Generator, p: Any, q: Any) -> np.ndarray:
    """Draw True with probability ``exp(-p / q)``.

    This is Algorithm 1 of Canonne, Kamath, Steinke (2020). `p` is an array of Python integers,
    because products of numerators and denominators of floats exceed 64 bits.
    """
    whole = p // q
    result = _bernoulli_exp_fraction(rng, p - whole * q, q)
    left = np.flatnonzero(result & (whole > 0))
    while left.size:
        result[left] = _bernoulli_exp_fraction(rng, np.ones(left.size, dtype=np.int64), 1)
        whole[left] -= 1
        left = left[result[left] & (whole[left] > 0)]
    return result


def _bernoulli_exp_fraction(rng: np.random.Generator, p: Any, q: Any) -> np.ndarray:
    """Draw True with probability ``exp(-p / q)``, for ``0 <= p <= q``."""
    result = np.empty(p.size, dtype=bool)
    live = np.arange(p.size)
    k = 1
    while live.size:
        goes_on = _bernoulli(rng, p[live], q)
        if k > 1:
            goes_on &= rng.integers(k, size=live.size) == 0
        result[live[~goes_on]] = k % 2
        live = live[goes_on]
        k += 1
    return result


def _bernoulli(rng: np.random.Generator, p: Any, q: Any) -> np.ndarray:
    """Draw True with probability ``p / q``, for ``0 <= p <= q``, from uniform integers."""
    if q == 1:
        return p.astype(bool)
    if q <= _WORD:
        return rng.integers(q, size=p.size) < p.astype(np.int64)
    # Compare digit by digit
    digit = p * _WORD // q
    uniform = rng.integers(_WORD, size=p.size)
    result = uniform < digit
    equal = uniform == digit
    if equal.any():
        result[equal] = _bernoulli(rng, (p * _WORD - digit * q)[equal], q)
    return result


def _integers(rng: np.random.Generator, limit: int, n: int) -> np.ndarray:
    """Draw uniform integers in [0, limit), digit by digit in base 2**62.

    The first digit is at most that of the limit. Integers that are not below the limit are drawn
    again, which happens with a probability below 1/2 for each integer, and never for a `limit` that
    is divisible by 2**62.
    """
    if limit <= _WORD:
        return rng.integers(limit, size=n).astype(object)
    draws = _integers(rng, -(-limit // _WORD), n) * _WORD + rng.integers(_WORD, size=n)
    is_beyond = draws >= limit
    if is_beyond.any():
        draws[is_beyond] = _integers(rng, limit, int(is_beyond.sum()))
    return draws

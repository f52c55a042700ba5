"""Recompute epsilon and delta of a privacy statement: ``python verify.py statement.json``.

This file needs Python 3.11 and its standard library only. It imports nothing of sklearn_pate, and
sklearn_pate does not import it, so it can be copied to another machine and read by itself.

It reads the JSON of ``privacy_spent_.to_json()``, computes the privacy cost of every step from its
noise and from the largest change by one protected unit, adds the costs up, prints a line for each
step, and compares the total with the claim. With a second argument, the file of the model, it also
compares the SHA-256 digest. The exit code is 0 if the claim holds, 1 if the statement claims less
than its steps cost or is not valid, and 2 for wrong arguments.

It does not check that the program drew this noise, that one unit changes each statistic by no more
than is stated, and that the statement lists every step (the proofs are in the source of
sklearn_pate, and its `audit` tests the code); nor numbers that the output calls "not rechecked".
These are worst-case costs of a query without a simple formula. The output has the epsilon that
follows from simple bounds instead, which is larger. A filter and a private test compare such costs
with a limit, so their result has no simple bound.

How to read this file, from top to bottom:

1. `Interval`: two numbers that enclose an exact one. Every operation rounds outwards, and only the
   upper end of a cost is used, so no rounding makes a cost too small.
2. The normal distribution, and the privacy loss of Gaussian noise.
3. `Cost`: the cost of a step in three measures; each measure adds up.
4. The mechanisms, one function for each, in `MECHANISMS`.
5. The rules by which costs become an epsilon at a delta, in `RULES`.
6. The comparison and the output.

The words of the formulas. A step with pure cost e: no outcome is more than exp(e) times as likely
on one of two neighboring data sets as on the other. A step with Gaussian cost mu: distinguishing
the data sets is as hard as distinguishing two normal distributions with distance mu and variance 1.
A step with Renyi cost r at order a: the Renyi divergence of order a of its outcomes is at most r.

References
----------
[AS] Abramowitz, Stegun (1964), Handbook of mathematical functions, chapter 26.
[BS] Bun, Steinke (2016), Concentrated differential privacy.
[BW] Balle, Wang (2018), Improving the Gaussian mechanism.
[CKS] Canonne, Kamath, Steinke (2020), The discrete Gaussian for differential privacy.
[DR] Dwork, Roth (2014), The algorithmic foundations of differential privacy.
[DRS] Dong, Roth, Su (2022), Gaussian differential privacy.
[FZ] Feldman, Zrnic (2021), Individual privacy accounting via a Renyi filter.
[KOV] Kairouz, Oh, Viswanath (2015), The composition theorem for differential privacy.
[M] Mironov (2017), Renyi differential privacy.
[P] Peikert (2010), An efficient and parallel Gaussian sampler for lattices.
[PS] Papernot, Steinke (2022), Hyperparameter tuning with Renyi differential privacy.
[RZW] Redberg, Zhu, Wang (2023), Generalized PTR.
[S] Sampford (1953), Some inequalities on Mill's ratio and related functions.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from pathlib import Path
from statistics import NormalDist
from typing import Any

#: Versions of the statement that this file can read.
FORMATS = (2,)

#: A claim may be smaller than the recomputed number by this factor, because claims are floats.
TOLERANCE = Decimal("1e-9")

#: Relative precision of a recomputed epsilon, which is rounded up.
PRECISION = Decimal("1e-7")

_DIGITS = 40
_DOWN = Context(prec=_DIGITS, rounding=ROUND_FLOOR, Emax=MAX_EMAX, Emin=MIN_EMIN)
_UP = Context(prec=_DIGITS, rounding=ROUND_CEILING, Emax=MAX_EMAX, Emin=MIN_EMIN)


class StatementError(Exception):
    """The statement is not valid, or claims less than its steps cost."""


# --- 1. intervals ---------------------------------------------------------------------------------


class Interval:
    """Two decimal numbers that enclose a real number; operations round outwards."""

    __slots__ = ("high", "low")

    def __init__(self, low: Decimal | int, high: Decimal | int | None = None) -> None:
        self.low = Decimal(low)
        self.high = self.low if high is None else Decimal(high)

    def __add__(self, other: Number) -> Interval:
        other = interval(other)
        return Interval(_DOWN.add(self.low, other.low), _UP.add(self.high, other.high))

    def __neg__(self) -> Interval:
        return Interval(self.high.copy_negate(), self.low.copy_negate())

    def __sub__(self, other: Number) -> Interval:
        return self + (-interval(other))

    def __mul__(self, other: Number) -> Interval:
        other = interval(other)
        if self.low >= 0 and other.low >= 0:
            return Interval(
                _DOWN.multiply(self.low, other.low), _UP.multiply(self.high, other.high)
            )
        ends = [(x, y) for x in (self.low, self.high) for y in (other.low, other.high)]
        products_down = [_DOWN.multiply(x, y) for x, y in ends]
        return Interval(min(products_down), max(_UP.multiply(x, y) for x, y in ends))

    def __truediv__(self, other: Number) -> Interval:
        other = interval(other)
        if self.low >= 0 and other.low > 0:
            return Interval(_DOWN.divide(self.low, other.high), _UP.divide(self.high, other.low))
        if other.low <= 0 <= other.high:
            raise StatementError("a number of the statement leads to a division by zero")
        inverse = Interval(_DOWN.divide(1, other.high), _UP.divide(1, other.low))
        return self * inverse

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: Number) -> Interval:
        return interval(other) - self

    def __rtruediv__(self, other: Number) -> Interval:
        return interval(other) / self

    def _by(self, function: str) -> Interval:
        """Apply a growing function that `decimal` rounds correctly, to half a last digit."""
        low = getattr(_DOWN, function)(self.low)
        high = getattr(_UP, function)(self.high)
        return Interval(_DOWN.next_minus(low), _UP.next_plus(high))

    def exp(self) -> Interval:
        """Return e to the power of the number."""
        return self._by("exp")

    def log(self) -> Interval:
        """Return the natural logarithm of a positive number."""
        if self.low <= 0:
            raise StatementError("a number of the statement leads to the logarithm of zero")
        return self._by("ln")

    def sqrt(self) -> Interval:
        """Return the square root of a number that is at least 0."""
        if self.high == 0:
            return self
        root = self._by("sqrt")
        return Interval(max(root.low, Decimal(0)), root.high)


Number = Interval | Decimal | int


def interval(number: Number) -> Interval:
    """Return a number as an interval."""
    return number if isinstance(number, Interval) else Interval(number)


def larger(x: Interval, y: Interval) -> Interval:
    """Return the larger of two numbers."""
    return Interval(max(x.low, y.low), max(x.high, y.high))


def smaller(x: Interval, y: Interval) -> Interval:
    """Return the smaller of two numbers."""
    return Interval(min(x.low, y.low), min(x.high, y.high))


def log_sum(terms: Iterable[Interval]) -> Interval:
    """Return the logarithm of a sum of numbers, from their logarithms."""
    terms = list(terms)
    top = max(term.high for term in terms)
    return sum(((term - top).exp() for term in terms), interval(0)).log() + top


def total(numbers: Iterable[Interval]) -> Interval:
    """Return a sum."""
    return sum(numbers, interval(0))


ZERO, ONE, HALF = interval(0), interval(1), interval(Decimal("0.5"))
PI = Interval(
    Decimal("3.14159265358979323846264338327950288419"),
    Decimal("3.14159265358979323846264338327950288420"),
)


# --- 2. the normal distribution, and Gaussian noise -----------------------------------------------


def tail(x: Interval) -> Interval:
    """Return the probability that a standard normal number is above x."""
    return Interval(_tail(x.high).low, _tail(x.low).high)  # it falls with x


def _tail(x: Decimal) -> Interval:
    if x < 0:
        return ONE - _tail(x.copy_negate())
    point = interval(x)
    density = (point * point / -2).exp() / (2 * PI).sqrt()
    if x >= 3:
        return density * _mills_ratio(point)
    # 1 / 2 minus the tail is the density times the sum of x**(2 k + 1) / (1 * 3 * ... * (2 k + 1))
    # [AS, 26.2.11]. All terms are positive. The rest is at most a geometric series of ratio 1 / 2
    term = series = point
    square = point * point
    k = 0
    while True:
        k += 1
        term = term * square / (2 * k + 1)
        series = series + term
        if square.high < k + 1 and term.high < Decimal("1e-36"):
            break
    series = Interval(series.low, (series + 2 * term).high)
    return HALF - density * series


def _mills_ratio(x: Interval) -> Interval:
    """Return the tail divided by the density, from 3 on.

    The continued fraction is 1 / (x + 1 / (x + 2 / (x + 3 / ...))) [AS, 26.2.14]. The part from n
    on is between 0 and n / x, so the fraction is between two successive convergents.
    """
    n_terms = int(500 / (x.low * x.low)) + 20  # enough for 20 digits
    value = Interval(x.low, (x + n_terms / x).high)
    for k in range(n_terms - 1, 0, -1):
        value = x + k / value
    return 1 / value


def gaussian_delta(epsilon: Interval, mu: Interval) -> Interval:
    """Return the least delta of Gaussian cost mu at an epsilon, which may be negative.

    It is tail(epsilon / mu - mu / 2) - exp(epsilon) tail(epsilon / mu + mu / 2) [BW, Theorem 8].
    """
    if mu.high <= 0:
        return larger(ZERO, ONE - epsilon.exp())
    ratio = epsilon / mu
    return larger(ZERO, tail(ratio - mu / 2) - epsilon.exp() * tail(ratio + mu / 2))


def mixed_delta(epsilon: Interval, pure: Interval, times: int, mu: Interval) -> Interval:
    """Return a delta of some steps of one pure cost each, and of Gaussian cost mu [KOV].

    Each pure step is a function of a randomised response, with a loss of plus or minus its cost. If
    k of the losses are negative, the Gaussian noise must cover epsilon minus the sum of all losses.
    """
    likely = ONE / (ONE + (-pure).exp())
    unlikely = ONE / (ONE + pure.exp())
    delta = ZERO
    for k in range(times + 1):  # k of the steps have a negative loss
        weight = interval(math.comb(times, k))
        for _ in range(times - k):
            weight = weight * likely
        for _ in range(k):
            weight = weight * unlikely
        delta = delta + weight * gaussian_delta(epsilon - pure * (times - 2 * k), mu)
    return delta


def gaussian_of_pure(pure: Interval) -> Interval:
    """Return the Gaussian cost of any step of this pure cost, rounded up [DRS].

    It is the mu with ``tail(mu / 2) = 1 / (1 + exp(pure))``. The errors of the best tests of two
    randomised responses are on two lines, which meet where both errors are 1 / (1 + exp(pure)). The
    errors of two normal distributions are on a convex curve with the same ends, which for this mu
    contains the same point, so it is never above the lines.
    """
    aim = (ONE / (ONE + pure.exp())).low
    holds = lambda mu: tail(interval(mu) / 2).high <= aim  # noqa: E731
    start, precision = max(pure.high, Decimal("1e-12")), Decimal("1e-10")
    if 0 < float(aim) < 0.5:  # a float is close enough to begin with
        start = Decimal(-2 * NormalDist().inv_cdf(float(aim))) * (1 + precision / 2)
    return interval(least(holds, start, precision))


# --- 3. costs -------------------------------------------------------------------------------------


@dataclass
class Cost:
    """The privacy cost of a step in several measures; None if a measure has no finite value.

    Attributes
    ----------
    pure : Interval or None
        Pure epsilon.
    mu_squared : Interval or None
        Squared Gaussian cost.
    renyi : callable
        ``renyi(order)`` returns the Renyi cost at an order, or None.
    delta : Interval
        Probability of outcomes without any bound, which adds to delta.
    equal_pure : list of (Interval, int)
        Pure costs of the parts, each with the number of parts that have it.
    branches : list of Cost
        Costs of the steps; an earlier step chose one of them.
    notes : list of (Decimal or "pure" or None, str)
        Lines for the output on numbers that are taken as stated, each with the Renyi order at which
        it matters, or "pure"; None for all.
    """

    pure: Interval | None = None
    mu_squared: Interval | None = None
    renyi: Callable[[Decimal], Interval | None] = lambda order: None
    delta: Interval = ZERO
    equal_pure: list[tuple[Interval, int]] = field(default_factory=list)
    branches: list[Cost] = field(default_factory=list)
    notes: list[tuple[Decimal | str | None, str]] = field(default_factory=list)


def pure_cost(pure: Interval, times: int = 1) -> Cost:
    """Return the cost of steps of one pure cost each."""
    if pure.high == 0:
        return Cost(ZERO, ZERO, lambda order: ZERO)
    mu = gaussian_of_pure(pure)
    return Cost(
        pure * times,
        mu * mu * times,
        lambda order: renyi_of_pure(pure, order) * times,
        equal_pure=[(pure, times)],
    )


def gaussian_cost(mu_squared: Interval | None, per_order: Interval) -> Cost:
    """Return the cost of Gaussian noise, with a Renyi cost in proportion to the order [M, CKS]."""
    return Cost(mu_squared=mu_squared, renyi=lambda order: per_order * order)


def renyi_of_pure(pure: Interval, order: Decimal) -> Interval:
    """Return the Renyi cost of randomised response, the largest of its pure cost [BS, 3.3].

    It is log((sinh(a e) - sinh((a - 1) e)) / sinh(e)) / (a - 1) at order a, for pure cost e. The
    fraction equals cosh((a - 1 / 2) e) / cosh(e / 2). It is at most e.
    """
    if pure.high == 0:
        return ZERO
    x, y = (interval(order) - HALF) * pure, pure / 2
    log_cosh = [log_sum([value, -value]) for value in (x, y)]
    return smaller((log_cosh[0] - log_cosh[1]) / (interval(order) - 1), pure)


def listed(items: Any) -> list[Any]:
    """Return a list that is not empty: no steps would have no cost."""
    if not isinstance(items, list) or not items:
        raise StatementError("a part of the statement lists no steps")
    return items


def composed(costs: Sequence[Cost]) -> Cost:
    """Return the total cost of steps that may depend on earlier ones: each measure adds up."""

    def renyi(order: Decimal) -> Interval | None:
        return total_of([cost.renyi(order) for cost in costs])

    return Cost(
        total_of([cost.pure for cost in costs]),
        total_of([cost.mu_squared for cost in costs]),
        renyi,
        total(cost.delta for cost in costs),
        [part for cost in costs for part in cost.equal_pure],
        notes=[note for cost in costs for note in cost.notes],
    )


def total_of(numbers: Sequence[Interval | None]) -> Interval | None:
    """Return a sum; None if a number is missing."""
    known = [number for number in numbers if number is not None]
    return total(known) if len(known) == len(numbers) else None


# --- 4. mechanisms --------------------------------------------------------------------------------


#: Text of `float.hex`. Without the prefix, `float.fromhex` would read "20" as 32.
_HEXADECIMAL = re.compile(r"-?0x[01]\.[0-9a-f]+p[+-][0-9]+|inf")


def exact(value: Any) -> Decimal:
    """Return a number of the statement: hexadecimal text is exact, and so are whole numbers."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise StatementError(f"expected a number; got {value!r}")
    if isinstance(value, str) and not _HEXADECIMAL.fullmatch(value):
        raise StatementError(f"expected a hexadecimal number; got {value!r}")
    try:
        number = float.fromhex(value) if isinstance(value, str) else value
    except OverflowError:
        raise StatementError(f"expected a smaller number; got {value!r}") from None
    if number != number:
        raise StatementError(f"expected a number; got {value!r}")
    return Decimal(number)


def probability(value: Any) -> Decimal:
    """Return a number from 0 to 1."""
    number = exact(value)
    if not 0 <= number <= 1:
        raise StatementError(f"expected a number from 0 to 1; got {value!r}")
    return number


def order_of(value: Any) -> Decimal:
    """Return a Renyi order of the statement; all formulas below need one above 1."""
    order = exact(value)
    if not 1 < order < INFINITY:
        raise StatementError(f"expected a Renyi order above 1; got {value!r}")
    return order


def at_least_0(value: Any) -> Decimal:
    """Return a number that is not negative, or infinity."""
    number = exact(value)
    if number < 0:
        raise StatementError(f"expected a number, at least 0; got {value!r}")
    return number


def real(step: dict[str, Any], name: str) -> Interval:
    """Return a finite number of a step."""
    number = exact(step[name])
    if not number.is_finite():
        raise StatementError(f"{name!r} of a step is not finite")
    return interval(number)


def known(step: dict[str, Any], name: str) -> Interval:
    """Return a finite number of a step that is at least 0."""
    number = real(step, name)
    if number.low < 0:
        raise StatementError(f"{name!r} of a step is negative")
    return number


def count(step: dict[str, Any], name: str = "count") -> int:
    """Return a whole number of a step, at least 1: a step of no releases is not listed."""
    number = step[name]
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise StatementError(f"{name!r} must be a whole number, at least 1; got {number!r}")
    return number


def change_of(step: dict[str, Any], name: str) -> Interval:
    """Return the largest change of a statistic by one unit: "l1", "l2_squared" or "linf".

    All three are above 0. The largest change of an entry is at most the sum of all changes, and the
    sum of their squares at most the product of both.
    """
    names = ("l1", "l2_squared", "linf")
    sum_of_all, squares, largest = (exact(step["contribution"][key]) for key in names)
    if min(sum_of_all, squares, largest) <= 0:
        raise StatementError(f"the step {step['name']!r} claims that no unit changes it")
    bound = 1 + TOLERANCE
    if largest > sum_of_all * bound or squares > sum_of_all * largest * bound:
        raise StatementError(f"the changes of the step {step['name']!r} contradict each other")
    return real(step["contribution"], name)


def laplace(step: dict[str, Any]) -> Cost:
    """Laplace noise on every entry of a table, on a grid or continuous.

    One unit changes the entries by l1 in all, and no entry by more than linf.
    """
    rate, times = known(step, "inverse_scale"), count(step)
    l1, linf = change_of(step, "l1"), change_of(step, "linf")
    pure = l1 * rate
    cost = pure_cost(pure, times)
    grid = None if step["grid"] is None else known(step, "grid")

    def renyi(order: Decimal) -> Interval:
        of_entries = l1 / linf * laplace_shift(rate, linf, grid, order)
        return smaller(of_entries, renyi_of_pure(pure, order)) * times

    cost.renyi = renyi
    return with_threshold(cost, step)


def laplace_shift(
    rate: Interval, distance: Interval, grid: Interval | None, order: Decimal
) -> Interval:
    """Return the Renyi divergence of Laplace noise from the same noise, shifted.

    Continuous noise: [M, Proposition 6]. On a grid, the sum of P**a Q**(1 - a) consists of three
    geometric series: below, between and above the two centers.
    """
    a = interval(order)
    up, down = (a - 1) * rate * distance, -(a * rate * distance)
    if grid is None:
        of_up, of_down, norm = a, a - 1, 2 * a - 1
    else:
        q = (-(rate * grid)).exp()
        w = (-(2 * a - 1) * rate * grid).exp()
        of_up, of_down, norm = ONE - q * w, q - w, (ONE + q) * (ONE - w)
    inside = (of_up * up.exp() + of_down * down.exp()) / norm
    return larger(ZERO, inside.log() / (a - 1))


def gaussian(step: dict[str, Any]) -> Cost:
    """Gaussian noise on every entry, on a grid or continuous; one unit changes l2_squared."""
    scale, times = known(step, "scale"), count(step)
    squared = change_of(step, "l2_squared")
    grid = None if step["grid"] is None else known(step, "grid")
    ratio = squared / (scale * scale)
    mu_squared: Interval | None = ratio
    if grid is not None:
        mu_squared = discrete_mu_squared(scale / grid, squared / (grid * grid), known(step, "tau"))
    cost = gaussian_cost(None if mu_squared is None else mu_squared * times, ratio / 2 * times)
    if "blocks" in step:
        check_blocks(step)
    return with_threshold(cost, step)


def discrete_mu_squared(steps: Interval, squares: Interval, tau: Interval) -> Interval | None:
    """Return the squared Gaussian cost of noise on whole numbers, in units of the grid.

    To draw a normal number with variance ``steps**2 - tau**2`` around the statistic, and then a
    whole number k around it, with probability in proportion to exp(-(distance / tau)**2 / 2), costs
    no more than the normal number. By Poisson summation, the constant of the second draw is the
    same for all normal numbers, up to a relative error of at most r. So k has the discrete
    distribution, up to factors exp(eta) or exp(-eta) on each probability [P, Theorem 3.1]. The
    factors change the normal quantiles of the two errors of a test by sqrt(pi / 2) eta each [S],
    and so mu by at most sqrt(2 pi) eta. A changed whole number changes by at least 1, so the
    relative increase of mu is at most sqrt(2 pi) eta steps.
    """
    if steps.low <= tau.high or tau.low < HALF.low:
        return None
    first = (-2 * (PI * tau) * (PI * tau)).exp()
    r = 2 * first / (ONE - first)
    eta = ((ONE + r) / (ONE - r)).log()
    increase = ONE + (2 * PI).sqrt() * eta * steps
    return squares * increase * increase / (steps * steps - tau * tau)


def check_blocks(step: dict[str, Any]) -> None:
    """Check the noise of class sums: the scale is relative to the change by a replaced record.

    A record adds its row (of length 1) to the sums, times the indicator of its class minus
    1 / n_classes, to the sum of all rows with weight `total`, to the count of its class with weight
    `counts`, and the outer product of its row with weight `moment`. The squared change is a
    parabola in the inner product x of the old and the new row.
    """
    blocks = step["blocks"]
    k = interval(count(blocks, "n_classes"))
    of_total, of_counts, moment = (known(blocks, n) for n in ("total", "counts", "moment"))
    # The blocks of two records of one class have the inner products a x (sums), w x (total) and
    # m x**2 (moment). Of two classes: -x / k instead of a x, and counts change by 2 c, squared
    a, w, c, m = ONE - 1 / k, of_total * of_total, of_counts * of_counts, moment * moment
    if m.high > ((a + w) / 2).high * (1 + TOLERANCE):
        raise StatementError("the weight of the second moment is too large for the proof")
    low = real(blocks, "least_product")

    def largest(constant: Interval, slope: Interval) -> Interval:
        points = [low, ONE]
        if m.low > 0:
            vertex = slope / (4 * m)
            points.append(smaller(larger(vertex, low), ONE))
        values = [constant + slope * x - 2 * m * x * x for x in points]
        return Interval(max(v.low for v in values), max(v.high for v in values))

    same = largest(2 * a + 2 * w + 2 * m, -(2 * a + 2 * w))
    other = largest(2 * a + 2 * w + 2 * c + 2 * m, 2 / k - 2 * w)
    replaced = larger(same, other)
    noise, scale = known(blocks, "noise"), known(step, "scale")
    needed = replaced * scale * scale
    if needed.low > (noise * noise).high * (1 + TOLERANCE):
        raise StatementError(
            f"the noise of the sums is below their change times the scale: {noise}"
        )
    # The contribution is relative to the change by a replaced record, so that one contributes 1
    is_replaced = count(blocks, "n_changed") > 1
    least_change = ONE if is_replaced else (a + w + c + m) / replaced
    if least_change.low > change_of(step, "l2_squared").high * (1 + TOLERANCE):
        raise StatementError("the contribution of a record to the sums is too small")


def with_threshold(cost: Cost, step: dict[str, Any]) -> Cost:
    """Add the delta of thresholds, above which a text or a label of one unit is published."""
    if ("threshold" in step) != ("delta" in step):
        raise StatementError(f"the step {step['name']!r} needs both a threshold and its delta")
    if "threshold" not in step:
        return cost
    threshold = step["threshold"]
    times = count(threshold)
    if step["mechanism"] == "laplace":
        rate, grid = known(step, "inverse_scale"), known(step, "grid")
        above = known(threshold, "level") - 1  # the noise that lifts a count of 1 to the level
        # P(noise >= t) = q**(t / grid) / (1 + q) on the grid, with q = exp(-rate grid)
        passes = (-(rate * above)).exp() / (ONE + (-(rate * grid)).exp())
    else:
        passes = tail(known(threshold, "standard_deviations"))
    cost.delta = known(step, "delta")
    if (passes * times).low > cost.delta.high * (1 + TOLERANCE):
        raise StatementError(f"the threshold of {step['name']!r} is too low for its delta")
    return cost


def noisy_argmax(step: dict[str, Any]) -> Cost:
    """Publish the class with the largest noisy count, for each of several queries.

    The simple cost is for all noisy counts. The cost of the argmax alone, and of a check before
    it, has no simple formula: it is taken as stated.
    """
    times, noise = count(step), step["noise"]
    cost: Cost
    if noise != "gaussian" and ("scale" in step or "check_scale" in step):
        raise StatementError(f"a step with {noise} noise has a scale of Gaussian noise")
    if noise == "gaussian":
        scale = known(step, "scale")
        ratio = change_of(step, "l2_squared") / (scale * scale)
        if step.get("check_scale") is not None:
            check = known(step, "check_scale")
            ratio = ratio + 1 / (check * check)
        cost = gaussian_cost(None if step["grid"] is not None else ratio * times, ratio / 2 * times)
    elif noise in ("laplace", "exponential"):
        cost = pure_cost(change_of(step, "l1") * known(step, "inverse_scale"), times)
    else:
        raise StatementError(f"unknown noise {noise!r}")
    if "pure" in step and (cost.pure is None or known(step, "pure").high * times < cost.pure.low):
        of_query = known(step, "pure")
        bound = "none" if cost.pure is None else digits(cost.pure.high / max(times, 1))
        stated_pure = pure_cost(of_query, times)
        cost.pure, cost.equal_pure = stated_pure.pure, stated_pure.equal_pure
        if cost.mu_squared is None:
            cost.mu_squared = stated_pure.mu_squared
        elif stated_pure.mu_squared is not None:
            cost.mu_squared = smaller(cost.mu_squared, stated_pure.mu_squared)
        note = f"pure epsilon {digits(of_query.high)} of a query; simple bound {bound}"
        cost.notes.append(("pure", note))
    return with_stated_curve(cost, step, times)


def with_stated_curve(cost: Cost, step: dict[str, Any], times: int) -> Cost:
    """Use the stated Renyi costs of one query where they are below the simple formula."""
    curve = {order_of(order): at_least_0(value) for order, value in step.get("renyi", {}).items()}
    simple = cost.renyi

    def renyi(order: Decimal) -> Interval | None:
        formula, value = simple(order), curve.get(order)
        if value is None or not value.is_finite():
            return formula
        stated = interval(value) * times
        return stated if formula is None else smaller(stated, formula)

    cost.renyi = renyi
    for order, value in curve.items():
        formula = simple(order)
        if value.is_finite() and (formula is None or value * times < formula.low):
            bound = "none" if formula is None else digits(formula.high / max(times, 1))
            note = f"Renyi cost {digits(value)} at order {digits(order)}; simple bound {bound}"
            cost.notes.append((order, note))
    return cost


def sparse_vector(step: dict[str, Any]) -> Cost:
    """Publish exact argmaxes of stable queries, in several runs of noisy comparisons [DR, 3.23].

    An unstable query passes only if the noise on its distance exceeds the threshold minus the
    largest drop of a noisy threshold. The probability is at most delta; it is the integral of
    min(1, n_queries / 2 exp(-(t - x) / b)) over a drop x with tail min(1, n_runs / 2 exp(-x / c)).
    """
    pure, runs, queries = (
        known(step, "run_epsilon"),
        count(step, "n_runs"),
        count(step, "n_queries"),
    )
    b, c, t = (known(step, n) for n in ("distance_scale", "threshold_scale", "threshold"))
    if (1 / c + 2 / b).low > pure.high * (1 + TOLERANCE):
        raise StatementError("the scales of the comparisons cost more than the epsilon of a run")
    half_queries, half_runs = interval(queries) / 2, interval(runs) / 2
    first = c * larger(half_runs, ONE).log()  # up to here, the drop has a tail of 1
    last = larger(first, t - b * larger(half_queries, ONE).log())  # then, some query passes
    rate = 1 / b - 1 / c
    rising = half_queries * (-(t / b)).exp()
    up_to_first = rising * (first / b).exp()
    rest = rising / b * half_runs * ((rate * last).exp() - (rate * first).exp()) / rate
    at_last = larger(ONE - half_queries, ZERO) * half_runs * (-(last / c)).exp()
    fails = up_to_first + larger(rest, ZERO) + at_last
    cost = pure_cost(pure, runs)
    cost.delta = known(step, "delta")
    if fails.low > cost.delta.high * (1 + Decimal("1e-6")):
        raise StatementError(f"the threshold of {step['name']!r} is too low for its delta")
    return cost


def stated(step: dict[str, Any]) -> Cost:
    """A step with a cost that is proved by hand, or without a guarantee; taken as stated."""
    pure, mu_squared = (at_least_0(step[name]) for name in ("pure", "mu_squared"))
    cost = Cost(
        interval(pure) if pure.is_finite() else None,
        interval(mu_squared) if mu_squared.is_finite() else None,
        delta=known(step, "delta"),
        equal_pure=[(interval(pure), 1)] if pure.is_finite() else [],
    )
    cost = with_stated_curve(cost, step, 1)
    whole = f"pure {digits(pure)}, mu squared {digits(mu_squared)}, delta {digits(cost.delta.high)}"
    cost.notes.append((None, f"the cost as a whole ({whole})"))
    return cost


def renyi_filter(step: dict[str, Any]) -> Cost:
    """Stop the steps before their Renyi cost at one order, fixed in advance, exceeds a limit [FZ].

    Renyi costs increase with the order, so the limit also holds at smaller orders.
    """
    order_of_limit, limit = order_of(step["order"]), known(step, "limit")
    inside = composed([cost_of(part) for part in listed(step["steps"])])

    def renyi(order: Decimal) -> Interval | None:
        at_most, of_all = limit if order <= order_of_limit else None, inside.renyi(order)
        found = [value for value in (at_most, of_all) if value is not None]
        return min(found, key=lambda value: value.high) if found else None

    return Cost(renyi=renyi, delta=inside.delta, notes=inside.notes)


def best_of_trials(step: dict[str, Any]) -> Cost:
    """Publish the best of a random, secret number of trials, each of a random candidate.

    The number has a truncated negative binomial distribution with this mean and shape eta. If a
    trial has Renyi cost r(a) at order a, the best one has cost r(a) + (1 + eta) ((1 - 1 / b) r(b) +
    log(1 / gamma) / b) + log(mean) / (a - 1), for any second order b [PS, Theorem 2]. A trial
    publishes its candidate, so exp((a - 1) r(a)) is a mean over all candidates.
    """
    mean, eta = known(step, "mean"), real(step, "eta")
    if mean.low < 1 or eta.low <= -1:
        raise StatementError(
            "a number of trials, at least 1, has a mean of at least 1 and eta > -1"
        )
    candidates = [(count(part), *trial_of(part)) for part in step["candidates"]]
    n_candidates = sum(times for times, *_ in candidates)
    log_inverse_gamma = interval(_log_inverse_gamma(mean, eta))
    second_orders = [order_of(order) for order in step["second_orders"]]

    def of_trial(order: Decimal) -> Interval | None:
        terms = []
        for times, cost, score in candidates:
            found = least_renyi(cost, order)
            if found is None:
                return None
            if score is not None:  # a record is in the model or in the score, never in both
                found = larger(found, interval(order) / (2 * score * score))
            terms.append((interval(order) - 1) * found + interval(times).log())
        return (log_sum(terms) - interval(n_candidates).log()) / (interval(order) - 1)

    def renyi(order: Decimal) -> Interval | None:
        first = of_trial(order)
        seconds = [(second, of_trial(second)) for second in second_orders]
        others = [
            (ONE - 1 / interval(second)) * found + log_inverse_gamma / interval(second)
            for second, found in seconds
            if found is not None
        ]
        if first is None or not others:
            return None
        second = min(others, key=lambda value: value.high)
        return first + (ONE + eta) * second + mean.log() / (interval(order) - 1)

    return Cost(renyi=renyi, notes=[note for _, cost, _ in candidates for note in cost.notes])


def trial_of(part: dict[str, Any]) -> tuple[Cost, Interval | None]:
    """Return the cost of one candidate, and the scale of the noise on its score, if it has any."""
    cost = composed([cost_of(step) for step in listed(part["steps"])])
    if cost.delta.high > 0:
        raise StatementError("a trial of a search has a delta of its own")
    return cost, None if part["score_scale"] is None else known(part, "score_scale")


def least_renyi(cost: Cost, order: Decimal) -> Interval | None:
    """Return the least Renyi cost that follows from any measure of a cost."""
    found = [cost.renyi(order)]
    if cost.mu_squared is not None:
        found.append(cost.mu_squared * order / 2)
    if cost.pure is not None:
        found.append(renyi_of_pure(cost.pure, order))
    values = [value for value in found if value is not None]
    return min(values, key=lambda value: value.high) if values else None


def _log_inverse_gamma(mean: Interval, eta: Interval) -> Decimal:
    """Return log(1 / gamma), rounded up, of the distribution with this mean.

    The mean is eta (1 - g) / (g (1 - g**eta)), or its limit (1 / g - 1) / log(1 / g) for eta = 0,
    and it grows with x = log(1 / g).
    """
    is_logarithmic = max(abs(eta.low), abs(eta.high)) < Decimal("1e-9")

    def mean_at(x: Interval) -> Interval:
        if is_logarithmic:
            return (x.exp() - 1) / x
        return eta * (x.exp() - 1) / (ONE - (-(eta * x)).exp())

    precision = Decimal("1e-12")
    return least(lambda x: mean_at(interval(x)).low >= mean.high, Decimal(1), precision)


def one_of_several(step: dict[str, Any]) -> Cost:
    """One of several branches; which one depends on the outcomes of earlier steps.

    Each measure is the largest of all branches. `of_branches` computes a smaller total.
    """
    branches = [
        composed([cost_of(part) for part in listed(branch)]) for branch in listed(step["branches"])
    ]

    def largest(numbers: list[Interval | None]) -> Interval | None:
        if any(number is None for number in numbers):
            return None
        return max((n for n in numbers if n is not None), key=lambda number: number.high)

    return Cost(
        largest([branch.pure for branch in branches]),
        largest([branch.mu_squared for branch in branches]),
        lambda order: largest([branch.renyi(order) for branch in branches]),
        max((branch.delta for branch in branches), key=lambda delta: delta.high),
        branches=branches,
        notes=[note for branch in branches for note in branch.notes],
    )


MECHANISMS: dict[str, Callable[[dict[str, Any]], Cost]] = {
    "laplace": laplace,
    "gaussian": gaussian,
    "noisy argmax": noisy_argmax,
    "sparse vector": sparse_vector,
    "stated": stated,
    "filter": renyi_filter,
    "best of trials": best_of_trials,
    "one of several": one_of_several,
}


#: Names that a step of each mechanism may have in addition to "mechanism" and "name". The formulas
#: above use all of them, so no number of a step is without effect.
NAMES: dict[str, set[str]] = {
    "laplace": {"inverse_scale", "grid", "contribution", "count", "delta", "threshold"},
    "gaussian": {
        *("scale", "grid", "tau", "contribution", "count", "delta", "threshold", "blocks"),
    },
    "noisy argmax": {
        *("noise", "scale", "inverse_scale", "check_scale", "grid", "contribution", "count"),
        *("pure", "renyi"),
    },
    "sparse vector": {
        *("run_epsilon", "n_runs", "n_queries", "threshold_scale", "distance_scale", "threshold"),
        "delta",
    },
    "stated": {"pure", "mu_squared", "delta", "renyi"},
    "filter": {"order", "limit", "steps"},
    "best of trials": {"mean", "eta", "second_orders", "candidates"},
    "one of several": {"branches"},
}


def cost_of(step: dict[str, Any]) -> Cost:
    """Return the cost of a step of the statement."""
    mechanism = step.get("mechanism")
    if mechanism not in MECHANISMS:
        raise StatementError(f"unknown mechanism {mechanism!r}")
    unknown = set(step) - NAMES[mechanism] - {"mechanism", "name"}
    if unknown:
        raise StatementError(
            f"a {mechanism!r} step of the statement has an unknown {min(unknown)!r}"
        )
    try:
        return MECHANISMS[mechanism](step)
    except KeyError as error:
        raise StatementError(f"a {mechanism!r} step of the statement has no {error}") from None


# --- 5. from costs to epsilon and delta -----------------------------------------------------------


@dataclass
class Guarantee:
    """A recomputed epsilon at a delta; epsilon is inf if the steps have no guarantee."""

    epsilon: Decimal
    delta: Decimal
    how: str
    order: Decimal | None = None


INFINITY = Decimal("Infinity")


def least(
    holds: Callable[[Decimal], bool], start: Decimal, precision: Decimal = PRECISION
) -> Decimal:
    """Return a number at which a condition holds, at most a little above the least such number.

    The condition must hold at all larger numbers. The search begins at `start`.
    """
    low, high = Decimal(0), start
    while not holds(high):
        low, high = high, 2 * high
        if high > Decimal("1e9"):
            return INFINITY
    if low == 0:
        step = precision  # most claims are hardly larger than necessary
        while high > Decimal("1e-9"):
            low = high * (1 - step)
            if not holds(low):
                break
            high, step = low, min(100 * step, Decimal("0.5"))
        else:
            return high
    while high - low > precision * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def of_composition(part: dict[str, Any]) -> Guarantee:
    """Return the guarantee of steps whose costs add up, by the best of all known ways."""
    costs = [cost_of(step) for step in listed(part["steps"])]
    cost = composed(costs)
    delta = interval(probability(part["delta"]))
    left = delta - cost.delta
    found: list[tuple[Decimal, str, Decimal | None]] = []
    if cost.delta.high > delta.high * (1 + TOLERANCE):
        return Guarantee(INFINITY, delta.high, "the deltas of the steps exceed the total")
    if cost.pure is not None:
        found.append((cost.pure.high, "sum of pure epsilons", None))
    if left.low > 0:
        start = max(exact(part["epsilon"]), Decimal("1e-6"))
        start = start * (1 + TOLERANCE) if start.is_finite() else Decimal(1)
        found += list(_with_delta(costs, cost, left, start, part))
    found.append((INFINITY, "no guarantee", None))
    epsilon, how, order = min(found, key=lambda pair: pair[0])
    return Guarantee(epsilon, delta.high, how, order)


def renyi_orders(part: dict[str, Any]) -> list[Decimal]:
    """Return the Renyi orders that a part of the statement uses."""
    return [order_of(order) for order in part["renyi_orders"]]


def _with_delta(
    costs: list[Cost], cost: Cost, delta: Interval, start: Decimal, part: dict[str, Any]
) -> Iterable[tuple[Decimal, str, Decimal | None]]:
    """Yield each epsilon, the way in which it follows, and its Renyi order, for a delta above 0."""
    for order in renyi_orders(part):
        renyi = cost.renyi(order)
        if renyi is not None:
            a = interval(order)  # [CKS, Proposition 12]
            epsilon = renyi + ((a - 1) / a).log() - (delta.log() + a.log()) / (a - 1)
            yield max(epsilon.high, Decimal(0)), f"Renyi costs at order {digits(order)}", order
    if cost.mu_squared is not None:
        mu = cost.mu_squared.sqrt()
        yield least_at(lambda e: gaussian_delta(e, mu), delta, start), "Gaussian costs", None
    own_pure = [each for each in costs if each.pure is not None]
    rest = [each.mu_squared for each in costs if each.pure is None]
    mu_of_rest = total_of(rest)
    if own_pure and rest and mu_of_rest is not None and not any(c.branches for c in costs):
        mu = mu_of_rest.sqrt()
        pure, times = equal_parts(own_pure)
        how = "pure costs and Gaussian noise together"
        yield least_at(lambda e: mixed_delta(e, pure, times, mu), delta, start), how, None
    chosen = [each for each in costs if each.branches]
    if len(chosen) == 1 and len(costs) > 1:
        earlier = [each for each in costs if not each.branches]
        deltas = branches_delta(earlier, chosen[0].branches, delta)
        # It takes seconds, so it is computed at the claim alone
        if deltas is not None and deltas(interval(start)).high <= delta.low:
            yield start, "the worst branch after each outcome of the earlier steps", None


def least_at(delta_at: Callable[[Interval], Interval], delta: Interval, start: Decimal) -> Decimal:
    """Return the least epsilon at which a delta is small enough, rounded up."""
    return least(lambda e: delta_at(interval(e)).high <= delta.low, start)


#: Largest number of equal pure steps whose losses are added up one by one.
_MOST_PURE = 40


def equal_parts(costs: list[Cost]) -> tuple[Interval, int]:
    """Return the pure cost of each of several equal parts, and their number; else the sum and 1."""
    numbers: Counter[Decimal] = Counter()
    for cost in costs:
        for pure, times in cost.equal_pure:
            numbers[pure.high] += times
    if len(numbers) == 1:
        ((number, times),) = numbers.items()
        if times <= _MOST_PURE:
            return interval(number), times
    return total(cost.pure for cost in costs if cost.pure is not None), 1


def pair_of(costs: list[Cost]) -> tuple[Interval, Interval] | None:
    """Return the pure cost and the Gaussian cost of steps, or None if one has neither."""
    pure = total(cost.pure for cost in costs if cost.pure is not None)
    mu_squared = total_of([cost.mu_squared for cost in costs if cost.pure is None])
    return None if mu_squared is None else (pure, mu_squared.sqrt())


#: Orders at which the Renyi cost of a branch bounds its delta; any orders above 1 are valid.
_ORDERS = [ONE.low + Decimal("0.1") * Decimal(20000) ** (Decimal(k) / 203) for k in range(204)]


def curve_of(branch: Cost) -> Callable[[Interval], Interval]:
    """Return a function that bounds the delta of a branch at any epsilon.

    It is the least bound by the pure and Gaussian costs together, and by the Renyi costs: at order
    a, delta is at most exp((a - 1) (renyi - epsilon)) (1 - 1 / a)**a / (a - 1) [CKS, 12].
    """
    pair = pair_of([branch])
    lines = []
    for order in _ORDERS:
        renyi = branch.renyi(order)
        if renyi is not None:
            a = interval(order)
            lines.append((a - 1, (a - 1) * (renyi + (1 - 1 / a).log()) - a.log()))
    best = 0  # the line that was the least at the last epsilon

    def exponent(place: int, epsilon: Interval) -> Decimal:
        slope, offset = lines[place]
        return (offset - slope * epsilon).high

    def delta_at(epsilon: Interval) -> Interval:
        nonlocal best
        if epsilon.high < 0:  # the same test with exchanged data sets
            return ONE - epsilon.exp() + epsilon.exp() * delta_at(-epsilon)
        found = ONE
        if lines:
            for step in (1, -1):
                while 0 <= best + step < len(lines) and exponent(best + step, epsilon) < exponent(
                    best, epsilon
                ):
                    best += step
            found = smaller(found, interval(exponent(best, epsilon)).exp())
        if pair is not None:
            pure, mu = pair
            times = 1 if pure.high > 0 else 0
            found = smaller(found, mixed_delta(epsilon, pure, times, mu))
        return found

    return delta_at


#: Lowest loss of earlier steps and the largest distance of two losses, in standard deviations. Any
#: numbers are valid; these are those of the library, which adds up the same cells.
_LOWEST, _STEP = Decimal(-6), Decimal("0.008")


def branches_delta(
    earlier: list[Cost], branches: list[Cost], delta: Interval
) -> Callable[[Interval], Interval] | None:
    """Return a function that computes delta of earlier steps and the branch that follows.

    For every outcome with loss L of the earlier steps, the branch that follows has at most the
    delta of the worst branch at epsilon - L. The total is the mean over L, which is plus or minus
    the pure cost plus a normal number with mean mu**2 / 2 and variance mu**2. The delta of a branch
    is convex in exp(-L). So inside of a cell of L it is at most its chord, and the mean over the
    cell is a sum over the two ends, which needs the probability of the cell and the mean of
    exp(-L), a probability of the normal number with the opposite mean.
    """
    of_earlier = pair_of(earlier)
    if of_earlier is None or of_earlier[1].high == 0:
        return None
    pure, mu = of_earlier
    rest = delta.low * Decimal("1e-9")
    reach = least(lambda x: tail(interval(x)).high <= rest, Decimal(7), Decimal("1e-12")) - _LOWEST
    n_cells = math.ceil(reach / _STEP)
    ends = [_LOWEST + reach * k / n_cells for k in range(n_cells + 1)]
    above = [tail(interval(end)) for end in ends]
    above_exp = [tail(interval(end) + mu) for end in ends]
    losses = [mu * mu / 2 + mu * end for end in ends]
    weights = [ONE - above[0], *(ZERO for _ in ends[1:])]
    for k in range(len(ends) - 1):
        probability, mean_exp = above[k] - above[k + 1], above_exp[k] - above_exp[k + 1]
        at_low, at_high = (-losses[k]).exp(), (-losses[k + 1]).exp()
        share = (mean_exp - probability * at_high) / (at_low - at_high)
        weights[k] = weights[k] + share
        weights[k + 1] = weights[k + 1] + probability - share

    curves = [curve_of(branch) for branch in branches]

    def worst(epsilon: Interval) -> Interval:
        return max((curve(epsilon) for curve in curves), key=lambda delta: delta.high)

    def delta_at(epsilon: Interval) -> Interval:
        found = above[-1]
        signs = [(ONE / (ONE + (-pure).exp()), pure), (ONE / (ONE + pure.exp()), -pure)]
        for loss, weight in zip(losses, weights, strict=True):
            for sign, shift in signs if pure.high > 0 else [(ONE, ZERO)]:
                found = found + sign * weight * worst(epsilon - loss - shift)
        return found

    return delta_at


def of_sum(part: dict[str, Any]) -> Guarantee:
    """Return the guarantee of parts, whose earlier ones chose later ones: their sums.

    Each part claims an epsilon that holds for all that could have been chosen [DR, 3.16], so the
    claims add up, not the recomputed numbers of the chosen steps.
    """
    for each in listed(part["parts"]):
        check(each, guarantee_of(each))
    epsilon = total(interval(exact(each["epsilon"])) for each in part["parts"]).high
    delta = total(interval(probability(each["delta"])) for each in part["parts"]).high
    return Guarantee(epsilon, delta, "sum of the epsilons and deltas of the parts")


def of_private_test(part: dict[str, Any]) -> Guarantee:
    """Return the guarantee of a private test of the cost of the votes, and of the labels [RZW].

    The test passes with a probability that grows with a distance, which differs by at most 1 on
    neighboring data sets. At distance 0, it passes with probability delta at most. Otherwise, the
    votes of one of two neighboring data sets cost at most the limit, at this order a. If the two
    pass with probabilities p and q, test and labels together have the Renyi cost
    log((1 - p)**a (1 - q)**(1 - a) + p**a q**(1 - a) exp((a - 1) limit)) / (a - 1). The last of the
    listed probabilities holds at all larger distances.
    """
    order, limit = interval(order_of(part["order"])), known(part, "limit")
    delta = probability(part["delta"])
    passing = [interval(exact(value)) for value in part["pass_probabilities"]]
    if not passing or passing[0].high > delta * (1 + TOLERANCE):
        raise StatementError("the private test passes with a probability above delta at distance 0")
    gain = ((order - 1) * limit).exp()

    def cost(p: Interval, q: Interval) -> Interval:
        ratio_failed = ((order * (ONE - p).log()) + (1 - order) * (ONE - q).log()).exp()
        ratio_passed = ((order * p.log()) + (1 - order) * q.log()).exp()
        return (ratio_failed + ratio_passed * gain).log() / (order - 1)

    pairs = list(zip(passing, passing[1:], strict=False))
    pairs += [(q, p) for p, q in pairs] + [(p, p) for p in passing[1:]]
    worst = max((cost(p, q) for p, q in pairs), key=lambda value: value.high)
    # [CKS, Proposition 12]
    conversion = ((order - 1) / order).log() - (interval(delta).log() + order.log()) / (order - 1)
    epsilon = max((worst + conversion).high, Decimal(0))
    return Guarantee(epsilon, delta, "private test of the cost of the votes")


RULES: dict[str, Callable[[dict[str, Any]], Guarantee]] = {
    "composition": of_composition,
    "sum": of_sum,
    "propose-test-release": of_private_test,
}


def guarantee_of(part: dict[str, Any]) -> Guarantee:
    """Return the recomputed guarantee of a part of the statement, or of the whole."""
    rule = part.get("rule")
    if rule not in RULES:
        raise StatementError(f"unknown rule {rule!r}")
    try:
        return RULES[rule](part)
    except KeyError as error:
        raise StatementError(f"a {rule!r} part of the statement has no {error}") from None


# --- 6. comparison and output ---------------------------------------------------------------------


def check(claim: dict[str, Any], found: Guarantee) -> None:
    """Raise an error if a claim is below the recomputed epsilon or delta."""
    for name, needed in (("epsilon", found.epsilon), ("delta", found.delta)):
        claimed = number_of(claim[name])
        if needed > claimed * (1 + TOLERANCE):
            raise StatementError(
                f"the statement claims {name} {digits(claimed)}, but its steps cost "
                f"{digits(needed)}"
            )


def number_of(value: Any) -> Decimal:
    """Return a claimed number; an infinite epsilon is the text "Infinity"."""
    return INFINITY if value in ("Infinity", "inf") else exact(value)


def digits(number: Decimal, n_digits: int = 7) -> str:
    """Return a number as text, rounded up to some digits."""
    if not number.is_finite():
        return "inf"
    nearly = number * (1 - TOLERANCE)  # the float 0.1 is a little more than 0.1
    rounded = Context(prec=n_digits, rounding=ROUND_CEILING).create_decimal(nearly)
    return f"{float(rounded):.{n_digits}g}"


def lines_of(part: dict[str, Any], indent: str = "") -> Iterable[str]:
    """Yield a line for each step of a part of the statement, and one for the part."""
    inside = indent + "  "
    found = guarantee_of(part)
    if part["rule"] == "sum":
        for each in part["parts"]:
            yield from lines_of(each, inside)
    for step in part.get("steps", ()):
        yield from lines_of_step(step, part, found, inside)
    if part["rule"] == "propose-test-release":
        yield f"{inside}not rechecked: the cost of votes by their margins, compared with the limit"
    limit = ""
    if part.get("is_limit"):
        limit = ", the limit for all that the earlier part could have chosen"
    claim = f"stated {digits(number_of(part['epsilon']))}{limit}"
    at = f"at delta {digits(found.delta)}" if found.delta else "at delta 0"
    yield f"{indent}= epsilon {digits(found.epsilon)} {at} by {found.how}; {claim}"


def lines_of_step(
    step: dict[str, Any], part: dict[str, Any], found: Guarantee, indent: str
) -> Iterable[str]:
    """Yield a line for a step, with its epsilon by itself, and lines for its parts and notes."""
    by_itself = of_composition({**part, "rule": "composition", "steps": [step]})
    times = f", {step['count']} times" if step.get("count", 1) != 1 else ""
    delta = exact(step.get("delta", 0))
    epsilon = f"epsilon {digits(by_itself.epsilon)}" + (f", delta {digits(delta)}" if delta else "")
    yield f"{indent}{step['name']} ({noise_of(step)}{times}): {epsilon}"
    is_test = part["rule"] == "propose-test-release"
    uses: set[Decimal | str | None] = {None, found.order}
    uses |= {exact(order) for order in step.get("second_orders", ())}
    if step["mechanism"] == "best of trials":
        uses.add("pure")  # see `least_renyi`
    if step["mechanism"] == "filter":
        uses.add(exact(step["order"]))
    # Without an order of the result, any number of the step may have an effect
    notes = [text for use, text in cost_of(step).notes if found.order is None or use in uses]
    for text in dict.fromkeys(notes if not is_test else ()):
        yield f"{indent}  not rechecked: {text}"
    nested = [("", inner) for inner in step.get("steps", ())]
    for number, branch in enumerate(step.get("branches", ()), start=1):
        nested += [(f"branch {number}: ", inner) for inner in branch]
    for candidate in step.get("candidates", ()):
        nested += [(f"{candidate['count']} candidates: ", inner) for inner in candidate["steps"]]
    for prefix, inner in nested:
        times = f", {inner['count']} times" if inner.get("count", 1) != 1 else ""
        yield f"{indent}  {prefix}{inner['name']} ({noise_of(inner)}{times})"


def noise_of(step: dict[str, Any]) -> str:
    """Return the mechanism of a step with its noise, in words."""
    words = step["mechanism"]
    if words == "noisy argmax":
        words = f"{step['noise']} noise on votes"
    changes = step.get("contribution", {})
    if "scale" in step:
        change = digits(interval(exact(changes["l2_squared"])).sqrt().high, 4)
        return f"{words}, standard deviation {digits(exact(step['scale']), 5)} for change {change}"
    if "inverse_scale" in step:
        scale = (1 / interval(exact(step["inverse_scale"]))).high
        return f"{words}, scale {digits(scale, 5)} for change {digits(exact(changes['l1']), 4)}"
    if "limit" in step:
        return (
            f"{words}, limit {digits(exact(step['limit']))} at order {digits(exact(step['order']))}"
        )
    return words


def check_model(statement: dict[str, Any], data: bytes) -> str:
    """Return a line about the file of a model; raise an error if its digest differs."""
    stated_digest = statement.get("model_sha256")
    if stated_digest is None:
        raise StatementError("the statement holds no digest of a model")
    if hashlib.sha256(data).hexdigest() != stated_digest:
        raise StatementError("the statement is of another model: the SHA-256 digests differ")
    return f"The model's file has the stated SHA-256 digest {stated_digest}."


def steps_in(node: Any) -> list[dict[str, Any]]:
    """Return the steps of a part of the statement that add noise, nested ones included."""
    if isinstance(node, list):
        return [step for each in node for step in steps_in(each)]
    if not isinstance(node, dict):
        return []
    nested = [step for value in node.values() for step in steps_in(value)]
    return nested or ([node] if "mechanism" in node else [])


def check_steps(statement: dict[str, Any], part: dict[str, Any]) -> None:
    """Compare the steps with the rest of the statement, which names all that was released."""
    steps = steps_in(part)
    n_released = len(statement["tables"]) + len(statement["extra_releases"])
    n_released += statement["n_teachers"] is not None
    if len(steps) < n_released:
        raise StatementError(
            f"the statement names {n_released} releases, but lists {len(steps)} steps"
        )
    is_continuous = any("grid" in step and step["grid"] is None for step in steps)
    if statement["arithmetic"] == "exact" and is_continuous:
        raise StatementError("the statement claims exact arithmetic, and a step has real noise")


def without_stated(node: Any) -> Any:
    """Return a part of the statement with the simple bounds of `noisy_argmax` alone.

    A filter and a private test compare costs with a limit, so they remain as they are.
    """
    if isinstance(node, list):
        return [without_stated(each) for each in node]
    if not isinstance(node, dict) or "limit" in node:
        return node
    stated_names = {"pure", "renyi"} if node.get("mechanism") == "noisy argmax" else set()
    return {key: without_stated(value) for key, value in node.items() if key not in stated_names}


def simple_epsilon(part: dict[str, Any]) -> Decimal:
    """Return the epsilon of a part of the statement by simple bounds; see `without_stated`."""
    if part["rule"] == "sum":
        return total(interval(simple_epsilon(each)) for each in part["parts"]).high
    found = guarantee_of(without_stated(part)).epsilon
    return max(found, number_of(part["epsilon"])) if part.get("is_limit") else found


#: Words that a statement may have; some of them add a line to the output.
WORDS: dict[str, tuple[str, ...]] = {
    "kind": ("spent", "forecast"),
    "covers": ("fit", "rows", "statistics", "target"),
    "generator": ("system", "seed"),
    "arithmetic": ("exact", "real"),
}


def report(statement: dict[str, Any]) -> list[str]:
    """Return the lines of the output; raise an error if the statement claims too little."""
    number = statement.get("format")
    if type(number) is not int or number not in FORMATS:
        raise StatementError(f"format {number!r} is not one of {FORMATS}")
    for name, words in WORDS.items():
        if statement.get(name) not in words:
            raise StatementError(f"{name} {statement.get(name)!r} is not one of {words}")
    probability(statement["delta"])
    part = statement.get("guarantee")
    if not isinstance(part, dict):
        raise StatementError("the statement lists no steps, so nothing can be recomputed")
    found = guarantee_of(part)
    check(part, found)
    check_steps(statement, part)
    whole = {name: number_of(part[name]) for name in ("epsilon", "delta")}
    check(statement, Guarantee(whole["epsilon"], whole["delta"], found.how))
    lines = [f"Protected: {statement['unit']}, {statement['relation']}", *lines_of(part)]
    if without_stated(part) != part:
        simple = f"epsilon {digits(simple_epsilon(part))} at delta {digits(found.delta)}"
        lines.append(f"With simple bounds instead of costs of queries not rechecked: {simple}")
    if statement["kind"] == "forecast":
        lines.append("Not covered: any fit, as this is the forecast of a plan")
    if statement["covers"] != "fit":
        lines.append(f"Not covered: a model, as the fit failed after its {statement['covers']}")
    for gap in statement["not_covered"]:
        lines.append(f"Not covered: {gap}")
    if statement["generator"] == "seed":
        lines.append("Not covered: the noise came from a seed; who has the seed can subtract it")
    if statement["arithmetic"] == "real":
        lines.append("Not covered: the rounding of noise to floating-point numbers")
    ledger = statement.get("ledger")
    if ledger is not None:
        spent = digits(number_of(ledger["epsilon_before"]))
        lines.append(
            f"Not rechecked: the ledger of the data had {ledger['n_fits_before']} earlier fits of "
            f"epsilon {spent}, with a limit of {digits(number_of(ledger['epsilon']))} for all fits"
        )
    lines.append(
        f"The statement claims epsilon {digits(number_of(statement['epsilon']))} and delta "
        f"{digits(number_of(statement['delta']))}. Recomputed: {digits(found.epsilon)} and "
        f"{digits(found.delta)}."
    )
    return lines


def read(text: str) -> dict[str, Any]:
    """Return the JSON object in a text; every reader of the file must see the same numbers."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise StatementError("a name occurs twice in one object")
        return found

    def refuse(literal: str) -> Any:
        raise StatementError(f"{literal} is no number of JSON")

    statement = json.loads(text, object_pairs_hook=unique, parse_constant=refuse)
    if not isinstance(statement, dict):
        raise StatementError("the statement is not a JSON object")
    return statement


def printable(line: str) -> str:
    """Return a line without control characters, so that no text of a statement adds a line."""
    return "".join(each if each.isprintable() else "?" for each in line)


def main(arguments: Sequence[str]) -> int:
    """Check the statement in a file, and optionally the file of its model; return the exit code."""
    if len(arguments) not in (1, 2) or arguments[0] in ("-h", "--help"):
        print("usage: python verify.py statement.json [model-file]", file=sys.stderr)
        return 2
    try:
        statement = read(Path(arguments[0]).read_text(encoding="utf-8"))
        lines = report(statement)
        if len(arguments) == 2:
            lines.append(check_model(statement, Path(arguments[1]).read_bytes()))
    except OSError as error:
        print(f"cannot read {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    except StatementError as error:
        print(printable(f"REFUSED: {error}"))
        return 1
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        reason = "it is no text" if isinstance(error, UnicodeDecodeError) else str(error)
        line = f"REFUSED: not a valid statement: {arguments[0]} is not a file of JSON: {reason}"
        print(printable(line))
        return 1
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        print(printable(f"REFUSED: not a valid statement: {type(error).__name__}: {error}"))
        return 1
    except RecursionError:
        print("REFUSED: not a valid statement: its parts are nested too deeply")
        return 1
    print(*map(printable, lines), sep="\n")
    has_stated = any(line.lstrip().startswith("not rechecked: ") for line in lines)
    print("The claim holds" + (", if the numbers not rechecked are right." if has_stated else "."))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

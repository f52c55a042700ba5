"""Orders, margins, and input checks for costs. Messages contain no votes: votes are private."""

import contextlib
import math
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from .._numbers import LARGEST_COUNT, as_float, is_whole, shown

#: Orders at which costs are computed: 1.1 to 2001, 5% apart in `order - 1`.
DEFAULT_ORDERS = 1.0 + np.geomspace(0.1, 2000.0, 204)
DEFAULT_ORDERS.setflags(write=False)


def as_array(name: str, value: Any, dtype: Any = None) -> np.ndarray:
    """Return `value` as an array; error messages contain the name, but no private values."""
    if isinstance(value, np.ma.MaskedArray):
        raise ValueError(
            f"{name} is a masked array, and its mask would be lost: fill it, for example with "
            f"{name}.filled()"
        )
    with contextlib.suppress(TypeError, ValueError, OverflowError):
        array = np.asarray(value, dtype=dtype)
        # NumPy's variable-width strings, which pandas and scikit-learn do not support
        return array.astype(object) if array.dtype.kind == "T" else array
    # Outside `except`, because there the new error would keep a reference to the caught one
    raise ValueError(
        f"{name} must be array-like, with rows of equal length"
        f"{' that contain numbers' if dtype is not None else ''}; got {type(value).__name__}"
    )


def check_orders(orders: ArrayLike) -> NDArray[np.float64]:
    """Return `orders` as a 1-D float array; every order must be finite and above 1."""
    if orders is DEFAULT_ORDERS:  # which cannot be changed
        return DEFAULT_ORDERS
    orders = np.atleast_1d(as_array("orders", orders, dtype=float))
    if orders.ndim != 1 or orders.size == 0 or not np.all(np.isfinite(orders) & (orders > 1)):
        raise ValueError(f"orders must be a non-empty list of finite numbers above 1; got {orders}")
    return orders


def check_delta(delta: Any, allow_zero: bool = False) -> float:
    """Return `delta` as a float in (0, 1), or in [0, 1) if `allow_zero` is set."""
    number = as_float(delta) if isinstance(delta, Real) else math.nan
    if not 0 <= number < 1 or (number == 0 and not allow_zero):
        requested = "from 0 to below 1" if allow_zero else "strictly between 0 and 1"
        raise ValueError(f"delta must be a number {requested}; got {shown(delta)}")
    return number


def check_votes(votes: ArrayLike) -> NDArray[np.int64]:
    """Return `votes` as an int64 array (n_queries, n_classes) of counts with equal row sums."""
    votes = as_array("votes", votes)
    if votes.ndim != 2 or votes.shape[1] < 2:
        raise ValueError(
            "votes must have shape (n_queries, n_classes) with at least 2 classes; "
            f"got shape {votes.shape}"
        )
    are_finite = votes.dtype.kind in "iuf" and np.isfinite(votes).all()
    counts = votes.astype(np.int64) if are_finite else None  # a cast of NaN is undefined
    if counts is None or not np.array_equal(counts, votes) or (counts < 0).any():
        raise ValueError(
            "votes must be finite whole numbers of at least 0: one count for each class"
        )
    # Integer sums may overflow 64 bits, and floats are exact to 2**53
    totals = counts.sum(axis=1, dtype=float)
    if totals.size and (not 1 <= totals[0] <= 2**53 or (totals != totals[0]).any()):
        raise ValueError(
            "every row of votes must sum to the number of teachers, at least 1 and at most 2**53. "
            "To count labels with one column per teacher, use\n"
            "    votes = numpy.stack([(labels == c).sum(axis=1) for c in classes], axis=1)"
        )
    return counts


def check_log_proba(log_proba: ArrayLike, *, n_classes: int | None = None) -> NDArray[np.float64]:
    """Return log probabilities of outcomes as floats; each row must be a distribution."""
    log_proba = np.asarray(log_proba, dtype=float)
    if n_classes is not None and (log_proba.shape[1:] not in ((n_classes,), (n_classes + 1,))):
        raise ValueError(
            f"outcome_log_proba must return a column for each of the {n_classes} classes and, for "
            f'mechanisms that may refuse, one for "no answer"; got shape {log_proba.shape}'
        )
    if not np.allclose(logsumexp(log_proba, axis=1), 0.0, rtol=0, atol=1e-9):
        raise ValueError(
            "outcome_log_proba must return the log of probabilities that sum to 1 in each row"
        )
    return log_proba


def check_nonnegative(name: str, value: Any) -> float:
    """Return `value` as a float, which must be at least 0 and may be inf."""
    number = as_float(value) if isinstance(value, Real) else math.nan
    if not number >= 0:
        raise ValueError(f"{name} must be a number, at least 0; got {shown(value)}")
    return number


def check_cost(cost: np.ndarray) -> NDArray[np.float64]:
    """Raise an error for NaN or negative costs, and clip negative rounding errors to 0."""
    if np.isnan(cost).any() or (cost < -1e-9).any():
        raise ArithmeticError("a Renyi cost is negative or NaN; please report this")
    return np.maximum(cost, 0.0)


def check_count(name: str, value: Any, least: int = 1) -> int:
    """Return `value` as an int; it must be a whole number, at least `least`."""
    if isinstance(value, bool) or not is_whole(value) or value < least:
        raise ValueError(f"{name} must be a whole number, at least {least}; got {shown(value)}")
    if value > LARGEST_COUNT:
        raise ValueError(f"{name} must be a whole number below 2**63; got {shown(value)}")
    return int(value)


def check_public(*, n_teachers: int | None, n_classes: int | None) -> tuple[int | None, int | None]:
    """Check the public numbers, and return each as an int, or None if it is None.

    They are converted to int, because NumPy's small integer types would overflow.
    """
    if n_teachers is not None:
        n_teachers = check_count("n_teachers", n_teachers)
    if n_classes is not None:
        n_classes = check_count("n_classes", n_classes, least=2)
    return n_teachers, n_classes


def margins(votes: np.ndarray) -> np.ndarray:
    """Return the largest count minus the second largest, one for each row of votes."""
    first_two = np.sort(votes, axis=-1)[..., -2:]
    return first_two[..., 1] - first_two[..., 0]

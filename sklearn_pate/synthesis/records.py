"""What is known of each private record beside its row: label, weight and unit."""

from functools import partial

import numpy as np

from ..identifiers import spelled_identifiers
from ..isolation import Quiet, attempt
from ..rdp.checks import as_array


def of_records(count, n_rows, codes, sample_weight, groups, *, n_classes):
    """Return ``count(codes, weight, groups)``; no warning or error tells of private values."""
    with Quiet():
        codes, weight = checked_codes(n_rows, codes, sample_weight, n_classes=n_classes)
        groups = None if groups is None else numbered(n_rows, groups)
        counted, failed = attempt(partial(count, codes, weight, groups))
    if failed is not None:
        raise ValueError(f"the private rows could not be counted: {failed}, in their values")
    return counted


def checked_codes(n_rows, codes, sample_weight, *, n_classes):
    """Return codes and weights; others would be counted in wrong places, and move more."""
    codes = as_array("codes", codes)
    are_codes = codes.shape == (n_rows,) and codes.dtype.kind in "iu"
    if not are_codes or ((codes < 0) | (codes >= n_classes)).any():
        raise ValueError(
            f"codes must be a whole number from 0 to {n_classes - 1} for each row of X"
        )
    if sample_weight is None:
        return codes.astype(np.int64), None
    weight = as_array("sample_weight", sample_weight, dtype=float)
    if weight.shape != (n_rows,) or not np.isfinite(weight).all():
        raise ValueError("sample_weight must be a finite number for each row of X")
    return codes.astype(np.int64), weight


def numbered(n_rows, groups):
    """Return the number of each row's group, from 0."""
    _, numbers = np.unique(spelled_identifiers(groups, "groups"), return_inverse=True)
    if len(numbers) != n_rows:
        raise ValueError("groups must have one identifier for each row of X")
    return numbers

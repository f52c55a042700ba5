"""What both synthesizers do with records: columns are declared, and counted in silence."""

from functools import partial
from numbers import Integral

import numpy as np
from sklearn.exceptions import NotFittedError

from .._sklearn import Interval
from ..isolation import Quiet, attempt
from ..neighbors.cells import numbered
from ..rdp.checks import as_array
from .base import Synthesizer
from .schema import read_schema


class ColumnSynthesizer(Synthesizer):
    """Base class: draws rows from what is counted of declared columns.

    A subclass has `_counted`, which returns what records say together, and `_drawn`, which returns
    rows drawn from that.
    """

    n_bins = 32

    _parameter_constraints = {
        "bounds": [dict, list, tuple, np.ndarray, None],
        "categories": [dict, None],
        "n_rows": [Interval(Integral, 1, None, closed="left")],
    }

    def declare(self, X, classes):
        """Fix the schema; see `Synthesizer.declare`."""
        self._validate_params()
        self.schema_, self.not_covered_ = read_schema(
            X,
            bounds=self.bounds,
            categories=self.categories,
            missing=self.missing,
            n_bins=int(self.n_bins),
        )
        return self

    def rehearsal_rows(self, n_rows, rng):
        """Draw rows from the schema alone; see `Synthesizer.rehearsal_rows`."""
        self._check_declared()
        return self.schema_.any_rows(n_rows, rng)

    def draw(self, X, codes, *, n_classes, noise, rng, sample_weight=None, groups=None):
        """Release what records say, with noise, and draw rows; see `Synthesizer.draw`."""
        self._check_declared()
        X = self.schema_.check(X)
        with Quiet():
            codes, weight = _checked_codes(len(X), codes, sample_weight, n_classes=n_classes)
            groups = numbered(groups, len(X))
            count = partial(self._counted, X, codes, weight, groups, n_classes, noise)
            counted, failed = attempt(count)
        if failed is not None:
            raise ValueError(f"the private rows could not be counted: {failed}, in their values")
        return self._drawn(counted, noise, rng)

    def _check_declared(self):
        if not hasattr(self, "schema_"):
            raise NotFittedError(
                f"{type(self).__name__} knows no columns yet; call declare(X, classes) first"
            )


def _checked_codes(n_rows, codes, sample_weight, *, n_classes):
    """Return codes and weights; others would be counted in wrong places, and move more."""
    codes = as_array("codes", codes)
    is_split = codes.dtype.kind == "f"  # positions along levels
    are_codes = codes.shape == (n_rows,) and codes.dtype.kind in "iuf"
    if not are_codes or not ((codes >= 0) & (codes <= n_classes - 1)).all():
        raise ValueError(
            f"codes must be whole numbers from 0 to {n_classes - 1}, or positions between "
            "them, one for each row"
        )
    codes = codes.astype(np.float64 if is_split else np.int64)
    if sample_weight is None:
        return codes, None
    weight = as_array("sample_weight", sample_weight, dtype=float)
    if weight.shape != (n_rows,) or not np.isfinite(weight).all():
        raise ValueError("sample_weight must be a finite number for each row of X")
    return codes, weight

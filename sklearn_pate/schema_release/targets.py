"""A release that finds the target of a fit: its classes, or the range of its numbers.

It is the first step of a fit whose target is not declared. The rest of the fit is planned after it,
for the target that was found, with the rest of epsilon and delta: basic composition holds for any
later step, also for one whose cost depends on the number of classes.

Statistic: counts of the labels, or of the numbers in bins. Contribution: each unit has one label,
or one number in each of two partitions. Noise: Laplace, on each count.

Without public rows, the method may depend on whether all columns are numbers. Then records with
numbers alone are counted too. These have no texts, and no 0 or 1.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from sklearn.isotonic import IsotonicRegression

from ..aggregators import LaplaceMechanism
from ..encoding.targets import ClassTarget, NumberTarget, Target
from ..encoding.values import Cells
from ..rdp import Cost, Event, Neighbors
from ..rdp.discrete import GRID
from ..rdp.records import Record, laplace_record
from .counts import FIRST_NUMBER, N_BINS, N_LEAVES, range_bins
from .estimates import _leaves, _occupied

#: Labels that are looked for whether or not any record has them. Their names are not private.
FIXED_LABELS = tuple(range(-1, 100))

#: Fixed labels that most tables of two or three classes have.
COMMON_LABELS = (-1, 0, 1, 2)

#: Probability that noise alone makes any of the common labels a class; the same for the others.
_FALSE_ALARM = 0.01

#: The same for a whole number next to a class. Records are missing if their number exceeds two
#: standard deviations of the noise on the sum, or a quarter of the median count if this is less.
_FALSE_ALARM_OF_NEIGHBOR, _SDS_OF_NEIGHBORS = 0.03, 2.0

#: Share of the records with labels that were not found, above which a second round follows, and the
#: same in standard deviations of its noise.
_SHARE_NOT_FOUND, _SDS_NOT_FOUND = 0.02, 4.0

#: Floats up to this number represent whole numbers exactly.
_LARGEST_WHOLE_FLOAT = 2.0**53

#: Part of the cost that finds the occupied bins of numbers; the rest finds their range.
_BINS_FRACTION = 0.4

#: Smallest and largest number of finer bins of numbers, and the records of each, in standard
#: deviations of the noise, that their number follows from.
_MIN_BINS, _MAX_BINS = 8, 64
_RECORDS_PER_BIN = 4.0

#: Quantile of Laplace noise divided by that of normal noise with the same standard deviation, at
#: the level at which a bin counts as occupied.
_TAILS = 1.7

#: Predicted noise variance of a mean, relative to the squared half range: a hundred divided by the
#: records times epsilon, and at most a tenth.
_NOISE_OF_MEANS, _MAX_NOISE_OF_MEANS = 100.0, 0.1

#: Part of the epsilon of a release for the number of records with numbers alone, and its name.
_NUMERIC_FRACTION = 0.2
_NUMERIC_RECORDS = "noisy number of the records with numbers alone"


class FoundTarget(NamedTuple):
    """A published target, and its noisy counts.

    Attributes
    ----------
    target : Target
        The classes that were found, or levels within the range that was found.
    counts : ndarray of shape (n_values,) or None
        Noisy number of units of each class; None for numbers.
    n_units : int or None
        Number of units, if it is public and all of them are counted; else None.
    numeric_share : float or None
        Noisy share of the records with numbers alone; None if these are not counted.
    """

    target: Target
    counts: np.ndarray | None = None
    n_units: int | None = None
    numeric_share: float | None = None

    @property
    def rarest_share(self) -> float | None:
        """Share of the units in the rarest class; None for numbers.

        If the number of units is public, the counts are shifted to this sum, which halves the
        variance of the share of one of two classes.
        """
        if self.counts is None:
            return None
        counts = self.counts
        if self.n_units is not None:
            counts = counts + (self.n_units - counts.sum()) / len(counts)
        counts = np.maximum(counts, 0.0)
        return float(counts.min() / max(1.0, counts.sum()))


@dataclass(frozen=True, kw_only=True)
class TargetRelease(ABC):
    """Base class of releases that find a target.

    Parameters
    ----------
    epsilon : float
        Pure epsilon of the release, above 0.
    delta : float
        Bound of the probability that a label that only one unit has is published.
    neighbors : Neighbors
        The neighboring data sets of the fit.
    counts_numeric_records : bool, default=False
        Whether a fifth of `epsilon` is for the number of records with numbers alone. The unit must
        be a record, and the number of records public.
    """

    epsilon: float
    delta: float
    neighbors: Neighbors
    counts_numeric_records: bool = False

    #: Name of the release, for statements.
    released_as: ClassVar[str] = ""

    #: A target of the same kind, for the plan and the dry run before anything is found.
    made_up: ClassVar[Any] = None

    #: Whether the target is one of numbers.
    finds_numbers: ClassVar[bool] = False

    def mechanism(self, fraction: float = 1.0) -> LaplaceMechanism:
        """Return the noise on counts of the target that costs a fraction of their epsilon."""
        return self._noise(fraction * self._epsilon_of_counts)

    @property
    def noise_on_numeric_records(self) -> LaplaceMechanism:
        """The noise on the number of records with numbers alone."""
        return self._noise(math.nextafter(self.epsilon - self._epsilon_of_counts, 0))

    @property
    def _epsilon_of_counts(self) -> float:
        """Epsilon of the counts of the target."""
        return (
            (1 - _NUMERIC_FRACTION) * self.epsilon if self.counts_numeric_records else self.epsilon
        )

    def _noise(self, epsilon: float) -> LaplaceMechanism:
        contribution = self.neighbors.counts(1)
        scale = math.nextafter(contribution.l1 / epsilon, math.inf)
        while contribution.l1 / scale > epsilon:  # by rounding
            scale = math.nextafter(scale, math.inf)
        return LaplaceMechanism(scale)

    @property
    @abstractmethod
    def cost(self) -> Cost:
        """The `Cost` of the release, whose pure epsilon is at most `epsilon`."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all that is released, for statements."""
        return (self.released_as, _NUMERIC_RECORDS)[: 1 + self.counts_numeric_records]

    def records(self) -> list[Record]:
        """Return the records of the release, for privacy statements."""
        own = self.mechanism().step_record(self.released_as, self.neighbors.counts(1))
        return [own, *self._numeric_records()]

    def _numeric_records(self) -> list[Record]:
        if not self.counts_numeric_records:
            return []
        contribution = self.neighbors.counts(1)
        return [self.noise_on_numeric_records.step_record(_NUMERIC_RECORDS, contribution)]

    def _cost_of_all_counts(self) -> Cost:
        """Return the `Cost` of the counts of the target, and of the records with numbers alone."""
        contribution = self.neighbors.counts(1)
        cost = Event(self.mechanism(), contribution).cost()
        if not self.counts_numeric_records:
            return cost
        return cost.plus(Event(self.noise_on_numeric_records, contribution).cost())

    def numeric_share(self, count: int, rng: np.random.Generator) -> float:
        """Return the noisy share of the records with numbers alone.

        Parameters
        ----------
        count : int
            Private number of these records. Replacing a record changes it by at most 1.
        rng : numpy Generator
            Source of the noise.
        """
        if self.neighbors.n_records is None or self.neighbors.unit != "record":
            raise ValueError(
                "records with numbers alone are counted if the unit is a record and the number of "
                f"records is public; got {self.neighbors}"
            )
        noisy = self.noise_on_numeric_records.noisy(np.array([[count]], dtype=np.int64), rng)
        return float(noisy[0, 0]) / self.neighbors.n_records

    @property
    def _use_of_numeric_share(self) -> str:
        """Description of the count of records with numbers alone, for the plan."""
        if not self.counts_numeric_records:
            return ""
        return (
            ". If at least 60 % of the records have numbers alone, and no 0 or 1, all records "
            "vote in cells of synthetic rows"
        )

    @staticmethod
    @abstractmethod
    def check(y: Any) -> np.ndarray:
        """Return labels or numbers as an array; raise an error for invalid ones."""

    @abstractmethod
    def gather(self, y: np.ndarray, units: np.ndarray | None) -> Any:
        """Return private counts.

        Parameters
        ----------
        y : ndarray of shape (n_records,)
            From `check`.
        units : ndarray of shape (n_records,), int, or None
            The protected unit of each record; None if each record is its own.
        """

    @abstractmethod
    def publish(self, gathered: Any, rng: np.random.Generator) -> FoundTarget | None:
        """Return the target of noisy counts; None if `second_round` follows.

        Raise an error if nothing was found.
        """

    def published(self, gathered: Any, rng: np.random.Generator) -> FoundTarget:
        """Return the published target, of the second round if one follows."""
        found = self.publish(gathered, rng)
        return self.second_round().published(gathered, rng) if found is None else found

    @property
    def rounds(self) -> tuple[TargetRelease, ...]:
        """The earlier rounds of this release, and itself."""
        return (self,)

    def second_round(self) -> TargetRelease:
        """Return the release that follows if `publish` returns None."""
        raise NotImplementedError(f"{type(self).__name__} has one round")

    @abstractmethod
    def describe(self) -> str:
        """Describe the release from public numbers, for the plan."""


@dataclass(frozen=True, kw_only=True)
class ClassRelease(TargetRelease):
    """Release of the classes: labels whose noisy count exceeds a threshold.

    Parameters
    ----------
    epsilon, delta, neighbors
        As in `TargetRelease`; `delta` is for both rounds.
    more_epsilon : float, default=0.0
        Pure epsilon of a second round. It follows if the first round finds fewer than two classes,
        or if more than 2 % of the records have other labels. 0 means that there is none.
    earlier : ClassRelease or None, default=None
        The first round, if this is the second.

    Notes
    -----
    *Contribution.* Each unit has one label: a group has the label of its middle record, in the
    order of the table. So two counts differ by at most 1, or one count if a unit is added or
    removed.

    *Cost.* Labels of no unit have no count. The whole numbers of `FIXED_LABELS` are counted whether
    or not they occur, so the published counts of these labels are the Laplace mechanism. Two
    neighboring data sets differ in at most one other label that only one of them has, and its count
    is 1. Let q be the probability that 1 plus noise reaches the threshold of such labels; it is at
    most `delta`. Given that no such label is published in either run, the runs are those of counts
    of the same labels. So the release is (epsilon, q)-DP, and a fit whose later steps are (e, d)-DP
    for each outcome is (epsilon + e, q + d)-DP: see `SchemaRelease`.

    *Whole numbers next to each other.* Classes are often consecutive numbers. So a number of
    `FIXED_LABELS` between two classes has a lower threshold. While records are missing, this
    threshold also holds for numbers next to one class, in descending order of their noisy counts.
    This uses published counts and the public number of records alone.

    *Second round.* Whether it follows depends on published counts and on the public number of
    records. It is one of the later steps, so its epsilon is taken from the rest. q is at most half
    of `delta` in each round, and both rounds together are stated in either case.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.rdp import Neighbors
    >>> from sklearn_pate.schema_release import ClassRelease
    >>> one = Neighbors(relation="replace_one", unit="record", n_records=10_000)
    >>> release = ClassRelease(epsilon=0.1, delta=1e-8, neighbors=one)
    >>> release.threshold(5), release.threshold("no")
    (171, 357)
    >>> counts = release.gather(release.check(["no", "yes"] * 5000), None)
    >>> release.publish(counts, np.random.default_rng(0)).target.values.tolist()
    ['no', 'yes']
    """

    released_as = "noisy counts of the labels, from which the classes were found"
    made_up = (0, 1)

    more_epsilon: float = 0.0
    earlier: ClassRelease | None = None

    @property
    def cost(self) -> Cost:
        """The `Cost` of the counts, of an earlier round, and of the thresholds of both rounds."""
        own = self._cost_of_all_counts()
        if self.earlier is not None:
            return self.earlier.cost.plus(own)
        return Cost(own.rdp, own.mu_squared, own.pure, self.delta)

    @property
    def rounds(self) -> tuple[TargetRelease, ...]:
        """The earlier round of this release, if any, and itself."""
        return (self,) if self.earlier is None else (*self.earlier.rounds, self)

    @property
    def _has_two_rounds(self) -> bool:
        return self.more_epsilon > 0 or self.earlier is not None

    @property
    def _delta_of_round(self) -> float:
        return self.delta / 2 if self._has_two_rounds else self.delta

    def second_round(self) -> ClassRelease:
        """Return the release that follows if `publish` returns None."""
        return dataclasses.replace(self, epsilon=self.more_epsilon, more_epsilon=0.0, earlier=self)

    def records(self) -> list[Record]:
        """Return the records of the counts of each round; see `TargetRelease.records`."""
        own = laplace_record(
            self.released_as,
            self.neighbors.counts(1),
            inverse_scale=1 / _scale(self.mechanism()),
            grid=GRID,
            delta=self._delta_of_round,
            level=self.threshold(None),
        )
        earlier = [] if self.earlier is None else self.earlier.records()
        return [*earlier, own, *self._numeric_records()]

    def threshold(self, label: Any) -> int:
        """Return the smallest noisy count at which a label alone is a class; see Notes."""
        gamma = 1 / _scale(self.mechanism())
        if _is_fixed(label):  # n_labels P(noise >= t) <= _FALSE_ALARM
            n_common = len(COMMON_LABELS)
            n_labels = n_common if label in COMMON_LABELS else len(FIXED_LABELS) - n_common
            return _least_count(gamma, _FALSE_ALARM / n_labels)
        return 1 + _least_count(gamma, self._delta_of_round)

    @staticmethod
    def check(y: Any) -> np.ndarray:
        """Return labels as an array; raise an error for invalid ones."""
        labels = ClassTarget.check_labels(y)
        if labels.dtype.kind in "mM":
            raise ValueError(
                "y holds dates or durations, and such classes cannot be estimated from noisy "
                "counts: give classes=[all labels that may occur], or convert them to text"
            )
        if labels.dtype.kind == "f" and (np.abs(labels) > _LARGEST_WHOLE_FLOAT).any():
            raise ValueError(
                "y holds floats beyond 2**53, which are not exact as labels: convert them to "
                "integers or to text"
            )
        return labels

    def gather(self, y: np.ndarray, units: np.ndarray | None) -> dict[Any, int]:
        """Return the number of units with each label."""
        labels, codes = np.unique(y, return_inverse=True)
        if units is not None:
            codes = _of_middle_record(codes, units)
        counts = np.bincount(codes, minlength=len(labels))
        # A label of no unit has no count: its noise could make it known. The labels of one array
        # have one type: whole numbers, truth values or text
        pairs = zip(labels, counts, strict=True)
        found = {_plain_label(label): int(n) for label, n in pairs if n > 0}
        if y.dtype.kind in "iuf":
            found = dict.fromkeys(FIXED_LABELS, 0) | found
        if y.dtype.kind == "b":  # with targets of other kinds; the labels 0 and 1 are fixed ones
            found = dict.fromkeys((0, 1), 0) | found
        return found

    def publish(self, gathered: dict[Any, int], rng: np.random.Generator) -> FoundTarget | None:
        """Return the labels whose noisy count reaches the threshold; None for a second round.

        Raises
        ------
        ValueError
            If these are fewer than two, and no second round follows.
        """
        found = self.found_labels(gathered, rng)
        if self.more_epsilon > 0 and self._are_missing(found):
            return None
        if len(found) < 2:
            but = f" but {sorted(found)}" if found else ""
            raise ValueError(
                f"a classifier needs at least 2 classes, and the noise hides all labels{but}: "
                f"{self._found_from}. Give classes=[all labels that may occur], more records, or "
                "a larger epsilon"
            )
        target = ClassTarget(sorted(found))
        return FoundTarget(target, np.array([found[label] for label in sorted(found)]))

    def found_labels(self, gathered: dict[Any, int], rng: np.random.Generator) -> dict[Any, float]:
        """Return the classes, by their threshold or their neighbors, and their noisy counts."""
        labels = sorted(gathered)
        counts = np.array([gathered[label] for label in labels], dtype=np.int64)
        noisy = self.mechanism().noisy(counts[:, None], rng)[:, 0]
        count_of = dict(zip(labels, noisy, strict=True))
        found = {label: n for label, n in count_of.items() if n >= self.threshold(label)}
        # The other labels have a threshold with a delta, whichever label is next to them
        self._add_neighbors(found, {n: count_of[n] for n in labels if _is_fixed(n)})
        return found

    def _add_neighbors(self, found: dict[Any, float], noisy: dict[int, float]) -> None:
        """Add whole numbers next to those found, by a lower threshold.

        Parameters
        ----------
        found : dict of label to float
            The classes, and their noisy counts. Changed in place.
        noisy : dict of int to float
            Noisy counts of the labels that are counted whether or not they occur.
        """
        least = _least_count(1 / _scale(self.mechanism()), _FALSE_ALARM_OF_NEIGHBOR)
        n_records = self.neighbors.n_records
        likely = {label: n for label, n in noisy.items() if n >= least}
        for label in likely:
            if label - 1 in found and label + 1 in found:
                found.setdefault(label, likely[label])
        while n_records is not None and found:
            counts = list(found.values())
            noise = _SDS_OF_NEIGHBORS * _std(self.mechanism()) * math.sqrt(len(counts))
            candidates = [
                label
                for label in likely.keys() - found.keys()
                if label - 1 in found or label + 1 in found
            ]
            if not candidates or n_records - sum(counts) < min(noise, np.median(counts) / 4):
                return
            label = max(candidates, key=lambda label: (likely[label], label))
            found[label] = likely[label]

    def _are_missing(self, found: dict[Any, float]) -> bool:
        """Return whether too few labels were found, by their noisy counts."""
        if len(found) < 2:
            return True
        n_records = self.neighbors.n_records
        if n_records is None:  # it is private
            return False
        noise = _SDS_NOT_FOUND * _std(self.mechanism()) * math.sqrt(len(found))
        return n_records - sum(found.values()) > max(noise, _SHARE_NOT_FOUND * n_records)

    def describe(self) -> str:
        """Describe the release from public numbers, for the plan."""
        again = self._use_of_numeric_share
        if self.more_epsilon > 0:
            second = self.second_round()
            text, number, common = (second.threshold(label) for label in (None, 3, 0))
            again += (
                f". If fewer than 2 classes are found, or more than {100 * _SHARE_NOT_FOUND:g} % "
                f"of the records have other labels, a second round with epsilon "
                f"{second.epsilon:.3g} finds classes of {text}, {number} and {common}"
            )
        return f"{self._found_from}{again}. All that follows is a forecast for 2 classes"

    @property
    def _found_from(self) -> str:
        common, fixed, other = (self.threshold(label) for label in (0, 3, None))
        unit = f"{self.neighbors.unit}s"
        return (
            f"a class is found if it has about {other} {unit} or more, {fixed} if it is a whole "
            f"number up to {FIXED_LABELS[-1]}, or {common} if it is -1, 0, 1 or 2; fewer if it is "
            "a whole number next to classes"
        )


@dataclass(frozen=True, kw_only=True)
class ShareRelease(TargetRelease):
    """Release of the number of records of each declared class, by which the method is chosen.

    Notes
    -----
    *Contribution.* As in `ClassRelease`. All classes are declared, so there is no threshold and no
    delta.

    Parameters
    ----------
    target : ClassTarget
        The declared classes.
    rare : float
        Share of the rarer of two classes below which class sums are chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.encoding.targets import ClassTarget
    >>> from sklearn_pate.rdp import Neighbors
    >>> from sklearn_pate.schema_release import ShareRelease
    >>> one = Neighbors(relation="replace_one", unit="record", n_records=10_000)
    >>> target = ClassTarget(["no", "yes"])
    >>> given = {"epsilon": 0.05, "delta": 0.0, "neighbors": one}
    >>> release = ShareRelease(**given, target=target, rare=0.08)
    >>> codes = np.repeat([0, 1], [9500, 500])
    >>> found = release.publish(release.gather(codes, None), np.random.default_rng(0))
    >>> 0.03 < found.rarest_share < 0.07
    True
    """

    released_as = "noisy counts of the classes, by which the method was chosen"

    target: ClassTarget
    rare: float

    @property
    def cost(self) -> Cost:
        """The `Cost` of the counts."""
        return self._cost_of_all_counts()

    @staticmethod
    def check(y: Any) -> np.ndarray:
        """Return codes as an array."""
        return np.asarray(y)

    def gather(self, y: np.ndarray, units: np.ndarray | None) -> np.ndarray:
        """Return the number of units of each class, (n_classes,), from codes of the classes."""
        codes = y if units is None else _of_middle_record(y, units)
        return np.bincount(codes, minlength=self.target.n_values)

    def publish(self, gathered: np.ndarray, rng: np.random.Generator) -> FoundTarget:
        """Return the declared classes with their noisy counts."""
        noisy = self.mechanism().noisy(gathered[:, None], rng)[:, 0]
        # Each record is one unit and has one of the declared classes
        n_units = self.neighbors.n_records if self.neighbors.unit == "record" else None
        return FoundTarget(self.target, noisy, n_units)

    def describe(self) -> str:
        """Describe the release from public numbers, for the plan."""
        return (
            f"class counts with noise of standard deviation {_std(self.mechanism()):.3g} determine "
            f"the method: class sums if the rarer class has less than {100 * self.rare:g} % of the "
            f"records{self._use_of_numeric_share}. All that follows is a forecast for the other "
            "case"
        )


@dataclass(frozen=True, kw_only=True)
class NumericShareRelease(ShareRelease):
    """Release of the number of records with numbers alone, by which the method is chosen.

    It is for more than two classes, whose shares do not affect the method, and has all of
    `epsilon`.

    Parameters
    ----------
    target : ClassTarget
        The declared classes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.encoding.targets import ClassTarget
    >>> from sklearn_pate.rdp import Neighbors
    >>> from sklearn_pate.schema_release import NumericShareRelease
    >>> one = Neighbors(relation="replace_one", unit="record", n_records=10_000)
    >>> target = ClassTarget(["a", "b", "c"])
    >>> release = NumericShareRelease(epsilon=0.05, delta=0.0, neighbors=one, target=target)
    >>> 0.9 < release.numeric_share(10_000, np.random.default_rng(0)) < 1.1
    True
    """

    released_as = _NUMERIC_RECORDS

    rare: float = 0.0
    counts_numeric_records: bool = True

    @property
    def cost(self) -> Cost:
        """The `Cost` of the number."""
        return Event(self.noise_on_numeric_records, self.neighbors.counts(1)).cost()

    @property
    def _epsilon_of_counts(self) -> float:
        return 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all that is released, for statements."""
        return (self.released_as,)

    def records(self) -> list[Record]:
        """Return the record of the number; see `TargetRelease.records`."""
        return self._numeric_records()

    def gather(self, y: np.ndarray, units: np.ndarray | None) -> np.ndarray:
        """Return an empty array, as no class is counted."""
        return np.zeros(0, dtype=np.int64)

    def publish(self, gathered: np.ndarray, rng: np.random.Generator) -> FoundTarget:
        """Return the declared classes without counts."""
        return FoundTarget(self.target)

    def describe(self) -> str:
        """Describe the release from public numbers, for the plan."""
        noise = _std(self.noise_on_numeric_records)
        return (
            f"records with numbers alone are counted, with noise of standard deviation {noise:.3g}"
            f"{self._use_of_numeric_share}. All that follows is a forecast for the other case"
        )


@dataclass(frozen=True, kw_only=True)
class RangeRelease(TargetRelease):
    """Release of the range of numbers, as bounds at which they are clipped.

    Notes
    -----
    *Statistic.* Numbers are counted in bins between powers of two; then, between the occupied bins,
    in finer bins of about equal counts. *Contribution.* Each unit has one number, a group the
    median of its records: two counts of each partition differ by at most 1.

    The bounds (a, b) are edges of the finer bins that minimise
    ``E(y - clip(y, a, b))**2 + kappa ((b - a) / 2)**2``, where kappa is a predicted noise variance
    of means, relative to the squared half range.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.rdp import Neighbors
    >>> from sklearn_pate.schema_release import RangeRelease
    >>> one = Neighbors(relation="replace_one", unit="record", n_records=10_000)
    >>> release = RangeRelease(epsilon=0.1, delta=0.0, neighbors=one)
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(50, 10, size=10_000)
    >>> low, high = release.publish(release.gather(y, None), rng).target.values
    >>> bool(10 < low < 35 and 65 < high < 110)
    True
    """

    released_as = "noisy counts of the numbers, from which their bounds were found"
    made_up = (0.0, 1.0)
    finds_numbers = True

    #: Number of levels of the target.
    n_levels: int = 2

    #: Epsilon of the whole fit, from which the noise of means is predicted.
    epsilon_of_fit: float = 1.0

    @property
    def cost(self) -> Cost:
        """The `Cost` of the counts in both partitions."""
        contribution = self.neighbors.counts(1)
        first, second = (Event(noise, contribution).cost() for noise in self.mechanisms)
        return first.plus(second)

    def records(self) -> list[Record]:
        """Return the records of both partitions; see `TargetRelease.records`."""
        contribution = self.neighbors.counts(1)
        return [noise.step_record(self.released_as, contribution) for noise in self.mechanisms]

    @property
    def mechanisms(self) -> tuple[LaplaceMechanism, LaplaceMechanism]:
        """Return the noise on the bins, and on the finer bins."""
        return self.mechanism(_BINS_FRACTION), self.mechanism(1 - _BINS_FRACTION)

    @staticmethod
    def check(y: Any) -> np.ndarray:
        """Return numbers as an array of floats; raise an error for invalid ones."""
        return NumberTarget.check_numbers(y)

    def gather(self, y: np.ndarray, units: np.ndarray | None) -> np.ndarray:
        """Return one number of each unit, its median.

        `publish` also takes a function in place of the numbers; see `counts_of_numbers`.
        """
        if units is None:
            return y
        return pd.Series(y).groupby(units).median().to_numpy()

    def publish(
        self, gathered: np.ndarray | Callable[..., np.ndarray], rng: np.random.Generator
    ) -> FoundTarget:
        """Return levels between the bounds.

        Raises
        ------
        ValueError
            If the noise hides all numbers.
        """
        on_bins, on_parts = self.mechanisms
        counts_of = gathered if callable(gathered) else partial(counts_of_numbers, gathered)
        edges = self.finer_edges(on_bins.noisy(counts_of()[:, None], rng)[:, 0])
        counts = on_parts.noisy(counts_of(edges)[:, None], rng)[:, 0]
        bounds = _bounds(edges, counts, _std(on_parts), self.epsilon_of_fit)
        return FoundTarget(NumberTarget.between(bounds, self.n_levels))

    def finer_edges(self, noisy_bins: np.ndarray) -> np.ndarray:
        """Return the edges of the finer bins, from the noisy counts of all bins."""
        on_bins, on_parts = self.mechanisms
        noisy = noisy_bins[FIRST_NUMBER:]
        sd = _std(on_bins) * _TAILS
        occupied = _occupied(noisy, sd, _FALSE_ALARM)
        if occupied is None:
            raise ValueError(
                "no range of y was found, as the noise hides all of its numbers: declare it, "
                "bounds=(low, high), give more records, or raise epsilon"
            )
        first, last = occupied
        n_records = float(noisy[first : last + 1].sum())
        n_bins = _number_of_bins(n_records / (_RECORDS_PER_BIN * _std(on_parts)))
        return _leaves(occupied, noisy, sd)[:: N_LEAVES // n_bins]

    def describe(self) -> str:
        """Describe the release from public numbers, for the plan."""
        return "bounds of y are found first. All that follows is a forecast for made-up bounds"


def counts_of_numbers(numbers: np.ndarray, edges: np.ndarray | None = None) -> np.ndarray:
    """Return the counts of numbers in the bins of the first step, or between edges.

    Parameters
    ----------
    numbers : ndarray of shape (n_units,)
        One number of each unit.
    edges : ndarray of shape (n_parts + 1,) or None, default=None
        Edges in ascending order; numbers beyond them count in the outermost parts.

    Returns
    -------
    ndarray of shape (N_BINS,) or (n_parts,), int
    """
    if edges is None:
        return np.bincount(range_bins(Cells(numbers, None)), minlength=N_BINS)
    places = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(edges) - 2)
    return np.bincount(places, minlength=len(edges) - 1)


class SeveralReleases(TargetRelease):
    """Releases that find the target of each column of `y`, all of one kind.

    Notes
    -----
    *Cost.* Each release has an equal part of epsilon and of delta; the costs are added (basic
    composition).

    Parameters
    ----------
    epsilon, delta : float
        Of all releases together.
    neighbors : Neighbors
        The neighboring data sets of the fit.
    kind : type of TargetRelease
        `ClassRelease` or `RangeRelease`.
    n_targets : int
        Number of columns of `y`.
    options : dict
        Other parameters of each release.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.rdp import Neighbors
    >>> from sklearn_pate.schema_release import ClassRelease, SeveralReleases
    >>> one = Neighbors(relation="replace_one", unit="record", n_records=10_000)
    >>> given = {"epsilon": 0.2, "delta": 1e-8, "neighbors": one}
    >>> release = SeveralReleases(kind=ClassRelease, n_targets=2, **given)
    >>> y = [np.arange(10_000) % 2, np.arange(10_000) % 3]
    >>> found = release.publish(release.gather(y, None), np.random.default_rng(0))
    >>> [values.tolist() for values in found.target.values]
    [[0, 1], [0, 1, 2]]
    >>> round(release.cost.pure, 9) <= 0.2
    True
    """

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float,
        neighbors: Neighbors,
        kind: type[TargetRelease],
        n_targets: int,
        **options: Any,
    ) -> None:
        given = {"epsilon": epsilon, "delta": delta, "neighbors": neighbors}
        for name, value in given.items():
            object.__setattr__(self, name, value)
        part = (1 - 1e-12) / n_targets  # so that the sums, rounded up, do not exceed the limits
        each: dict[str, Any] = {
            "epsilon": part * epsilon,
            "delta": part * delta,
            "neighbors": neighbors,
        }
        object.__setattr__(self, "parts", (kind(**each, **options),) * n_targets)

    parts: tuple[TargetRelease, ...]

    @property
    def released_as(self) -> str:  # type: ignore[override]
        """Name of the release, for statements."""
        return f"{self.parts[0].released_as}, for each of {len(self.parts)} targets"

    @property
    def made_up(self) -> list[Any]:  # type: ignore[override]
        """Targets of the same kind, for the plan and the dry run before anything is found."""
        return [part.made_up for part in self.parts]

    @property
    def finds_numbers(self) -> bool:  # type: ignore[override]
        """Whether the targets are of numbers."""
        return self.parts[0].finds_numbers

    @property
    def cost(self) -> Cost:
        """The `Cost` of all releases."""
        first, *others = (part.cost for part in self.parts)
        for cost in others:
            first = first.plus(cost)
        return first

    def records(self) -> list[Record]:
        """Return the records of all releases; see `TargetRelease.records`."""
        return [record for part in self.parts for record in part.records()]

    def check(self, y: Any) -> Any:  # type: ignore[override]
        """Return a list of the columns; raise an error for invalid ones."""
        kind = NumberTarget if self.finds_numbers else ClassTarget
        return [self.parts[0].check(column) for column in kind.columns(y)]

    def gather(self, y: Any, units: np.ndarray | None) -> Any:
        """Return the private counts of each column."""
        return [part.gather(own, units) for part, own in zip(self.parts, y, strict=True)]

    def publish(self, gathered: Any, rng: np.random.Generator) -> FoundTarget:
        """Return the targets of noisy counts; raise an error if one was not found."""
        parts = zip(self.parts, gathered, strict=True)
        found = [part.published(own, rng).target for part, own in parts]
        return FoundTarget(Target.of_parts(found))

    def describe(self) -> str:
        """Describe the release from public numbers, for the plan."""
        return f"for each of {len(self.parts)} targets, {self.parts[0].describe()}"


def _is_fixed(label: Any) -> bool:
    """Return whether a label is one of `FIXED_LABELS`, which are looked for in any case."""
    return isinstance(label, int) and FIXED_LABELS[0] <= label <= FIXED_LABELS[-1]


def _plain_label(label: Any) -> Any:
    """Return a label as a Python int or str, which is equal to it."""
    return str(label) if isinstance(label, str) else int(label)


def _least_count(gamma: float, probability: float) -> int:
    """Return the smallest t such that discrete Laplace noise is at least t with this probability.

    ``P(noise >= t) = exp(-gamma t) / (1 + exp(-gamma))`` for t of at least 1.
    """
    log_at_zero = -math.log1p(math.exp(-gamma))
    t = (log_at_zero - math.log(probability)) / gamma
    return max(1, math.ceil(t * (1 + 1e-12) + 1e-9))


def _of_middle_record(codes: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Return the code of the middle record of each unit, which depends on no other unit.

    Its classes have about the shares that they have among the records. The most frequent code of
    each unit would hide a rare class.
    """
    order = np.argsort(units, kind="stable")
    _, first, sizes = np.unique(units[order], return_index=True, return_counts=True)
    return codes[order[first + sizes // 2]]


def _scale(noise: LaplaceMechanism) -> float:
    if noise.scale is None:
        raise ValueError(f"the noise must have a scale; got {noise}")
    return float(noise.scale)


def _std(noise: LaplaceMechanism) -> float:
    return math.sqrt(2) * _scale(noise)


def _number_of_bins(most: float) -> int:
    """Return the largest power of two up to a number, within the limits."""
    within = min(_MAX_BINS, max(_MIN_BINS, most))
    return 2 ** int(math.log2(within))


def _bounds(
    edges: np.ndarray, counts: np.ndarray, sd: float, epsilon: float
) -> tuple[float, float]:
    """Return the bounds with the smallest error of clipping and noise; see `RangeRelease`."""
    cumulative = np.concatenate([[0.0], np.cumsum(counts)])
    total = max(float(cumulative[-1]), sd)
    rising = IsotonicRegression(y_min=0.0, y_max=total).fit_transform(
        np.arange(len(cumulative)), cumulative
    )
    share = np.diff(rising) / total
    middle = (edges[1:] + edges[:-1]) / 2
    kappa = min(_MAX_NOISE_OF_MEANS, _NOISE_OF_MEANS / (total * epsilon))
    below = np.array([share @ np.maximum(low - middle, 0) ** 2 for low in edges])
    above = np.array([share @ np.maximum(middle - high, 0) ** 2 for high in edges])
    width = edges[None, :] - edges[:, None]
    error = below[:, None] + above[None, :] + kappa * (width / 2) ** 2
    error[width <= 0] = math.inf
    low, high = np.unravel_index(np.argmin(error), error.shape)
    return float(edges[low]), float(edges[high])

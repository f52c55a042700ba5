"""Rule that chooses the method of a fit.

It depends on public values only: parameters, public rows, and numbers of records and classes.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from .._numbers import check_positive
from ..encoding.targets import ClassTarget, NumberTarget, Target
from ..rdp import gdp_mu

__all__ = ["MethodChoice", "MethodParameters", "PublicCounts", "choose_method", "signal_of_sums"]

#: Maximal number of columns, and minimal number of records for each encoded number (at epsilon 1),
#: for which cells of synthetic rows are more accurate than class sums.
_MAX_COLUMNS_OF_CELLS = 15
_RECORDS_PER_NUMBER = 300

#: The same for two classes, whose residuals make class sums more accurate: with 75 to 600 records
#: for each number, AUC of class sums was higher than AUC of cells by 0.006 on Adult; with 750, it
#: was lower by 0.005 on pensions.
_RECORDS_PER_NUMBER_OF_TWO_CLASSES = 700

#: Minimal number of records for each column (at epsilon 1), and minimal share of the records with
#: numbers alone, for which cells of synthetic rows are as accurate as class sums, and far more
#: accurate if columns interact, where the columns are not declared. Set on made-up tables: normal,
#: skewed and rounded columns, effects that add up, or rise and then fall, and products. With
#: columns of 0 and 1 among others, cells were worse by 0.01 to 0.02 of AUC where effects add up.
_RECORDS_PER_COLUMN = 1000
_MIN_NUMERIC_SHARE = 0.6

#: Class sums are more accurate if cells explain less than this fraction of the variance of the
#: public rows: for two classes, and for more classes, which are less often linearly separable.
_LITTLE_EXPLAINED = 0.7
_LITTLE_EXPLAINED_OF_MORE = 0.4

#: Class sums are more accurate if the rarer of two classes has less than this share of the records.
RARE = 0.08

#: Minimal `signal_of_sums` for class sums.
_MIN_SIGNAL = 5

#: With fewer records, at epsilon 1, class sums predict numbers better than cells do.
_FEW_RECORDS = 5000


@dataclass(frozen=True, kw_only=True)
class MethodParameters:
    """The parameters of an estimator that its method depends on.

    Attributes
    ----------
    method : str
        "auto", "neighbors", "sums" or "teachers".
    reasons_for_teachers : tuple of str
        Descriptions of set parameters that select teachers, such as "n_teachers is set".
    has_table_mechanism : bool
        Whether `aggregator` is a mechanism for tables of votes.
    has_public_rows : bool
        Whether public rows are given. If False, a synthesizer draws them.
    sums_fraction : float or None
        Fraction of epsilon for class sums without public rows; None if it is not set, 0 if the
        synthesizer releases no class sums.
    has_extra_releases : bool
        Whether the fit has other releases, which require a part of epsilon.
    has_ledger : bool
        Whether a ledger adds the cost to those of other fits. Class sums add up to less than votes.
    epsilon, delta : float
        Limits of the fit. Epsilon may be None.
    target_type : type of targets.Target
        The kind of target.
    """

    method: str = "auto"
    reasons_for_teachers: tuple[str, ...] = ()
    has_table_mechanism: bool = False
    has_public_rows: bool = True
    sums_fraction: float | None = None
    has_extra_releases: bool = False
    has_ledger: bool = False
    epsilon: float | None = 1.0
    delta: float = 1e-5
    target_type: type[Target] = ClassTarget


@dataclass(frozen=True, kw_only=True)
class PublicCounts:
    """Public numbers that the method depends on.

    Attributes
    ----------
    n_records : int or None
        Number of private records; None if it is private.
    n_public : int
        Number of public rows; 0 without public rows.
    n_classes : int
        Number of classes; for several targets, the largest. 0 if they are not known yet.
    n_columns : int
        Number of columns. With public rows, the number of encoded columns.
    n_encoded : int
        Number of encoded columns, without public rows.
    has_schema : bool
        Whether all columns are declared, without public rows.
    estimates_need_all : bool
        Whether edges are estimated within declared bounds, without public rows, only if class sums
        get all of epsilon.
    takes_sums : bool
        Whether class sums can encode the public rows.
    rarest_share : float or None
        Published share of the records in the rarest class; None if no share is published.
    cells_explain : callable or None
        Returns the fraction of the variance of the public rows that cells explain, in [0, 1]. It
        is slow, so it is called only if the choice depends on it.
    n_targets : int
        Number of targets.
    numeric_share : float or None
        Published share of the records with numbers alone; None if it is not published.
    """

    n_records: int | None
    n_classes: int
    n_columns: int
    n_targets: int = 1
    n_public: int = 0
    n_encoded: int = 0
    has_schema: bool = True
    estimates_need_all: bool = False
    takes_sums: bool = True
    rarest_share: float | None = None
    cells_explain: Callable[[], float] | None = None
    numeric_share: float | None = None


class MethodChoice(NamedTuple):
    """Name of a method, and the reason for its choice.

    Attributes
    ----------
    name : str
        "neighbors", "sums" or "teachers"; empty if `method` is an object.
    reason : str
        Reason, as shown in the plan.
    is_fixed : bool
        Whether the choice follows from parameters alone. Otherwise it also depends on the number of
        classes, which an earlier release may have found, and on their shares.
    depends_on_share : bool
        Whether the choice would be another one if the rarest class had few records, and no share is
        published.
    depends_on_numeric_share : bool
        Whether the choice would be another one if most records had numbers alone, and their share
        is not published.
    """

    name: str
    reason: str
    is_fixed: bool = True
    depends_on_share: bool = False
    depends_on_numeric_share: bool = False


_DEFAULT = "by default: they suit small epsilons, and cost as much for many labels as for one"


def choose_method(parameters: MethodParameters, counts: PublicCounts | None = None) -> MethodChoice:
    """Choose the method of a fit from parameters and public numbers.

    If `method` is not "auto", it is used. Otherwise, any set parameter of teachers selects
    teachers. Otherwise, a mechanism for tables of votes selects cells. Without public rows, a set
    `sums_fraction` then selects class sums if it is 1, and cells if it is lower. In all other
    cases, public numbers determine whether records vote in cells or are summed by class.
    `fitting.methods.chosen` handles an object as `method`.

    Parameters
    ----------
    parameters : MethodParameters
        Parameters of the estimator.
    counts : PublicCounts or None, default=None
        Public numbers; None before the data are checked. With None, the method is "neighbors"
        unless the parameters determine another one.

    Returns
    -------
    MethodChoice

    Examples
    --------
    >>> from sklearn_pate.methods.choose import MethodParameters, PublicCounts, choose_method
    >>> choose_method(MethodParameters(reasons_for_teachers=("n_teachers is set",)))[:3]
    ('teachers', 'n_teachers is set', True)
    >>> counts = PublicCounts(
    ...     n_records=6000, n_public=2000, n_classes=2, n_columns=50, cells_explain=lambda: 0.1
    ... )
    >>> choose_method(MethodParameters(), counts).name
    'sums'
    """
    if parameters.method != "auto":
        return MethodChoice(parameters.method, f"method={parameters.method!r}")
    if parameters.reasons_for_teachers:
        return MethodChoice("teachers", parameters.reasons_for_teachers[0])
    if parameters.has_table_mechanism:
        return MethodChoice("neighbors", "aggregator is a mechanism for tables of votes")
    if not parameters.has_public_rows and parameters.sums_fraction is not None:
        if parameters.sums_fraction == 1:
            return MethodChoice("sums", "class sums get all of epsilon")
        return MethodChoice("neighbors", "the synthesizer leaves a part of epsilon for votes")
    if counts is None:
        return MethodChoice("neighbors", _DEFAULT)
    if not parameters.has_public_rows:
        return _without_public_rows(parameters, counts)
    is_of_numbers = issubclass(parameters.target_type, NumberTarget)
    return _with_public_rows(parameters, counts)._replace(is_fixed=is_of_numbers)


def _without_public_rows(parameters: MethodParameters, counts: PublicCounts) -> MethodChoice:
    """Choose class sums, unless other releases require a part of epsilon or cells are better."""
    if parameters.has_extra_releases:
        return MethodChoice("neighbors", "other releases need a part of epsilon")
    if not counts.has_schema:
        return _without_schema(parameters, counts)
    if counts.estimates_need_all:
        return MethodChoice("sums", "by default, as estimated edges need all of epsilon")
    epsilon = 1.0 if parameters.epsilon is None else check_positive("epsilon", parameters.epsilon)
    n_records = 0 if counts.n_records is None else counts.n_records * epsilon  # at epsilon 1
    has_few = n_records < _RECORDS_PER_NUMBER * counts.n_encoded
    if has_few or counts.n_columns > _MAX_COLUMNS_OF_CELLS:
        few = "by default, where cells of synthetic rows would hold few records"
        return MethodChoice("sums", few)
    is_of_numbers = issubclass(parameters.target_type, NumberTarget)
    may_be_two_classes = not is_of_numbers and counts.n_targets == 1 and counts.n_classes in (0, 2)
    n_needed = _RECORDS_PER_NUMBER_OF_TWO_CLASSES * counts.n_encoded
    if may_be_two_classes and n_records < n_needed:
        reason = "by default, as residuals make class sums of two classes more accurate than cells"
        return MethodChoice("sums", reason, is_fixed=False)
    reason = "by default, as cells of synthetic rows hold many records"
    return _unless_rare(reason, parameters, counts)


def _without_schema(parameters: MethodParameters, counts: PublicCounts) -> MethodChoice:
    """Choose class sums, unless most records have few numbers alone, and cells hold many."""
    # If the share was published, epsilon is that of the remaining steps
    is_fixed = counts.numeric_share is None
    sums = MethodChoice("sums", "by default, where columns are not declared", is_fixed)
    is_of_numbers = issubclass(parameters.target_type, NumberTarget)
    is_alone = counts.n_targets == 1 and not parameters.has_ledger
    if is_of_numbers or parameters.epsilon is None or not is_alone:
        return sums
    n_needed = _RECORDS_PER_COLUMN * counts.n_columns
    has_many = counts.n_records is not None and counts.n_records * parameters.epsilon >= n_needed
    if not has_many or counts.n_columns > _MAX_COLUMNS_OF_CELLS:
        return sums
    if counts.numeric_share is None:
        return sums._replace(is_fixed=False, depends_on_numeric_share=True)
    if counts.numeric_share < _MIN_NUMERIC_SHARE:
        reason = "by default, as columns are not declared, and few records have numbers alone"
        return MethodChoice("sums", reason, is_fixed=False)
    reason = "by default, as most records have numbers alone, and cells hold many of them"
    return _unless_rare(reason, parameters, counts)


def _with_public_rows(parameters: MethodParameters, counts: PublicCounts) -> MethodChoice:
    """Choose class sums if their signal is sufficient and cells are likely to be less accurate.

    For numbers, cells are less accurate if there are few records; for classes, if cells explain
    little variance of the public rows.
    """
    if parameters.epsilon is None or not counts.takes_sums:
        return MethodChoice("neighbors", _DEFAULT)
    n_records = counts.n_public if counts.n_records is None else counts.n_records
    mu = gdp_mu(parameters.epsilon, parameters.delta)
    signal = signal_of_sums(
        n_records=n_records,
        n_columns=counts.n_columns,
        n_classes=counts.n_classes,
        noise_std=2 * math.sqrt(1 - 1 / counts.n_classes) / mu * math.sqrt(counts.n_targets),
    )
    if issubclass(parameters.target_type, NumberTarget):
        has_few = n_records * parameters.epsilon < _FEW_RECORDS
        if has_few and signal >= _MIN_SIGNAL:
            reason = "by default, as sums of few records predict numbers better than cells do"
            return MethodChoice("sums", reason)
        return MethodChoice("neighbors", _DEFAULT)
    if counts.cells_explain is None:
        raise ValueError("cells_explain is required with public rows; got None")
    explained = counts.cells_explain()
    most = _LITTLE_EXPLAINED if counts.n_classes == 2 else _LITTLE_EXPLAINED_OF_MORE
    if explained < most and signal >= _MIN_SIGNAL:
        reason = f"by default, as cells explain only {explained:.0%} of the public rows' variance"
        return MethodChoice("sums", reason)
    if signal < _MIN_SIGNAL:
        return MethodChoice("neighbors", _DEFAULT)
    return _unless_rare(_DEFAULT, parameters, counts)


def _unless_rare(reason: str, parameters: MethodParameters, counts: PublicCounts) -> MethodChoice:
    """Choose cells, or class sums if the rarer of two classes has few records."""
    is_of_numbers = issubclass(parameters.target_type, NumberTarget)
    if is_of_numbers or counts.n_classes != 2 or counts.n_targets > 1:
        return MethodChoice("neighbors", reason, is_fixed=is_of_numbers)
    if parameters.has_extra_releases:  # their fractions are those of all of epsilon
        return MethodChoice("neighbors", reason, is_fixed=False)
    if counts.rarest_share is None:
        return MethodChoice("neighbors", reason, is_fixed=False, depends_on_share=True)
    share = f"the rarer class has about {counts.rarest_share:.1%} of the records"
    if counts.rarest_share < RARE:
        return MethodChoice("sums", f"by default, as {share}", is_fixed=False)
    return MethodChoice("neighbors", f"{reason}; {share}", is_fixed=False)


def signal_of_sums(*, n_records: int, n_columns: int, n_classes: int, noise_std: float) -> float:
    """Return the mean number of records per class divided by the L2 norm of the noise.

    The noise is the noise on the sums of all columns for one class.

    Parameters
    ----------
    n_records : int
        Number of private records or, if it is private, of public rows.
    n_columns, n_classes : int
        Number of encoded columns, and of classes.
    noise_std : float
        Standard deviation of the noise on each sum, in records.

    Returns
    -------
    float

    Examples
    --------
    >>> from sklearn_pate.methods.choose import signal_of_sums
    >>> round(signal_of_sums(n_records=6000, n_columns=200, n_classes=2, noise_std=5.3))
    40
    """
    return n_records / (n_classes * noise_std * math.sqrt(n_columns))

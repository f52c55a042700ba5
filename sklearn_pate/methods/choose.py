"""The one place that decides the method of a fit, and why.

All that it depends on is public: parameters, and numbers of records, rows, columns and classes.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from .._numbers import check_positive
from ..encoding.targets import ClassTarget, NumberTarget, Target
from ..rdp import gdp_mu

__all__ = ["MethodChoice", "MethodParameters", "PublicCounts", "choose_method", "signal_of_sums"]

#: With at most so many columns, and so many records for each of their numbers, cells of synthetic
#: rows are more accurate than class sums.
_MAX_COLUMNS_OF_CELLS = 15
_RECORDS_PER_NUMBER = 300

#: Class sums are more accurate where cells explain less of the variance of the public rows: of two
#: classes, and of more, which linear discriminants tell apart less often.
_LITTLE_EXPLAINED = 0.6
_LITTLE_EXPLAINED_OF_MORE = 0.4

#: Class sums need so many records of each class, divided by the length of the noise.
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
        Parameters that are set and that only teachers have, in words: "n_teachers is set".
    has_table_mechanism : bool
        Whether `aggregator` is a mechanism for tables of votes.
    has_public_rows : bool
        Whether public rows are given; else a synthesizer draws them.
    sums_fraction : float or None
        Without public rows: the part of epsilon that class sums get, if it is set; 0 where the
        synthesizer releases no class sums.
    has_extra_releases : bool
        Whether the fit has other releases, which need a part of epsilon.
    epsilon, delta : float
        The cap. Epsilon may be None.
    target_type : type of targets.Target
        The kind of target.
    """

    method: str = "auto"
    reasons_for_teachers: tuple[str, ...] = ()
    has_table_mechanism: bool = False
    has_public_rows: bool = True
    sums_fraction: float | None = None
    has_extra_releases: bool = False
    epsilon: float | None = 1.0
    delta: float = 1e-5
    target_type: type[Target] = ClassTarget


@dataclass(frozen=True, kw_only=True)
class PublicCounts:
    """Public numbers that the method depends on.

    Attributes
    ----------
    n_records : int or None
        Number of private records; None where it is private.
    n_public : int
        Number of public rows; 0 where there are none yet.
    n_classes : int
        Number of classes.
    n_columns : int
        Number of columns or, of encoded public rows, of their numbers.
    n_encoded : int
        Number of numbers that the columns are encoded as.
    has_schema : bool
        Whether all columns are declared, where there are no public rows.
    takes_sums : bool
        Whether class sums can encode the public rows.
    cells_explain : callable or None
        Returns the part of the variance of the public rows that cells explain, from 0 to 1. It
        takes time, so it is called only where it decides.
    """

    n_records: int | None
    n_classes: int
    n_columns: int
    n_public: int = 0
    n_encoded: int = 0
    has_schema: bool = True
    takes_sums: bool = True
    cells_explain: Callable[[], float] | None = None


class MethodChoice(NamedTuple):
    """A method, and why it was chosen.

    Attributes
    ----------
    name : str
        "neighbors", "sums" or "teachers".
    reason : str
        For the plan.
    """

    name: str
    reason: str


_DEFAULT = "by default: they suit small epsilons, and cost as much for many labels as for one"


def choose_method(parameters: MethodParameters, counts: PublicCounts | None = None) -> MethodChoice:
    """Return the method of a fit, by parameters and public numbers.

    A method that is named is used. Else any parameter that only teachers have selects teachers.
    Else records vote: in cells or with class sums, by public numbers. An object that is given as
    `method` is used as it is; see `fitting.methods.chosen`.

    Parameters
    ----------
    parameters : MethodParameters
        Parameters of the estimator.
    counts : PublicCounts or None, default=None
        Public numbers; None as long as the data are not checked. Then records vote in cells unless
        the parameters decide.

    Returns
    -------
    MethodChoice

    Examples
    --------
    >>> from sklearn_pate.methods.choose import MethodParameters, PublicCounts, choose_method
    >>> choose_method(MethodParameters(reasons_for_teachers=("n_teachers is set",)))
    MethodChoice(name='teachers', reason='n_teachers is set')
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
    return _with_public_rows(parameters, counts)


def _without_public_rows(parameters: MethodParameters, counts: PublicCounts) -> MethodChoice:
    """Return class sums, unless there are few columns and many records for each number."""
    if parameters.has_extra_releases:
        return MethodChoice("neighbors", "other releases need a part of epsilon")
    if not counts.has_schema:
        return MethodChoice("sums", "by default, where columns are not declared")
    epsilon = 1.0 if parameters.epsilon is None else check_positive("epsilon", parameters.epsilon)
    n_needed = _RECORDS_PER_NUMBER * counts.n_encoded
    has_many = counts.n_records is not None and counts.n_records * epsilon >= n_needed
    if has_many and counts.n_columns <= _MAX_COLUMNS_OF_CELLS:
        return MethodChoice("neighbors", "by default, as cells of synthetic rows hold many records")
    return MethodChoice("sums", "by default, where cells of synthetic rows would hold few records")


def _with_public_rows(parameters: MethodParameters, counts: PublicCounts) -> MethodChoice:
    """Return class sums where cells explain little and the sums exceed their noise."""
    if parameters.epsilon is None or not counts.takes_sums:
        return MethodChoice("neighbors", _DEFAULT)
    n_records = counts.n_public if counts.n_records is None else counts.n_records
    mu = gdp_mu(parameters.epsilon, parameters.delta)
    signal = signal_of_sums(
        n_records=n_records,
        n_columns=counts.n_columns,
        n_classes=counts.n_classes,
        noise_std=2 * math.sqrt(1 - 1 / counts.n_classes) / mu,
    )
    if issubclass(parameters.target_type, NumberTarget):
        has_few = n_records * parameters.epsilon < _FEW_RECORDS
        if has_few and signal >= _MIN_SIGNAL:
            reason = "by default, as sums of few records predict numbers better than cells do"
            return MethodChoice("sums", reason)
        return MethodChoice("neighbors", _DEFAULT)
    if counts.cells_explain is None:
        raise ValueError("the public rows are given, and what cells explain of them is not")
    explained = counts.cells_explain()
    most = _LITTLE_EXPLAINED if counts.n_classes == 2 else _LITTLE_EXPLAINED_OF_MORE
    if explained < most and signal >= _MIN_SIGNAL:
        reason = f"by default, as cells would explain {explained:.0%} of how public rows differ"
        return MethodChoice("sums", reason)
    return MethodChoice("neighbors", _DEFAULT)


def signal_of_sums(*, n_records: int, n_columns: int, n_classes: int, noise_std: float) -> float:
    """Return the number of records of a class, divided by the length of the noise on their sums.

    Parameters
    ----------
    n_records : int
        Number of private records or, where it is private, of public rows.
    n_columns, n_classes : int
        Number of numbers that a row is encoded as, and of classes.
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

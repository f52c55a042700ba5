"""Targets: y as codes, the votes of records and teachers, and published values.

A target has values: the classes of a classifier, or evenly spaced levels of a number. Each value is
a column of votes and of tables. A target encodes `y` as codes, splits the vote of a record among
the values, and decodes published values. It holds declared values but no records, so it is public.
`SeveralTargets` joins targets of one kind, one for each column of `y`.

To add a kind of target, add a subclass of `Target` here, and an estimator with this subclass as
`target_type`, like `regressor`. These modules also depend on the kind of target:

- `methods.teachers`: the model of default teachers, and the ensemble that they form;
- `releases.labels`: the default mechanism of teachers; `releases.published`: the default student;
- `methods.choose`: the choice between cells and class sums;
- `students`, `fitting.export`: training and export of students (`functools.singledispatch`);
- `accounting.findings`, `report.plan`: warnings and lines of a plan;
- `model_selection.trials`: scores of trials.
"""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import type_of_target

from .._numbers import first_names, is_whole, shown
from ..rdp.checks import as_array
from ..rdp.discrete import TICKS
from ..runtime.isolation import PublicError, attempt, kind_of, suppress_output

__all__ = ["ClassTarget", "NumberTarget", "SeveralTargets", "Target", "holds_lists"]


@dataclass(frozen=True, eq=False)
class Target(ABC):
    """Base class of the targets: `ClassTarget` and `NumberTarget`.

    Attributes
    ----------
    values : ndarray of shape (n_values,)
        Classes or levels, in ascending order: the columns of votes, tables and probabilities.
    """

    values: Any

    #: An entry of `y`, in messages.
    noun: ClassVar[str]

    #: One of the values, and several, in messages.
    value_noun: ClassVar[str]
    value_nouns: ClassVar[str]

    #: The attribute of a fitted estimator that holds the values.
    fitted_attribute: ClassVar[str]

    #: Whether the vote of a record may be split between two values.
    splits_votes: ClassVar[bool]

    #: Whether a prediction is either right or wrong, so that accuracy is defined.
    has_accuracy: ClassVar[bool]

    #: Published statistics of a row, and a guess that depends on no data, in messages.
    statistic_nouns: ClassVar[str]
    guess: ClassVar[str]

    #: Remedy if y has several columns, in messages.
    _of_several_columns: ClassVar[str]

    #: Kind of estimator that predicts this target, in messages, and a function that recognizes it.
    predictor: ClassVar[str]
    _is_predictor: ClassVar[Any]

    #: Types that entries of a list must have all or none of; see `_check_one_type`.
    _types_apart: ClassVar[tuple[Any, ...]] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", self._checked_values(self.values))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Target) or type(self) is not type(other):
            return False
        return np.array_equal(self.values, other.values)

    @property
    def n_values(self) -> int:
        """Number of classes, or of levels, of all targets together."""
        return len(self.values)

    # --- one target or several --------------------------------------------------------------------

    @property
    def parts(self) -> tuple["Target", ...]:
        """The single targets, one for each column of `y`."""
        return (self,)

    @property
    def kind(self) -> type["Target"]:
        """The kind of the single targets: `ClassTarget` or `NumberTarget`."""
        return type(self.parts[0])

    @property
    def n_targets(self) -> int:
        """Number of single targets, which is the number of votes of a record."""
        return len(self.parts)

    @property
    def n_values_by_target(self) -> tuple[int, ...]:
        """Number of classes, or of levels, of each single target."""
        return tuple(part.n_values for part in self.parts)

    @property
    def n_classes(self) -> int | tuple[int, ...]:
        """Number of classes, or of levels; for several targets, a tuple."""
        numbers = self.n_values_by_target
        return numbers if len(numbers) > 1 else numbers[0]

    @property
    def max_n_values(self) -> int:
        """Largest number of classes, or of levels, of a single target."""
        return max(self.n_values_by_target)

    @property
    def columns_by_target(self) -> list[slice]:
        """The columns of a table of votes that belong to each single target."""
        ends = np.cumsum(self.n_values_by_target).tolist()
        return [slice(*ends_of) for ends_of in zip([0, *ends], ends, strict=False)]

    @staticmethod
    def of_parts(parts: Sequence["Target"]) -> "Target":
        """Return the target of several columns; a single part is returned unchanged.

        Parameters
        ----------
        parts : sequence of Target
            Single targets of one kind, one for each column of `y`.

        Returns
        -------
        Target
        """
        return parts[0] if len(parts) == 1 else SeveralTargets(parts)

    @classmethod
    def of_values(cls, values: Any) -> "Target":
        """Return the target of this kind with given values; a list has values of each target."""
        if isinstance(values, list):
            return cls.of_parts([cls(each) for each in values])
        return cls(values)

    @classmethod
    def check_predicts(cls, name: str, estimator: Any) -> None:
        """Raise an error if an estimator predicts another kind of target.

        Parameters
        ----------
        name : str
            Name of the parameter, for messages.
        estimator : estimator
            A teacher or a student.

        Raises
        ------
        TypeError
            If `estimator` is a class.
        ValueError
            If `estimator` does not predict this kind of target.
        """
        if isinstance(estimator, type):
            raise TypeError(
                f"{name} must be an estimator instance, such as {estimator.__name__}(); got the "
                f"class {estimator.__name__}"
            )
        if not hasattr(estimator, "get_params") or not cls._is_predictor(estimator):
            got = type(estimator).__name__ if hasattr(estimator, "shape") else repr(estimator)
            raise ValueError(f"{name} must be a {cls.predictor}; got {got}")

    # --- private labels or numbers as codes ------------------------------------------------------

    @classmethod
    def column(cls, y: Any) -> np.ndarray:
        """Return `y` as a 1-D array; error messages quote none of its entries.

        Parameters
        ----------
        y : array-like of shape (n_records,)
            Private labels or numbers. Shape (n_records, 1) causes a DataConversionWarning.

        Returns
        -------
        ndarray of shape (n_records,)

        Raises
        ------
        ValueError
            If `y` is None, a scalar, sparse or complex, or if it has several columns.
        """
        if y is None:
            raise ValueError("This estimator requires y to be passed, but the target y is None")
        if sparse.issparse(y):
            raise ValueError(f"y must be a 1-D array of {cls.noun}s; got a sparse matrix")
        array = as_array("y", y)
        if array.ndim == 0:
            raise ValueError(
                f"y should be a 1d array, with one {cls.noun} per record; got a "
                f"{type(y).__name__}. Give the values: for the name of a column, y = X.pop(name); "
                "for a generator, list(y)"
            )
        if array.ndim > 1 and array.shape[1] != 1:
            raise ValueError(
                f"y must be a 1-D array with one {cls.noun} per record, as one target is declared; "
                f"got shape {array.shape}. {cls._of_several_columns}"
            )
        if array.dtype.kind == "c":  # scikit-learn's message quotes all entries
            held = "text or real numbers as labels" if cls.noun == "label" else "real numbers"
            raise ValueError(f"Complex data not supported: y must hold {held}")
        if not hasattr(y, "dtype") and array.ndim == 1 and array.dtype.kind != "O":
            cls._check_one_type(y)
        # A pandas column is passed unchanged, because pandas selects the numpy dtype
        return column_or_1d(array if isinstance(y, np.ndarray) else y, warn=True)

    @classmethod
    def columns(cls, y: Any) -> list[np.ndarray]:
        """Return each column of `y` as a 1-D array; error messages quote none of its entries.

        Parameters
        ----------
        y : array-like of shape (n_records,) or (n_records, n_targets)
            Private labels or numbers. Columns of a DataFrame may have different dtypes; those of
            an array of objects are converted to text or numbers.

        Returns
        -------
        list of ndarray of shape (n_records,)

        Raises
        ------
        ValueError
            As from `column`, for each column; or if `y` has more than two axes.
        """
        shape = () if y is None or sparse.issparse(y) else as_array("y", y).shape
        if len(shape) != 2 or shape[1] < 2:
            return [cls.column(y)]
        if hasattr(y, "iloc"):
            return [cls.column(y.iloc[:, k]) for k in range(shape[1])]
        if hasattr(y, "columns"):
            return [cls.column(y[name]) for name in y.columns]
        array = as_array("y", y)
        if not hasattr(y, "dtype") and array.dtype.kind != "O":
            for column in zip(*y, strict=True):
                cls._check_one_type(column)
        if array.dtype.kind == "O":
            with suppress_output():  # libraries warn of private values
                columns = [pd.Series(column).infer_objects().to_numpy() for column in array.T]
            return [cls.column(column) for column in columns]
        return [cls.column(column) for column in array.T]

    def encode(self, y: Any) -> np.ndarray:
        """Return private labels or numbers as codes; error messages quote none of them.

        Parameters
        ----------
        y : array-like of shape (n_records,)
            Labels, each one of the classes; or finite numbers.

        Returns
        -------
        ndarray of shape (n_records,)
            For labels, indices into the classes, int64. For numbers, positions along the levels,
            float64, from 0 to ``n_values - 1``. The position of a number does not depend on other
            numbers. Numbers beyond the bounds count as the nearest bound.

        Raises
        ------
        TypeError, ValueError
            If an entry of `y` is missing or infinite; if a label is not one of the classes; if an
            entry of numbers is not a number, or all numbers are beyond the bounds; or if `column`
            raises an error.
        """
        y = self.column(y)
        with suppress_output():  # warnings of other libraries may quote private values
            self._check_finite(y)
            return self._codes(y)

    def encode_found(self, y: Any) -> np.ndarray:
        """Return private labels or numbers as codes, for a target that was found.

        Labels that are not among the classes get the code -1. Numbers are clipped, also if all of
        them are outside of the bounds, because an error would show that none is inside.
        """
        raise NotImplementedError

    @classmethod
    def _check_one_type(cls, y: Any) -> None:
        """Refuse text among numbers, and truth values among others: all entries would become these.

        One record would then change the type of all classes.
        """
        types = set(map(type, y)) if isinstance(y, list | tuple) else set()
        for kind in cls._types_apart:
            if len({issubclass(each, kind) for each in types}) > 1:
                raise ValueError(
                    "y is a list of labels of several types, which would all get the same type: "
                    "give labels of one type, or an array, whose type is known"
                )

    @classmethod
    def _check_finite(cls, y: np.ndarray) -> None:
        is_finite, _ = attempt(lambda: not (pd.isna(y) | (y == np.inf) | (y == -np.inf)).any())
        if not is_finite:
            raise ValueError(f"Input y contains NaN or infinity; every record needs a {cls.noun}")

    @abstractmethod
    def with_one_dtype(self, y: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return `y` in a form with the same dtype for every subset of the records.

        Parameters
        ----------
        y, codes : ndarray of shape (n_records,)
            Labels or numbers, and their codes.

        Returns
        -------
        array-like of shape (n_records,)
        """

    def alternating(self, n_records: int) -> np.ndarray:
        """Return made-up codes for dry runs: the values in turn.

        Parameters
        ----------
        n_records : int
            Number of codes.

        Returns
        -------
        ndarray of shape (n_records,)
            Codes, with the dtype of codes from `encode`.
        """
        return np.arange(n_records) % self.n_values

    # --- the vote of a record --------------------------------------------------------------------

    @abstractmethod
    def split(self, codes: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Split the vote of each record, in ticks, among one or more values.

        Parameters
        ----------
        codes : ndarray of shape (n_records,)
            From `encode`.
        shares : ndarray of shape (n_records,), int
            Total of each vote, a whole number of ticks.

        Returns
        -------
        values, shares : ndarray of shape (n_records, n_parts), int
            Indices into `values`, and the ticks for each of them. The ticks of a record are not
            negative and sum to its total exactly. Two votes with the same total therefore differ by
            at most twice this total (L1), and by at most this total for each value.
        """

    def contributions(self, codes: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Return the ticks of each vote, in one column for each value.

        Parameters
        ----------
        codes, shares : ndarray of shape (n_records,)
            As in `split`.

        Returns
        -------
        ndarray of shape (n_records, n_values), int64
            Rows sum to the totals.
        """
        counts = np.zeros((len(codes), self.n_values), dtype=np.int64)
        for values, part in zip(*map(np.transpose, self.split(codes, shares)), strict=True):
            counts[np.arange(len(codes)), values] += part
        return counts

    # --- teachers --------------------------------------------------------------------------------

    @abstractmethod
    def teacher_values(self, codes: np.ndarray) -> np.ndarray:
        """Convert codes to the `y` that teachers and students are fitted on.

        Parameters
        ----------
        codes : ndarray of shape (n_records,)
            From `encode`.

        Returns
        -------
        ndarray of shape (n_records,)
            Class codes; or numbers in the unit of `y`, within the bounds.
        """

    @abstractmethod
    def code_without_records(self, number: int) -> float:
        """Return the code that teacher `number` predicts if it has no records."""

    @abstractmethod
    def votes_at(self, codes: np.ndarray) -> np.ndarray:
        """Return the votes of one teacher, from the code that it predicts for each query.

        Parameters
        ----------
        codes : ndarray of shape (n_queries,)
            Valid codes.

        Returns
        -------
        ndarray of shape (n_queries,) or (n_queries, n_values), int
            For classes, the codes in the smallest integer type, which saves memory. For numbers,
            ticks of each level; each row sums to `rdp.discrete.TICKS` exactly.
        """

    @abstractmethod
    def votes_of(self, predicted: ArrayLike, n_queries: int) -> np.ndarray:
        """Return the predictions of one teacher as votes; error messages quote none of them.

        Parameters
        ----------
        predicted : array-like of shape (n_queries,)
            Output of the teacher's `predict`.
        n_queries : int
            Number of queries.

        Returns
        -------
        ndarray
            As from `votes_at`.

        Raises
        ------
        PublicError
            If the predictions are invalid.
        """

    # --- published values ------------------------------------------------------------------------

    def labels_at(self, codes: np.ndarray) -> np.ndarray:
        """Return the labels of codes, or numbers unchanged.

        Parameters
        ----------
        codes : ndarray of shape (n_rows,)
            From `check_predicted`.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return codes

    @abstractmethod
    def decode(self, labels: np.ndarray, class_proba: np.ndarray | None) -> np.ndarray:
        """Return the published value of each public row.

        Parameters
        ----------
        labels : ndarray of shape (n_public,), int
            Codes of the released labels, -1 for rows without a label.
        class_proba : ndarray of shape (n_public, n_values) or None
            Released distributions over the values, NaN for rows without one; None before a release.

        Returns
        -------
        ndarray of shape (n_public,)
            For classes, codes of the labels, -1 for rows without one. For numbers, means, NaN for
            rows without one.
        """

    @abstractmethod
    def labels_of(self, published: np.ndarray) -> np.ndarray:
        """Return labels from the output of `decode`, -1 for rows without a published value."""

    @abstractmethod
    def are_of_one_class(self, labels: np.ndarray) -> bool:
        """Return whether all released labels are of one class; always False for numbers."""

    def check_predicted(self, predicted: ArrayLike, *, n_rows: int | None = None) -> np.ndarray:
        """Check the predictions of a student, and return them as codes or numbers.

        Parameters
        ----------
        predicted : array-like of shape (n_rows,)
            Output of the student's `predict`.
        n_rows : int or None, default=None
            Number of rows; None for any.

        Returns
        -------
        ndarray of shape (n_rows,)
            Class codes, intp; or numbers, float64.

        Raises
        ------
        ValueError
            If the predictions are invalid.
        """
        found = np.asarray(predicted)
        is_one_each = found.dtype.kind in "iufb" and found.shape == (n_rows or found.size,)
        values = self._predictions(found) if is_one_each else None
        if values is None:
            raise ValueError(
                f"predict of the student must return {self._expected}; got "
                f"{kind_of(found.dtype)} of shape {found.shape}{', not all valid' * is_one_each}"
            )
        return values

    @abstractmethod
    def check_public_labels(self, name: str, labels: ArrayLike) -> None:
        """Raise an error for public labels that are not classes; accept all public numbers.

        Parameters
        ----------
        name : str
            Name of the argument, for messages.
        labels : array-like of shape (n_rows,)
            Public labels or numbers.
        """

    # --- defined by each kind of target ----------------------------------------------------------

    @staticmethod
    @abstractmethod
    def _checked_values(values: Any) -> np.ndarray:
        """Return the values as an array; raise an error for invalid ones."""

    @abstractmethod
    def _codes(self, y: np.ndarray) -> np.ndarray:
        """Return finite labels or numbers as codes; raise an error for invalid ones."""

    @property
    @abstractmethod
    def _expected(self) -> str:
        """Description of valid predictions of a student, for messages."""

    @abstractmethod
    def _predictions(self, predicted: np.ndarray) -> np.ndarray | None:
        """Return predictions of a student, one number for each row; None if some are invalid."""


#: Whole-number labels are looked up in a table of codes if there are more than this number of them,
#: and their range is shorter than it.
_MAX_RANGE = 2**16


def _codes_in_table(codes: np.ndarray, labels: np.ndarray, low: int) -> np.ndarray:
    """Return the code of each label; `codes` has those of the whole numbers from `low` on."""
    found = np.empty(len(labels), dtype=codes.dtype)
    for start in range(0, len(labels), _MAX_RANGE):  # a block takes little memory
        rows = slice(start, start + _MAX_RANGE)
        found[rows] = codes[np.subtract(labels[rows], low, dtype=np.int64)]
    return found


class ClassTarget(Target):
    """Target of a classifier: each record votes for one class.

    Parameters
    ----------
    values : array-like of shape (n_classes,)
        All labels that may occur, at least two, each listed once. They are public.

    Attributes
    ----------
    values : ndarray of shape (n_classes,)
        The labels, sorted.

    Raises
    ------
    ValueError
        If `values` is not a list of at least two different labels of one type, none of them
        missing.

    Examples
    --------
    >>> from sklearn_pate.encoding.targets import ClassTarget
    >>> target = ClassTarget(["no", "yes"])
    >>> codes = target.encode(["yes", "yes", "no"])
    >>> codes
    array([1, 1, 0])
    >>> target.contributions(codes, shares=np.array([8, 8, 8]))
    array([[0, 8],
           [0, 8],
           [8, 0]])
    >>> target.values[codes]
    array(['yes', 'yes', 'no'], dtype='<U3')
    """

    noun = "label"
    value_noun = "class"
    value_nouns = "classes"
    fitted_attribute = "classes_"
    splits_votes = False
    has_accuracy = True
    statistic_nouns = "class probabilities"
    guess = "a coin flip"
    _of_several_columns = (
        "For one-hot labels, give numpy.asarray(y).argmax(axis=1). For several targets, give "
        "classes a list for each column, classes=[[0, 1], [0, 1]]"
    )
    predictor = "classifier"
    _is_predictor = staticmethod(is_classifier)
    _types_apart = str, (bool, np.bool_)

    @classmethod
    def of_labels(cls, y: Any) -> "ClassTarget":
        """Return the target of all classes in private labels.

        The target discloses which classes occur.

        Parameters
        ----------
        y : array-like of shape (n_records,)
            Private labels.

        Returns
        -------
        ClassTarget
        """
        y = cls.check_labels(y)
        with suppress_output():  # libraries warn of private values
            return cls(_checked_classes(y, "y"))

    @classmethod
    def check_labels(cls, y: Any) -> np.ndarray:
        """Return private labels of any classes as an array; errors quote none of them.

        Parameters
        ----------
        y : array-like of shape (n_records,)
            Private labels.

        Returns
        -------
        ndarray of shape (n_records,)

        Raises
        ------
        TypeError, ValueError
            If an entry of `y` is missing, or is not a label.
        """
        y = cls.column(y)
        with suppress_output():  # warnings of other libraries may quote private values
            cls._check_finite(y)
            cls._check_are_labels(y)
        return y

    @staticmethod
    def _checked_values(values: Any) -> np.ndarray:
        classes = _checked_classes(values, "classes")
        n_labels = len(values)
        if len(classes) < n_labels:
            raise ValueError(
                f"classes must list each label once; got {n_labels} labels, {len(classes)} of them "
                "different"
            )
        return classes

    @staticmethod
    def _check_are_labels(y: np.ndarray) -> None:
        if y.dtype.kind == "S":
            raise TypeError("y holds bytes, which are not supported as labels: decode them to text")
        kind, _ = attempt(lambda: type_of_target(y))  # its error may quote labels
        if kind not in ("binary", "multiclass"):
            remedy = "for other numbers, use PATERegressor"
            if y.dtype.kind == "O":
                remedy = "convert it with y.astype(int), y.astype(bool) or y.astype(str)"
            raise ValueError(
                f"y holds {kind_of(y.dtype)}: Unknown label type: {kind}. y must hold text, "
                f"integers or booleans; {remedy}"
            )

    def codes_of(self, labels: np.ndarray) -> np.ndarray | None:
        """Return labels, (n_records,), as codes; None if some are not among the classes."""
        codes = self.codes_with_others(labels)
        return None if codes is None or (codes < 0).any() else codes

    def codes_with_others(self, labels: np.ndarray) -> np.ndarray | None:
        """Return labels, (n_records,), as codes, -1 for labels that are not among the classes.

        Return None if the labels cannot be compared with the classes, as text with numbers.
        """
        if len(labels) > _MAX_RANGE and np.can_cast(labels.dtype, np.int64):
            low, high = int(labels.min()), int(labels.max())
            if high - low < _MAX_RANGE:  # each whole number in the range is compared once
                numbers = np.arange(low, high + 1).astype(labels.dtype)
                codes = self.codes_with_others(numbers)
                return None if codes is None else _codes_in_table(codes, labels, low)
        last = self.n_values - 1
        codes, _ = attempt(lambda: np.minimum(np.searchsorted(self.values, labels), last))
        if codes is None:
            return None
        return np.where(self.values[codes] == labels, codes, -1).astype(np.int64)

    def encode_found(self, y: Any) -> np.ndarray:
        """Return codes, -1 for labels that are not among the classes."""
        codes: Any = self.codes_with_others(self.column(y))  # of the type they were found from
        return codes

    def _codes(self, y: np.ndarray) -> np.ndarray:
        self._check_are_labels(y)
        codes = self.codes_of(y)
        if codes is None:
            kinds = [_kind_of_labels(labels) for labels in (self.values, y)]
            of_kinds = ""
            if kinds[0] != kinds[1]:  # an ensemble may have encoded the labels as numbers
                number = f"within a VotingClassifier, give classes=range({self.n_values})"
                of_kinds = f": classes are {kinds[0]}, y holds {kinds[1]}; {number}"
            names = first_names(self.values.tolist())
            raise ValueError(
                f"y has labels that are not in classes, which are {names}; classes must list all "
                f"labels that may occur, in the type that y has{of_kinds}"
            )
        return codes

    def with_one_dtype(self, y: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the classes of codes; see `Target.with_one_dtype`."""
        return self.labels_at(codes)

    def labels_at(self, codes: np.ndarray) -> np.ndarray:
        """Return the labels of codes; see `Target.labels_at`."""
        return self.values[codes]

    def split(self, codes: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the class of each record, with all of its ticks; see `Target.split`."""
        return codes[:, None], shares[:, None]

    def teacher_values(self, codes: np.ndarray) -> np.ndarray:
        """Return the codes, which teachers are fitted on; see `Target.teacher_values`."""
        return codes

    def code_without_records(self, number: int) -> int:
        """Return a class for each number in turn; see `Target.code_without_records`."""
        return number % self.n_values

    def votes_at(self, codes: np.ndarray) -> np.ndarray:
        """Return the codes in the smallest integer type; see `Target.votes_at`."""
        return codes.astype(np.min_scalar_type(self.n_values - 1))

    def votes_of(self, predicted: ArrayLike, n_queries: int) -> np.ndarray:
        """Return predicted codes as votes; see `Target.votes_of`."""
        labels = np.asarray(predicted)
        if labels.shape != (n_queries,):
            raise PublicError("predict must return one label per row, a 1-D array")
        codes = np.full(n_queries, -1)
        if labels.dtype.kind in "iufb":
            with np.errstate(invalid="ignore"):
                codes = labels.astype(np.int64)
        # Unequal: fractions and NaN, which the cast would hide
        if not np.array_equal(codes, labels) or ((codes < 0) | (codes >= self.n_values)).any():
            raise PublicError(
                "predict returned labels that are not among the codes it was fitted on"
            )
        return self.votes_at(codes)

    def decode(self, labels: np.ndarray, class_proba: np.ndarray | None) -> np.ndarray:
        """Return the codes of released labels; see `Target.decode`."""
        return labels

    def labels_of(self, published: np.ndarray) -> np.ndarray:
        """Return the same codes; see `Target.labels_of`."""
        return published

    def are_of_one_class(self, labels: np.ndarray) -> bool:
        """Return whether all labels are the same; see `Target.are_of_one_class`."""
        return np.unique(labels).size == 1

    def check_public_labels(self, name: str, labels: ArrayLike) -> None:
        """Raise an error for labels that are not classes; see `Target.check_public_labels`."""
        unknown = set(np.unique(labels).tolist()) - set(self.values.tolist())
        if unknown:
            raise ValueError(f"{name} has labels that are not in classes: {sorted(unknown)}")

    @property
    def _expected(self) -> str:
        last = self.n_values - 1
        return f"codes from 0 to {last}, as in its fit (where -1 marks a row without a label)"

    def _predictions(self, predicted: np.ndarray) -> np.ndarray | None:
        are_codes = np.isin(predicted, np.arange(self.n_values)).all()
        return predicted.astype(np.intp) if are_codes else None


class NumberTarget(Target):
    """Target of a regressor: each record votes for the two nearest levels.

    The levels are numbers between public bounds. The number of a record is the mean of the two
    levels, weighted by the ticks of its vote.

    Parameters
    ----------
    values : array-like of shape (n_levels,)
        At least two levels, evenly spaced in ascending order. They are public.

    Attributes
    ----------
    values : ndarray of shape (n_levels,)
        The levels, float64.

    Raises
    ------
    ValueError
        If `values` is not a list of at least two finite levels, evenly spaced in ascending order.

    Examples
    --------
    >>> from sklearn_pate.encoding.targets import NumberTarget
    >>> target = NumberTarget.between((0, 40), n_levels=3)
    >>> target.values
    array([ 0., 20., 40.])
    >>> codes = target.encode([5.0, 20.0, 100.0])
    >>> codes
    array([0.25, 1.  , 2.  ])
    >>> target.contributions(codes, shares=np.array([8, 8, 8]))
    array([[6, 2, 0],
           [0, 8, 0],
           [0, 0, 8]])
    >>> target.mean(np.array([[0.75, 0.25, 0.0]]))
    array([5.])
    """

    noun = "number"
    value_noun = "level"
    value_nouns = "levels"
    fitted_attribute = "levels_"
    splits_votes = True
    has_accuracy = False
    statistic_nouns = "means"
    guess = "the mean of all"
    _of_several_columns = (
        "For several targets, give bounds a pair for each column, bounds=[(0, 1), (0, 40)]"
    )
    predictor = "regressor"
    _is_predictor = staticmethod(is_regressor)

    @classmethod
    def between(cls, bounds: Any, n_levels: int = 2) -> "NumberTarget":
        """Return the target of evenly spaced levels from one bound to the other.

        Parameters
        ----------
        bounds : (float, float)
            The lowest and the highest number, not yet checked.
        n_levels : int, default=2
            At least 2.

        Returns
        -------
        NumberTarget

        Raises
        ------
        ValueError
            If the bounds are not two finite numbers in ascending order with a finite difference,
            if they are too close for the levels, or if `n_levels` is not an integer of at least 2.
        """
        if bounds is None:
            raise ValueError(
                "bounds is missing: give bounds=(low, high), to which numbers in y are clipped. "
                "Bounds are published, so take them from public knowledge, not from y"
            )
        if not is_whole(n_levels) or n_levels < 2:
            raise ValueError(f"n_levels must be an integer of at least 2; got {shown(n_levels)}")
        are_in_order = False
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            low, high = map(float, bounds)
            are_in_order = 0 < high - low < np.inf
            with np.errstate(over="ignore", invalid="ignore"):
                return cls(np.linspace(low, high, n_levels))
        if are_in_order:
            raise ValueError(
                f"bounds must be farther apart: there are too few floats between them for "
                f"{shown(n_levels)} evenly spaced levels; got {shown(bounds)}"
            )
        raise ValueError(
            "bounds must be finite numbers (low, high) with low < high and a finite difference; "
            f"got {shown(bounds)}"
        )

    @staticmethod
    def _checked_values(values: Any) -> np.ndarray:
        levels = as_array("levels", values, dtype=float)
        with np.errstate(over="ignore", invalid="ignore"):
            if levels.ndim == 1 and len(levels) >= 2 and np.isfinite(levels[-1] - levels[0]):
                even = np.linspace(levels[0], levels[-1], len(levels))
                step = even[1] - even[0]
                are_even = (np.abs(levels - even) <= 1e-9 * step).all()
                if are_even and (np.diff(levels) > 0).all():
                    return levels
        raise ValueError(
            f"levels must be two or more finite numbers, evenly spaced in ascending order; got "
            f"{values!r}"
        )

    @classmethod
    def check_numbers(cls, y: Any) -> np.ndarray:
        """Return private numbers as floats; errors quote none of them.

        Parameters
        ----------
        y : array-like of shape (n_records,)
            Private numbers.

        Returns
        -------
        ndarray of shape (n_records,), float64
            Integers beyond the largest float become the largest float.

        Raises
        ------
        ValueError
            If an entry of `y` is missing, infinite, or not a number.
        """
        y = cls.column(y)
        largest = np.finfo(float).max
        with suppress_output():  # libraries warn of private values
            cls._check_finite(y)
            numbers, failed = attempt(lambda: np.clip(y, -largest, largest).astype(float))
        if failed is not None or y.dtype.kind not in "iufbO":
            raise ValueError(f"y must hold only numbers; got {kind_of(y.dtype)}")
        return numbers

    def encode_found(self, y: Any) -> np.ndarray:
        """Return private numbers as codes, as `encode` does, also if all are outside of the bounds.

        An error would show that none is inside. It is for bounds that were found, and published.
        """
        low, high = self.values[[0, -1]]
        return self._positions(np.clip(self.check_numbers(y), low, high))

    def _codes(self, y: np.ndarray) -> np.ndarray:
        low, high = self.values[[0, -1]]
        # Clip before the conversion: some integers are too large for a float
        numbers, failed = attempt(lambda: np.clip(y, low, high).astype(float))
        if failed is not None or y.dtype.kind not in "iufbO":
            raise ValueError(f"y must hold only numbers; got {kind_of(y.dtype)}")
        if ((y < low) | (y > high)).all():
            raise ValueError(
                f"all of y lies outside of bounds=({low:g}, {high:g}): give bounds in the unit of "
                "y. If y is transformed, as in a TransformedTargetRegressor, give them in the new "
                "unit"
            )
        return self._positions(numbers)

    def _positions(self, numbers: np.ndarray) -> np.ndarray:
        """Return positions of numbers along the levels, each by itself, clipped to both ends."""
        with np.errstate(over="ignore"):
            part = (numbers - self.values[0]) / (self.values[-1] - self.values[0])
        return np.clip(part, 0.0, 1.0) * (self.n_values - 1)

    def with_one_dtype(self, y: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return `y` unchanged: its numbers are converted to floats where they are used."""
        return y

    def alternating(self, n_records: int) -> np.ndarray:
        """Return positions of the levels in turn; see `Target.alternating`."""
        return super().alternating(n_records).astype(float)

    def split(self, codes: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Split each vote between the two nearest levels; see `Target.split`.

        The ticks of the upper level are rounded down, so the weighted mean of the two levels never
        exceeds the number.
        """
        lower = np.floor(codes)
        # The fraction is exact, and the product, if rounded up, is at most the total
        upper_shares = np.floor((codes - lower) * shares).astype(np.int64)
        levels = np.column_stack([lower, np.ceil(codes)]).astype(np.int64)
        return levels, np.column_stack([shares - upper_shares, upper_shares])

    def teacher_values(self, codes: np.ndarray) -> np.ndarray:
        """Return the numbers at positions; see `Target.teacher_values`."""
        return np.interp(codes, np.arange(self.n_values), self.values)

    def code_without_records(self, number: int) -> float:
        """Return the middle of the bounds; see `Target.code_without_records`."""
        return (self.n_values - 1) / 2

    def votes_at(self, codes: np.ndarray) -> np.ndarray:
        """Return ticks for each level; see `Target.votes_at`."""
        return self.contributions(codes, np.full(len(codes), TICKS))

    def votes_of(self, predicted: ArrayLike, n_queries: int) -> np.ndarray:
        """Return predicted numbers as votes; numbers beyond a bound vote for this bound."""
        predicted = np.asarray(predicted)
        if predicted.shape != (n_queries,) or predicted.dtype.kind not in "iufb":
            raise PublicError("predict must return one number per row, a 1-D array")
        if np.isnan(predicted).any():
            raise PublicError("predict returned missing numbers")
        return self.votes_at(self._positions(predicted.astype(float)))

    def decode(self, labels: np.ndarray, class_proba: np.ndarray | None) -> np.ndarray:
        """Return the means of released distributions; see `Target.decode`."""
        return np.full(len(labels), np.nan) if class_proba is None else self.mean(class_proba)

    def labels_of(self, published: np.ndarray) -> np.ndarray:
        """Return 0 for rows with a mean and -1 for others; see `Target.labels_of`."""
        return np.where(np.isnan(published), -1, 0)

    def are_of_one_class(self, labels: np.ndarray) -> bool:
        """Return False: numbers have no classes."""
        return False

    def check_public_labels(self, name: str, labels: ArrayLike) -> None:
        """Accept all numbers, because scores also compare numbers beyond the bounds."""

    @property
    def _expected(self) -> str:
        return "one number for each row"

    def _predictions(self, predicted: np.ndarray) -> np.ndarray | None:
        return predicted.astype(float)

    def mean(self, class_proba: np.ndarray) -> np.ndarray:
        """Return the means of distributions over the levels.

        Parameters
        ----------
        class_proba : ndarray of shape (n_rows, n_levels)
            Rows sum to 1.

        Returns
        -------
        ndarray of shape (n_rows,)
            Within the bounds.
        """
        return np.clip(class_proba @ self.values, self.values[0], self.values[-1])

    def quantiles(self, class_proba: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Return quantiles of distributions over the levels.

        Parameters
        ----------
        class_proba : ndarray of shape (n_rows, n_levels)
            Rows sum to 1.
        q : ndarray of shape (n_quantiles,)
            From 0 to 1.

        Returns
        -------
        ndarray of shape (n_rows, n_quantiles)
            Within the bounds, and increasing in q.

        Notes
        -----
        A number between two levels splits its vote. The weight of the lower level falls linearly
        from 1 to 0 as the number increases. The probabilities of the levels up to a given one
        therefore sum to the mean of the distribution function between this level and the next. This
        mean is approximately the value at the midpoint plus 1/24 of the second difference.
        """
        levels = self.values
        ends = np.concatenate([levels[:1], (levels[:-1] + levels[1:]) / 2, levels[-1:]])
        below = np.zeros((len(class_proba), len(ends)))
        below[:, 1:-1] = np.cumsum(class_proba, axis=1)[:, :-1]
        below[:, -1] = 1
        below[:, 1:-1] -= np.diff(below, n=2, axis=1) / 24
        below = np.maximum.accumulate(np.clip(below, 0, 1), axis=1)
        found = [np.interp(q, row, ends) for row in below]
        return np.array(found).reshape(len(class_proba), len(q))


def _of_parts(*given: Any, **params: Any) -> Any:
    """Raise an error: each of several targets has this method."""
    raise TypeError("this method belongs to each of several targets, `parts`")


class SeveralTargets(Target):
    """Several targets of one kind, one for each column of `y`: a record casts a vote for each.

    A table of votes has the columns of each target in turn, `columns_by_target`.

    Parameters
    ----------
    parts : sequence of Target
        At least two targets, all of `ClassTarget` or all of `NumberTarget`.

    Attributes
    ----------
    values : list of ndarray
        The classes, or the levels, of each target.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.encoding.targets import ClassTarget, SeveralTargets
    >>> target = SeveralTargets([ClassTarget(["no", "yes"]), ClassTarget([0, 1, 2])])
    >>> codes = target.encode(np.array([["yes", 2], ["no", 0]], dtype=object))
    >>> codes
    array([[1, 2],
           [0, 0]])
    >>> target.contributions(codes, shares=np.array([8, 8]))
    array([[0, 8, 0, 0, 8],
           [8, 0, 8, 0, 0]])
    """

    statistic_nouns = "class probabilities"
    guess = "a coin flip"

    def __init__(self, parts: Sequence[Target]) -> None:
        kinds = {type(part) for part in parts}
        if len(parts) < 2 or len(kinds) != 1:
            raise ValueError("several targets must be two or more targets of one kind")
        object.__setattr__(self, "_parts", tuple(parts))
        object.__setattr__(self, "values", [part.values for part in parts])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SeveralTargets) and self.parts == other.parts

    @property
    def parts(self) -> tuple[Target, ...]:
        """The single targets, one for each column of `y`."""
        parts: tuple[Target, ...] = self._parts  # type: ignore[attr-defined]
        return parts

    @property
    def n_values(self) -> int:
        """Number of classes, or of levels, of all targets together."""
        return sum(self.n_values_by_target)

    @property
    def noun(self) -> str:  # type: ignore[override]
        """An entry of `y`, in messages."""
        return self.kind.noun

    @property
    def fitted_attribute(self) -> str:  # type: ignore[override]
        """The attribute of a fitted estimator that holds the values."""
        return self.kind.fitted_attribute

    @property
    def splits_votes(self) -> bool:  # type: ignore[override]
        """Whether the vote of a record may be split between two values of a target."""
        return self.kind.splits_votes

    @property
    def has_accuracy(self) -> bool:  # type: ignore[override]
        """Whether a prediction is either right or wrong, so that accuracy is defined."""
        return self.kind.has_accuracy

    def columns_of(self, y: Any) -> list[np.ndarray]:
        """Return the columns of `y`; raise an error if there is not one for each target."""
        columns = self.kind.columns(y)
        if len(columns) != self.n_targets:
            raise ValueError(
                f"y must have {self.n_targets} columns, one for each target that is declared; got "
                f"{len(columns)}"
            )
        return columns

    def encode(self, y: Any) -> np.ndarray:
        """Return codes of each column, (n_records, n_targets); see `Target.encode`."""
        return self._each(type(self.parts[0]).encode, self.columns_of(y))

    def encode_found(self, y: Any) -> np.ndarray:
        """Return codes of each column, (n_records, n_targets); see `Target.encode_found`."""
        return self._each(type(self.parts[0]).encode_found, self.columns_of(y))

    def with_one_dtype(self, y: Any, codes: np.ndarray) -> np.ndarray:
        """Return the columns with one dtype each; see `Target.with_one_dtype`."""
        columns = zip(self.columns_of(y), codes.T, strict=True)
        return _joined([p.with_one_dtype(*c) for p, c in zip(self.parts, columns, strict=True)])

    def alternating(self, n_records: int) -> np.ndarray:
        """Return made-up codes, (n_records, n_targets); see `Target.alternating`."""
        return np.column_stack([part.alternating(n_records) for part in self.parts])

    def split(self, codes: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Split the votes of each record, one for each target; see `Target.split`.

        The ticks for the values of one target sum to the total, so two votes with the same total
        differ by at most `n_targets` times as much as votes for one target (L1).
        """
        values, parts = [], []
        for part, own, columns in zip(self.parts, codes.T, self.columns_by_target, strict=True):
            of_target, ticks = part.split(own, shares)
            values.append(of_target + columns.start)
            parts.append(ticks)
        return np.column_stack(values), np.column_stack(parts)

    def teacher_values(self, codes: np.ndarray) -> np.ndarray:
        """Return the `y` of models, (n_records, n_targets); see `Target.teacher_values`."""
        return self._each(type(self.parts[0]).teacher_values, codes.T)

    def labels_at(self, codes: np.ndarray) -> np.ndarray:
        """Return labels, (n_rows, n_targets), as objects if their types differ."""
        return _joined([p.labels_at(own) for p, own in zip(self.parts, codes.T, strict=True)])

    def check_predicted(self, predicted: ArrayLike, *, n_rows: int | None = None) -> np.ndarray:
        """Check predictions, (n_rows, n_targets); see `Target.check_predicted`."""
        found = np.asarray(predicted)
        if found.ndim != 2 or found.shape[1] != self.n_targets:
            raise ValueError(
                f"predict of the student must return {self._expected}; got "
                f"{kind_of(found.dtype)} of shape {found.shape}"
            )
        checked = [
            part.check_predicted(own, n_rows=n_rows)
            for part, own in zip(self.parts, found.T, strict=True)
        ]
        return np.column_stack(checked)

    def check_public_labels(self, name: str, labels: ArrayLike) -> None:
        """Check public labels of each column; see `Target.check_public_labels`."""
        for part, own in zip(self.parts, self.columns_of(labels), strict=True):
            part.check_public_labels(name, own)

    def _each(self, function: Any, columns: Any) -> np.ndarray:
        """Call a method of each target with its column, and join the results."""
        results = [function(part, own) for part, own in zip(self.parts, columns, strict=True)]
        return np.column_stack(results)

    @property
    def _expected(self) -> str:
        return f"{self.n_targets} columns, one for each target"

    # Models of teachers and published values belong to single targets

    code_without_records = votes_at = votes_of = decode = labels_of = are_of_one_class = _of_parts
    _checked_values = staticmethod(_of_parts)
    _codes = _predictions = _of_parts


def holds_lists(declared: Any) -> bool:
    """Return whether a declaration has a list, a tuple or an array for each of several targets."""
    if isinstance(declared, np.ndarray):
        return declared.ndim == 2
    kinds = list, tuple, range, np.ndarray, pd.Index
    is_list = isinstance(declared, list | tuple)
    return is_list and len(declared) > 0 and all(isinstance(each, kinds) for each in declared)


def _joined(columns: list[np.ndarray]) -> np.ndarray:
    """Return columns side by side, as objects if they would be converted to another kind."""
    if len({column.dtype.kind for column in columns}) > 1:
        columns = [column.astype(object) for column in columns]
    return np.column_stack(columns)


def _checked_classes(labels: ArrayLike, name: str) -> np.ndarray:
    """Return sorted distinct labels, at least two of them."""
    labels = as_array(name, labels)
    if labels.ndim != 1 or pd.isna(labels).any():
        raise ValueError(f"{name} must be a list of labels, none of them missing")
    classes, failed = attempt(lambda: np.unique(labels))
    if failed is not None:
        raise ValueError(f"{name} must hold labels of one type, which can be sorted")
    if len(classes) < 2:
        raise ValueError(
            f"a classifier needs labels of at least 2 classes; {name} has {len(classes)} class"
        )
    return classes


def _kind_of_labels(labels: np.ndarray) -> str:
    """Return the kind of labels; text that is stored as objects counts as text."""
    if labels.dtype.kind == "O" and pd.api.types.infer_dtype(labels) == "string":
        return "text"
    return kind_of(labels.dtype)

"""Class probabilities from released sums and tables, and students that predict from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ._sklearn import pipeline, preprocessing
from .association import combined
from .encoding.fitted_steps import (
    affine_by_hand,
    classes_by_proba,
    mean_by_proba,
    proba_by_softmax,
)
from .neighbors import centers, smoothing

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

    from ._typing import Estimator, Rows
    from .shift import PublicShift

#: Candidate powers of the cells' class probabilities; the prior has its own candidates.
_POWERS_OF_CELLS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)


class ReleasedProba(ABC):
    """Base class of released discriminants; subclasses have `p_value` and `class_counts`."""

    @abstractmethod
    def class_proba(self, X: Rows) -> np.ndarray:
        """Return the class probabilities of rows, (n_samples, n_classes), each row by itself."""

    def default_student(self) -> SumsClassifier:
        """Return a classifier that predicts only from the released sums."""
        return SumsClassifier(self)

    def read(self, X: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Return class probabilities and labels of public rows; see `ReleasedTable.read`."""
        class_proba = self.class_proba(X)
        return class_proba, smoothing.assign_to_similar(class_proba)


class SumsClassifier(ClassifierMixin, BaseEstimator):
    """Classifier that predicts from a released table or released sums, without training.

    Parameters
    ----------
    released : object or None, default=None
        Object with a method `class_proba`, such as `ReleasedSums`.
    weight : ndarray of shape (n_classes,) or None, default=None
        Weight of each class; None for equal weights.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Distinct labels in `fit`, which are codes of classes.
    """

    def __init__(self, released: Any = None, weight: np.ndarray | None = None) -> None:
        self.released = released
        self.weight = weight

    def fit(self, X: Rows, y: np.ndarray, sample_weight: Any = None) -> Self:
        """Store the distinct labels."""
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: Rows) -> np.ndarray:
        """Return the probabilities of the classes, (n_samples, n_classes)."""
        check_is_fitted(self)
        class_proba = self.released.class_proba(X)[:, self.classes_]
        return smoothing.shifted(class_proba, self._weight())

    def predict(self, X: Rows) -> np.ndarray:
        """Return the most probable labels, (n_samples,)."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def decision_function(self, X: Rows) -> np.ndarray:
        """Return the log odds of the second of two classes, (n_samples,).

        For more classes, return the log probability of each, (n_samples, n_classes).
        """
        with np.errstate(divide="ignore"):
            logs = np.log(self.predict_proba(X))
        return logs[:, 1] - logs[:, 0] if len(self.classes_) == 2 else logs

    def to_sklearn(self) -> Pipeline:
        """Return a scikit-learn Pipeline with the same predictions and the same `classes_`."""
        check_is_fitted(self)
        codes, weight = self.classes_, self._weight()
        if hasattr(self.released, "to_sklearn"):  # returns a shorter Pipeline
            return self.released.to_sklearn(codes, weight)
        classes = classes_by_proba(self.released.n_classes, codes, weight)
        return pipeline.make_pipeline(*self.released.by_hand(), *classes).set_output(
            transform="default"
        )

    def _weight(self) -> np.ndarray:
        return np.ones(len(self.classes_)) if self.weight is None else self.weight[self.classes_]


class TableRegressor(RegressorMixin, BaseEstimator):
    """Regressor that predicts from a released table or released sums, without training.

    Parameters
    ----------
    released : object or None, default=None
        Object with a method `class_proba` that returns probabilities of levels.
    target : targets.NumberTarget or None, default=None
        Target with the levels.
    """

    def __init__(self, released: Any = None, target: Any = None) -> None:
        self.released = released
        self.target = target

    def fit(self, X: Rows, y: np.ndarray) -> Self:
        """Mark the regressor as fitted."""
        self.is_fitted_ = True
        return self

    def predict(self, X: Rows) -> np.ndarray:
        """Return the means of the levels, (n_samples,)."""
        check_is_fitted(self)
        return self.target.mean(self.released.class_proba(X))

    def to_sklearn(self) -> Pipeline:
        """Return a scikit-learn Pipeline with the same predictions."""
        check_is_fitted(self)
        model = pipeline.make_pipeline(*self.released.by_hand(), mean_by_proba(self.target.values))
        return model.set_output(transform="default")


@dataclass(frozen=True, eq=False, repr=False)
class SeveralTables:
    """Published tables or sums of several targets, one for each.

    It is the attribute `table_` of an estimator that was fitted on several targets.

    Attributes
    ----------
    tables : tuple
        The table of each target, such as a `neighbors.ReleasedTable`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate import PATEClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 4))
    >>> y = (X[:, :2] > 0).astype(int)
    >>> clf = PATEClassifier(classes=[[0, 1], [0, 1]]).fit(X[:2000], y[:2000], X[2000:])
    >>> len(clf.table_.tables)
    2
    >>> [proba.shape for proba in clf.table_.class_proba(X[:5])]
    [(5, 2), (5, 2)]
    """

    tables: tuple[Any, ...]

    def __repr__(self) -> str:
        return f"SeveralTables({', '.join(map(repr, self.tables))})"

    def class_proba(self, X: Rows) -> list[np.ndarray]:
        """Return the class probabilities of rows, (n_samples, n_classes), for each target."""
        return [table.class_proba(X) for table in self.tables]

    @property
    def shift(self) -> PublicShift | None:
        """Distance of the public rows from the private records, by the first table."""
        shift: PublicShift | None = self.tables[0].shift
        return shift


def of_targets(tables: Iterable[Any]) -> Any:
    """Return `SeveralTables`, or a single table unchanged."""
    tables = tuple(tables)
    return tables[0] if len(tables) == 1 else SeveralTables(tables)


def tables_of(table: Any) -> tuple[Any, ...]:
    """Return the table of each target."""
    return table.tables if isinstance(table, SeveralTables) else (table,)


@dataclass(frozen=True, eq=False, repr=False)
class StackedTable:
    """Noisy table combined with an earlier release, the prior; both are published.

    The class probabilities of the prior (class sums or histograms) and those of the cells are each
    divided by the overall class probabilities of the table and raised to a power. The product of
    both ratios and the overall class probabilities is normalized to sum to 1. The powers are those
    with which one part of the noisy table predicts the other part best; see
    `ProbabilityField.splits`.

    Attributes
    ----------
    table : ReleasedTable
        The noisy table.
    prior : ReleasedSums or ReleasedHistograms
        The earlier release.
    X_public : array-like with n_public rows
        Rows from which the cells were made.
    """

    table: smoothing.ReleasedTable
    prior: Any
    X_public: Rows

    @property
    def class_counts(self) -> tuple[np.ndarray, float]:
        """Class counts of the release with less noise; see `ReleasedTable.class_counts`."""
        both = self.table.class_counts, self.prior.class_counts
        return min(both, key=lambda counts: counts[1])

    @property
    def p_value(self) -> float:
        """Combined p-value of both releases; under the null, classes do not depend on rows."""
        return combined([self.table.p_value, self.prior.p_value])

    def __repr__(self) -> str:
        return f"StackedTable({self.table!r}, {self.prior!r}, powers={self.powers})"

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.table.counts.shape[1]

    @cached_property
    def powers(self) -> tuple[float, float]:
        """Powers of the class probabilities of the prior and of the cells."""
        numbers = smoothing.numbers_of_public(self.table.transformer, self.X_public)
        cell = centers.nearest_cells(numbers, self.table.centers)[:, 0]
        by_prior = np.zeros_like(self.table.counts)
        np.add.at(by_prior, cell, self.prior.class_proba(self.X_public))
        by_prior = smoothing.floored(by_prior)
        probability_field = self.table.probability_field
        powers = list(product(self.prior.powers, _POWERS_OF_CELLS))
        overall = np.maximum(probability_field.overall, smoothing.MIN_PROBA)
        of_prior = [overall * (by_prior / overall) ** power for power in self.prior.powers]
        gain = np.zeros(len(powers))
        for means, hidden in probability_field.splits(self.table.counts):
            by_cells = smoothing.sharpened(means, probability_field.power)
            of_cells = [(by_cells / overall) ** power for power in _POWERS_OF_CELLS]
            factors = product(of_prior, of_cells)
            gain += [
                (hidden * np.log(_normalized(prior * cells))).sum() for prior, cells in factors
            ]
        return powers[int(np.argmax(gain))]

    @available_if(lambda table: hasattr(table.prior, "default_student"))
    def default_student(self) -> SumsClassifier:
        """Return a classifier that predicts from the table and the prior together.

        It is unavailable if the prior is `ReleasedHistograms`.
        """
        return SumsClassifier(self)

    def class_proba(self, X: Rows) -> np.ndarray:
        """Return the class probabilities at rows; see `ReleasedTable.class_proba`."""
        X = self.prior.schema.within(X)
        factors = (
            self.prior.class_proba(X),
            self.table.class_proba(X),
            self.table.probability_field.overall,
        )
        return _mixed(*factors, self.powers)

    def by_hand(self) -> list[Estimator]:
        """Return fitted scikit-learn steps that compute the class probabilities of rows."""
        parts = [
            pipeline.make_pipeline(*part.by_hand(), preprocessing.FunctionTransformer(np.log))
            for part in (self.prior, self.table)
        ]
        powers = np.vstack([np.diag(np.full(self.n_classes, power)) for power in self.powers])
        overall = np.maximum(self.table.probability_field.overall, smoothing.MIN_PROBA)
        return [
            pipeline.make_union(*parts),
            *affine_by_hand(powers, (1 - sum(self.powers)) * np.log(overall)),
            *proba_by_softmax(smoothing.MIN_PROBA),
        ]

    def read(self, X: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Return class probabilities and labels of public rows; see `ReleasedTable.read`."""
        class_proba = self.class_proba(X)
        numbers = smoothing.numbers_of_public(self.table.transformer, self.prior.schema.within(X))
        cell = centers.nearest_cells(numbers, self.table.centers)[:, 0]
        return class_proba, smoothing.assign_labels(class_proba, cell)


def _mixed(
    by_prior: np.ndarray, by_cells: np.ndarray, overall: np.ndarray, powers: tuple[float, float]
) -> np.ndarray:
    """Return the class probabilities of a `StackedTable` with these powers; rows sum to 1."""
    overall = np.maximum(overall, smoothing.MIN_PROBA)
    return _normalized(
        overall * (by_prior / overall) ** powers[0] * (by_cells / overall) ** powers[1]
    )


def _normalized(class_proba: np.ndarray) -> np.ndarray:
    """Divide class probabilities by the sums of their rows, and floor them."""
    return smoothing.floored(class_proba / class_proba.sum(axis=1, keepdims=True))

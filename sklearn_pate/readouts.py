"""What released sums and tables say of any row, and students that say the same."""

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .association import combined
from .encoding.fitted_steps import (
    affine_by_hand,
    classes_by_proba,
    mean_by_proba,
    proba_by_softmax,
)
from .neighbors import cells

#: Powers of the rates of the cells that are tried; those of the prior are its own.
_POWERS_OF_CELLS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)


class ReleasedProba:
    """Base class: released discriminants, with `class_proba`, `p_value` and `class_counts`."""

    def default_student(self):
        """Return a classifier that says what the sums say."""
        return SumsClassifier(self)

    def read(self, X):
        """Return rates, and labels dealt by them, of public rows; see `ReleasedTable.read`."""
        class_proba = self.class_proba(X)
        return class_proba, cells.assign_to_similar(class_proba)


class SumsClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that says what a released table or released sums say; it learns nothing.

    Parameters
    ----------
    released : ReleasedSums or None, default=None
        What has `class_proba`.
    weight : ndarray of shape (n_classes,) or None, default=None
        What each class counts.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels that it was fitted on.
    """

    def __init__(self, released=None, weight=None):
        self.released = released
        self.weight = weight

    def fit(self, X, y, sample_weight=None):
        """Note which labels there are."""
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        """Return the probabilities of the classes, (n_samples, n_classes)."""
        check_is_fitted(self)
        class_proba = self.released.class_proba(X)[:, self.classes_]
        return cells.shifted(class_proba, self._weight())

    def predict(self, X):
        """Return the likeliest labels, (n_samples,)."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def to_sklearn(self):
        """Return a Pipeline of scikit-learn's own that predicts the same, with these `classes_`."""
        check_is_fitted(self)
        codes, weight = self.classes_, self._weight()
        if hasattr(self.released, "to_sklearn"):  # it has a shorter one
            return self.released.to_sklearn(codes, weight)
        classes = classes_by_proba(self.released.n_classes, codes, weight)
        return make_pipeline(*self.released.by_hand(), *classes).set_output(transform="default")

    def _weight(self):
        return np.ones(len(self.classes_)) if self.weight is None else self.weight[self.classes_]


class TableRegressor(RegressorMixin, BaseEstimator):
    """A regressor that says what a released table or released sums say; it learns nothing.

    Parameters
    ----------
    released : object or None, default=None
        What has `class_proba`, of levels.
    target : targets.NumberTarget or None, default=None
        Its levels.
    """

    def __init__(self, released=None, target=None):
        self.released = released
        self.target = target

    def fit(self, X, y):
        """Note that there are means."""
        self.is_fitted_ = True
        return self

    def predict(self, X):
        """Return the means of the levels, (n_samples,)."""
        check_is_fitted(self)
        return self.target.mean(self.released.class_proba(X))

    def to_sklearn(self):
        """Return a Pipeline of scikit-learn's own that predicts the same."""
        check_is_fitted(self)
        model = make_pipeline(*self.released.by_hand(), mean_by_proba(self.target.values))
        return model.set_output(transform="default")


@dataclass(frozen=True, eq=False, repr=False)
class StackedTable:
    """A noisy table, and what was released before it: all of this is published.

    What class sums or histograms say of the classes, and what the cells say, beside the rates in
    the whole table, is multiplied, each raised to a power: those under which one part of the noisy
    table says most of the other; see `ProbabilityField.splits`.

    Attributes
    ----------
    table : ReleasedTable
    prior : ReleasedSums or ReleasedHistograms
    X_public : array-like with n_public rows
        The rows that the cells were made of.
    """

    table: cells.ReleasedTable
    prior: object
    X_public: object

    @property
    def class_counts(self):
        """Those of the two that have less noise; see `ReleasedTable.class_counts`."""
        both = self.table.class_counts, self.prior.class_counts
        return min(both, key=lambda counts: counts[1])

    @property
    def p_value(self):
        """That of both, if classes have nothing to do with rows."""
        return combined([self.table.p_value, self.prior.p_value])

    def __repr__(self):
        return f"StackedTable({self.table!r}, {self.prior!r}, powers={self.powers})"

    @property
    def n_classes(self):
        """Number of classes."""
        return self.table.counts.shape[1]

    @cached_property
    def powers(self):
        """The powers of the rates of the prior, and of the cells."""
        numbers = cells.numbers_of_public(self.table.transformer, self.X_public)
        cell = cells.nearest_cells(numbers, self.table.centers)[:, 0]
        by_prior = np.zeros_like(self.table.counts)
        np.add.at(by_prior, cell, self.prior.class_proba(self.X_public))
        by_prior = cells.floored(by_prior)
        probability_field = self.table.probability_field
        powers = list(product(self.prior.powers, _POWERS_OF_CELLS))
        gain = np.zeros(len(powers))
        for means, hidden in probability_field.splits(self.table.counts):
            factors = (
                by_prior,
                cells.sharpened(means, probability_field.power),
                probability_field.overall,
            )
            gain += [(hidden * np.log(_mixed(*factors, both))).sum() for both in powers]
        return powers[int(np.argmax(gain))]

    @available_if(lambda table: hasattr(table.prior, "default_student"))
    def default_student(self):
        """Return a classifier that says what both say; not of histograms, which see no pairs."""
        return SumsClassifier(self)

    def class_proba(self, X):
        """Return the rates of the classes at rows; see `ReleasedTable.class_proba`."""
        X = self.prior.schema.within(X)
        factors = (
            self.prior.class_proba(X),
            self.table.class_proba(X),
            self.table.probability_field.overall,
        )
        return _mixed(*factors, self.powers)

    def by_hand(self):
        """Return fitted steps of scikit-learn's own that make the rates of rows."""
        parts = [
            make_pipeline(*part.by_hand(), FunctionTransformer(np.log))
            for part in (self.prior, self.table)
        ]
        powers = np.vstack([np.diag(np.full(self.n_classes, power)) for power in self.powers])
        overall = np.maximum(self.table.probability_field.overall, cells.LEAST_RATE)
        return [
            make_union(*parts),
            *affine_by_hand(powers, (1 - sum(self.powers)) * np.log(overall)),
            *proba_by_softmax(cells.LEAST_RATE),
        ]

    def read(self, X):
        """Return rates, and labels dealt by them, of public rows; see `ReleasedTable.read`."""
        class_proba = self.class_proba(X)
        numbers = cells.numbers_of_public(self.table.transformer, self.prior.schema.within(X))
        cell = cells.nearest_cells(numbers, self.table.centers)[:, 0]
        return class_proba, cells.assign_labels(class_proba, cell)


def _mixed(by_prior, by_cells, overall, powers):
    """Return overall rates times what both say beside these, raised to powers, as rates."""
    overall = np.maximum(overall, cells.LEAST_RATE)
    class_proba = overall * (by_prior / overall) ** powers[0] * (by_cells / overall) ** powers[1]
    return cells.floored(class_proba / class_proba.sum(axis=1, keepdims=True))

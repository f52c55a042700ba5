"""Students that scikit-learn lacks: distillation from soft labels."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from ._sklearn import HasMethods, _fit_context, _num_samples, _safe_indexing

__all__ = ["SoftLabelClassifier"]


class SoftLabelClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Train a classifier on distributions over classes, as `SoftVote` releases them.

    The estimator sees every row once per class, weighted by the probability of that class. For a
    classifier with a log loss, this minimises the cross-entropy to the soft labels.

    Parameters
    ----------
    estimator : classifier
        Any classifier whose ``fit`` takes `sample_weight`.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    classes_ : ndarray of shape (n_classes,)
        Codes 0..n_classes-1 if fitted on soft labels, else the sorted labels.

    References
    ----------
    Hinton, Vinyals, Dean (2015). Distilling the knowledge in a neural network.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn_pate.students import SoftLabelClassifier
    >>> soft = [[0.9, 0.1], [0.6, 0.4], [0.1, 0.9]]
    >>> student = SoftLabelClassifier(LogisticRegression()).fit([[0.0], [1.0], [2.0]], soft)
    >>> student.predict([[0.0], [2.0]])
    array([0, 1])
    """

    #: `PATEClassifier` gives soft labels to students that declare this.
    accepts_soft_labels = True

    _parameter_constraints = {"estimator": [HasMethods(["fit", "predict"])]}

    def __init__(self, estimator):
        self.estimator = estimator

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y):
        """Fit on soft or hard labels.

        Parameters
        ----------
        X : array-like with n_samples rows
            Features, passed through as they are.
        y : array-like of shape (n_samples, n_classes) or (n_samples,)
            Distributions over classes, or one label per row.

        Returns
        -------
        SoftLabelClassifier
            Itself, fitted.

        Raises
        ------
        ValueError
            If the rows of soft labels are not distributions, or `estimator` takes no weights.
        """
        try:
            y = np.asarray(y)
        except ValueError:
            raise ValueError("y must be array-like, with rows of one length") from None
        if y.ndim == 1:
            self.estimator_ = clone(self.estimator).fit(X, y)
            self.classes_ = self.estimator_.classes_
            return self
        n_samples = _num_samples(X)
        if y.ndim != 2 or len(y) != n_samples or y.shape[1] < 2:
            raise ValueError(
                "y must hold one label or one distribution over at least 2 classes for each of the "
                f"{n_samples} rows of X; got shape {y.shape}"
            )
        are_numbers = y.dtype.kind in "iufb" and np.isfinite(y).all()
        if not are_numbers or (y < 0).any() or not np.allclose(y.sum(axis=1), 1):
            raise ValueError("every row of soft labels y must be a distribution: at least 0, sum 1")
        if not has_fit_parameter(self.estimator, "sample_weight"):
            raise ValueError(
                f"the fit of {self.estimator!r} takes no sample_weight, which soft labels "
                "need; put preprocessing outside it: "
                "make_pipeline(scaler, SoftLabelClassifier(classifier))"
            )
        rows, codes = np.nonzero(y)
        self.estimator_ = clone(self.estimator).fit(
            _safe_indexing(X, rows), codes, sample_weight=y[rows, codes]
        )
        self.classes_ = np.arange(y.shape[1])
        return self

    def to_sklearn(self):
        """Return the fitted classifier, which predicts the same."""
        check_is_fitted(self)
        return self.estimator_

    def predict(self, X):
        """Predict labels, as the estimator does."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))
    def predict_proba(self, X):
        """Predict probabilities; a class that had probability 0 in every row gets 0."""
        check_is_fitted(self)
        proba = self.estimator_.predict_proba(X)
        full = np.zeros((len(proba), len(self.classes_)))
        full[:, np.searchsorted(self.classes_, self.estimator_.classes_)] = proba
        return full

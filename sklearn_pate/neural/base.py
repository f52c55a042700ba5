"""What both neural students share: the estimator around a skorch net."""

from abc import ABCMeta, abstractmethod
from functools import partial
from numbers import Integral, Real

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import nn

from .._sklearn import Interval, _fit_context
from ..isolation import seeded
from .networks import StudentModule, default_module, make_module


class NeuralStudent(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """What both students share: labels with -1, seeds, device, prediction."""

    #: `PATEClassifier` gives all public rows to students that declare this.
    accepts_unlabeled = True

    _parameter_constraints: dict = {
        "module": [nn.Module, callable, None],
        "augment": [callable, None],
        "max_epochs": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 2, None, closed="left")],
        "unlabeled_batch_size": [Interval(Integral, 2, None, closed="left")],
        "lr": [Interval(Real, 0, None, closed="neither")],
        "device": [str, torch.device],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Train on labelled and unlabelled rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, channels, height, width)
            Numbers, best scaled to a common range.
        y : array-like of shape (n_samples,)
            Labels; the number -1 marks an unlabelled row. Text labels beside it need dtype object.

        Returns
        -------
        object
            Itself, fitted.

        Raises
        ------
        ValueError
            If fewer than two classes are labelled, or the module gives fewer outputs than there
            are classes.
        """
        X, y = validate_data(self, X, y, dtype=np.float32, allow_nd=True)
        if y.dtype.kind in "US" and (y == "-1").any():
            raise ValueError(
                'y has the text "-1"; -1 marks unlabelled rows: give text labels with dtype=object'
            )
        labelled = np.asarray(y != -1)
        # Text labels beside -1 have dtype object; without it they get the dtype of text
        known = np.array(y[labelled].tolist())
        check_classification_targets(known)
        self.classes_, codes = np.unique(known, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has {len(self.classes_)} class, at least 2 classes are needed (-1: unlabelled)"
            )
        self.row_shape_ = X.shape[1:]
        targets = np.full(len(y), -1)
        targets[labelled] = codes
        seed = check_random_state(self.random_state).randint(2**31)
        with seeded(int(seed)):
            net = self._make_net(X, len(self.classes_))
            self.net_ = net.fit(X, targets)
        return self

    def predict_proba(self, X):
        """Predict class probabilities.

        Parameters
        ----------
        X : array-like with the features given to `fit`
            Rows to classify.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float32, allow_nd=True, reset=False)
        if X.shape[1:] != self.row_shape_:
            raise ValueError(
                f"rows of X have shape {X.shape[1:]}, and those given to fit {self.row_shape_}"
            )
        return self.net_.predict_proba(X).astype(np.float64)

    def predict(self, X):
        """Predict labels.

        Parameters
        ----------
        X : array-like with the features given to `fit`
            Rows to classify.

        Returns
        -------
        ndarray of shape (n_samples,)
            Elements of `classes_`.
        """
        proba = self.predict_proba(X)
        return self.classes_[proba.argmax(axis=1)]

    @abstractmethod
    def _make_net(self, X, n_classes):
        """Return the skorch net that `fit` trains; each student has its own."""

    def _skorch_net(self, net_class, X, n_classes, *, generator=None, **params):
        """Return a skorch net with the settings that both students share."""
        network = make_module(self.module, partial(default_module, X.shape[1:], n_classes))
        module = StudentModule(network, n_classes, self.augment, generator)
        return net_class(
            module.to(memory_format=torch.channels_last),  # convolutions on a CPU: twice as fast
            criterion=nn.CrossEntropyLoss,  # tells skorch that outputs are logits
            optimizer=torch.optim.Adam,
            lr=self.lr,
            max_epochs=self.max_epochs,
            batch_size=self.batch_size,
            unlabeled_batch_size=self.unlabeled_batch_size,
            train_split=None,
            device=self.device,
            verbose=self.verbose,
            **params,
        )

"""Errors and warnings of this package."""

from __future__ import annotations

import sys
import warnings
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .accounting.plan import Plan
    from .accounting.spent import PrivacySpent

__all__ = [
    "BadPlanError",
    "BudgetExceededError",
    "PrivacyLeakWarning",
    "PrivacyTestError",
    "PublicRowsWarning",
    "StudentError",
    "TeacherError",
]


class BadPlanError(ValueError):
    """The planned release is too small or too noisy to train a student.

    Nothing was spent, unless the fit has already published classes, bounds, class shares or
    synthetic rows.

    Attributes
    ----------
    plan : Plan or None
        The public plan of the fit, if it was computed.
    privacy_spent : PrivacySpent
        Privacy cost of the published results, also in the error's note; absent if there is none.
    """

    def __init__(self, message: str, plan: Plan | None = None) -> None:
        super().__init__(message)
        self.plan = plan


class BudgetExceededError(ValueError):
    """The requested computation costs more privacy than the budget allows.

    Nothing was spent, unless the fit has already published classes, bounds, class shares or
    synthetic rows.

    Attributes
    ----------
    privacy_spent : PrivacySpent
        Privacy cost of the published results, also in the error's note; absent if there is none.
    """


class PrivacyLeakWarning(UserWarning):
    """A published result depends on private data in a way that the guarantee does not cover."""


class PublicRowsWarning(UserWarning):
    """The public rows are not distributed like the private records, by published statistics."""


class _AfterPayment(ValueError):
    """Base class of errors that are raised after a cost was spent, with the cost."""

    def __init__(self, message: str, *more: Any) -> None:
        super().__init__(message, *more)
        self.privacy_spent = more[-1]

    def __str__(self) -> str:
        return str(self.args[0])


class PrivacyTestError(_AfterPayment):
    """The votes did not pass the private test of ``accounting="ptr"``; no label was released.

    Attributes
    ----------
    privacy_spent : PrivacySpent
        Privacy cost of the fit. It is spent, because the outcome of the test depends on the votes.
    """


class TeacherError(ValueError, TypeError):
    """A teacher or a site failed, or the votes of a block of records could not be counted.

    The text of the teacher's error may quote records, so the message repeats known phrases only.
    This error is both a ValueError and a TypeError because the teacher's error may be either.
    """


class StudentError(_AfterPayment):
    """The student could not be trained on the released labels; their privacy cost is spent.

    Attributes
    ----------
    public_labels : ndarray of shape (n_public,) or (n_public, n_targets)
        Code of the released label of each public row, or -1 if there is none.
    privacy_spent : PrivacySpent
        Privacy cost of these labels.
    """

    def __init__(
        self, message: str, public_labels: np.ndarray, privacy_spent: PrivacySpent
    ) -> None:
        super().__init__(message, public_labels, privacy_spent)
        self.public_labels = public_labels


#: Packages with functions that may be on the call stack between user code and a warning.
_BETWEEN = {__name__.partition(".")[0], "sklearn", "joblib", "numpy", "contextlib"}


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that points to the line of user code that called this package.

    Calls by scikit-learn or joblib in between (the wrapper of `fit`, a Pipeline, a search) are
    skipped.
    """
    level = 2  # the caller of this function
    frame: FrameType | None = sys._getframe(1)
    while frame and str(frame.f_globals.get("__name__")).partition(".")[0] in _BETWEEN:
        level += 1
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=level)

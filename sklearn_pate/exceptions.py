"""Errors and warnings of this package, and the line of user code that a warning points to."""

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
    "StudentError",
    "TeacherError",
]


class BadPlanError(ValueError):
    """A fit would spend its budget, but nothing could be learnt.

    Attributes
    ----------
    plan : Plan
        The public plan of the fit, which prints its numbers.
    """

    def __init__(self, message: str, plan: Plan | None = None) -> None:
        super().__init__(message)
        self.plan = plan


class BudgetExceededError(ValueError):
    """The requested computation costs more privacy than the budget allows."""


class PrivacyLeakWarning(UserWarning):
    """Information was read from private data that the privacy guarantee does not cover."""


class _AfterPayment(ValueError):
    """An error with the spent privacy cost, which can be pickled; its text is the message alone."""

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
        Cost that is spent nevertheless, because the outcome of the test depends on the votes.
    """


class TeacherError(ValueError, TypeError):
    """A teacher failed, or a block of records that vote could not be counted.

    The text of the teacher's own error may quote records, so only known phrases of it are repeated.
    This error is both a ValueError and a TypeError because the teacher's error may be either.
    """


class StudentError(_AfterPayment):
    """The student could not be trained on the released labels, which are paid for.

    Attributes
    ----------
    public_labels : ndarray of shape (n_public,)
        For each public row the code of the released label, or -1 if there is none.
    privacy_spent : PrivacySpent
        Privacy cost of these labels.
    """

    def __init__(
        self, message: str, public_labels: np.ndarray, privacy_spent: PrivacySpent
    ) -> None:
        super().__init__(message, public_labels, privacy_spent)
        self.public_labels = public_labels


#: Packages whose functions may be between a user's line and a warning of this package.
_BETWEEN = {__name__.partition(".")[0], "sklearn", "joblib", "numpy", "contextlib"}


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, and point to the line outside of this package that called it.

    Calls that scikit-learn or joblib make for the user (the wrapper of `fit`, a Pipeline, a search)
    are also skipped.
    """
    level = 2  # the caller of this function
    frame: FrameType | None = sys._getframe(1)
    while frame and str(frame.f_globals.get("__name__")).partition(".")[0] in _BETWEEN:
        level += 1
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=level)

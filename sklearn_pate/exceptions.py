"""The errors and warnings that this package raises on purpose, and where a warning points."""

import sys
import warnings

__all__ = [
    "BadPlanError",
    "BudgetExceededError",
    "PrivacyLeakWarning",
    "PrivacyTestError",
    "StudentError",
    "TeacherError",
]


class BadPlanError(ValueError):
    """A fit would spend its budget, and nothing could be learnt.

    Attributes
    ----------
    plan : Plan
        Print it for the numbers. It is public.
    """

    def __init__(self, message, plan=None):
        super().__init__(message)
        self.plan = plan


class BudgetExceededError(ValueError):
    """What was asked for costs more privacy than the budget allows."""


class PrivacyLeakWarning(UserWarning):
    """Something was read from private data that the privacy guarantee does not cover."""


class _AfterPayment(ValueError):
    """An error that says what is spent, and survives a pickle; its text is the message alone."""

    def __init__(self, message, *more):
        super().__init__(message, *more)
        self.privacy_spent = more[-1]

    def __str__(self):
        return str(self.args[0])


class PrivacyTestError(_AfterPayment):
    """The votes did not pass the private test of ``accounting="ptr"``; no label was released.

    Attributes
    ----------
    privacy_spent : PrivacySpent
        What is spent even so, because the outcome of the test depends on the votes.
    """


class TeacherError(ValueError, TypeError):
    """A teacher failed, or a block of records that vote could not be counted.

    The text of the teacher's own error may quote records, so only known phrases of it are repeated.
    This error is both a ValueError and a TypeError because the teacher's may have been either.
    """


class StudentError(_AfterPayment):
    """The student could not be trained on the labels, which are released and paid for.

    Attributes
    ----------
    public_labels : ndarray of shape (n_public,)
        For each public row the code of the released label, -1 where there is none.
    privacy_spent : PrivacySpent
        What those labels cost.
    """

    def __init__(self, message, public_labels, privacy_spent):
        super().__init__(message, public_labels, privacy_spent)
        self.public_labels = public_labels


#: Packages whose functions may lie between a user's line and a warning of ours.
_BETWEEN = {__name__.partition(".")[0], "sklearn", "joblib", "numpy", "contextlib"}


def warn(message, category=UserWarning):
    """Warn, and point to the line outside of this package that called it.

    Calls that scikit-learn or joblib make for the user (the wrapper of `fit`, a Pipeline, a search)
    are passed over as well.
    """
    level = 2  # the caller of this function
    frame = sys._getframe(1)
    while frame and str(frame.f_globals.get("__name__")).partition(".")[0] in _BETWEEN:
        level += 1
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=level)

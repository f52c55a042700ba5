"""What each class counts, beside its share of what was released."""

from numbers import Real

import numpy as np

from .student import accepts_soft_labels, accepts_unlabeled, accepts_weights

#: No class counts as if its share were less.
_LEAST_SHARE = 1e-3


def check_class_weight(class_weight, classes, student, *, gives_rates):
    """Refuse weights of no class, and students that cannot learn with weights.

    Parameters
    ----------
    class_weight : None, "balanced" or dict
        As given by the user.
    classes : ndarray of shape (n_classes,)
        Labels.
    student : classifier
        Unfitted.
    gives_rates : bool
        Whether rates are released, which are shifted for any student.
    """
    if class_weight is None:
        return
    if isinstance(class_weight, dict):
        unknown = [label for label in class_weight if label not in classes.tolist()]
        if unknown:
            raise ValueError(
                f"class_weight names {unknown[0]!r}, which is none of the {len(classes)} classes"
            )
        numbers = class_weight.values()
        if not all(isinstance(number, Real) and 0 < number < np.inf for number in numbers):
            raise ValueError("class_weight must have finite numbers above 0, one for each class")
    learns_otherwise = accepts_unlabeled(student) or accepts_soft_labels(student)
    if not gives_rates and (learns_otherwise or not accepts_weights(student)):
        raise ValueError(
            f"class_weight weighs the labels of teachers, and fit of {type(student).__name__} "
            "takes no sample_weight; give another student, or class_weight=None"
        )


def weights_of(class_weight, classes, shares):
    """Return what each class counts, by the shares of the classes in what was released.

    Parameters
    ----------
    class_weight : None, "balanced" or dict
        As checked.
    classes : ndarray of shape (n_classes,)
        Labels.
    shares : ndarray of shape (n_classes,)
        Released shares, which sum to 1.

    Returns
    -------
    ndarray of shape (n_classes,) or None
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, dict):
        return np.array([class_weight.get(label, 1.0) for label in classes.tolist()], dtype=float)
    return 1 / (len(classes) * np.maximum(shares, _LEAST_SHARE))

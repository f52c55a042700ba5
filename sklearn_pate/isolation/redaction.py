"""What may be told of an error, and of the types of private data."""

from sklearn.base import BaseEstimator

from .._sklearn import InvalidParameterError


def is_ours(part):
    """Whether an object's class is of this library, whose messages quote no private values."""
    return type(part).__module__.partition(".")[0] == __package__.partition(".")[0]


def attempt(function):
    """Call a function whose errors may quote private values.

    Raise an error of your own after the call: one that is raised within `except` keeps the one that
    was caught, in its `__context__`.

    Parameters
    ----------
    function : callable
        Without arguments.

    Returns
    -------
    result : object
        What it returned; None if it failed.
    failed : str or None
        The name of its error's class, of any kind; None if it did not fail.

    Raises
    ------
    KeyboardInterrupt
        If it was interrupted; a new one, which holds nothing.

    Examples
    --------
    >>> from sklearn_pate.isolation import attempt
    >>> attempt(lambda: int("4")), attempt(lambda: int("a secret"))
    ((4, None), (None, 'ValueError'))
    """
    try:
        return function(), None
    except BaseException as error:  # SystemExit and panics of Rust extensions too
        interrupted = isinstance(error, KeyboardInterrupt)
        failed = type(error).__name__
    if interrupted:
        raise KeyboardInterrupt
    return None, failed


def withheld(function, said, remedy, error=ValueError):
    """Call a function of the user's that sees private values, and say no more than that it failed.

    Parameters
    ----------
    function : callable
        Without arguments.
    said : str
        What failed: the name of its error's class follows.
    remedy : str
        What to do.
    error : type, default=ValueError
        What is raised.

    Returns
    -------
    object
        What it returned.
    """
    result, failed = attempt(function)
    if failed is None:
        return result
    raise error(f"{said} {failed}, whose text is withheld, as it may quote private data. {remedy}")


class TellableError(ValueError):
    """A failure whose text is ours: it holds no data."""


#: Phrases of other errors that may be told; the rest of their text may be data.
_TELLABLE = (
    "Input X contains NaN",
    "Input X contains infinity",
    "could not convert string to float",
    "Complex data not supported",
    "Sparse data was passed for X",
    "make_column_selector can only be applied to pandas dataframes",
    "Encoders require their input argument must be uniformly strings or numbers",
    "'NAType' object has no attribute",
    "Expected n_neighbors <= n_samples",
    "The least populated class in y has only",
    "The number of classes has to be greater than one",
    "Found unknown categories",
    "weights must contain at least one non-zero number",
    "argument must be a string or a real number",
    "it took longer than timeout",
    "could not be loaded with the model",
    "CUDA out of memory",  # then max_teachers=
)

#: What is told of a dtype by its kind: widths of numbers and texts may follow from one record.
_KINDS = {
    **dict.fromkeys("iuf", "numbers"),
    **dict.fromkeys("SUT", "text"),
    "b": "booleans",
    "O": "objects",
    "M": "dates",
}


def kind_of(dtype):
    """Describe a numpy dtype in words that give no data away.

    Parameters
    ----------
    dtype : numpy.dtype
        Of private data.

    Returns
    -------
    str
        Without widths, units and fields.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.isolation import kind_of
    >>> kind_of(np.array(["b", "Lovelace"]).dtype)
    'text'
    """
    return _KINDS.get(dtype.kind, "values of another kind")


def redacted(error, estimator=None):
    """Return what may be told of an error that may quote private data.

    Parameters
    ----------
    error : BaseException
        Raised by a teacher, or on the way to one.
    estimator : estimator, default=None
        The teacher, unfitted. If the error is about a parameter, the estimator is asked which one:
        its answer does not depend on records.

    Returns
    -------
    str
        The name of its class, and a known phrase or the estimator's answer.
    """
    if isinstance(error, TellableError):
        return str(error)
    text, _ = attempt(lambda: str(error))  # __str__ may be the teacher's, too
    withheld = "its text may quote records and is withheld; fit base_estimator yourself to read it"
    reason = next((phrase for phrase in _TELLABLE if phrase in (text or "")), withheld)
    if isinstance(error, InvalidParameterError):
        reason = _wrong_parameter(estimator) or reason
    return f"{type(error).__name__}: {reason}"


def _wrong_parameter(estimator):
    """Return what scikit-learn says of the first parameter that it refuses, without its value."""
    if not hasattr(estimator, "get_params"):
        return None
    for part in [estimator, *estimator.get_params(deep=True).values()]:
        try:
            BaseEstimator._validate_params(part)
        except InvalidParameterError as error:
            return str(error).partition(". Got ")[0]
        except Exception:  # no estimator
            continue
    return None

"""What may be told of an error, and of the types of private data."""

import builtins
import sys

from sklearn.base import BaseEstimator

from .._sklearn import InvalidParameterError

__all__ = [
    "TellableError",
    "attempt",
    "kind_of",
    "known_name",
    "redacted",
]


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
        The `known_name` of its error, of any kind; None if it did not fail.

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
        failed = known_name(error)
    if interrupted:
        raise KeyboardInterrupt
    return None, failed


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
    "Specifying the columns using strings is only supported for dataframes",
    "Some column names are not columns of the dataframe",
    "Encoders require their input argument must be uniformly strings or numbers",
    "boolean value of NA is ambiguous",
    "'NAType' object has no attribute",
    "np.nan is an invalid document",
    "Found array with 0 sample(s)",
    "Expected n_neighbors <= n_samples",
    "The least populated class in y has only",
    "cannot be greater than the number of members in each class",
    "The number of classes has to be greater than one",
    "buffer source array is read-only",
    "Negative values in data",
    "Found unknown categories",
    "samples of at least 2 classes",
    "Expected 2D array",
    "weights must contain at least one non-zero number",
    "unexpected keyword argument",
    "argument must be a string or a real number",
    "it took longer than timeout",
    "could not be loaded with the model",
    "Got int64 indices",
    "No support for np.int64 index based sparse matrices",
)

#: Names of errors that may be told, by module. They are written out here, because a class can say
#: anything about itself, and so can a module once a teacher has written to it.
_KNOWN_ERRORS = {
    "builtins": tuple(
        name
        for name, kind in vars(builtins).items()
        if isinstance(kind, type) and issubclass(kind, BaseException)
    ),
    "pickle": ("PickleError", "PicklingError", "UnpicklingError"),
    "json": ("JSONDecodeError",),
    "csv": ("Error",),
    "decimal": ("InvalidOperation",),
    "zipfile": ("BadZipFile",),
    "subprocess": ("CalledProcessError", "TimeoutExpired"),
    "sqlite3": ("DatabaseError", "IntegrityError", "InterfaceError", "OperationalError"),
    "socket": ("gaierror",),
    "ssl": ("SSLError",),
    "urllib.error": ("HTTPError", "URLError"),
    "concurrent.futures": ("BrokenExecutor", "CancelledError"),
    "concurrent.futures.process": ("BrokenProcessPool",),
    "joblib.externals.loky.process_executor": ("BrokenProcessPool", "TerminatedWorkerError"),
    "numpy.exceptions": ("AxisError", "ComplexWarning", "DTypePromotionError"),
    "numpy.linalg": ("LinAlgError",),
    "pandas.errors": (
        "DataError",
        "EmptyDataError",
        "IntCastingNaNError",
        "InvalidIndexError",
        "MergeError",
        "OutOfBoundsDatetime",
        "OutOfBoundsTimedelta",
        "ParserError",
        "PerformanceWarning",
        "UndefinedVariableError",
        "UnsortedIndexError",
    ),
    "scipy.linalg": ("LinAlgWarning",),
    "scipy.optimize": ("OptimizeWarning",),
    "scipy.sparse": ("SparseEfficiencyWarning",),
    "scipy.sparse.linalg": ("ArpackError", "ArpackNoConvergence", "MatrixRankWarning"),
    "scipy.spatial": ("QhullError",),
    "sklearn.exceptions": (
        "ConvergenceWarning",
        "DataConversionWarning",
        "FitFailedWarning",
        "NotFittedError",
        "InconsistentVersionWarning",
        "UndefinedMetricWarning",
        "UnsetMetadataPassedError",
    ),
    "sklearn.utils._param_validation": ("InvalidParameterError",),
    "sklearn_pate.exceptions": (
        "BudgetExceededError",
        "PrivacyLeakWarning",
        "PrivacyTestError",
        "StudentError",
        "TeacherError",
    ),
    "torch": ("OutOfMemoryError",),
    "skorch.exceptions": ("NotInitializedError", "SkorchException"),
    "distributed": ("CancelledError", "KilledWorker"),
    "distributed.comm": ("CommClosedError",),
    "lightgbm.basic": ("LightGBMError",),
    "xgboost.core": ("XGBoostError",),
    "catboost": ("CatBoostError",),
    "pyarrow": ("ArrowException", "ArrowInvalid", "ArrowTypeError"),
    "polars.exceptions": ("ColumnNotFoundError", "ComputeError", "PolarsError", "SchemaError"),
}

#: Builtin errors as they were before any teacher ran.
_BUILTIN_ERRORS = {name: getattr(builtins, name) for name in _KNOWN_ERRORS["builtins"]}


def known_name(error):
    """Return the name of an error's class or, if we do not know it, of its nearest known base.

    Parameters
    ----------
    error : BaseException
        Of any class, whose own name may be data.

    Returns
    -------
    str
        A name that Python or a library gave; "Exception" if no base is known either.

    Examples
    --------
    >>> from sklearn_pate.isolation import known_name
    >>> known_name(type("Mrs O'Hara, 47", (KeyError,), {})())
    'KeyError'
    """
    # Not type(error).__mro__, which a metaclass could override
    for kind in type.__dict__["__mro__"].__get__(type(error)):
        for module, names in _KNOWN_ERRORS.items():
            if module == "builtins":
                namespace = _BUILTIN_ERRORS
            else:
                namespace = getattr(sys.modules.get(module), "__dict__", {})
            for name in names:
                if namespace.get(name) is kind:
                    return name
    return "Exception"


#: What is told of a dtype by its kind: widths of numbers and texts may follow from one record.
_KINDS = {
    "b": "booleans",
    "i": "integers",
    "u": "integers",
    "f": "floats",
    "c": "complex numbers",
    "S": "bytes",
    "U": "text",
    "T": "text",
    "O": "objects",
    "M": "dates",
    "m": "durations",
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
        The name of a known class, and a known phrase or the estimator's answer.
    """
    if type(error) is TellableError:
        return str(error)
    try:
        text = str(error)
    except BaseException:  # __str__ may be the teacher's, too
        text = ""
    withheld = "its text may quote records and is withheld; fit base_estimator yourself to read it"
    reason = next((phrase for phrase in _TELLABLE if phrase in text), withheld)
    if isinstance(error, InvalidParameterError):
        reason = _wrong_parameter(estimator) or reason
    return f"{known_name(error)}: {reason}"


def _wrong_parameter(estimator):
    """Return what scikit-learn says of the first parameter that it refuses, without its value."""
    if not hasattr(estimator, "get_params"):
        return None
    for part in [estimator, *estimator.get_params(deep=True).values()]:
        validate = getattr(type(part), "_validate_params", None)
        if validate is not BaseEstimator._validate_params:  # any other may say anything
            continue
        try:
            part._validate_params()
        except InvalidParameterError as error:
            return str(error).partition(". Got ")[0]
        except Exception:
            continue
    return None

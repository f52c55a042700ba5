"""Private data unlike everything else, short calls, and checks that all tests share."""

import contextlib
import functools
import math
import re
import traceback
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from conftest import table
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import GNMax
from sklearn_pate.exceptions import TeacherError

NAN = math.nan
INF = math.inf

# --- private data --------------------------------------------------------------------------------

TEXT = "Ada Lovelace"
NUMBER = 86420.97531
LABEL = 918273
#: What an error or a warning would show of them
SECRETS = ("Lovelace", "86420", "918273")

_rng = np.random.default_rng(0)
Y = np.arange(40) % 2
X = np.column_stack([Y + _rng.normal(scale=0.1, size=40), _rng.normal(size=(40, 2))])
X[0, 2] = NUMBER
X_PUBLIC = np.column_stack([np.arange(30) % 2, _rng.normal(size=(30, 2))])
VOTES = np.where(np.arange(30)[:, None] % 2 == [0, 1], 3, 1)


def changed(array, value, at=3):
    """A copy with one entry changed."""
    array = np.array(array, dtype=np.result_type(np.asarray(array), np.asarray(value)))
    array[at] = value
    return array


def frame(rows=X, columns=("a", "b", "c"), **more):
    return pd.DataFrame(rows, columns=list(columns)).assign(**more)


# --- calls ---------------------------------------------------------------------------------------


class Teacher(GaussianNB):
    """A classifier that counts how often it is fitted."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        Teacher.fits += 1
        return super().fit(X, y, sample_weight)


#: With a noise scale, because calibration takes time
QUICK = {"n_teachers": 4, "classes": [0, 1], "n_queries": 6, "epsilon": 20.0}
QUICK["aggregator"] = GNMax(1.5)
#: Warnings because these fits are so small
ON_PURPOSE = (
    ".* labels per class, but",
    "epsilon.*(is a weak guarantee|is infinite)",
    r"(all|\d+ of the) .* released labels are of one class",
    "the released counts show records of one class alone",
    "the released numbers may be little better",
)
#: All estimators that a test made: an error must leave them unfitted
ESTIMATORS = []


def pate(**params):
    estimator = PATEClassifier(**({"base_estimator": Teacher()} | QUICK | params))
    ESTIMATORS.append(estimator)
    return estimator


def fit(params=None, **data):
    data = {"X": X, "y": Y, "X_public": X_PUBLIC} | data
    return pate(**(params or {})).fit(**data)


def fit_votes(votes=VOTES, X_public=X_PUBLIC, **params):
    return pate(**params).fit_votes(votes, X_public)


@functools.cache
def fitted():
    return PATEClassifier(GaussianNB(), **QUICK).fit(X, Y, X_PUBLIC)


# --- tables of cases -----------------------------------------------------------------------------


def each(name, values):
    """Parametrize a test with the values of one argument; the ids are name=value."""
    return pytest.mark.parametrize(name, values, ids=[f"{name}={short(v)}" for v in values])


def each_of(values_by_name):
    """Parametrize a test with `name` and `value`: every value of every name."""
    each = ((name, value) for name, values in values_by_name.items() for value in values)
    cases = {f"{name}={short(value)}": (name, value) for name, value in each}
    return table("name, value", cases)


def messages_of(values_by_message):
    """Parametrize a test with `value` and `message`: the values of each message."""
    rows = [(v, message) for message, values in values_by_message.items() for v in values]
    ids = [type(v).__name__ if hasattr(v, "shape") else short(v)[:40] for v, _ in rows]
    return pytest.mark.parametrize("value, message", rows, ids=ids)


def mistakes(*rows):
    """Return a test of calls that are refused: id, call, message, and error, if no ValueError."""

    @table("call, message, error", *((*row, ValueError)[:4] for row in rows))
    def test(call, message, error):
        with refused(message, error):
            call()

    return test


def works(*rows):
    """Return a test of valid calls: id, call, and its warnings."""

    @table("holds, warned", *((name, holds, warned) for name, holds, *warned in rows))
    def test(holds, warned):
        with accepted(*warned):
            assert holds()

    return test


def short(value):
    """Return a value as the id of a test shows it: the same in every run."""
    if isinstance(value, type) or callable(value):
        return getattr(value, "__name__", type(value).__name__)
    if isinstance(value, np.generic):
        return f"{type(value).__name__}({value})"
    if isinstance(value, int) and abs(value) > 10**99:
        return "a huge int"
    if isinstance(value, Fraction):
        return "a fraction"
    text = repr(value) if isinstance(value, np.ndarray) else str(value) or "''"
    return type(value).__name__ if " at 0x" in text else text


# --- wrong values of arguments that several functions have ---------------------------------------

#: Whole numbers that no float holds; Python does not write the second as text
HUGE = (10**400, 10**5000)
#: A number above 0 that is 0 as a float
TINY = Fraction(1, 10**400)
#: Numbers, and objects like numbers, that are neither int64 nor float
NO_FLOATS = (np.True_, Decimal(1) / 2, *HUGE)
NOT_A_DELTA = (True, 0, 1, -1, NAN, "x", None, *HUGE, TINY)

# --- checks --------------------------------------------------------------------------------------


def shown(error, caught_warnings=()):
    """All that an error and warnings show: messages, causes, tracebacks, attributes."""
    parts = traceback.format_exception(error)
    while error is not None:
        parts += [str(error), repr(error), repr(error.args)]
        error = error.__cause__
    parts += [str(w.message) for w in caught_warnings]
    return "\n".join(parts)


def secrets_in(text):
    return [secret for secret in SECRETS if secret in text]


def fitted_attributes(estimator):
    return [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]


@contextlib.contextmanager
def refused(message, error=ValueError, *, warning=None, by_teachers=False):
    """Check that a block raises one early error that names the fault, and shows no secret.

    Parameters
    ----------
    message : str
        A regular expression that the error's text contains.
    error : type, default=ValueError
    warning : str or None, default=None
        A regular expression for warnings that the block may issue. None by default.
    by_teachers : bool, default=False
        Whether only a teacher can notice, so that teachers are fitted before the error.
    """
    with warnings.catch_warnings(record=True) as caught_warnings, pytest.raises(error) as caught:
        _always_but_on_purpose()
        yield caught
    raised = caught.value
    assert re.search(message, str(raised), re.DOTALL), str(raised)
    assert not re.search(r"\d{100}", str(raised))
    # Raised on purpose, or alone
    assert raised.__context__ is None or raised.__suppress_context__
    assert isinstance(raised, TeacherError) == by_teachers
    assert not secrets_in(shown(raised, caught_warnings))
    for caught_warning in caught_warnings:
        text = str(caught_warning.message)
        assert warning is not None and re.search(warning, text), text
    assert Teacher.fits == 0 or by_teachers
    for estimator in ESTIMATORS:
        assert not fitted_attributes(estimator)


def _always_but_on_purpose():
    warnings.simplefilter("always")
    for message in ON_PURPOSE:
        warnings.filterwarnings("ignore", message)


@contextlib.contextmanager
def accepted(*expected):
    """Check that a block raises nothing, shows no secret, and warns of these and nothing else."""
    with warnings.catch_warnings(record=True) as caught_warnings:
        _always_but_on_purpose()
        yield
    texts = [str(w.message) for w in caught_warnings]
    for warning in expected:
        assert any(re.search(warning, text) for text in texts), (warning, texts)
    for text in texts:
        assert any(re.search(warning, text) for warning in expected), text
        assert not secrets_in(text)

"""Frames of polars, and text of pandas that may be missing, as input; what errors say of them."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from conftest import cases
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from sklearn_pate import PATEClassifier
from sklearn_pate.exceptions import TeacherError
from sklearn_pate.isolation import redacted
from sklearn_pate.neighbors import RowVectorizer


def rows(n, seed=0):
    """A table with a column of each kind, of which two show the label."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    table = {
        "real": 3 * y + rng.normal(size=n),
        "whole": rng.integers(0, 9, n),
        "text": np.where(y == 1, "u", "v"),
        "kind": rng.choice(["x", "y"], n),
        "true": rng.integers(0, 2, n).astype(bool),
    }
    return pd.DataFrame(table), y


def in_polars(frame, *, nulls=False):
    polars = pytest.importorskip("polars", reason="needs polars")
    made = polars.DataFrame(frame.to_dict("list"))
    made = made.with_columns(polars.col("kind").cast(polars.Enum(["x", "y"])))
    if not nulls:
        return made
    place = polars.int_range(polars.len()) % 7
    missing = [
        polars.when(place == k).then(None).otherwise(polars.col(name)).alias(name)
        for k, name in enumerate(made.columns)
    ]
    return made.with_columns(*missing)


def columns():
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    texts = OneHotEncoder(handle_unknown="ignore")
    encoder = make_column_transformer((numbers, ["real", "whole"]), (texts, ["text", "kind"]))
    return make_pipeline(encoder, LogisticRegression())


def pate(base=None, **params):
    return PATEClassifier(base, **({"epsilon": 8.0, "classes": [0, 1]} | params))


VOTERS = {
    "records": lambda: pate(),
    "teachers by default": lambda: pate(n_teachers=20),
    "teachers with columns": lambda: pate(columns(), n_teachers=20),
}


@pytest.mark.parametrize("kind", ["pandas", "polars", "polars with nulls"])
@pytest.mark.parametrize("who", VOTERS)
def test_frames_of_numbers_texts_categories_and_nulls(who, kind):
    private, y = rows(600)
    public, y_public = rows(300, seed=1)
    X, X_public = private, public
    if kind != "pandas":
        X, X_public = (in_polars(X, nulls="nulls" in kind) for X in (private, public))
    clf = VOTERS[who]().fit(X, y, X_public)
    assert clf.score(X_public, y_public) > 0.9
    assert list(clf.feature_names_in_) == list(private.columns)
    assert clf.predict(X_public[:1]).tolist() == clf.predict(X_public)[:1].tolist()
    with pytest.raises(ValueError, match="feature names"):
        clf.predict(public.rename(columns={"real": "unreal"}))


def test_polars_and_pandas_are_the_same_rows():
    frame, _ = rows(100)
    of_pandas = RowVectorizer().fit(frame).transform(frame)
    table = in_polars(frame)
    assert np.array_equal(RowVectorizer().fit(table).transform(table), of_pandas)
    # A row's numbers do not depend on the rows beside it, nor on what these lack
    fitted = RowVectorizer().fit(in_polars(frame, nulls=True))
    whole = fitted.transform(in_polars(frame, nulls=True))
    assert np.allclose(whole[3:4], fitted.transform(in_polars(frame, nulls=True)[3:4]))


# --- text that may be missing --------------------------------------------------------------------


def with_missing_text(n, dtype, seed=0):
    frame, y = rows(n, seed)
    frame["text"] = frame["text"].astype(dtype)
    frame.loc[::9, "text"] = pd.NA
    return frame, y


@cases(
    "who, dtype",
    *(("records", dtype) for dtype in ("string", "string[python]", "str", object)),
    ("teachers by default", object),
)
def test_text_of_pandas_with_missing_values(who, dtype):
    X, y = with_missing_text(600, dtype)
    X_public, y_public = with_missing_text(300, dtype, seed=1)
    assert VOTERS[who]().fit(X, y, X_public).score(X_public, y_public) > 0.9


@pytest.mark.parametrize("dtype", ["string", object])
def test_encoders_want_nan_for_text_that_is_missing_and_the_error_says_so(dtype):
    frames = [with_missing_text(600, dtype), with_missing_text(300, dtype, seed=1)]
    (X, y), (X_public, y_public) = frames
    clf = pate(columns(), n_teachers=20)
    with pytest.raises(ValueError, match="argument must be uniformly strings or numbers") as caught:
        clf.fit(X, y, X_public)
    assert not isinstance(caught.value, TeacherError)  # it is said before a teacher trains
    mended = {"X": X, "X_public": X_public}
    exec("\n".join(re.findall(r"^    (.*)$", str(caught.value), re.M)), mended)
    assert X["text"].isna().any() and X["text"][0] is pd.NA  # the user's own is as before
    assert clf.fit(mended["X"], y, mended["X_public"]).score(mended["X_public"], y_public) > 0.9


# --- sentences of libraries that are told ------------------------------------------------------


def error_of(action):
    with warnings.catch_warnings(), pytest.raises(Exception) as caught:  # noqa: PT011
        warnings.simplefilter("ignore")
        action()
    return caught.value


TEXTS = pd.DataFrame({"text": pd.Series(["a", pd.NA, "SECRET"], dtype="string")})
SENTENCES = {
    "make_column_selector can only be applied to pandas dataframes": (
        lambda: make_column_selector()(np.zeros((2, 2)))
    ),
    "Encoders require their input argument must be uniformly strings or numbers": (
        lambda: OrdinalEncoder().fit(TEXTS)
    ),
    "'NAType' object has no attribute": lambda: pd.NA.lower(),
}


@pytest.mark.parametrize("sentence", SENTENCES)
def test_fixed_sentences_of_libraries_are_told(sentence):
    said = redacted(error_of(SENTENCES[sentence]))
    assert said.endswith(f": {sentence}") and "SECRET" not in said


def test_a_selector_in_a_teacher_of_rows_of_polars_says_what_it_wants():
    selector = make_column_selector(dtype_include="number")
    teacher = make_pipeline(make_column_transformer((StandardScaler(), selector)), columns()[-1])
    private, y = rows(200)
    X, X_public = in_polars(private), in_polars(rows(60)[0])
    with pytest.raises(TeacherError, match="can only be applied to pandas dataframes"):
        pate(teacher, n_teachers=20).fit(X, y, X_public)

"""Frames of polars, and text of pandas that may be missing, as input; errors on them."""

import re
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import sklearn
from conftest import cases
from scipy import sparse
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import PluralityVote
from sklearn_pate.encoding import same_dtypes
from sklearn_pate.exceptions import TeacherError
from sklearn_pate.fitting.dry_run import is_missing_in
from sklearn_pate.neighbors import RowVectorizer
from sklearn_pate.runtime.isolation import redacted_text


def rows(n, seed=0):
    """A table with a column of each kind; two of them show the label."""
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
    return PATEClassifier(base, **({"epsilon": 20.0, "classes": [0, 1]} | params))


VOTERS = {
    "records": lambda: pate(random_state=0),
    "teachers by default": lambda: pate(n_teachers=12, random_state=0),
    "teachers with columns": lambda: pate(columns(), n_teachers=12, random_state=0),
}


@cases(
    "who, kind",
    *(("records", kind) for kind in ("pandas", "polars", "polars with nulls")),
    *((who, "polars with nulls") for who in ("teachers by default", "teachers with columns")),
)
def test_frames_of_mixed_columns_are_fitted(who, kind):
    private, y = rows(300)
    public, y_public = rows(150, seed=1)
    X, X_public = private, public
    if kind != "pandas":
        X, X_public = (in_polars(X, nulls="nulls" in kind) for X in (private, public))
    clf = VOTERS[who]().fit(X, y, X_public)
    assert clf.score(X_public, y_public) > 0.9
    assert list(clf.feature_names_in_) == list(private.columns)
    assert clf.predict(X_public[:1]).tolist() == clf.predict(X_public)[:1].tolist()
    with pytest.raises(ValueError, match="feature names"):
        clf.predict(public.rename(columns={"real": "unreal"}))


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_transform_output_pandas_changes_no_prediction(n_classes):
    private, _ = rows(300)
    y = np.digitize(private["real"], np.linspace(-0.5, 0.5, n_classes - 1))
    fits = []
    for output in ("default", "pandas"):
        with sklearn.config_context(transform_output=output):
            clf = pate(random_state=0, classes=range(n_classes)).fit(
                private, y, private[:150].copy()
            )
            fits.append(clf.predict_proba(private))
            if output == "pandas":
                assert "<div" in clf.export(private)._repr_html_()
    np.testing.assert_allclose(*fits)


def test_row_vectorizer_transforms_polars_like_pandas():
    frame, _ = rows(100)
    of_pandas = RowVectorizer().fit(frame).transform(frame)
    table = in_polars(frame)
    assert np.array_equal(RowVectorizer().fit(table).transform(table), of_pandas)
    # A row's numbers do not depend on other rows, nor on their gaps
    fitted = RowVectorizer().fit(in_polars(frame, nulls=True))
    whole = fitted.transform(in_polars(frame, nulls=True))
    assert np.allclose(whole[3:4], fitted.transform(in_polars(frame, nulls=True)[3:4]))


def test_row_vectorizer_encodes_few_values_in_many_rows_as_in_few(global_random_seed):
    """Blocks of many rows are encoded value by value, and blocks of few rows row by row."""
    rng = np.random.default_rng(global_random_seed)
    frame = pd.DataFrame(
        {
            "whole": rng.integers(-3, 90, 3000),
            "gaps": rng.choice([np.nan, -np.inf, -0.0, 0.0, 0.1, 2.5, 1e80], 3000),
            "short": rng.integers(0, 9, 3000).astype(np.int8),
            "more gaps": rng.choice([np.nan, 7.0, 1 / 3], 3000),
            "text": rng.choice(["a", "b", "c"], 3000),
        }
    )
    fitted = RowVectorizer().fit(frame)
    many = fitted.transform(frame)
    assert many.shape == (3000, 2 * (4 + 2) + 3)
    few = np.concatenate([fitted.transform(frame[k : k + 500]) for k in range(0, 3000, 500)])
    with_others = frame.assign(whole=np.where(np.arange(3000) < 9, frame.whole, rng.random(3000)))
    for found in (few, fitted.transformer_.transform(frame)):
        assert found.tobytes() == many.tobytes()
    assert fitted.transform(with_others)[:9].tobytes() == many[:9].tobytes()


@cases("params", {}, {"method": "neighbors"}, {"n_teachers": 12})
def test_export_of_a_fit_on_polars_reads_pandas(params):
    (private, y), (public, _) = rows(300), rows(150, seed=1)
    X, X_public = (in_polars(frame, nulls=True) for frame in (private, public))
    clf = pate(random_state=0, **params).fit(X, y, X_public)
    model = clf.export(X_public)
    in_pandas = X_public.to_pandas()
    np.testing.assert_array_equal(model.predict(in_pandas), clf.predict(X_public))
    proba = clf.predict_proba(X_public)
    np.testing.assert_allclose(model.predict_proba(in_pandas), proba, atol=1e-12)
    assert "pandas" in model.libraries_


def test_export_of_a_fit_on_durations_of_polars_names_a_remedy():
    polars = pytest.importorskip("polars", reason="needs polars")
    rng = np.random.default_rng(0)
    y = np.arange(450) % 2
    days = 1 + 5 * y + rng.integers(0, 2, 450)
    X = polars.DataFrame({"stay": days}).select(polars.duration(days="stay").alias("stay"))
    clf = pate(random_state=0).fit(X[:300], y[:300], X[300:])
    with pytest.raises(
        ValueError, match=r"in pandas: fit on pandas.*\n *X, X_public = X.to_pandas"
    ):
        clf.export(X[300:])


# --- text that may be missing --------------------------------------------------------------------


def with_missing_text(n, dtype, seed=0):
    frame, y = rows(n, seed)
    frame["text"] = frame["text"].astype(dtype)
    frame.loc[::9, "text"] = pd.NA
    return frame, y


@pytest.mark.slow
@cases(
    "who, dtype",
    *(("records", dtype) for dtype in ("string", "str")),
    ("teachers by default", object),
)
def test_text_with_missing_values_is_fitted(who, dtype):
    X, y = with_missing_text(300, dtype)
    X_public, y_public = with_missing_text(150, dtype, seed=1)
    assert VOTERS[who]().fit(X, y, X_public).score(X_public, y_public) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["string", object])
def test_missing_text_error_prints_code_that_works(dtype):
    frames = [with_missing_text(300, dtype), with_missing_text(150, dtype, seed=1)]
    (X, y), (X_public, y_public) = frames
    clf = pate(columns(), n_teachers=12)
    with pytest.raises(ValueError, match="argument must be uniformly strings or numbers") as caught:
        clf.fit(X, y, X_public)
    assert not isinstance(caught.value, TeacherError)  # the error comes before a teacher trains
    mended = {"X": X, "X_public": X_public}
    exec("\n".join(re.findall(r"^    (.*)$", str(caught.value), re.M)), mended)
    assert X["text"].isna().any() and X["text"][0] is pd.NA  # the user's own is as before
    assert clf.fit(mended["X"], y, mended["X_public"]).score(mended["X_public"], y_public) > 0.9


# --- messages of libraries that are shown ------------------------------------------------------


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
def test_redacted_text_shows_fixed_messages_of_libraries(sentence):
    shown = redacted_text(error_of(SENTENCES[sentence]))
    assert shown.endswith(f": {sentence}") and "SECRET" not in shown


# --- public rows with missing values pass or fail whichever rows are asked ------------------------

RNG = np.random.default_rng(0)
Y = np.arange(300) % 2
X = RNG.normal(size=(300, 3)) + 2 * Y[:, None]
X_PUBLIC = RNG.normal(size=(100, 3)) + 2 * (np.arange(100) % 2)[:, None]
WITH_NAN = X_PUBLIC.copy()
WITH_NAN[[7, 50], 1] = np.nan


class Counting(GaussianNB):
    """Counts how often private rows are learnt from."""

    n_fits = 0

    def fit(self, X, y):
        Counting.n_fits += len(X) != 50 and len(X) != 52
        return super().fit(X, y)


class AtRandom:
    """Asks these rows."""

    def __init__(self, rows=()):
        self.rows = rows

    def select(self, X_public, n_queries, random_state):
        return np.asarray(self.rows)


def imputing():
    return make_pipeline(SimpleImputer(), GaussianNB())


def few_teachers(base, **params):
    given = {"n_teachers": 5, "aggregator": PluralityVote(), "epsilon": None, "n_queries": 20}
    return PATEClassifier(base, classes=[0, 1], **(given | params))


@pytest.mark.parametrize("rows", [range(20), range(10, 30)], ids=["queried", "not asked"])
@cases(
    "params, who",
    ({"base": Counting()}, "base_estimator, a Counting"),
    ({"base": [imputing(), Counting()], "student": imputing()}, "base_estimator, a Counting"),
    ({"base": imputing(), "student": GaussianNB()}, "student, a GaussianNB"),
    ids=["teachers", "one of two", "student"],
)
def test_missing_values_are_refused_by_teachers_and_students_without_support(params, who, rows):
    Counting.n_fits = 0
    clf = few_teachers(**params, query_strategy=AtRandom(rows))
    message = (
        rf"missing values in 2 rows \(the first is row 7\), and {who}, does not accept them: "
        r"ValueError: Input X contains NaN\. .*SimpleImputer\(\)"
    )
    for call in (clf.fit, clf.plan):
        pytest.raises(ValueError, call, X, Y, WITH_NAN).match(message)
    assert Counting.n_fits == 0 and not hasattr(clf, "privacy_spent_")


@pytest.mark.parametrize("rows", [range(20), range(10, 30)], ids=["queried", "not asked"])
@pytest.mark.parametrize("base", [imputing(), HistGradientBoostingClassifier(max_iter=2), None])
def test_missing_values_are_accepted_by_teachers_with_support(base, rows):
    clf = few_teachers(base, query_strategy=AtRandom(rows)).fit(X, Y, WITH_NAN)
    assert clf.privacy_spent_.n_queries == 20 and np.isfinite(clf.predict_proba(WITH_NAN)).all()


def test_missing_values_error_names_remedies_that_work():
    with pytest.raises(ValueError, match="leave these rows out") as caught:
        few_teachers(GaussianNB()).fit(X, Y, WITH_NAN)
    (code,) = re.findall(r"make_pipeline\(SimpleImputer\(\), \.\.\.\)", str(caught.value))
    names = {"make_pipeline": make_pipeline, "SimpleImputer": SimpleImputer, "model": GaussianNB()}
    few_teachers(eval(code.replace("...", "model"), names)).fit(X, Y, WITH_NAN)
    few_teachers(GaussianNB()).fit(X, Y, WITH_NAN[~np.isnan(WITH_NAN).any(axis=1)])


def test_is_missing_in_finds_missing_values_of_every_form():
    forms = WITH_NAN, WITH_NAN.astype(object), sparse.csr_array(WITH_NAN), pd.DataFrame(WITH_NAN)
    for rows in forms:
        assert np.flatnonzero(is_missing_in(rows)).tolist() == [7, 50]
    assert is_missing_in(pd.DataFrame({"a": ["x", None]})).tolist() == [False, True]
    assert is_missing_in(np.array([["x"], ["nan"]])).tolist() == [False, False]
    polars = pytest.importorskip("polars", reason="needs polars")
    table = polars.DataFrame({"a": ["x", None, "y"], "b": [1.0, None, np.nan], "c": [[1], [], [2]]})
    assert is_missing_in(table).tolist() == [False, True, True]


class WithoutText:
    """A value whose text depends on private records, here one that fails."""

    def __str__(self):
        raise ValueError("private")


@pytest.mark.slow
@pytest.mark.parametrize(
    "value", [Decimal("sNaN"), WithoutText(), 10**5000], ids=["signaling", "own", "huge"]
)
def test_values_without_text_count_as_missing_for_default_teachers(value):
    X, y = rows(200)
    X["text"] = X["text"].astype(object)
    params = {"n_teachers": 2, "n_queries": 20, "epsilon": None, "classes": [0, 1]}
    params |= {"aggregator": PluralityVote(), "random_state": 0, "on_bad_plan": "warn"}
    given = {"X_public": X[100:]}
    missing, other = X[:100].copy(), X[:100].copy()
    missing.loc[7, "text"] = np.nan
    other.at[7, "text"] = value
    with warnings.catch_warnings(action="ignore"):
        expected = PATEClassifier(**params).fit(missing, y[:100], **given).public_labels_
        found = PATEClassifier(**params).fit(other, y[:100], **given).public_labels_
    np.testing.assert_array_equal(found, expected)


# --- dtypes that do not depend on private values --------------------------------------------------

WHOLE = {
    "int64": [1, 2, 3],
    "Int64": [1, 2, None],
    "float64": [1.5, 2, None],
    "object": ["x", 2, 3],
}


@pytest.mark.parametrize("kind", ["int64", "int32", "bool", "Int64", "boolean", "float32"])
def test_same_dtypes_of_pandas_depend_on_public_rows_only(kind):
    found = set()
    for dtype, values in WHOLE.items():
        X = pd.DataFrame({"n": pd.Series(values, dtype=dtype)})
        X_public = pd.DataFrame({"n": pd.Series([1, 0], dtype=kind)})
        given = X.copy(), X_public.copy()
        X_same, X_public_same = same_dtypes(X, X_public)
        assert X_same["n"].dtype == X_public_same["n"].dtype
        assert X_same["n"].tolist()[1] == 2 and X_same["n"].isna()[2] == X["n"].isna()[2]
        assert X_same["n"].isna()[0] == (dtype == "object")
        found.add(str(X_public_same["n"].dtype))
        pd.testing.assert_frame_equal(X, given[0])
        pd.testing.assert_frame_equal(X_public, given[1])
    expected = {"Int64": "Float64", "boolean": "Float64", "float32": "float32"}
    assert found == {expected.get(kind, "float64")}


def test_same_dtypes_of_polars_depend_on_public_rows_only():
    pl = pytest.importorskip("polars")
    X_public = pl.DataFrame({"n": [1, 2]})
    for values in ([1, 2], [1, None], [1.5, 2], ["x", "2"]):
        X, public = same_dtypes(pl.DataFrame({"n": values}), X_public)
        assert X.schema == public.schema == {"n": pl.Float64}


def test_same_dtypes_read_each_private_date_by_itself():
    X_public = pd.DataFrame({"day": pd.to_datetime(["2020-01-31", "2021-05-01"])})
    for first in ("2020-02-01", "01/31/2020", "never"):
        X = pd.DataFrame({"day": [first, "2021-03-04", None]})
        X, public = same_dtypes(X, X_public)
        assert X["day"].dtype == public["day"].dtype == X_public["day"].dtype
        assert X["day"][1] == pd.Timestamp("2021-03-04") and pd.isna(X["day"][2])
        assert pd.isna(X["day"][0]) == (first == "never")


def test_same_dtypes_accept_a_column_name_twice():
    X = pd.DataFrame([[1, 2.5], [3, None]], columns=["n", "n"])
    X_public = pd.DataFrame([[1, 2], [3, 4]], columns=["n", "n"])
    assert [set(table.dtypes.map(str)) for table in same_dtypes(X, X_public)] == [{"float64"}] * 2

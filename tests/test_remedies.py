"""Every remedy that a message gives as code is taken from the message and run, and helps."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from conftest import cases, table
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sklearn_pate import FitOnPublic, PATEClassifier, PublicData
from sklearn_pate.aggregators import PluralityVote, SoftVote
from sklearn_pate.encoding.targets import ClassTarget
from sklearn_pate.methods import ReverseNeighbors
from sklearn_pate.students import SoftLabelClassifier
from sklearn_pate.synthesis import MarginalSynthesizer

RNG = np.random.default_rng(0)
Y = np.arange(200) % 2
ROWS = np.column_stack([Y + RNG.normal(size=200), RNG.integers(0, 9, (200, 2))])
PUBLIC = np.column_stack([np.arange(60) % 2, RNG.integers(0, 9, (60, 2))])


def pate(**params):
    return PATEClassifier(**({"epsilon": 8.0, "classes": [0, 1]} | params))


def teachers(base=None, **params):
    given = {"n_teachers": 5, "aggregator": PluralityVote(), "epsilon": None, "n_queries": 20}
    return pate(base_estimator=GaussianNB() if base is None else base, **(given | params))


def failure(action):
    with pytest.raises(ValueError) as caught:
        action()
    return str(caught.value)


def lines_in(message):
    """Return the code that stands on lines of its own in a message."""
    code = re.findall(r"^    (.*)$", message, re.M)
    assert code, message
    return "\n".join(code)


def run(code, **names):
    """Run code; warnings are errors."""
    with warnings.catch_warnings(action="error"):
        warnings.filterwarnings("ignore", "the released numbers may be little better")
        exec(code, names)
    return names


def value_of(code, **names):
    return run(f"found = {code}", **names)["found"]


def mended(X, X_public, clf=None):
    """Return the message that refuses rows, and the rows after its remedy, which is enough."""
    clf = pate() if clf is None else clf
    message = failure(lambda: clf.plan(X, Y, X_public))
    found = run(lines_in(message), X=X, X_public=X_public, pd=pd)
    assert clf.plan(found["X"], Y, found["X_public"]).spent.epsilon is not None
    return message, found["X"], found["X_public"]


# --- types of columns ----------------------------------------------------------------------------


def frame(n, **columns):
    """Rows with a column of each kind; each by itself, or other columns in its place."""
    rng = np.random.default_rng(n)
    plain = {
        "whole": rng.integers(0, 9, n),
        "real": rng.normal(size=n),
        "true": rng.integers(0, 2, n).astype(bool),
        "text": rng.choice(["u", "v"], n),
        "kind": pd.Categorical(rng.choice(["x", "y"], n)),
    }
    return pd.DataFrame(plain | columns)


def with_missing(dtype, column="whole", missing=None):
    values = frame(200)[column].astype(dtype)
    values[3] = missing
    return {column: values}


#: In pandas 3 text has a dtype of its own
HAS_TEXT = pd.DataFrame({"text": ["a"]})["text"].dtype != object

TYPES = {
    "NaN among whole numbers": with_missing(float),
    "None among truth values": with_missing(object, "true"),
    "no text": {"text": np.full(200, np.nan)},
    "another category": {"kind": pd.Categorical(["x", "z"] * 100)},
    "categories as text": {"kind": frame(200)["kind"].astype(object)},
    "categories with missing values": with_missing(object, "kind"),
    "a word among whole numbers": with_missing(object, "whole", "unknown"),
    "several": with_missing(float) | {"kind": pd.Categorical(["x", "z"] * 100)},
}
if HAS_TEXT:
    TYPES["text as objects"] = {"text": frame(200)["text"].astype(object)}


@pytest.mark.parametrize("which", TYPES)
def test_dtype_remedy_makes_frames_equal(which):
    private, public = frame(200, **TYPES[which]), frame(60)
    before = private.copy()
    _, X, _ = mended(private, public)
    pd.testing.assert_frame_equal(private, before)
    for name in private.columns.difference(["kind"]):  # no value is lost but words among numbers
        word = private[name].isin(["unknown"])
        assert (X[name].isna() == (private[name].isna() | word)).all()
    known = private["kind"].isin(["x", "y"])
    assert (X["kind"].astype(object)[known] == private["kind"][known]).all()


@cases(
    "X, X_public",
    (np.where(ROWS > 8, np.nan, ROWS), PUBLIC),
    (ROWS.astype(object), PUBLIC.astype(float)),
    (sparse.csr_array(ROWS.astype(np.float32)), sparse.csr_array(PUBLIC.astype(float))),
    ids=["NaN", "objects", "sparse"],
)
def test_dtype_remedy_makes_arrays_equal(X, X_public):
    mended(X, X_public)


def test_dtype_remedy_does_not_cut_texts():
    X, X_public = ROWS.round(6).astype("U40"), PUBLIC.astype(float).astype("U9")
    encoder = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    assert (mended(X, X_public, teachers(encoder))[1] == X).all()


@pytest.mark.parametrize("names", [[0, 1, 3], [2, 1, 0]], ids=["other names", "another order"])
def test_column_remedy_uses_the_public_names(names):
    X = pd.DataFrame(ROWS, columns=names)
    X_public = pd.DataFrame(PUBLIC.astype(float))
    found = mended(X.copy(), X_public)[1]
    if names == [2, 1, 0]:  # a column keeps its name
        pd.testing.assert_series_equal(found[2], X[2])


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_dtype_remedy_converts_text_to_dates(zone):
    dates = [pd.date_range("2020", periods=n, tz=zone) for n in (200, 60)]
    private, public = frame(200, day=dates[0]), frame(60, day=dates[1].astype(str))
    message, *mended_rows = mended(private, public)
    text = "str" if HAS_TEXT else "object"
    assert "(day: datetime64[" in message and f"in X, {text} in X_public)" in message
    assert mended_rows[0]["day"].dtype == mended_rows[1]["day"].dtype
    for rows, days in zip(mended_rows, dates, strict=True):
        assert (rows["day"] == days).all()


@pytest.mark.slow
def test_column_remedy_selects_columns_of_private_rows():
    private, public = frame(200), frame(60)
    turned = public.columns[::-1]
    with_label = public.assign(label=1)[["label", *turned]]
    for other in (public[turned], with_label, public.drop(columns="text")):
        message, X, X_public = mended(private, other)
        assert "Pipeline" not in message
        assert list(X.columns) == list(X_public.columns)
    # Renamed columns are not to be left out
    renamed = failure(lambda: pate().plan(private, Y, public.rename(columns={"text": "other"})))
    assert "names = [" not in renamed


def test_frame_remedy_converts_two_libraries_to_one():
    polars = pytest.importorskip("polars", reason="needs polars")
    frames = [frame(n)[["whole", "real"]] for n in (200, 60)]
    for k in (0, 1):
        given = list(frames)
        given[k] = polars.DataFrame(frames[k].to_dict("list"))
        message, *_ = mended(*given)
        assert "use the same library" in message and "Pipeline" not in message


@pytest.mark.slow
def test_dtype_remedy_makes_polars_frames_equal():
    polars = pytest.importorskip("polars", reason="needs polars")
    frames = (frame(n).astype({"kind": object}).to_dict("list") for n in (200, 60))
    private, public = map(polars.DataFrame, frames)
    public = public.with_columns(polars.col("kind").cast(polars.Enum(["x", "y"])))
    numbers = private.with_columns(polars.col("whole").cast(float))
    categories = private.with_columns(polars.col("kind").cast(polars.Enum(["y", "x", "z"])))
    for X in (private, numbers, categories):
        mended(X, public)


def test_table_remedy_converts_unreadable_types():
    arrow = pytest.importorskip("pyarrow", reason="needs pyarrow")
    X, X_public = (arrow.Table.from_pandas(frame(n).drop(columns="kind")) for n in (200, 60))
    mended(X, X_public)


# --- inputs of a fit -----------------------------------------------------------------------------


def test_reshape_remedy_works_for_rows_of_one_axis():
    x = ROWS[:, 0]
    message = failure(lambda: pate().fit(x, Y, PUBLIC[:, :1].astype(float)))
    one_feature, one_sample = re.findall(r"X\.reshape\([-\d, ]+\)", message)
    clf = pate().fit(value_of(one_feature, X=x), Y, PUBLIC[:, :1].astype(float))
    message = failure(lambda: clf.predict(x[:1]))
    assert len(clf.predict(value_of(one_sample, X=x[:1]))) == 1


def test_missing_public_rows_remedy_works():
    message = failure(lambda: pate().fit(ROWS, Y, PublicData(None)))
    (call,) = re.findall(r"Call (fit\(X, y, X_public=)\.\.\.\)", message)
    run(f"clf.{call}X_public)", clf=pate(), X=ROWS, y=Y, X_public=PUBLIC.astype(float))
    (without,) = re.findall(r"or (fit\(X, y\)), which", message)
    clf = PATEClassifier(classes=[0, 1], epsilon=8.0)
    run(f"clf.{without}", clf=clf, X=ROWS, y=Y)
    assert clf.privacy_spent_.n_synthetic > 0


def test_swapped_labels_remedy_works():
    (call,) = re.findall(r"Call (fit\(X, y\)), ", failure(lambda: pate().fit(Y, ROWS, PUBLIC)))
    clf = pate()
    run(f"clf.{call[:-1]}, X_public)", clf=clf, X=ROWS, y=Y, X_public=PUBLIC.astype(float))
    assert clf.public_labels_.shape == PUBLIC.shape[:1]


def test_hash_index_remedy_works():
    X, X_public = (pd.DataFrame(rows, columns=list("abc")) for rows in (ROWS, PUBLIC.astype(float)))
    X = X.assign(id=[f"p{i}" for i in range(len(X))])
    clf = teachers(partition="hash")
    message = failure(lambda: clf.fit(X.drop(columns="id"), Y, X_public))
    (call,) = re.findall(r"X\.set_index\(", message)
    assert clf.fit(value_of(f"{call}'id')", X=X), Y, X_public).n_teachers_ == 5


# --- pipelines, students, transformers -----------------------------------------------------------


@pytest.mark.slow
def test_fit_on_public_remedy_works():
    message = failure(lambda: FitOnPublic(StandardScaler()).fit(ROWS, Y))
    (enable,) = re.findall(r"sklearn\.set_config\(.*?\)", message)
    ((made, call),) = re.findall(r"(Pipeline\(.*?transform_input=.*?\))\.(fit\(.*?=)", message)
    steps = [("scale", FitOnPublic(StandardScaler())), ("pate", pate())]
    pipe = value_of(made.replace("...", "steps"), Pipeline=Pipeline, steps=steps)
    with sklearn.config_context():
        run(enable, sklearn=sklearn)
        run(f"pipe.{call}X_public)", pipe=pipe, X=ROWS, y=Y, X_public=PUBLIC.astype(float))
    of_records = re.findall(r"method=ReverseNeighbors\(.*?\)", message)
    of_teachers = re.findall(r"base_estimator=make_pipeline\(.*?\)", message)
    names = {"ReverseNeighbors": ReverseNeighbors, "make_pipeline": make_pipeline}
    names |= {"transformer": StandardScaler(), "model": GaussianNB()}
    (code,), public = of_records, PUBLIC.astype(float)
    clf = pate(**value_of(f"dict({code})", **names), epsilon=50.0).fit(ROWS, Y, public)
    assert clf.score(ROWS, Y) > 0.6
    (code,) = of_teachers
    clf = teachers(value_of(f"dict({code})", **names)["base_estimator"]).fit(ROWS, Y, public)
    assert clf.n_teachers_ == 5 and set(clf.predict(ROWS)) <= {0, 1}


def mixed_encoder():
    numbers = (StandardScaler(), ["whole", "real"])
    texts = (OneHotEncoder(sparse_output=False), ["text", "kind", "true"])
    return make_column_transformer(numbers, texts).set_output(transform="pandas")


OTHERS = (OneHotEncoder(handle_unknown="ignore"), np.column_stack([Y, ROWS[:, 1:]]))
UNLIKE = {
    "mixed columns": (mixed_encoder(), frame(200), frame(60)),
    "arrays of other features": (*OTHERS, PUBLIC.astype(float)),
    "whole numbers": (StandardScaler(), ROWS.astype(int), PUBLIC),
}


@pytest.mark.slow
@table("transformer, X, X_public", UNLIKE)
def test_pipeline_step_remedies_work(transformer, X, X_public):
    pipe = make_pipeline(transformer, pate())
    message = failure(lambda: pipe.fit(X, Y, pateclassifier__X_public=X_public))
    # The first remedy
    assert "put the earlier steps inside base_estimator" in message
    teachers(make_pipeline(transformer, LogisticRegression())).fit(X, Y, X_public)
    # The second
    (enable,) = re.findall(r"sklearn\.set_config\(.*?\)", message)
    (made,) = re.findall(r"Pipeline\(steps, .*?X_public=X_public\)", message)
    names = {"X": X, "y": Y, "X_public": X_public, "Pipeline": Pipeline}
    names["steps"] = [("encode", FitOnPublic(transformer)), ("pate", pate())]
    with sklearn.config_context():
        run(enable, sklearn=sklearn)
        fitted = value_of(made, **names)
    assert fitted.predict(X[:3]).shape == (3,)


def test_soft_label_student_remedy_works():
    inside = SoftLabelClassifier(make_pipeline(StandardScaler(), LogisticRegression()))
    clf = teachers(student=inside, aggregator=SoftVote(0.5), n_queries=30)
    message = failure(lambda: clf.fit(ROWS, Y, PUBLIC.astype(float)))
    (made,) = re.findall(r"make_pipeline\(scaler, .*?\)\)", message)
    names = {"make_pipeline": make_pipeline, "SoftLabelClassifier": SoftLabelClassifier}
    student = value_of(made, **names, scaler=StandardScaler(), classifier=LogisticRegression())
    clf.set_params(student=student).fit(ROWS, Y, PUBLIC.astype(float))
    assert clf.predict_proba(ROWS).shape == (len(ROWS), 2)


# --- synthesizers --------------------------------------------------------------------------------


def declare(X, **params):
    return MarginalSynthesizer(**({"missing": []} | params)).declare(X, ClassTarget([0, 1]))


def test_synthesizer_table_remedy_works():
    with_rows = {"bounds": (-9, 9)}
    message = failure(lambda: declare(sparse.csr_array(ROWS), **with_rows))
    (code,) = re.findall(r"X\.toarray\(\)", message)
    assert len(declare(value_of(code, X=sparse.csr_array(ROWS)), **with_rows).schema_.columns) == 3
    polars = pytest.importorskip("polars", reason="needs polars")
    pytest.importorskip("pyarrow", reason="polars needs it for to_pandas")
    message = failure(lambda: declare(polars.DataFrame(ROWS), **with_rows))
    (code,) = re.findall(r"X\.to_pandas\(\)", message)
    assert len(declare(value_of(code, X=polars.DataFrame(ROWS)), **with_rows).schema_.columns) == 3


def test_synthesizer_reads_a_list_as_floats():
    for rows in ([[1, 2]], [[1, None], [2.5, 3]]):
        assert declare(rows, bounds=(-9, 9)).schema_.dtype == float

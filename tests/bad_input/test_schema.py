"""Private and public rows of different forms: dtypes, names, columns, categories."""

import numpy as np
import pandas as pd
import pytest
from conftest import cases
from scipy import sparse

from sklearn_pate.exceptions import TeacherError
from sklearn_pate.teachers import Sites

from . import helpers as h

# --- arrays --------------------------------------------------------------------------------------


FRACTION = h.changed(h.X.astype(int), 0.5, (5, 1)).tolist()
TEXTS = h.changed(h.X.astype(str), h.TEXT * 9)


@h.table(
    "X, X_public, message",
    ("one row of fractions", FRACTION, h.X_PUBLIC.astype(int), "than X_public, which has int64"),
    ("objects", h.X.astype(object), h.X_PUBLIC, "than X_public, which has float64"),
    ("float32, sparse", sparse.csr_matrix(h.X.astype("f")), h.X_PUBLIC, "which has float64"),
    ("text", TEXTS, h.X_PUBLIC.astype(str), r"than X_public, .*X, X_public = same_dtypes"),
)
def test_another_dtype(X, X_public, message):
    with h.refused(message):
        h.fit(X=X, X_public=X_public)


def test_a_frame_beside_an_array():
    with h.refused("X is a DataFrame and X_public"):
        h.fit(X=h.frame())
    with h.refused("X is a ndarray and X_public a DataFrame"):
        h.fit(X_public=h.frame(h.X_PUBLIC))


# --- frames --------------------------------------------------------------------------------------

FEATURES = "X_public does not have the features of X: .*"
OTHER_KIND = r"columns \['kind'\] of X and X_public have different dtypes or categories"


@h.table(
    "X_public, message",
    ("a label column", h.frame(h.X_PUBLIC, label=1), rf"{FEATURES}X has not: \['label'\]"),
    ("a column missing", h.frame(h.X_PUBLIC)[["a", "b"]], rf"{FEATURES}it lacks .*: \['c'\]"),
    ("other names", h.frame(h.X_PUBLIC, "abz"), rf"{FEATURES}X has not: \['z'\]; it lacks .*'c'"),
    ("another order", h.frame(h.X_PUBLIC)[["b", "a", "c"]], f"{FEATURES}in another order"),
    ("duplicate names", h.frame(h.X_PUBLIC, "aac"), f"{FEATURES}unique column names"),
    ("dtypes", h.frame(h.X_PUBLIC).astype("f"), r"\(a: float64 in X, float32 in X_public; b: fl"),
)
def test_public_frames_of_another_form(X_public, message):
    with h.refused(message):
        h.fit(X=h.frame(), X_public=X_public)


def test_values_that_a_dtype_holds_are_not_named_with_it():
    dtypes = [pd.SparseDtype(float, h.NUMBER), pd.CategoricalDtype([h.TEXT])]
    dtypes += [np.dtype(object, metadata={"of": h.TEXT})]
    private = h.frame(**{f"x{k}": pd.Series([None] * 40, dtype=d) for k, d in enumerate(dtypes)})
    public = h.frame(h.X_PUBLIC, x0=0.5, x1="b", x2=0)
    with h.refused(
        r"x0: SparseDtype in X, float64 .* x1: category in X, str .* x2: object in X, int"
    ):
        h.fit(X=private, X_public=public)


@h.table(
    "kinds",
    ("other categories", pd.Categorical([h.TEXT, "b"] * 20)),
    ("categories in another order", pd.Categorical(["b", "a"] * 20, categories=["b", "a"])),
)
def test_other_categories(kinds):
    public = h.frame(h.X_PUBLIC, kind=pd.Categorical(["a", "b"] * 15))
    with h.refused(OTHER_KIND):
        h.fit(X=h.frame(kind=kinds), X_public=public)


def test_columns_that_scikit_learn_does_not_compare():
    private = h.frame().set_axis([1, 2, 4], axis=1)
    public = h.frame(h.X_PUBLIC).set_axis([1, 2, 3], axis=1)
    with h.refused("X has other columns than X_public"):
        h.fit(X=private, X_public=public)


def test_categories_that_only_seem_to_be_equal():
    dtypes = [pd.CategoricalDtype(pd.Index([0, k], dtype=object)) for k in (1, True)]
    private = h.frame(kind=pd.Series([0, 1] * 20, dtype=dtypes[0]))
    public = h.frame(h.X_PUBLIC, kind=pd.Series([0, 1] * 15, dtype=dtypes[1]))
    with h.refused(OTHER_KIND):
        h.fit(X=private, X_public=public)


# --- types of columns of other libraries ---------------------------------------------------------


class AnyRows(h.Teacher):
    """Takes whatever it is given."""

    def fit(self, X, y):
        AnyRows.fits += 1
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.zeros(X.shape[0], dtype=int)


ANY_ROWS = {"base_estimator": AnyRows(), "student": AnyRows()}


def wrapped(values, kind):
    """The values as they stand in a column of this kind."""
    wrap = dict.fromkeys(("list", "array", "named, list"), lambda value: [value])
    wrap |= {"structure": lambda value: {"in": value}, "map": lambda value: [("in", [value])]}
    return [wrap.get(kind, str)(value) for value in values]


def arrow_frame(values, kind):
    arrow = pytest.importorskip("pyarrow", reason="needs pyarrow")
    coded = arrow.dictionary(arrow.int8(), arrow.string())
    kinds = {
        "coded": coded,
        "text": arrow.string(),
        "list": arrow.list_(coded),
        "structure": arrow.struct([arrow.field("in", coded)]),
        "map": arrow.map_(arrow.string(), arrow.list_(coded)),
    }
    column = arrow.array(wrapped(values, kind), kinds[kind])
    return pd.DataFrame({"kind": pd.arrays.ArrowExtensionArray(column)})


def polars_frame(values, kind):
    polars = pytest.importorskip("polars", reason="needs polars")
    coded = polars.Categorical
    if kind.startswith("named"):  # these do not equal the class
        coded = polars.Categorical(polars.Categories("animals"))
    kinds = {
        "named": coded,
        "named, list": polars.List(coded),
        "coded": coded,
        "list": polars.List(coded),
        "text": polars.String,
        "array": polars.Array(coded, 1),
        "structure": polars.Struct({"in": coded}),
        "fixed": polars.Enum(["a", "b", h.TEXT]),
    }
    return polars.DataFrame({"kind": polars.Series(wrapped(values, kind), dtype=kinds[kind])})


OF_ARROW = ("coded", "list", "structure", "map")
OF_POLARS = ("coded", "list", "array", "structure", "named", "named, list")


@pytest.mark.parametrize(
    ("make", "kind"),
    [*((arrow_frame, kind) for kind in OF_ARROW), *((polars_frame, kind) for kind in OF_POLARS)],
)
def test_codes_that_are_given_out_as_values_appear_are_refused(make, kind):
    public = make(["a", "b"] * 15, kind)
    message = r"columns \['kind'\] of X hold dictionaries"
    for values in ([h.TEXT, *["a", "b"] * 19, "a"], ["a", "b"] * 20):
        with pytest.raises(ValueError, match=message) as caught:
            h.fit(ANY_ROWS, X=make(values, kind), X_public=public)
        assert h.TEXT not in h.shown(caught.value)
    site = Sites(lambda name: (make(["a", "b"] * 20, kind), h.Y), ["a", "b", "c"])
    with pytest.raises(TeacherError, match="teacher 0 failed: load must return X with categories"):
        h.fit(ANY_ROWS, X=site, y=None, X_public=public)


@cases("make, kind", (arrow_frame, "text"), (polars_frame, "text"), (polars_frame, "fixed"))
def test_other_columns_of_arrow_and_polars_pass(make, kind):
    private = make([h.TEXT, *"ab" * 19, "a"], kind)
    assert h.pate(**ANY_ROWS).fit(private, h.Y, make(["a", "b"] * 15, kind)).n_features_in_ == 1


def test_categories_of_polars_are_compared():
    polars = pytest.importorskip("polars", reason="needs polars")
    private = polars.Series(list("ab") * 20, dtype=polars.Enum("ab"))
    public = polars.Series(list("ab") * 15, dtype=polars.Enum("ba"))
    private, public = (polars.DataFrame({"kind": column}) for column in (private, public))
    with pytest.raises(ValueError, match=r"columns \['kind'\] of X and X_public have different"):
        h.fit(ANY_ROWS, X=private, X_public=public)


def test_tables_whose_types_cannot_be_compared_are_refused():
    arrow = pytest.importorskip("pyarrow", reason="needs pyarrow")
    private = arrow.table({"a": np.arange(40)})
    public = arrow.table({"a": np.arange(30)})
    with pytest.raises(ValueError, match="X and X_public must be arrays, .* or DataFrames"):
        h.fit(ANY_ROWS, X=private, X_public=public)


# --- sites ---------------------------------------------------------------------------------------


def test_sites_are_compared_as_other_rows_are():
    def load(name):
        kinds = ["b", "a"] if name == "d" else ["a", "b"]
        return pd.DataFrame({"kind": pd.Categorical(["a", "b"] * 20, categories=kinds)}), h.Y

    data = {"y": None, "X_public": pd.DataFrame({"kind": pd.Categorical(["a", "b"] * 15)})}
    message = "teacher 3 failed: load must return X with the dtypes"
    pytest.raises(TeacherError, h.fit, ANY_ROWS, X=Sites(load, list("abcd")), **data).match(message)
    h.fit(ANY_ROWS, X=Sites(load, list("efgh")), **data)
    arrays = Sites(lambda name: (h.X[:, :1], h.Y), list("abcd"))
    message = "teacher 0 failed: load must return X as a DataFrame if"
    pytest.raises(TeacherError, h.fit, ANY_ROWS, X=arrays, **data).match(message)

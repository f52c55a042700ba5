"""Private rows, labels, groups and weights, and public rows; the checks of this folder see them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import cases
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from sklearn_pate import FitOnPublic, PATEClassifier, PublicData
from sklearn_pate.aggregators import PluralityVote, SoftVote
from sklearn_pate.exceptions import BadPlanError, TeacherError
from sklearn_pate.neighbors import RowVectorizer
from sklearn_pate.public import overlap
from sklearn_pate.teachers import Sites

from . import helpers as h

# --- each argument -------------------------------------------------------------------------------

TABLE = "Expected X to be an array with two or more axes"
INCONSISTENT = "X and y have inconsistent numbers of samples: 40"
NOT_IN_CLASSES = "y has labels .* not in classes"
MISSING_LABEL = pd.array([pd.NA, h.LABEL] * 20, dtype="Int64")
DATES = h.Y.astype("datetime64[s]")
ONE_IDENTIFIER = "groups must have one identifier"
FINITE = "sample_weight must be 40 finite"
#: Wrong values of each argument, by their message
WRONG = {
    "X": {
        TABLE: (None, 5, h.TEXT, {h.TEXT: [h.NUMBER]}),
        f"{TABLE}.*got a 1D array": (h.X[:, 2], pd.Series(h.X[:, 2])),
        r"X has 40 sample\(s\) and 0 feature\(s\)": (h.X[:, :0],),
        "X must be array-like, with rows of": ([[1, h.NUMBER], [1]],),
        "X: Expected unique column names": (h.frame(columns="aac"),),
    },
    "y": {
        "y to be passed, but the target y is None": (None,),
        "y should be a 1d array": (5, h.TEXT, {h.TEXT: 1}),
        rf"{INCONSISTENT} .* (0|39|41)\D": (h.Y[:0], h.Y[1:], [*h.Y, 0]),
        r"y must be a 1-D array.*got shape \(40, 2\)": (np.c_[h.Y, h.Y], np.eye(2)[h.Y]),
        "y must be a 1-D array.*sparse": (sparse.csr_matrix(np.eye(2)[h.Y]),),
        "y must be array-like": ([[h.LABEL], [1, 2]] * 20,),
        "y contains NaN": (h.changed(h.Y, h.NAN), [None, h.LABEL] * 20, MISSING_LABEL),
        "y contains NaN or infinity": (h.changed(h.Y, h.INF),),
        "y holds numbers: Unknown label type: continuous": (h.X[:, 2],),
        "Complex data not supported: y must hold text": (h.Y + 1j * h.LABEL,),
        "y holds objects: Unknown label": (h.changed(h.Y, h.LABEL).astype(object),),
        NOT_IN_CLASSES: (h.changed(h.Y, h.LABEL), [h.TEXT, "b"] * 20, DATES),
        "y is a list of labels of several types": ([0, h.TEXT] * 20,),
    },
    "groups": {
        rf"{ONE_IDENTIFIER} .*\(40,\); got shape \(\)": (5, {h.TEXT: 1}),
        r"groups must hold one .* a single str.* this name, pass groups=X.pop\(name\)$": (h.TEXT,),
        rf"{ONE_IDENTIFIER} .* got shape \((0|39|41),\)": ([], [h.TEXT] * 39, [h.TEXT] * 41),
        rf"{ONE_IDENTIFIER} .* got shape \(40, (1|3)\)": (h.X[:, 2:], h.frame()),
        "groups has values that can": ([[h.NUMBER], [1, 2]] * 20,),
        "groups has a missing value": (h.changed(np.ones(40), h.NAN), [None, *[h.TEXT] * 39]),
        "groups has a number that is not whole": (h.X[:, 2], h.changed(np.ones(40), h.INF)),
    },
    "sample_weight": {
        r"sample_weight must be 40 .* shape \(\)": (2.0,),
        f"{FINITE} numbers": (h.TEXT, [h.TEXT] * 40, h.X[:, 2] * 1j),
        r"sample_weight must .* \(39,\)": (h.X[1:, 2],),
        r"sample_weight must .* \(40, 3\)": (h.X,),
        FINITE: (h.changed(h.X[:, 2], h.NAN), h.changed(h.X[:, 2], h.INF)),
        "sample_weight .*objects of shape": (h.X[:, 2].astype(object),),
        "sample_weight must be array-like": ([[h.NUMBER], [1, 2]] * 20,),
    },
}


@h.messages_of(
    {
        message: [(name, value) for value in values]
        for name, by_message in WRONG.items()
        for message, values in by_message.items()
    }
)
def test_fit_refuses_wrong_private_arrays(value, message):
    name, wrong = value
    with h.refused(message):
        h.fit(**{name: wrong})


# --- rows ----------------------------------------------------------------------------------------


NO_NOISE = {"aggregator": PluralityVote(), "epsilon": None}
TWO_TYPES = h.frame(columns=["a", 1, "c"])


NEIGHBOURS = {"base_estimator": KNeighborsClassifier()}
NO_WEIGHTS = "sample_weight was given, but fit of base_estimator does not accept it"
BYTES = np.array([b"0", b"1"] * 20)
OF_OTHERS = h.frame(h.X_PUBLIC.astype(int))
HOLED = h.changed(h.X_PUBLIC, h.NAN, (slice(None), 1))
STUDENT_FAILED = "the student failed when tried on public rows.*contains NaN"


test_fit_refuses_rows_labels_and_weights_that_do_not_match = h.mistakes(
    ("none", lambda: h.fit(X=h.X[:0], y=[]), r"X has 0 sample\(s\)"),
    ("one", lambda: h.fit(X=h.X[:1], y=h.Y[:1]), "n_teachers=4 is more .* n_samples=1"),
    ("names", lambda: h.fit(X=TWO_TYPES), "X: Feature names .* all", TypeError),
    ("a frame", lambda: h.fit(X=h.frame()), "X is a DataFrame and X_public"),
    ("public", lambda: h.fit(X_public=OF_OTHERS), "X is a ndarray and X_public a DataFrame"),
    ("bytes", lambda: h.fit(y=BYTES), "y holds bytes, .* not supported", TypeError),
    ("weights", lambda: h.fit(NEIGHBOURS, sample_weight=h.X[:, 2]), NO_WEIGHTS),
    ("student", lambda: h.fit({"student": GaussianNB()}, X_public=HOLED), STUDENT_FAILED),
)


# What only estimators can judge is left to them, and known words of theirs are shown
@h.table(
    "X, X_public, message",
    ("NaN", h.changed(h.X, h.NAN, (5, 1)), h.X_PUBLIC, "ValueError: Input X contains NaN"),
    ("inf", h.changed(h.X, h.INF, (5, 1)), h.X_PUBLIC, "ValueError: Input X contains infinity"),
    ("sparse", sparse.csr_matrix(h.X), h.X_PUBLIC, "TypeError: Sparse data was passed for X"),
    (
        "text",
        h.changed(h.X.astype(object), h.TEXT, (5, 1)),
        h.X_PUBLIC.astype(object),
        "ValueError: could not convert string",
    ),
    ("complex", h.X + 1j, h.X_PUBLIC + 1j, "ValueError: Complex data not supported"),
)
def test_teacher_error_shows_fixed_messages_for_refused_rows(X, X_public, message):
    message = rf"teacher \d failed: {message}.*base_estimator"
    with h.refused(message, TeacherError, by_teachers=True):
        h.fit({"random_state": 0}, X=X, X_public=X_public)


class OneRow(GaussianNB):
    """Gives the probabilities of one row, whatever rows it gets."""

    def predict_proba(self, X):
        return super().predict_proba(X)[:1]


def test_teacher_probabilities_of_too_few_rows_are_refused():
    with h.refused("one row of probabilities per row", TeacherError, by_teachers=True):
        h.fit({"base_estimator": OneRow(), "aggregator": SoftVote(0.5), "epsilon": None})


OBJECTS = {"X": h.X.astype(object), "X_public": h.X_PUBLIC.astype(object)}


test_fit_accepts_object_rows_and_one_row = h.works(
    ("objects", lambda: h.fit(**OBJECTS).n_features_in_ == 3),
    ("one row", lambda: h.fit({"n_teachers": 1} | NO_NOISE, X=h.X[:1], y=[1]).n_teachers_ == 1),
)


# --- labels --------------------------------------------------------------------------------------


def test_labels_of_one_class_are_refused_without_classes():
    message = "at least 2 classes; y has 1 class"
    with h.refused(message, warning="classes_ is read from the private labels"):
        h.fit({"classes": None, "epsilon": None}, y=np.full(40, h.LABEL))


def classes_of(y, classes=(0, 1)):
    return h.fit({"classes": list(classes)}, y=y).classes_.tolist()


test_fit_accepts_labels_of_several_types = h.works(
    ("whole floats", lambda: classes_of(h.Y.astype(float)) == [0, 1]),
    ("one column", lambda: classes_of(h.Y[:, None]) == [0, 1], "A column-vector y was passed"),
    ("text", lambda: classes_of(np.where(h.Y, "yes", "no"), ["no", "yes"]) == ["no", "yes"]),
    ("of one class", lambda: h.fit(y=np.zeros(40, int)).privacy_spent_.n_answered == 6),
    ("weighted", lambda: h.fit(sample_weight=np.linspace(0.5, 1, 40)).n_teachers_ == 4),
)


# --- groups --------------------------------------------------------------------------------------


@h.each("groups", ([h.TEXT] * 40, pd.Series([h.TEXT, "b"] * 20), [(i, h.TEXT) for i in range(40)]))
def test_groups_of_several_types_are_accepted(groups):
    with h.accepted():
        assert h.fit(groups=groups).privacy_spent_.unit == "group"


# --- the checks of this folder -------------------------------------------------------------------


def test_shown_finds_values_in_causes_and_messages():
    with pytest.raises(ValueError) as caught:
        raise ValueError("the cause") from KeyError(h.TEXT)
    assert h.TEXT in h.shown(caught.value) and str(h.NUMBER) in h.shown(ValueError(h.X[0, 2]))


# --- public rows, PublicData and FitOnPublic ------------------------------------------------------

# --- X_public ------------------------------------------------------------------------------------


FEATURES = "X_public does not have the features of X"


@h.messages_of(
    {
        "X_public is missing: public, unlabelled rows": (PublicData(None),),
        "Expected X_public to be an array": (5, "rows", ()),
        "Expected X_public to be an array.*got a 1D array": (h.X_PUBLIC[0],),
        r"X_public has 0 sample\(s\)": (h.X_PUBLIC[:0],),
        "n_queries=6 is more than the number of rows of X_public, 1": (h.X_PUBLIC[:1],),
        "X_public must be array-like, with rows of equal length": ([[1, 2, 3], [1]],),
        "X_public must be array-like": ((h.X_PUBLIC, np.zeros(30)),),
        f"{FEATURES}: .*2 features": (h.X_PUBLIC[:, 1:],),
        FEATURES: (np.c_[h.X_PUBLIC, np.zeros(30)],),
    }
)
def test_x_public_refuses_wrong_rows(value, message):
    with h.refused(message):
        h.fit(X_public=value)


@h.table("number, name", {"NaN": (h.NAN, "NaN"), "infinite": (h.INF, "infinity")})
def test_teacher_error_names_nonfinite_public_rows(number, name):
    message = f"teacher 0 failed: ValueError: Input X contains {name}"
    with h.refused(message, TeacherError, by_teachers=True):
        h.fit(X_public=h.changed(h.X_PUBLIC, number, (slice(None), 1)))


@h.table(
    "X_public",
    {
        "X_public: a list": h.X_PUBLIC.tolist(),
        "X_public: PublicData twice": PublicData(PublicData(h.X_PUBLIC)),
        # Whether public rows equal private ones is private: a warning would show who is among them
        "X_public equal to X": h.X.copy(),
        "X_public with a row of X": np.vstack([h.X_PUBLIC, h.X[:1]]),
    },
)
def test_x_public_accepts_lists_nested_public_data_and_private_rows(X_public):
    with h.accepted():
        assert h.fit(X_public=X_public).n_teachers_ == 4


def test_plan_requires_a_public_row_for_each_class():
    text = "from 1 label.* no more public rows; give 20 or more public rows"
    with h.refused(f"this fit cannot work: .*{text}", BadPlanError):
        h.fit({"n_queries": 1}, X_public=h.X_PUBLIC[:1])
    with h.accepted():
        assert h.fit({"n_queries": 2}, X_public=h.X_PUBLIC[:2]).n_teachers_ == 4


@h.messages_of(
    {"X_public is X": (h.X, PublicData(h.X)), "X_public shares memory with X": (h.X[:30],)}
)
def test_x_public_that_is_private_is_refused_or_reported_as_not_covered(value, message):
    leak = f"{message}.*: .* pass rows that are public"
    problem = "X_public is X or a part of it, .* give rows that are public, or a synthesizer"
    with h.refused(f"this fit cannot work: {problem}", BadPlanError, warning=leak):
        h.fit(X_public=value)
    with h.accepted(leak, problem):
        clf = h.fit({"on_bad_plan": "warn"}, X_public=value)
    assert "private rows, which were given as X_public" in clf.privacy_spent_.not_covered


# --- PublicData and FitOnPublic ------------------------------------------------------------------


NO_TRANSFORMER = "'transformer' parameter of FitOnPublic"
SCALER = FitOnPublic(StandardScaler())


test_public_data_and_fit_on_public_refuse_wrong_use = h.mistakes(
    ("nothing", lambda: PublicData(), "missing 1 required positional arg.*'X'", TypeError),
    ("labels", lambda: PublicData(h.X_PUBLIC, h.Y), "positional arguments", TypeError),
    ("no public rows", lambda: SCALER.fit(h.X), "FitOnPublic got no X_public"),
    ("a number", lambda: FitOnPublic(5).fit(h.X, X_public=h.X_PUBLIC), NO_TRANSFORMER),
    ("a teacher", lambda: FitOnPublic(h.Teacher()).fit(h.X, X_public=h.X_PUBLIC), NO_TRANSFORMER),
    ("before fit", lambda: SCALER.transform(h.X), "not fitted yet", NotFittedError),
)

# --- private and public rows of different forms: dtypes, names, columns, categories ---------------

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
def test_x_of_another_dtype_than_x_public_is_refused(X, X_public, message):
    with h.refused(message):
        h.fit(X=X, X_public=X_public)


# --- frames --------------------------------------------------------------------------------------

OTHER_FEATURES = "X_public does not have the features of X: .*"
OTHER_KIND = r"columns \['kind'\] of X and X_public have different dtypes or categories"


@h.table(
    "X_public, message",
    (
        "a label column",
        h.frame(h.X_PUBLIC, label=1),
        f"{OTHER_FEATURES}unseen at fit time.*- label",
    ),
    ("a column missing", h.frame(h.X_PUBLIC)[["a", "b"]], f"{OTHER_FEATURES}now missing.*- c"),
    (
        "other names",
        h.frame(h.X_PUBLIC, "abz"),
        f"{OTHER_FEATURES}unseen .*- z.*missing.*- c",
    ),
    ("another order", h.frame(h.X_PUBLIC)[["b", "a", "c"]], f"{OTHER_FEATURES}same order"),
    ("duplicate names", h.frame(h.X_PUBLIC, "aac"), f"{OTHER_FEATURES}unique column names"),
    ("dtypes", h.frame(h.X_PUBLIC).astype("f"), r"\(a: float64 in X, float32 in X_public; b: fl"),
)
def test_x_public_frame_of_another_form_is_refused(X_public, message):
    with h.refused(message):
        h.fit(X=h.frame(), X_public=X_public)


def test_dtype_error_does_not_show_values_in_dtypes():
    dtypes = [pd.SparseDtype(float, h.NUMBER), pd.CategoricalDtype([h.TEXT])]
    dtypes += [np.dtype(object, metadata={"of": h.TEXT})]
    private = h.frame(**{f"x{k}": pd.Series([None] * 40, dtype=d) for k, d in enumerate(dtypes)})
    public = h.frame(h.X_PUBLIC, x0=0.5, x1="b", x2=0)
    text = "(str|object)"  # newer and older pandas
    with h.refused(
        rf"x0: Sparse in X, float64 .* x1: category in X, {text} .* x2: object in X, int"
    ):
        h.fit(X=private, X_public=public)


@h.table(
    "kinds",
    ("other categories", pd.Categorical([h.TEXT, "b"] * 20)),
    ("categories in another order", pd.Categorical(["b", "a"] * 20, categories=["b", "a"])),
)
def test_categories_that_differ_are_refused(kinds):
    public = h.frame(h.X_PUBLIC, kind=pd.Categorical(["a", "b"] * 15))
    with h.refused(OTHER_KIND):
        h.fit(X=h.frame(kind=kinds), X_public=public)


def test_columns_that_scikit_learn_does_not_compare_are_refused():
    private = h.frame().set_axis([1, 2, 4], axis=1)
    public = h.frame(h.X_PUBLIC).set_axis([1, 2, 3], axis=1)
    with h.refused("X has other columns than X_public"):
        h.fit(X=private, X_public=public)


def test_categories_equal_only_by_comparison_are_refused():
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
def test_dictionary_columns_with_codes_by_appearance_are_refused(make, kind):
    public = make(["a", "b"] * 15, kind)
    message = r"columns \['kind'\] of X hold dictionaries"
    for values in ([h.TEXT, *["a", "b"] * 19, "a"], ["a", "b"] * 20):
        with pytest.raises(ValueError, match=message) as caught:
            h.fit(ANY_ROWS, X=make(values, kind), X_public=public)
        assert h.TEXT not in h.shown(caught.value)
    site = Sites(lambda name: (make(["a", "b"] * 20, kind), h.Y), ["a", "b", "c"])
    with pytest.raises(TeacherError, match="teacher 0 failed: load must return X like X_public"):
        h.fit(ANY_ROWS, X=site, y=None, X_public=public)


@cases("make, kind", (arrow_frame, "text"), (polars_frame, "text"), (polars_frame, "fixed"))
def test_arrow_and_polars_columns_of_text_are_accepted(make, kind):
    private = make([h.TEXT, *"ab" * 19, "a"], kind)
    assert h.pate(**ANY_ROWS).fit(private, h.Y, make(["a", "b"] * 15, kind)).n_features_in_ == 1


def test_polars_categories_are_compared():
    polars = pytest.importorskip("polars", reason="needs polars")
    private = polars.Series(list("ab") * 20, dtype=polars.Enum("ab"))
    public = polars.Series(list("ab") * 15, dtype=polars.Enum("ba"))
    private, public = (polars.DataFrame({"kind": column}) for column in (private, public))
    with pytest.raises(ValueError, match=r"columns \['kind'\] of X and X_public have different"):
        h.fit(ANY_ROWS, X=private, X_public=public)


def test_arrow_tables_are_refused():
    arrow = pytest.importorskip("pyarrow", reason="needs pyarrow")
    private = arrow.table({"a": np.arange(40)})
    public = arrow.table({"a": np.arange(30)})
    with pytest.raises(ValueError, match="X and X_public must be arrays or DataFrames"):
        h.fit(ANY_ROWS, X=private, X_public=public)


# --- sites ---------------------------------------------------------------------------------------


def test_sites_are_compared_with_x_public():
    def load(name):
        kinds = ["b", "a"] if name == "d" else ["a", "b"]
        return pd.DataFrame({"kind": pd.Categorical(["a", "b"] * 20, categories=kinds)}), h.Y

    data = {"y": None, "X_public": pd.DataFrame({"kind": pd.Categorical(["a", "b"] * 15)})}
    message = "teacher 3 failed: load must return X like X_public"
    pytest.raises(TeacherError, h.fit, ANY_ROWS, X=Sites(load, list("abcd")), **data).match(message)
    h.fit(ANY_ROWS, X=Sites(load, list("efgh")), **data)
    arrays = Sites(lambda name: (h.X[:, :1], h.Y), list("abcd"))
    message = "teacher 0 failed: load must return X like X_public"
    pytest.raises(TeacherError, h.fit, ANY_ROWS, X=arrays, **data).match(message)


# --- rows that are no table, swapped arguments, labels of other libraries ------------------------

SWAPPED = r"X_public is 1-.* they may be swapped\. Call fit\(X, y, X_public\)"


test_x_and_x_public_refuse_objects_that_are_no_table = h.mistakes(
    ("a dict", lambda: h.fit(X={"a": h.X[:, 2]}), r"got a dict.*X = pandas.DataFrame\(X\)$"),
    ("a row", lambda: h.fitted().predict({"a": 1.0}), r"X = pandas.DataFrame\(\[X\]\)$"),
    ("dicts", lambda: h.fit(X=[{"a": 1.0}] * 40), r"got a list.*pandas.DataFrame\(X\)$"),
    ("a file", lambda: h.fit(X_public="public.csv"), "X_public .*got a str: read the file first"),
    ("a path", lambda: h.fit(X=Path("private.csv")), "got a PosixPath|got a WindowsPath"),
    ("a set", lambda: h.fit(X={1.0}), "got a set: give an array or a DataFrame"),
    ("wrapped", lambda: h.fit(X=PublicData(h.X)), "PublicData: it is for X_public alone"),
    ("a student", lambda: h.fitted().fit_student(GaussianNB()), "may be swapped; rows come first"),
    ("texts", lambda: h.fit(X=["a"] * 40, X_public=h.X_PUBLIC), r"X = pandas.DataFrame\(X\)"),
    ("a column", lambda: h.fit(X=h.frame()["a"]), r"X.to_frame\(\), or of one row"),
    ("no axes", lambda: h.fit(X_public=h.X_PUBLIC[0]), "got a 1D array.*for one sample$"),
    ("no rows", lambda: h.fit(X_public=h.X_PUBLIC[:0]), "a minimum of 1 is required.$"),
    ("y, a name", lambda: h.fit(y="a"), r"y should be a 1d array.*a str.*X.pop\(name\)"),
    ("y, an iterator", lambda: h.fit(y=iter(h.Y)), "y should be a 1d array.*_iterator|iterator"),
    ("objects", lambda: h.fit(y=h.Y.astype(object)), r"y.astype\(int\)"),
    ("one-hot", lambda: h.fit(y=np.eye(2)[h.Y]), r"one-hot.*argmax\(axis=1\)\..*several targets"),
    ("swapped", lambda: h.fit(y=h.X_PUBLIC, X_public=h.Y), SWAPPED),
    ("swapped, lists", lambda: h.fit(y=h.X_PUBLIC.tolist(), X_public=h.Y.tolist()), SWAPPED),
    ("overlap", lambda: overlap(h.X, h.X_PUBLIC, h.Y), SWAPPED),
    ("overlap, y", lambda: overlap(h.X, h.Y[1:], h.X_PUBLIC), "one label for each of the 40 rows"),
    ("overlap, None", lambda: overlap(h.X, h.Y, None), "got a NoneType"),
)


def test_lazy_frame_error_names_collect():
    pl = pytest.importorskip("polars", reason="needs polars")
    X, X_public = pl.DataFrame(h.X), pl.DataFrame(h.X_PUBLIC)
    with h.refused(r"X_public is a LazyFrame.*\n    X_public = X_public.collect\(\)$"):
        h.fit(X=X, X_public=X_public.lazy())
    with h.refused(r"X is a LazyFrame.*\n    X = X.collect\(\)$"):
        h.fit(X=X.lazy(), X_public=X_public)


def test_polars_error_without_pyarrow_names_the_package(monkeypatch):
    pl = pytest.importorskip("polars", reason="needs polars")
    monkeypatch.setattr(
        pl.DataFrame, "to_pandas", lambda self: (_ for _ in ()).throw(ModuleNotFoundError("pa"))
    )
    with h.refused("polars needs a package.*pip install pyarrow", ImportError):
        overlap(pl.DataFrame(h.X), h.Y, pl.DataFrame(h.X_PUBLIC))


#: NumPy's text of any length; numpy 1 has none, where text of one length takes its place.
NUMPY_TEXT = np.dtypes.StringDType() if hasattr(np.dtypes, "StringDType") else np.dtype(str)


def test_numpy_text_labels_are_fitted_and_scored():
    names = np.array(["no", "yes"])
    text = names.astype(NUMPY_TEXT)
    for classes in (["no", "yes"], text):
        with h.accepted():
            clf = h.pate(classes=classes).fit(h.X, text[h.Y], h.X_PUBLIC)
            assert set(clf.predict(h.X_PUBLIC)) <= {"no", "yes"}
            assert clf.score(h.X, text[h.Y]) == (clf.predict(h.X) == names[h.Y]).mean()


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="needs numpy 2")
def test_numpy_text_labels_that_are_missing_are_refused():
    missing = np.array(["no", None], dtype=np.dtypes.StringDType(na_object=None))[h.Y]
    with h.refused("y contains NaN"):
        h.fit({"classes": ["no", "yes"]}, y=missing)


@h.table(
    "text",
    ("objects", np.array(["u", "v"], dtype=object)),
    ("text", np.array(["u", "v"])),
    ("numpy text", np.array(["u", "v"]).astype(NUMPY_TEXT)),
)
def test_text_array_error_prints_code_that_converts_rows(text):
    X, X_public = text[h.Y][:, None], text[np.arange(30) % 2][:, None]
    X, X_public = np.repeat(X, 2, axis=1), np.repeat(X_public, 2, axis=1)
    params = {"classes": [0, 1], "epsilon": 20.0, "on_bad_plan": "warn"}
    with h.refused("array that holds text.*convert X and X_public to DataFrames") as caught:
        PATEClassifier(**params).fit(X, h.Y, X_public)
    names = {"X": X, "X_public": X_public, "pandas": pd}
    exec(str(caught.value).splitlines()[1].strip(), names)
    PATEClassifier(**params).plan(names["X"], h.Y, names["X_public"])


def test_text_array_error_of_default_teachers_prints_code():
    words = np.array([["u", "v"], ["v", "u"]], dtype=object)
    X, X_public = words[h.Y], words[np.arange(30) % 2]
    with h.refused(
        r"X_public: an array .* convert X and X_public to DataFrames,\n    X, X_public = .*\)\)\n"
    ):
        h.fit({"base_estimator": None}, X=X, X_public=X_public)
    with h.refused("X_public: an array that holds text"):
        h.fit_votes(base_estimator=None, X_public=X_public)


def test_overlap_is_printed_but_not_in_repr():
    found = overlap(h.X, h.Y, np.r_[h.X_PUBLIC, h.X[:3]])
    assert repr(found) == "Overlap(private)"
    assert "3 public rows equal a private row (positions 30, 31, 32)" in str(found)
    labelled = overlap(h.frame(label=h.Y), h.Y, h.frame(label=h.Y)[:20])
    assert str(labelled).endswith("labels: ['label']")
    assert "and 10 more" in str(labelled)


def test_row_vectorizer_transforms_sparse_rows_like_dense():
    rows = h.X * [1, 10, 1e3]
    dense, packed = (RowVectorizer().fit(form(rows)) for form in (np.asarray, sparse.csr_array))
    np.testing.assert_array_equal(packed.transform(sparse.csr_array(h.X)), dense.transform(h.X))

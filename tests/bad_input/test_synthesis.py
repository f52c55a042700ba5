"""Synthetic rows: tables, parameters, and fits that cannot work; that each remedy works."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from conftest import cases
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import VotingClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sklearn_pate import FitOnPublic, PATEClassifier
from sklearn_pate.aggregators import LaplaceMechanism
from sklearn_pate.encoding.targets import ClassTarget
from sklearn_pate.exceptions import BudgetExceededError
from sklearn_pate.methods import ReverseNeighbors
from sklearn_pate.synthesis import MarginalSynthesizer
from sklearn_pate.teachers import Sites

from .helpers import INF, LABEL, NAN, NUMBER, TEXT, X, accepted, each, each_of, refused, table

KINDS = pd.CategoricalDtype(["a", "b"])
FRAME = pd.DataFrame(
    {"age": [31, 64], "height": [NUMBER, 1.5], "kind": pd.Series(["a", "b"], dtype=KINDS)}
)
DECLARED = {"bounds": {"age": (0, 99), "height": (0, 2)}, "missing": []}


def declare(rows=FRAME, **params):
    return MarginalSynthesizer(**(DECLARED | params)).declare(rows, ClassTarget([0, 1]))


# --- tables --------------------------------------------------------------------------------------


class OfAnotherLibrary:
    columns = ("age",)
    dtypes = ("int",)
    shape = (2, 1)


@table(
    "rows, message",
    ("sparse", sparse.csr_matrix(X), r"X is a csr_matrix.*X.toarray\(\)"),
    ("three axes", np.zeros((2, 3, 3)), "two axes.*got 3 axes.*public rows"),
    ("one axis", X[:, 2], "two axes.*got 1 axes"),
    ("no columns", np.empty((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\) while"),
    ("text", np.array([[TEXT, "b"]]), "array of numbers.*columns of a DataFrame"),
    ("complex", X * 1j, "Complex data not supported"),
    ("masked", np.ma.masked_array(X, X > 1), "mask would be lost: fill it, .* X.filled"),
    ("ragged", [[1, 2], [NUMBER]], "X must be array-like"),
    ("no columns in a DataFrame", FRAME[[]], r"unique names; got \[\]"),
    ("duplicate columns", FRAME[["age", "age"]], r"unique names; got \['age', 'age'\]"),
    ("another library", OfAnotherLibrary(), r"OfAnotherLibrary, and .*X.to_pandas\(\)"),
    ("a generator", (row for row in X), "X is a generator, and a synthesizer requires"),
    ("sites", Sites(print, ["a", "b"]), "X is a Sites.*X_public"),
)
def test_declare_refuses_tables_without_columns_to_count(rows, message):
    with refused(message):
        declare(rows, bounds=(0, 1))


ODD = pd.DataFrame(
    {
        "word": ["a", TEXT, "a"],
        "day": pd.to_datetime(["2020-01-01", "2020-01-02", None]),
        "time": pd.to_timedelta([1, 2, 3]),
        "month": pd.period_range("2020-01", periods=3, freq="M"),
        "dense": pd.arrays.SparseArray([0.0, 0.0, 1.0]),
        "z": [1j, 2, 0],
    }
)


@each("name", list(ODD))
def test_declare_refuses_bounds_for_columns_without_numbers(name):
    with refused(rf"are for numbers without categories, not for \['{name}'\]: give a list"):
        declare(ODD[[name]], bounds={name: (0, 3000)})
    with accepted():
        declare(ODD[[name]], bounds=None)  # its schema is estimated


def test_declare_accepts_columns_that_are_left_out():
    with accepted():
        assert declare(bounds=None).schema_source == "estimated"
        assert declare(bounds={"age": (0, 99)}).schema_source == "partly estimated"
        assert declare(FRAME[["kind"]], bounds=None).schema_source == "estimated"


def test_declare_refuses_text_arrays_without_showing_their_length():
    with refused("got 2 axes of text"):
        declare(np.array([["a" * 30, "b"], ["c", "d"]]))


# --- parameters ----------------------------------------------------------------------------------


@each_of(
    {
        "bounds": (3, "x", {1, 2}),
        "categories": (["a"], "x", 3),
        "n_rows": (0, 2.5, "x", None),
        "n_bins": (2, 3.5, "x", None),
        "epsilon_fraction": (0, 1, -0.1, NAN, True, "x"),
        "noise": (3.0, "laplace", LaplaceMechanism),
    }
)
def test_synthesizer_parameter_refuses_wrong_type_or_range(name, value):
    with refused(f"'{name}' parameter of MarginalSynthesizer must be"):
        declare(**{name: value})


PAIR = r"must be a tuple or list of two finite numbers, \(low, high\) with low <= high, or of"
WRONG = ((90, 17), (1,), (), (0, INF), (NAN, 1), ("a", "b"), (None, 3), (0, 5, 5, 9), (0, 9, 5))


@each("bounds", (*WRONG, np.zeros((2, 2))))
def test_bounds_refuse_wrong_numbers(bounds):
    for given in (bounds, {"age": bounds, "height": (0, 2)}):
        with refused(f"bounds of column 'age' {PAIR}"):
            declare(bounds=given)


def of_age(*bounds):
    return {"bounds": DECLARED["bounds"] | {"age": bounds}}


def of_height(*bounds):
    return {"bounds": DECLARED["bounds"] | {"height": bounds}}


HOLD = r"'height' must be from -8e\+307 to 8e\+307, as its dtype is float64"
BETWEEN = "'age' must be from .* with at least one whole number between the last two"


@table(
    "params, message",
    ("unknown column", {"bounds": {"y": (0, 1)}}, r"unknown columns \['y'\];.*are \['age',"),
    ("a list as a name", {"missing": [["age"]]}, r"missing has the unknown columns \[\['age'\]\]"),
    ("bounds of a category", {"bounds": {"kind": (0, 1)}}, r"not for \['kind'\]"),
    ("both", {"categories": {"age": [31]}}, r"not for \['age'\]"),
    ("unknown categories", {"categories": {"k": [1]}}, r"categories has the unknown columns \['k'"),
    ("missing: unknown", {"missing": ["k"]}, r"missing has the unknown columns \['k'\]"),
    ("missing: one name", {"missing": "height"}, "missing must be a list.*got 'height'"),
    ("missing in whole numbers", {"missing": ["age"]}, "cannot hold missing values.*Int64"),
    ("no number between", of_age(0.2, 0.8), BETWEEN),
    ("beyond int64", of_age(0, 2**63), "'age'.*from -9223372036854775808 to"),
    ("beyond float64", of_height(0, 10**400), HOLD),
    ("difference beyond float64", of_height(-1.7e308, 1.7e308), HOLD),
)
def test_synthesizer_parameters_that_do_not_match_columns_are_refused(params, message):
    with refused(message):
        declare(**params)


@cases("dtype, bounds", ("int8", (0, 200)), ("uint8", (-1, 3)), ("float16", (0, 1e5)))
def test_bounds_beyond_the_dtype_are_refused(dtype, bounds):
    with refused("bounds of column 0 must"):
        declare(np.array([[1], [3]], dtype=dtype), bounds=bounds)


LIST = "must be a list of values, in an order"
INT8 = "its dtype, int8, can hold"
DIFFERENT = "must be different values that its dtype, .* can hold, none of them missing"


@table(
    "column, categories, message",
    ("none", "name", [], DIFFERENT),
    ("text", "name", "ab", f"{LIST}.*got 'ab'"),
    ("twice", "name", ["a", "b", "a"], DIFFERENT),
    ("a missing one", "name", ["a", None], DIFFERENT),
    ("a list within", "name", [["a"], ["b"]], DIFFERENT),
    ("not all of the dtype", "kind", ["a", "z"], "published, differ from the declared"),
    ("more than the dtype", "kind", ["a", "b", "c"], "published, differ from the declared"),
    ("beyond the dtype", "small", [1, 300], INT8),
    ("missing in whole numbers", "small", [1, None], INT8),
    ("rounded to one", "half", [1.0, 1.00001], "its dtype, float16, can hold"),
)
def test_categories_refuse_wrong_values(column, categories, message):
    rows = FRAME.assign(name=[TEXT, "x"], small=[1, 2], half=[1, 2])
    rows = rows.astype({"small": "int8", "half": "float16"})[[column]]
    with refused(message):
        declare(rows, bounds=None, categories={column: categories})


def test_declare_refuses_dtypes_whose_codes_depend_on_rows():
    arrow = pytest.importorskip("pyarrow", reason="needs pyarrow")
    coded = pd.ArrowDtype(arrow.dictionary(arrow.int32(), arrow.string()))
    rows = pd.DataFrame({"kind": pd.Series([TEXT, "b"], dtype=coded)})
    with refused("cannot draw values of the dtypes of columns|can hold"):
        declare(rows, bounds=None, categories={"kind": ["a", "b"]})


# --- calls ---------------------------------------------------------------------------------------


@table(
    "more, message",
    ("groups that are missing", {"groups": [TEXT, None]}, "groups has a missing value"),
    ("one group", {"groups": [1]}, "groups must have one identifier per record, shape .2,"),
)
def test_synthesize_refuses_groups_that_do_not_match_rows(more, message):
    synthesizer = declare(noise=LaplaceMechanism(3.0))
    rng = np.random.default_rng(0)
    given = {"codes": np.array([0, 1]), "target": ClassTarget([0, 1]), "noise": rng, "rng": rng}
    with refused(message):
        synthesizer.synthesize(FRAME, **(given | more))


# --- odd calls that work -------------------------------------------------------------------------


@table(
    "values, params",
    ("values outside", [-5, 7, 2**40], {"bounds": (0, 3)}),
    ("nothing but missing", [NAN, NAN], {"bounds": (0, 3)}),
    ("one value", [7, 7], {"bounds": (7, 7)}),
    ("neighbouring floats", [1.0], {"bounds": (1.0, np.nextafter(1, 2))}),
    ("few bins", [7.5, 7.5], {"bounds": (0, 9), "n_bins": np.int8(3)}),
    ("no rows", np.array([], dtype=int), {"bounds": (0, 9)}),
    ("numpy's numbers", np.array([200], "uint8"), {"bounds": (np.uint8(1), np.uint8(255))}),
    ("an array of bounds", [7], {"bounds": {"a": np.array([0, 5, 9])}}),
    ("unknown categories only", [TEXT, TEXT], {"bounds": None, "categories": {"a": ["b"]}}),
)
def test_synthesize_accepts_odd_tables(values, params):
    rows = pd.DataFrame({"a": values})
    with accepted():
        synthesizer = declare(rows, **params, noise=LaplaceMechanism(3.0))
        generators = {"noise": np.random.default_rng(0), "rng": np.random.default_rng(1)}
        codes = np.zeros(len(rows), dtype=int)
        sampled = synthesizer.synthesize(rows, codes, target=ClassTarget([0, 1]), **generators)
    assert sampled.shape == (5000, 1) and not sampled["a"].isna().any()


# --- fits without public rows that cannot work ----------------------------------------------------

RNG = np.random.default_rng(0)
N = 1000
ROWS = pd.DataFrame({"age": RNG.uniform(20, 80, N), "visits": RNG.uniform(0, 9, N)})
LABELS = (ROWS["age"] > 50).astype(int).to_numpy()
ROWS.loc[0, "visits"] = NUMBER
MIXED = ROWS.assign(job=pd.Categorical(RNG.choice(["nurse", "clerk"], N)))
WORDS = np.array(["no", "yes"])[LABELS]


def marginals(**params):
    bounds = {"age": (20, 80), "visits": (0, 9)}
    return MarginalSynthesizer(**({"bounds": bounds, "missing": [], "n_rows": 300} | params))


def pate(**params):
    given = {"synthesizer": marginals(), "epsilon": 4.0, "classes": [0, 1], "random_state": 0}
    return PATEClassifier(**given | params)


def records(**params):
    return pate(**{"method": ReverseNeighbors()} | params)


def teachers(**params):
    return pate(**{"base_estimator": GaussianNB(), "n_teachers": 20} | params)


@pytest.mark.parametrize("make", [records, teachers])
def test_unit_group_requires_groups(make):
    clf = make(unit="group")
    with refused("(requires the argument groups|to fit or poll): one identifier per record. Sea"):
        clf.fit(ROWS, LABELS)
    with accepted():
        assert clf.fit(ROWS, LABELS, groups=np.arange(N)).privacy_spent_.unit == "group"


@pytest.mark.parametrize("make", [records, teachers])
def test_synthesizer_refuses_an_epsilon_that_pays_for_no_rows(make):
    with refused("MarginalSynthesizer cannot be calibrated to epsilon", BudgetExceededError):
        make(epsilon=1e-9, delta=1e-12).plan(ROWS, LABELS)
    with accepted():
        make(epsilon=4.0, delta=1e-12).plan(ROWS, LABELS)


def test_synthesizer_requires_noise_without_epsilon():
    params = {"epsilon": None, "aggregator": LaplaceMechanism(2.0)}
    with refused(r"epsilon is None; set epsilon, or .*noise=LaplaceMechanism\(scale\)"):
        records(**params).plan(ROWS, LABELS)
    with accepted():
        records(synthesizer=marginals(noise=LaplaceMechanism(3.0)), **params).plan(ROWS, LABELS)


@each("rows", [ROWS, ROWS.to_numpy()])
def test_x_and_y_in_swapped_places_are_reported(rows):
    undrawn = records().set_params(synthesizer=None)
    for clf, public in ((records(), {}), (undrawn, {"X_public": rows})):
        with refused("they may be swapped"):
            clf.fit(LABELS, rows, **public)
        with refused("Expected X to be an array with two or|two axes"):
            clf.fit(LABELS, LABELS[:, None], **public)


@pytest.mark.slow
def test_classes_error_within_ensembles_gives_the_numbers():
    def within(classes):
        return VotingClassifier([("private", records(classes=classes))])

    with refused("in the type that y has: classes are text, y holds numbers"):
        within(["no", "yes"]).fit(ROWS, WORDS)
    with refused("classes must list all labels that may occur, in the type that y has$"):
        records().fit(ROWS, LABELS * LABEL)  # which no ensemble made
    with accepted():
        assert within(range(2)).fit(ROWS, WORDS).score(ROWS[1:], WORDS[1:]) > 0.8


@pytest.mark.slow
def test_fit_on_public_without_public_rows_names_a_remedy():
    scaler = StandardScaler()
    with refused(r"got no X_public.* with a synthesizer.*ReverseNeighbors\(transformer\)"):
        make_pipeline(FitOnPublic(scaler), records()).fit(ROWS, LABELS)
    with accepted():
        records(method=ReverseNeighbors(scaler)).fit(ROWS, LABELS)
        teachers(base_estimator=make_pipeline(scaler, GaussianNB())).fit(ROWS, LABELS)


@pytest.mark.slow
def test_transformer_of_numbers_refuses_mixed_columns_with_a_remedy():
    numbers, others = ["age", "visits"], ["job"]
    with refused(
        "could not convert string to float.*columns of several kinds, leave transformer=None"
    ):
        records(method=ReverseNeighbors(StandardScaler())).fit(MIXED, LABELS)
    words = OneHotEncoder(handle_unknown="ignore")
    of_each = make_column_transformer((StandardScaler(), numbers), (words, others))
    with accepted():
        records(method=ReverseNeighbors(of_each)).fit(MIXED, LABELS)


# --- noise that exceeds the columns, by public numbers alone --------------------------------------

FEW = pd.DataFrame(RNG.uniform(0, 9, (4000, 40)), columns=[f"c{k}" for k in range(40)])


def noise_exceeds_signal(n_records=400, n_columns=30, *, aggregator=None, method=None, **params):
    """Return the warning of a plan about the noise of synthetic rows; None if there is none."""
    rows = FEW.iloc[:n_records, :n_columns]
    epsilon = params.pop("epsilon", 1.0)
    synthesizer = MarginalSynthesizer((0, 9), **({"missing": []} | params))
    clf = records(
        method=method or ReverseNeighbors(),
        synthesizer=synthesizer,
        epsilon=epsilon,
        aggregator=aggregator,
    )
    with warnings.catch_warnings(action="error"):
        plan = clf.plan(rows, np.arange(n_records) % 2)
    found = [text for text in plan.advice if text.startswith("too few records for the noise")]
    # No share of right labels where records vote, and nothing is explained before rows are drawn
    assert "\nright " not in str(plan) and "\nexplained" not in str(plan)
    assert ("\n! too few records for the noise" in str(plan)) == bool(found)
    return found[0] if found else None


@pytest.mark.slow
def test_noise_warning_of_synthetic_rows_names_remedies_that_work():
    text = noise_exceeds_signal(400, 10)
    n_needed = int(re.search(r"about (\d+) are needed", text)[1])
    assert n_needed > 400 and "fewer columns, lower n_bins" in text
    assert (
        noise_exceeds_signal(n_needed + 1, 10) is None
        and noise_exceeds_signal(n_needed - 1, 10) is not None
    )
    assert (
        noise_exceeds_signal(400, 2, n_bins=3) is None
        and noise_exceeds_signal(400, 10, epsilon=50.0) is None
    )


def test_noise_warning_of_synthetic_rows_counts_bins_of_a_class():
    for n_records in (700, 900, 1100):
        std = np.sqrt(2) * 2 * 6 / 0.4
        assert (noise_exceeds_signal(n_records, 5) is None) == (
            std * np.sqrt(32) / (n_records / 2) <= 0.4
        )


@pytest.mark.slow
def test_noise_warning_of_synthetic_rows_hides_private_n_records():
    private = {"method": ReverseNeighbors(relation="add_or_remove_one")}
    texts = [noise_exceeds_signal(n, 30, n_rows=500, **private) for n in (300, 2000)]
    assert texts[0] == texts[1] and "500 rows to draw" in texts[0]
    assert noise_exceeds_signal(300, 30, n_rows=5000, **private) is None


def test_fit_warns_of_noise_above_the_columns():
    rows, labels = load_breast_cancer(return_X_y=True)
    clf = records(synthesizer=MarginalSynthesizer((0, 5000), missing=[], n_rows=200), epsilon=1.0)
    with accepted(
        "too few records for the noise on the histograms of the columns: there are 569 private"
    ):
        # With such rows, whether the table has a signal is a matter of luck
        warnings.filterwarnings("ignore", "the released numbers may be little better")
        clf.fit(rows, labels)

"""Synthetic rows: what is public of the table, the parameters, and how both go together."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone

from sklearn_pate.aggregators import LaplaceMechanism
from sklearn_pate.synthesis import MarginalSynthesizer
from sklearn_pate.teachers import Sites

from .helpers import (
    INF,
    NAN,
    NO_FLOATS,
    NUMBER,
    TEXT,
    X,
    accepted,
    each,
    each_of,
    refused,
    secrets_in,
    table,
)

KINDS = pd.CategoricalDtype(["a", "b"])
FRAME = pd.DataFrame(
    {"age": [31, 64], "height": [NUMBER, 1.5], "kind": pd.Series(["a", "b"], dtype=KINDS)}
)
SAID = {"bounds": {"age": (0, 99), "height": (0, 2)}, "missing": []}


def declare(rows=FRAME, **params):
    return MarginalSynthesizer(**(SAID | params)).declare(rows, [0, 1])


def of_text(dtype=object):
    return FRAME.assign(name=pd.Series([TEXT, "x"], dtype=dtype))


# --- tables --------------------------------------------------------------------------------------


class OfAnotherLibrary:
    columns = ("age",)
    dtypes = ("int",)
    shape = (2, 1)


@table(
    "rows, message",
    {
        "sparse": (sparse.csr_matrix(X), r"X is sparse.*X.toarray\(\)"),
        "sparse array": (sparse.coo_array(X), "X is sparse"),
        "three axes": (np.zeros((2, 3, 3)), "two axes.*got 3 axes and 9 features.*public rows"),
        "one axis": (X[:, 2], "two axes.*got 1 axes"),
        "no columns": (np.empty((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\) while"),
        "text": (np.array([[TEXT, "b"]]), "array of numbers.*columns of a DataFrame"),
        "objects": (np.array([[TEXT, 1]], dtype=object), "array of numbers"),
        "complex": (X * 1j, "Complex data not supported"),
        "dates": (np.array([["2020-01-01"]], dtype="datetime64[D]"), "array of numbers"),
        "masked": (
            np.ma.masked_array(X, X > 1),
            r"X is a masked array, whose mask would be lost: give X.filled",
        ),
        "ragged": ([[1, 2], [NUMBER]], "X must be array-like"),
        "lists of text": ([[TEXT]], "array of numbers"),
        "no columns in a DataFrame": (FRAME[[]], "X has no columns"),
        "duplicate columns": (FRAME[["age", "age"]], r"unique column names, got \['age', 'age'\]"),
        "another library": (OfAnotherLibrary(), r"OfAnotherLibrary, and .*X.to_pandas\(\)"),
        "a Series": (FRAME["height"], "two axes.*got 1 axes"),
        "a generator": ((row for row in X), "X is a generator, and a synthesizer needs all"),
        "None": (None, "X is a NoneType"),
        "sites": (Sites(print, ["a", "b"]), "X is a Sites.*pass public rows, X_public"),
    },
)
def test_tables_without_columns_to_count(rows, message):
    with refused(message):
        declare(rows, bounds=(0, 1))


@table(
    "rows, message",
    {
        "text": (of_text(), r"\['name'\] \(dtype object\).*to_numeric.*categories={.*names$"),
        "text of pandas 3": (of_text("str"), r"\['name'\] \(dtype (str|object)"),
        "text, string": (of_text("string"), r"\['name'\] \(dtype str"),
        "dates": (
            FRAME.assign(day=pd.to_datetime(["2020-01-01", "2020-01-02"])),
            r"\['day'\] \(dtype datetime64\[.s\]\): make numbers of dates.*dt.days$",
        ),
        "lengths of time": (
            FRAME.assign(time=pd.to_timedelta([1, 2])),
            r"\['time'\] \(dtype timedelta64.*total_seconds\(\)$",
        ),
        "complex": (FRAME.assign(z=[1j, 2]), r"\['z'\] \(dtype complex128\): make two columns"),
        "sparse": (
            FRAME.assign(s=pd.arrays.SparseArray([0.0, NUMBER])),
            r"\['s'\] \(dtype Sparse.*: make them dense",
        ),
        "months": (
            FRAME.assign(m=pd.period_range("2020-01", periods=2, freq="M")),
            r"\['m'\] \(dtype period\[M\]\): make numbers of them",
        ),
    },
)
def test_columns_that_are_neither_numbers_nor_categories(rows, message):
    with refused(message):
        declare(rows)


ODD = pd.DataFrame(
    {
        "amount": ["12", TEXT, "7"],
        "word": ["a", "b", "a"],
        "day": pd.to_datetime(["2020-01-01", "2020-01-02", None]),
        "time": pd.to_timedelta([1, 2, 3]),
        "month": pd.period_range("2020-01", periods=3, freq="M"),
        "coded": pd.Categorical(["1", "2", "x"]),
        "true": [True, False, True],
        "dense": pd.arrays.SparseArray([0.0, 0.0, 1.0]),
        "z": [1j, 2, 0],
    }
)


@table(
    "name, message, mended",
    {
        "text": ("amount", "to_numeric", lambda x: pd.to_numeric(x, errors="coerce")),
        "dates": ("day", "dt.days", lambda x: x.sub(pd.Timestamp("2020-01-01")).dt.days),
        "years": ("day", "dt.year", lambda x: x.dt.year),
        "lengths of time": ("time", "dt.total_seconds", lambda x: x.dt.total_seconds()),
        "months": ("month", "dt.year", lambda x: x.dt.year),
        "sparse": ("dense", "make them dense", lambda x: x.sparse.to_dense()),
        "categories": (
            "coded",
            "to_numeric",
            lambda x: pd.to_numeric(x.astype(object), errors="coerce"),
        ),
    },
)
def test_a_column_in_bounds_that_is_made_numbers(name, message, mended):
    bounds = {name: (0, 3000)}
    with refused(rf"bounds are for columns .*not for \['{name}'\] \(dtype .*{message}"):
        declare(ODD[[name]], bounds=bounds)
    with accepted():
        declare(ODD[[name]].apply(mended), bounds=bounds, missing=[])


@table(
    "name, left",
    {
        "text": ("word", {"categories": {"word": ["a", "b"]}}),
        "truth values": ("true", {}),
        "categories": ("coded", {}),
    },
)
def test_a_column_in_bounds_that_is_left_out(name, left):
    with refused(rf"not for \['{name}'\]"):
        declare(ODD[[name]], bounds={name: (0, 3)})
    with accepted():
        declare(ODD[[name]], bounds=None, **left)


def test_complex_numbers_are_two_columns():
    z = ODD["z"].to_numpy()
    with refused("make two columns of real numbers"):
        declare(ODD[["z"]], bounds={"z": (0, 3)})
    with accepted():
        declare(pd.DataFrame({"real": z.real, "imag": z.imag}), bounds=(0, 3))


def test_remedies_are_those_of_the_columns():
    with refused("Timestamp") as caught:
        declare(ODD[["day"]], bounds=None)
    assert "categories=" not in str(caught.value) and "dense" not in str(caught.value)


def test_many_such_columns_are_not_all_named():
    rows = pd.DataFrame({f"c{k}": [TEXT] for k in range(300)})
    with refused(r"'c19'\] and 280 more \(dtype"):
        MarginalSynthesizer().declare(rows, [0, 1])


# --- parameters ----------------------------------------------------------------------------------


@each_of(
    {
        "bounds": (3, "x", {1, 2}),
        "categories": (["a"], "x", 3),
        "n_rows": (*NO_FLOATS, 0, -1, 2.5, NAN, "x", None),
        "n_bins": (*NO_FLOATS, 0, -1, 2.5, NAN, "x", None),
        "given_label": (2, "yes", None),
        "share": (*NO_FLOATS, 0, 1, -0.1, 1.5, NAN, INF, "x"),
        "noise": (3.0, "laplace", LaplaceMechanism),
    }
)
def test_a_parameter_of_a_wrong_type_or_size(name, value):
    with refused(f"'{name}' parameter of MarginalSynthesizer must be"):
        declare(**{name: value})


PAIR = r"must be two finite numbers \(low, high\), low not above high, or more"


@table(
    "bounds",
    {
        "reversed": (90, 17),
        "one number": (1,),
        "none": (),
        "not finite": (0, INF),
        "NaN": (NAN, 1),
        "text": ("a", "b"),
        "None": (None, 3),
        "edges that do not increase": (0, 5, 5, 9),
        "edges that fall": (0, 9, 5),
        "an array of two axes": np.zeros((2, 2)),
    },
)
def test_wrong_bounds(bounds):
    with refused(f"bounds {PAIR}"):
        declare(bounds=bounds)
    with refused(f"bounds of column 'age' {PAIR}"):
        declare(bounds={"age": bounds, "height": (0, 2)})


THREE = [(0, 3), (0, 30), (-5, 5)]


def zipped(*given):
    return list(zip(*given, strict=True))


NUMBERS = pd.DataFrame({"a": [1, 2], "b": [0.5, 3], "c": [NUMBER, 0]})


@table(
    "rows",
    {"a DataFrame": NUMBERS, "an array": NUMBERS.to_numpy()},
)
@each("bounds", [THREE, tuple(THREE), np.array(THREE), [[0, 3], np.array([0, 30]), (-5, 5)]])
def test_a_pair_for_each_column_in_order(rows, bounds):
    names = list(getattr(rows, "columns", range(3)))
    with accepted():
        synthesizer = declare(rows, bounds=bounds)
        by_name = declare(rows, bounds=dict(zipped(names, THREE)))
    some = [s.rehearsal_rows(50, np.random.default_rng(0)) for s in (synthesizer, by_name)]
    np.testing.assert_array_equal(*some)
    one = declare(rows[["a"]] if hasattr(rows, "columns") else rows[:, :1], bounds=[(0, 3)])
    assert one.schema_.columns[0].n_bins <= 32


@table(
    "rows, bounds, message, mended",
    {
        "low and high": (
            NUMBERS,
            np.transpose(THREE),
            "list.zip",
            lambda x: list(zip(*x, strict=True)),
        ),
        "two columns": (X[:, :2], THREE[:2], "dict.enumerate", lambda x: dict(enumerate(x))),
        "two columns of a DataFrame": (
            NUMBERS[["a", "b"]],
            np.array(THREE[:2]),
            r"dict\(zip\(X.columns, bounds",
            lambda x: dict(zipped("ab", x)),
        ),
        "not all are numbers": (
            FRAME,
            THREE,
            r"dict\(zip\(X.columns, bounds.*numbers alone",
            lambda x: dict(zipped(["age", "height"], x[:2])),
        ),
        "of the numbers alone": (
            FRAME,
            THREE[:2],
            "which of the 3 columns of X each pair is of",
            lambda x: {"age": x[0], "height": x[1]},
        ),
        "ladders": (
            NUMBERS,
            [(0, 1, 2)] * 3,
            "dict.zip",
            lambda x: dict(zipped("abc", x)),
        ),
    },
)
def test_pairs_that_may_be_of_other_columns(rows, bounds, message, mended):
    with refused(f"bounds {PAIR}.*{message}"):
        declare(rows, bounds=bounds)
    with accepted():
        declare(rows, bounds=mended(bounds))


@pytest.mark.parametrize("bounds", [3, None, "ab", {"low": 0}, np.array(3)], ids=repr)
def test_bounds_of_a_column_that_are_no_list(bounds):
    with refused(f"bounds of column 'age' {PAIR}"):
        declare(bounds={"age": bounds})


@table(
    "params, message",
    {
        "bounds of an unknown column": (
            {"bounds": {"years": (0, 1)}},
            r"bounds names \['years'\], which X does not have; its columns are \['age',",
        ),
        "bounds by position of a DataFrame": ({"bounds": {0: (0, 1)}}, r"bounds names \[0\]"),
        "bounds of a category": (
            {"bounds": {"kind": (0, 1)}},
            r"bounds are for columns of num.*not for \['kind'\] \(dtype category\).*leave them out",
        ),
        "bounds and categories": (
            {"categories": {"age": [31, 64]}},
            r"not for \['age'\] \(dtype int64\): they have categories; give bounds or cate",
        ),
        "categories of an unknown column": ({"categories": {"k": [1]}}, r"categories names \['k'"),
        "missing: an unknown column": ({"missing": ["k"]}, r"missing names \['k'\], which"),
        "missing: a list within": ({"missing": [["age"]]}, r"missing names \[\['age'\]\], which"),
        "missing: one name": ({"missing": "height"}, "missing must be a list.*got 'height'"),
        "missing: True": ({"missing": True}, "missing must be a list.*got True"),
        "missing in whole numbers": (
            {"missing": ["age"]},
            r"missing names \['age'\], whose dtype holds no missing values.*Int64",
        ),
        "no whole number between": ({"bounds": {"age": (0.2, 0.8)}}, "'age' must have whole num"),
        "no whole number between edges": (
            {"bounds": {"age": (0, 1.1, 1.9, 3)}},
            "'age' must have whole numbers between them, and between any two edges",
        ),
        "beyond int64": ({"bounds": {"age": (0, 2**63)}}, "'age'.*from -9223372036854775808 to"),
        "far beyond": ({"bounds": {"age": (0, 10**400)}}, "'age' must have whole numbers"),
        "beyond float64": ({"bounds": {"height": (0, 10**400)}}, "'height' must be within"),
        "difference beyond float64": (
            {"bounds": {"height": (-1.7e308, 1.7e308)}},
            "'height' must be within what its dtype, float64, can hold, and so must their diff",
        ),
    },
)
def test_parameters_that_do_not_fit_the_columns(params, message):
    with refused(message):
        declare(**params)


@table(
    "rows, bounds",
    {
        "int8": (np.array([[1], [3]], dtype="int8"), (0, 200)),
        "uint8": (np.array([[1], [3]], dtype="uint8"), (-1, 3)),
        "float16": (np.array([[1], [3]], dtype="float16"), (0, 1e5)),
    },
)
def test_bounds_that_a_dtype_cannot_hold(rows, bounds):
    with refused("bounds of column 0 must"):
        MarginalSynthesizer(bounds, missing=[]).declare(rows, [0, 1])


DIFFERENT = "must be different values that its dtype, .* can hold, at least one of them not missing"


@table(
    "column, categories, message",
    {
        "none": ("name", [], "must be a list of values, in an order"),
        "text": ("name", "ab", "must be a list of values.*got 'ab'"),
        "a set": ("name", {"a", "b"}, "must be a list of values, in an order"),
        "None": ("name", None, "must be a list of values"),
        "twice": ("name", ["a", "b", "a"], DIFFERENT),
        "only a missing one": ("name", [None, NAN], DIFFERENT),
        "a list within": ("name", [["a"], ["b"]], DIFFERENT),
        "not among those of the dtype": ("kind", ["a", "z"], "its dtype, category, can hold"),
        "beyond the dtype": ("small", [1, 300], "its dtype, int8, can hold"),
        "halves of whole numbers": ("small", [1, 1.5], "its dtype, int8, can hold"),
        "missing in whole numbers": ("small", [1, None], "its dtype, int8, can hold"),
        "text in numbers": ("small", ["a"], "its dtype, int8, can hold"),
        "truth values": ("ill", ["yes"], "its dtype, bool, can hold"),
        "rounded to one": ("half", [1.0, 1.00001], "its dtype, float16, can hold"),
        "sparse": ("sparse", [0.0, 1.0], r"\['sparse'\] \(dtype Sparse.*make them dense"),
    },
)
def test_wrong_categories(column, categories, message):
    rows = of_text().assign(
        small=np.array([1, 2], dtype="int8"),
        ill=[True, False],
        half=np.array([1, 2], dtype="float16"),
        sparse=pd.arrays.SparseArray([0.0, 1.0]),
    )
    rows = rows.drop(columns=["sparse"] if column != "sparse" else [])
    with refused(message):
        declare(rows, categories={"name": ["a", "b"]} | {column: categories})


def test_types_whose_codes_depend_on_the_rows():
    arrow = pytest.importorskip("pyarrow", reason="needs pyarrow")
    coded = pd.ArrowDtype(arrow.dictionary(arrow.int32(), arrow.string()))
    rows = pd.DataFrame({"kind": pd.Series([TEXT, "b"], dtype=coded)})
    with refused("cannot draw rows of the dtypes of X|can hold"):
        declare(rows, bounds=None, categories={"kind": ["a", "b"]})


# --- calls ---------------------------------------------------------------------------------------


def test_calls_before_declare():
    synthesizer = MarginalSynthesizer(noise=LaplaceMechanism(3.0))
    rng = np.random.default_rng(0)
    for call in (
        lambda: synthesizer.cost(2),
        lambda: synthesizer.rehearsal_rows(3, rng),
        lambda: synthesizer.draw(FRAME, np.array([0, 1]), n_classes=2, noise=rng, rng=rng),
    ):
        with refused("knows no columns yet; call declare"):
            call()


@table(
    "copied",
    {
        "new": lambda synthesizer: synthesizer,
        "a clone of one that knows columns": clone,
        "unpickled": lambda synthesizer: pickle.loads(pickle.dumps(clone(synthesizer))),
    },
)
def test_tools_that_ask_for_every_attribute_before_declare(copied):
    synthesizer = copied(declare() if copied is clone else MarginalSynthesizer((0, 1)))
    assert not hasattr(synthesizer, "n_tables")
    assert "draw" in dir(synthesizer)
    is_filtered = "__dir__" in vars(BaseEstimator)  # by newer versions of scikit-learn
    assert "n_tables" not in dir(synthesizer) or not is_filtered
    assert "MarginalSynthesizer" in synthesizer._repr_html_()


@table(
    "more, message",
    {
        "text as weights": ({"sample_weight": [TEXT, 1]}, "sample_weight must be array-like"),
        "text as labels": ({"codes": [TEXT, "b"]}, "codes must be a whole number from 0 to 1"),
        "ragged labels": ({"codes": [[0, NUMBER], [1]]}, "codes must be array-like"),
        "groups that are missing": ({"groups": [TEXT, None]}, "groups has a missing value"),
        "groups that are no identifiers": ({"groups": [NUMBER, 2]}, "groups has"),
    },
)
def test_private_arrays_that_do_not_go_with_the_rows(more, message):
    synthesizer = declare(noise=LaplaceMechanism(3.0))
    rng = np.random.default_rng(0)
    given = {"codes": [0, 1], "n_classes": 2, "noise": rng, "rng": rng}
    with refused(message):
        synthesizer.draw(FRAME, **(given | more))


@pytest.mark.parametrize("n_moved", [0, -1, 1.5, None, "x"])
def test_a_wrong_number_of_changes(n_moved):
    with refused("n_moved must be a whole number, at least 1"):
        declare(noise=LaplaceMechanism(3.0)).cost(n_moved)


# --- what is odd, and works ----------------------------------------------------------------------


@table(
    "rows, params",
    {
        "values outside": (pd.DataFrame({"a": [-5, 7, 2**40]}), {"bounds": (0, 3)}),
        "missing without a bin": (pd.DataFrame({"a": [NAN, 1.0]}), {"bounds": (0, 3)}),
        "nothing but missing": (pd.DataFrame({"a": [NAN, NAN]}), {"bounds": (0, 3)}),
        "one value": (pd.DataFrame({"a": [7, 7]}), {"bounds": (7, 7)}),
        "one value, float": (pd.DataFrame({"a": [7.5, 7.5]}), {"bounds": (7.5, 7.5)}),
        "neighbouring floats": (pd.DataFrame({"a": [1.0]}), {"bounds": (1.0, np.nextafter(1, 2))}),
        "one bin": (pd.DataFrame({"a": [7.5, 7.5]}), {"bounds": (0, 9), "n_bins": 1}),
        "no rows": (pd.DataFrame({"a": np.array([], dtype=int)}), {"bounds": (0, 9)}),
        "numpy's numbers": (
            pd.DataFrame({"a": np.array([200], dtype="uint8")}),
            {"bounds": (np.uint8(1), np.uint8(255)), "n_bins": np.int8(100)},
        ),
        "an array of bounds": (pd.DataFrame({"a": [7]}), {"bounds": {"a": np.array([0, 5, 9])}}),
        "an index of categories": (
            pd.DataFrame({"a": [7]}),
            {"bounds": None, "categories": {"a": pd.Index([7, 8])}},
        ),
        "unknown categories only": (
            pd.DataFrame({"a": [TEXT, TEXT]}),
            {"bounds": None, "categories": {"a": ["b"]}},
        ),
    },
)
def test_odd_tables_that_work(rows, params):
    with accepted():
        synthesizer = declare(rows, **params, noise=LaplaceMechanism(3.0))
        generators = {"noise": np.random.default_rng(0), "rng": np.random.default_rng(1)}
        codes = np.zeros(len(rows), dtype=int)
        drawn = synthesizer.draw(rows, codes, n_classes=2, **generators)
    assert drawn.shape == (5000, 1) and not drawn["a"].isna().any()


# --- what noisy counts tell ----------------------------------------------------------------------

RECORDS = pd.DataFrame(
    {
        "age": np.arange(5000) % 73 + 18,
        "income": 1000.0 * (np.arange(5000) % 100),
        "job": pd.Series(["nurse", "clerk", TEXT, "none"] * 1250, dtype=object),
        "height": np.where(np.arange(5000) % 5 > 2, 1.5 + np.arange(5000) % 40 / 100, NAN),
        "gained": np.where(np.arange(5000) % 25, 0, 99),
    }
)
CODES = np.arange(5000) // 7 % 2
FITS = {
    "bounds": {"age": (18, 90), "income": (0, 100_000), "height": (1, 2.5), "gained": (0, 9999)},
    "categories": {"job": ["nurse", "clerk", TEXT, "none"]},
    "missing": ["height"],
}
CROWDED = "nearly all records lie in one or two bins of columns"
LOST = "many records have no bin in columns"
UNFIT = {
    "one range for all": ({"bounds": (0, 100_000)}, rf"{CROWDED} \['age'.*narrower bounds"),
    "a range around": (
        {"bounds": FITS["bounds"] | {"age": (-9946, 10_054)}},
        rf"{CROWDED} \['age'\].*edges of all bins",
    ),
    "no categories that occur": ({"categories": {"job": ["a", "b"]}}, rf"{LOST} \['job'\]"),
    "few that occur": ({"categories": {"job": ["nurse"]}}, rf"{LOST} \['job'\].*categories that"),
    "missing": ({"missing": []}, rf"{LOST} \['height'\].*missing=\[...\]"),
}


def told(seed=0, *, n_moved=2, rows=RECORDS, **params):
    """What a draw tells whose rows cost 0.4, of an epsilon of 1."""
    synthesizer = MarginalSynthesizer(**(FITS | {"n_rows": 20} | params)).declare(rows, [0, 1])
    synthesizer = synthesizer.with_scale(n_moved * synthesizer.n_tables / 0.4)
    noise, rng = np.random.default_rng(seed), np.random.default_rng(0)
    synthesizer.draw(rows, CODES, n_classes=2, noise=noise, rng=rng)
    assert not any(secrets_in(text) for text in synthesizer.findings_)
    return synthesizer.findings_


@table("params, message", UNFIT)
@pytest.mark.parametrize("n_moved", [1, 2])
def test_columns_that_the_schema_does_not_fit_are_told_by_noisy_counts(params, message, n_moved):
    of_labels = [told(seed, n_moved=n_moved, **params) for seed in range(20)]
    of_none = [told(seed, n_moved=n_moved, given_label=False, **params) for seed in range(20)]
    for runs in (of_labels, of_none):
        assert all(len(texts) <= 1 for texts in runs)
        found = [texts for texts in runs if texts and re.search(message, texts[0])]
        assert len(found) >= (15 if "missing" in params else 20)  # three in five


@pytest.mark.parametrize("n_moved", [1, 2])
@pytest.mark.parametrize("given_label", [True, False])
def test_noisy_counts_tell_nothing_of_columns_that_fit(n_moved, given_label):
    alone = {"rows": RECORDS[["age"]], "bounds": (18, 90), "categories": None, "missing": []}
    edges = FITS["bounds"] | {"gained": (0, 1, 100, 10_000)}
    for seed in range(40):
        for params in ({}, {"bounds": edges}, {"n_bins": 4}, alone):
            assert not told(seed, n_moved=n_moved, given_label=given_label, **params)


def test_remedies_of_what_noisy_counts_tell():
    assert told(bounds=(0, 100_000)) and not told(bounds=FITS["bounds"])
    edges = (0, 20, 40, 60, 80, 100_000)
    assert not told(bounds=FITS["bounds"] | {"age": edges})
    assert told(categories={"job": ["a"]}) and not told(categories=FITS["categories"])
    assert told(missing=[]) and not told(missing=["height"])


def test_what_is_told_is_a_function_of_the_noisy_table(monkeypatch):
    noisy = {}

    def same_for_all(self, table, random_state=None):
        return noisy.setdefault("table", np.asarray(table, dtype=float))

    monkeypatch.setattr(LaplaceMechanism, "noisy", same_for_all)
    wide = {"bounds": (0, 100_000), "missing": []}
    first = told(**wide)
    others = RECORDS.sample(5000, replace=True, random_state=0).assign(age=77_000, job=None)
    assert first and told(rows=others, **wide) == first
    noisy.clear()
    assert told(rows=others, **wide) != first

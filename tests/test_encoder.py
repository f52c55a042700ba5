"""The encoder of class sums: ranks, categories and gaps, one row at a time."""

import pickle

import numpy as np
import pandas as pd
import pytest
from conftest import cases
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sklearn_pate import PATEClassifier
from sklearn_pate.encoding import RowEncoder, Schema
from sklearn_pate.encoding.schema import declared_columns
from sklearn_pate.encoding.values import text_of
from sklearn_pate.methods import ClassSums

LEVELS = pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])
RNG = np.random.default_rng(0)
N = 400


def mixed(n=N, seed=0):
    """A table with columns of all kinds, and missing values in most of them."""
    rng = np.random.default_rng(seed)
    gaps = rng.random(n) < 0.1
    cities = rng.choice(["Oslo", "Bern", "Rome", "Bonn"], n, p=[0.5, 0.3, 0.199, 0.001])
    days = pd.to_timedelta(rng.integers(1, 90, n), unit="D")
    return pd.DataFrame(
        {
            "income": np.exp(rng.normal(10, 1, n)),
            "age": np.where(gaps, np.nan, rng.integers(18, 90, n)),
            "children": pd.array(rng.poisson(1, n), dtype="Int64"),
            "city": pd.Series(np.where(gaps, None, cities), dtype=object),
            "grade": pd.Categorical(rng.choice(list("abc"), n), categories=list("cba")),
            "smokes": rng.random(n) < 0.3,
            "stay": days,
            "joined": pd.Timestamp("2020-01-01") + days.floor("30D"),
        }
    )


def odd_rows():
    """Rows with values that public rows do not have."""
    rows = mixed(8, seed=1)
    rows.loc[0, ["income", "age"]] = np.inf, -np.inf
    rows.loc[1, ["income", "age"]] = 1e300, np.nan
    cities = ["Paris", 3, True, None, "", b"\xff", "caf\udce9", "Oslo"]
    rows["city"] = pd.Series(cities, dtype=object)
    rows.loc[2, "children"] = pd.NA
    rows.loc[3, "stay"] = pd.NaT
    return rows


@cases("extra_columns", False, True)
def test_export_of_encoder_has_the_same_output(extra_columns):
    public = mixed()
    encoder = RowEncoder(extra_columns=extra_columns).fit(public)
    exported = pickle.loads(pickle.dumps(encoder.to_sklearn()))
    text = public.iloc[:8].assign(city=["Paris", "3", None, "", "Oslo", "Bonn", "Bern", "x"])
    for rows in (public, mixed(seed=2), text):
        encoded = encoder.transform(rows)
        assert encoded.shape == (len(rows), len(encoder.get_feature_names_out()))
        np.testing.assert_array_equal(exported.transform(rows), encoded)


@cases("extra_columns", False, True)
def test_encoder_encodes_each_row_by_itself(extra_columns):
    encoder = RowEncoder(extra_columns=extra_columns).fit(mixed())
    rows = odd_rows()
    together = encoder.transform(rows)
    assert np.isfinite(together).all()
    for k in range(len(rows)):
        np.testing.assert_array_equal(encoder.transform(rows[k : k + 1])[0], together[k])


@cases("extra_columns", False, True)
def test_encoder_of_frames_and_arrays_has_the_same_output(extra_columns):
    X = np.exp(RNG.normal(size=(N, 5)))
    X[::7, 2] = np.nan
    X[:, 3] = np.round(X[:, 3])
    frame = pd.DataFrame(X, columns=list("abcde"))
    forms = X, frame, X.reshape(N, 5, 1), X.astype(object)
    encoded = [RowEncoder(extra_columns).fit(rows).transform(rows) for rows in forms]
    for other in encoded[1:]:
        np.testing.assert_array_equal(other, encoded[0])


def test_class_sums_of_frames_and_arrays_predict_the_same():
    X = RNG.normal(size=(900, 30))
    y = (X[:, :5].sum(axis=1) > 0).astype(int)
    forms = X, pd.DataFrame(X).add_prefix("c")
    clf = PATEClassifier(method=ClassSums(), classes=[0, 1], random_state=0)
    proba = [clf.fit(f[:600], y[:600], f[600:]).predict_proba(f) for f in forms]
    np.testing.assert_array_equal(*proba)


def documents(n_rows, n_words, seed=0):
    """Sparse counts of words; later words occur less often, and odd ones rarely."""
    rng = np.random.default_rng(seed)
    share = np.where(np.arange(n_words) % 2, 0.05, 0.6) / np.sqrt(1 + np.arange(n_words))
    return sparse.csr_matrix(rng.poisson(share, (n_rows, n_words)).astype(float))


@cases("make", sparse.csr_matrix, sparse.csr_array, sparse.coo_matrix)
def test_encoder_of_sparse_rows_has_the_output_of_arrays(make):
    rows = documents(300, 40)
    rows.data[:2] = np.nan, np.inf
    expected = RowEncoder(extra_columns=True).fit(rows.toarray())
    encoder = RowEncoder(extra_columns=True).fit(make(rows))
    for form in (make(rows), rows.toarray()):
        np.testing.assert_array_equal(encoder.transform(form), expected.transform(rows.toarray()))
        np.testing.assert_array_equal(encoder.to_sklearn().transform(form), encoder.transform(form))
    assert list(encoder.get_feature_names_out()) == list(expected.get_feature_names_out())


def test_encoder_of_wide_sparse_rows_keeps_columns_with_most_entries():
    rows = documents(200, 2400)
    rows.data[:] *= -1  # entries count, not their sum
    encoder = RowEncoder().fit(rows)
    n_entries = (rows.toarray() != 0).sum(axis=0)
    kept = [int(name.removesuffix("_rank")) for name in encoder.get_feature_names_out()]
    assert len(kept) == 1000 and encoder.n_features_in_ == 2400
    assert n_entries[kept].min() >= np.delete(n_entries, kept).max()
    expected = RowEncoder().fit(rows[:, kept].toarray()).transform(rows[:, kept].toarray())
    for form in (rows, rows.toarray()):
        np.testing.assert_array_equal(encoder.transform(form), expected)
    together = encoder.transform(rows[:5])
    for k in range(5):
        np.testing.assert_array_equal(encoder.transform(rows[k])[0], together[k])
    exported = pickle.loads(pickle.dumps(encoder.to_sklearn()))
    np.testing.assert_array_equal(exported.transform(rows), expected)
    with pytest.raises(ValueError, match="X has 1000 columns, but RowEncoder was fitted with 2400"):
        encoder.transform(rows[:, kept])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* cells explain")
@cases("params", {}, {"method": "neighbors"}, {"base_estimator": LogisticRegression()})
def test_sparse_rows_and_arrays_predict_the_same(params):
    X = documents(900, 120)
    y = (X[:, :4].sum(axis=1).A1 > X[:, 4:10].sum(axis=1).A1).astype(int)
    params = {"classes": [0, 1], "epsilon": 20.0, "random_state": 0, "on_bad_plan": "warn"} | params
    dense, proba = X.toarray(), {}
    for name, private, public in (("sparse", X, X), ("public", X, dense), ("dense", dense, X)):
        clf = PATEClassifier(**params).fit(private[:600], y[:600], public[600:])
        proba[name] = clf.predict_proba(X)
        for form in (dense, pd.DataFrame(dense)):
            np.testing.assert_allclose(clf.predict_proba(form), proba[name], atol=1e-12)
        assert clf.fit_student(public[600:]).score(X, y) == clf.score(dense, y)
    np.testing.assert_array_equal(proba["public"], proba["sparse"])
    if not params.get("method"):  # cells of sparse rows are made of singular vectors
        np.testing.assert_allclose(proba["dense"], proba["sparse"], atol=1e-6)


def test_encoder_names_each_output_column():
    names = RowEncoder(extra_columns=True).fit(mixed()).get_feature_names_out()
    assert len(set(names)) == len(names)
    assert list(names[:4]) == ["income_rank", "age_rank", "children_rank", "stay_rank"]
    assert {"age_folded", "stay_plain", "age_missing", "city_other", "grade_b", "smokes_True"} < {
        *names
    }
    assert "income_missing" not in names and "city_Bonn" not in names
    schema = declared_columns(
        mixed()[["age", "smokes"]], {"age": (0, 100)}, None, ["age"], n_bins=32
    )
    declared = RowEncoder.of_columns(schema).get_feature_names_out()
    assert list(declared) == ["age_rank", "age_missing", "smokes_False", "smokes_True"]


def without_tiny(numbers):
    """Replace tiny numbers: a rank between two whose difference has no inverse is 0."""
    return numbers.map(lambda number: 0.0 if abs(number) < 1e-290 else number)


@pytest.mark.slow
@given(
    st.lists(without_tiny(st.floats(-1e12, 1e12)), min_size=1, max_size=60),
    without_tiny(st.floats(allow_nan=True)),
)
def test_ranks_increase_and_stay_between_bounds(public, value):
    encoder = RowEncoder(extra_columns=True).fit(np.array(public)[:, None])
    rows = np.array([*sorted([*public, *([] if np.isnan(value) else [value])]), np.nan])[:, None]
    encoded = encoder.transform(rows)
    ranks = encoded[:-1, 0]
    assert (np.diff(ranks) >= 0).all() and (np.abs(ranks) <= 1).all()
    assert (encoded[-1] == 0).all()  # a missing number, where no public row has one
    if len(set(public)) > 1:
        assert ranks.min() == -1 and ranks.max() == 1


def test_ranks_between_tiny_numbers_stay_between_bounds():
    public = np.array([0.0, 5e-324, 1e-310, -2e-311, 1.0])[:, None]
    rows = np.concatenate([np.linspace(-2e-310, 2e-310, 41), [5e-324, -5e-324, 2.0]])[:, None]
    ranks = RowEncoder(extra_columns=True).fit(public).transform(rows)[:, 0]
    assert np.isfinite(ranks).all() and (np.abs(ranks) <= 1).all()


def test_ranks_are_places_among_quantiles_that_differ():
    X = np.repeat([0.0, 1.0, 5.0, 100.0], [64, 16, 16, 33])[:, None]  # 129 rows: no interpolation
    encoded = RowEncoder().fit(X).transform([[0.0], [1.0], [5.0], [100.0], [3.0], [-9.0], [1e9]])
    np.testing.assert_allclose(encoded[:, 0], [-1, -1 / 3, 1 / 3, 1, 0, -1, 1], atol=0.05)


def test_far_number_moves_no_rank_of_others():
    X = RNG.normal(size=(N, 1))
    far = X.copy()
    far[0] = 1e60
    inner = X[np.abs(X[:, 0]) < 1]
    change = RowEncoder(True).fit(far).transform(inner) - RowEncoder(True).fit(X).transform(inner)
    assert np.abs(change[:, :2]).max() < 0.1 and np.abs(change[:, 2]).max() < 0.3


@pytest.mark.parametrize(
    "value, text",
    [("a", "a"), (1, "1"), (1.0, "1.0"), (True, "True"), (None, None), (np.nan, None)],
)
def test_text_follows_from_the_value_alone(value, text):
    assert text_of(value) == text
    public = pd.DataFrame({"c": pd.Series(["1", "1.0", "True", "a"] * 20, dtype=object)})
    encoder = RowEncoder().fit(public)
    before = [1, 1.0, True, "a"]  # all equal but the last: each has its own text
    rows = pd.DataFrame({"c": pd.Series([*before, value], dtype=object)})
    np.testing.assert_array_equal(encoder.transform(rows)[:4], np.eye(4))


def test_values_without_text_count_as_missing():
    class Odd:
        def __str__(self):
            raise RuntimeError("no text")

    assert [text_of(value) for value in (Odd(), b"\xff", 10**5000, [])] == [None] * 3 + ["[]"]


def test_texts_of_few_public_rows_share_a_column():
    names = np.array([f"shop {k}" for k in range(1000)])
    shops = pd.DataFrame({"shop": np.concatenate([names, ["market"] * 100, ["mall"] * 5])})
    encoder = RowEncoder().fit(shops)
    assert list(encoder.get_feature_names_out()) == ["shop_market", "shop_other"]
    rows = pd.DataFrame({"shop": ["market", "mall", "shop 7", "unseen"]})
    np.testing.assert_array_equal(encoder.transform(rows), [[1, 0], [0, 1], [0, 1], [0, 1]])


def test_columns_that_do_not_vary_or_are_missing_are_encoded():
    X = np.column_stack([np.full(9, 3.0), np.full(9, np.nan), np.arange(9.0)])
    encoded = RowEncoder(extra_columns=True).fit(X).transform(X)
    names = list(RowEncoder(extra_columns=True).fit(X).get_feature_names_out())
    assert np.isfinite(encoded).all()
    assert (encoded[:, names.index("1_missing")] == 1).all()
    assert (encoded[:, names.index("0_rank")] == 0).all()


@cases("form", "frame", "array")
def test_decoded_rows_of_declared_columns_are_the_rows(form):
    rng = np.random.default_rng(3)
    if form == "array":
        rows, given = rng.integers(0, 9, size=(50, 3)).astype(float), {"bounds": (0, 8)}
    else:
        rows = mixed(50)[["age", "children", "grade", "smokes"]]
        given = {"bounds": {"age": (0, 100), "children": (0, 20)}}
    parameters = {"categories": None, "missing": [] if form == "array" else ["age", "children"]}
    columns = declared_columns(rows, **given, **parameters, n_bins=32)
    encoder = RowEncoder.of_columns(columns)
    decoded = encoder.decode(encoder.transform(rows))
    if form == "array":
        np.testing.assert_allclose(decoded, rows)
        return
    pd.testing.assert_frame_equal(decoded, rows, check_exact=False)


def test_folded_ranks_of_declared_columns_are_encoded_exported_and_ignored_by_decode():
    rows = pd.DataFrame({"a": [-3.0, 0.0, 3.0, np.nan], "b": [0.0, 1.0, 1.0, 0.0]})
    schema = Schema({"a": (-3.0, -1.0, 0.0, 1.0, 3.0), "b": (0.0, 1.0)}, missing=["a"])
    columns = declared_columns(rows, **schema.parameters(rows), n_bins=8)
    encoder = RowEncoder.of_columns(columns, folds=True)
    names = ["a_rank", "b_rank", "a_folded", "a_missing"]  # two edges are not folded
    assert encoder.get_feature_names_out().tolist() == names
    encoded = encoder.transform(rows)
    assert encoded[:, 2].tolist() == [1.0, -1.0, 1.0, 0.0]
    assert np.array_equal(encoder.to_sklearn().transform(rows), encoded)
    pd.testing.assert_frame_equal(encoder.decode(encoded), rows)


def test_declared_edges_encode_as_public_quantiles_do():
    edges = np.linspace(0, 10, 65)
    public, rows = edges[:, None], RNG.uniform(-1, 11, size=(30, 1))
    schema = Schema((*edges,)).parameters(rows)
    columns = declared_columns(rows, **schema, n_bins=32)
    declared = RowEncoder.of_columns(columns).transform(rows)
    np.testing.assert_allclose(declared, RowEncoder().fit(public).transform(rows), atol=1e-12)


def test_encoder_is_a_step_of_a_pipeline():
    rows = mixed()
    y = (rows["income"] > rows["income"].median()).astype(int)
    model = make_pipeline(RowEncoder(extra_columns=True), LogisticRegression()).fit(rows, y)
    assert model.score(rows, y) > 0.9
    assert len(model[:-1].get_feature_names_out()) == model[-1].n_features_in_


@pytest.mark.parametrize(
    "rows, message",
    [
        (np.array([["a", "b"]] * 9), "an array that holds text has no dtype"),
        (pd.DataFrame(np.ones((3, 2)), columns=LEVELS), "columns of several levels"),
    ],
)
def test_encoder_refuses_rows_without_dtypes_or_names(rows, message):
    with pytest.raises(ValueError, match=message):
        RowEncoder().fit(rows)


def test_encoder_refuses_rows_of_another_width():
    encoder = RowEncoder().fit(np.ones((5, 3)))
    with pytest.raises(
        ValueError, match="X has 2 columns, but RowEncoder was fitted with 3 columns"
    ):
        encoder.transform(np.ones((5, 2)))

"""Records of sites that vote: the whole numbers of the pooled records come back, and no rows."""

import copy
import pickle
import re
import traceback
from functools import partial

import numpy as np
import pandas as pd
import pytest
from conftest import cases, interrupt, note_calls, sampled
from conftest import table as rows_of
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import FunctionTransformer

from sklearn_pate import PATEClassifier, PATERegressor, rules
from sklearn_pate.datasets import fetch_adult
from sklearn_pate.encoding.targets import Target
from sklearn_pate.exceptions import TeacherError
from sklearn_pate.fitting import methods, synthesizers
from sklearn_pate.fitting import sites as fitting_sites
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.methods import ClassSums, ReverseNeighbors, Teachers, choose
from sklearn_pate.model_selection import PrivateGridSearchCV
from sklearn_pate.rdp.discrete import GRID
from sklearn_pate.releases import Release
from sklearn_pate.releases.table import TableRelease
from sklearn_pate.runtime import sites as runtime_sites
from sklearn_pate.runtime.sites import plus
from sklearn_pate.schema_release import ClassRelease, RangeRelease, ShareRelease
from sklearn_pate.synthesis import ClassSumsSynthesizer, MarginalSynthesizer, Synthesizer
from sklearn_pate.teachers import Sites

pytestmark = [
    pytest.mark.usefixtures("forked_workers"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

N, NAMES = 1200, ("north", "east", "south", "west", "none")
RNG = np.random.default_rng(0)
CODES = (RNG.uniform(size=N) < 0.4).astype(int)
LABELS = np.array(["no", "yes"])[CODES]
NUMBERS = 50 + 4 * RNG.normal(size=N) + 8 * CODES


def frame(codes):
    n = len(codes)
    kinds = pd.Categorical(RNG.choice(["u", "v"], size=n), categories=["u", "v", "w"])
    columns = {"size": RNG.normal(size=n) + 2 * codes, "visits": RNG.integers(0, 5, size=n)}
    return pd.DataFrame(columns | {"kind": kinds})


X, X_PUBLIC = frame(CODES), frame(RNG.integers(0, 2, size=150))
SCHEMA = {"size": (-5, 7), "visits": (0, 4)}
WEIGHT = RNG.uniform(size=N)
#: Persons with records at several sites.
PERSONS = RNG.integers(0, 300, size=N)
#: The site of each record: "none" has no record, and "west" has one.
PLACES = RNG.integers(0, 3, size=N)
PLACES[77] = 3
AT_SITES = np.array(NAMES)[PLACES]
#: The records of a person at two sites are two groups.
GROUPS = [f"{name}/{person}" for name, person in zip(AT_SITES, PERSONS, strict=True)]

SECRET = "xanthippe"


def load(name, y=LABELS, rows=X, places=AT_SITES, **given):
    here = places == name
    loaded = (rows.loc[here] if isinstance(rows, pd.DataFrame) else rows[here]), y[here]
    return (*loaded, {key: value[here] for key, value in given.items()}) if given else loaded


def at_sites(**given):
    return Sites(partial(load, **given), NAMES)


def classifier(**params):
    given = {"classes": ["no", "yes"], "epsilon": 4.0, "random_state": 0}
    return PATEClassifier(**given | params)


def regressor(**params):
    return PATERegressor(**{"epsilon": 4.0, "random_state": 0} | params)


def published(clf):
    """Return the numbers that a fit published."""
    values = clf.predict_proba(X) if hasattr(clf, "predict_proba") else clf.predict(X)
    found = [values, clf.public_labels_, clf.privacy_spent_.epsilon]
    if hasattr(clf, "X_synthetic_"):
        found.append(clf.X_synthetic_.to_numpy())
    return found


def assert_same(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


# --- the same as the pooled records --------------------------------------------------------------

N_JOBS = pytest.mark.parametrize("n_jobs", [None, pytest.param(2, marks=pytest.mark.slow)])


@sampled(2)
@N_JOBS
@cases("method", ReverseNeighbors(n_cells=9), ReverseNeighbors(n_neighbors=2), ClassSums(), ids=str)
@cases("given", {}, {"sample_weight": WEIGHT}, {"groups": PERSONS}, ids=list)
def test_table_of_sites_equals_table_of_pooled_records(method, given, n_jobs):
    clf = classifier(method=method, n_jobs=n_jobs)
    votes = clf.poll(at_sites(**given), None, X_PUBLIC)
    if "groups" in given:
        given = {"groups": GROUPS}
    expected = clf.poll(X, LABELS, X_PUBLIC, **given)
    np.testing.assert_array_equal(votes.counts, expected.counts)
    assert votes.neighbors == expected.neighbors and expected.counts.any()


FEW = ClassSumsSynthesizer(n_rows=200)
FITS = {
    "classes": (classifier(classes=None), X_PUBLIC),
    "nothing": (classifier(classes=None, synthesizer=FEW), None),
    "bounds": (regressor(bounds=(30, 80)), X_PUBLIC),
    "numbers": (regressor(), X_PUBLIC),
    "shares": (classifier(epsilon=1.0), X_PUBLIC),
    "schema": (classifier(schema=SCHEMA, synthesizer=FEW), None),
    "schema, neighbors": (classifier(schema=SCHEMA, synthesizer=FEW, method="neighbors"), None),
    "nothing, neighbors": (classifier(synthesizer=FEW, method="neighbors"), None),
    "histograms": (
        classifier(synthesizer=MarginalSynthesizer(n_rows=200), method="neighbors"),
        None,
    ),
    "numbers, nothing": (regressor(synthesizer=FEW), None),
}
EACH_FIT = pytest.mark.parametrize(
    "clf, X_public",
    [
        pytest.param(*FITS[name], id=name, marks=[] if k < 4 else pytest.mark.slow)
        for k, name in enumerate(FITS)
    ],
)


def moved():
    """Return the sites of the same records, another number at each."""
    places = np.where(np.arange(N) % 5 == 0, "south", AT_SITES)
    return np.where(np.arange(N) % 7 == 0, "none", places)


def state_of(fitted):
    """Return all that a fit set, but for the number of the fit in this process."""
    fitted = copy.copy(fitted)
    fitted.privacy_spent_ = None
    return pickle.dumps(fitted), re.sub(r"0x[0-9a-f]+", "at", repr(vars(fitted)))


@EACH_FIT
def test_fit_of_sites_equals_fit_of_pooled_records_for_any_division(clf, X_public):
    """All published numbers are equal, and so is the whole state for two divisions into sites."""
    y = NUMBERS if isinstance(clf, PATERegressor) else LABELS
    found = clone(clf).fit(at_sites(y=y), None, X_public)
    elsewhere = clone(clf).fit(at_sites(y=y, places=moved()), None, X_public)
    assert state_of(found) == state_of(elsewhere)
    expected = clone(clf).fit(X, y, X_public)
    assert_same(published(found), published(expected))
    assert found.privacy_spent_ == expected.privacy_spent_.__class__(
        **{**vars(expected.privacy_spent_), "fit_number": found.privacy_spent_.fit_number}
    )


def test_residuals_of_sites_equal_those_of_pooled_records():
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, size=(3000, 2))
    labels = (rows[:, 0] + rng.logistic(size=3000) > 0).astype(int)
    parts = np.array_split(np.arange(3000), 5)
    sites = Sites(lambda k: (rows[parts[int(k)]], labels[parts[int(k)]]), list("01234"))
    clf = classifier(method="sums", classes=[0, 1], schema=[(-1, 0, 1)] * 2, epsilon=1.0)
    found, expected = clone(clf).fit(sites, None), clone(clf).fit(rows, labels)
    np.testing.assert_array_equal(found.table_.residuals.total, expected.table_.residuals.total)
    np.testing.assert_array_equal(found.predict_proba(rows), expected.predict_proba(rows))


def gathered_by(monkeypatch, fit):
    """Return the private statistics that a fit published with noise."""
    owners = (ClassRelease, RangeRelease, ShareRelease, ClassSumsSynthesizer)
    with monkeypatch.context() as patch:
        notes = [
            note_calls(patch, owner, "publish", lambda self, gathered, *args, **given: gathered)
            for owner in owners
        ]
        fit()
    return [gathered for found in notes for gathered in found]


@cases("given", {}, {"sample_weight": WEIGHT}, {"groups": PERSONS}, ids=list)
def test_schema_and_class_counts_of_sites_equal_those_of_pooled_records(monkeypatch, given):
    rows, clf = X.astype({"kind": object}), classifier(classes=None)
    found = gathered_by(monkeypatch, lambda: clone(clf).fit(at_sites(rows=rows, **given), None))
    if "groups" in given:
        given = {"groups": GROUPS}
    expected = gathered_by(monkeypatch, lambda: clone(clf).fit(rows, LABELS, **given))
    counts = [[one for one in each if isinstance(one, dict)] for each in (found, expected)]
    assert counts[0][0] == counts[1][0] and sum(counts[0][0].values()) > 500
    found, expected = (
        [one for one in each if not isinstance(one, dict)] for each in (found, expected)
    )
    # Ranges, values, mean, sums, and residuals if the number of records is public
    assert len(found) == len(expected) == (4 if "groups" in given else 5)
    ranges, (trees, texts), *sums = found
    np.testing.assert_array_equal(ranges, expected[0])
    assert texts == expected[1][1] and set(texts[2]) == {"u", "v"}
    assert_same(list(trees.values()), list(expected[1][0].values()))
    for one, other in zip(sums, expected[2:], strict=True):
        assert_same(one[:-1], other[:-1])


def test_truth_values_of_sites_are_two_known_classes():
    clf = classifier(classes=None).fit(at_sites(y=CODES == 1), None, X_PUBLIC)
    assert clf.classes_.tolist() == [False, True] and clf.privacy_spent_.delta == 1e-5


def test_labels_that_are_not_found_count_nowhere():
    y = LABELS.astype("<U5")
    y[5] = "other"
    clf = classifier(classes=None)
    found, expected = clone(clf).fit(at_sites(y=y), None, X_PUBLIC), clf.fit(X, y, X_PUBLIC)
    assert found.classes_.tolist() == ["no", "yes"]
    assert_same(published(found), published(expected))


def in_short_floats(rows):
    return rows.astype("float32")


@cases("make", np.asarray, sparse.csr_matrix, in_short_floats, ids=lambda make: make.__name__)
def test_arrays_of_sites_vote_as_the_pooled_array(make):
    rows, public = (make(table[["size", "visits"]].to_numpy(float)) for table in (X, X_PUBLIC))
    clf = classifier(method="neighbors")
    votes = clf.poll(at_sites(rows=rows), None, public)
    np.testing.assert_array_equal(votes.counts, clf.poll(rows, LABELS, public).counts)


@pytest.mark.slow
def test_sites_of_one_record_each_vote_as_the_pooled_records():
    rows = np.arange(12)
    sites = Sites(lambda name: (X.iloc[[int(name)]], LABELS[[int(name)]]), [str(i) for i in rows])
    for clf, public in (
        (classifier(epsilon=50.0), X_PUBLIC),
        (classifier(synthesizer=FEW), None),
    ):
        clf.set_params(on_bad_plan="warn")
        found = clone(clf).fit(sites, None, public)
        assert_same(published(found), published(clf.fit(X.iloc[rows], LABELS[rows], public)))


def test_sums_beyond_64_bits_stay_exact():
    large = np.array([2**62 + 1, -5])
    found = plus(large, large)
    assert found.tolist() == [2**63 + 2, -10]
    assert plus(found, large).tolist() == [3 * 2**62 + 3, -15]
    assert plus(-large, -large).tolist() == [-(2**63) - 2, 10]
    assert plus(np.array([2**61]), np.array([3])).dtype == np.int64
    with pytest.raises(ValueError, match="different shapes"):
        plus(large, np.array([1]))


@pytest.mark.slow
def test_table_of_twelve_sites_of_adult_equals_the_pooled_table(data_home, monkeypatch):
    rows, y = fetch_adult(data_home=data_home, subset="train", return_X_y=True)
    public = fetch_adult(data_home=data_home, subset="test").data.iloc[:2000]
    names = [f"site {k}" for k in range(12)]
    sizes = np.linspace(0.6, 1.4, 12)
    places = np.random.default_rng(0).choice(names, size=len(y), p=sizes / sizes.sum())
    sites = Sites(partial(load, y=y.to_numpy(), rows=rows, places=places), names)
    assert 1500 < min(np.unique(places, return_counts=True)[1])
    for method in ("neighbors", "sums"):
        clf = classifier(method=method, classes=[0, 1], epsilon=1.0)
        votes = clf.poll(sites, None, public)
        np.testing.assert_array_equal(votes.counts, clf.poll(rows, y, public).counts)
    clf = classifier(classes=None, epsilon=1.0)
    found = gathered_by(monkeypatch, lambda: clone(clf).fit(sites, None))
    expected = gathered_by(monkeypatch, lambda: clone(clf).fit(rows, y))
    assert found[0] == expected[0] and found[0][0] == (y == 0).sum()
    np.testing.assert_array_equal(found[1], expected[1])
    assert_same(list(found[2][0].values()), list(expected[2][0].values()))
    assert found[2][1] == expected[2][1] and found[2][1]
    for one, other in zip(found[3:], expected[3:], strict=True):
        assert_same(one[:-1], other[:-1])


# --- what travels back ---------------------------------------------------------------------------


def parts_of(result):
    """Yield all numbers, texts and arrays in a result of a site."""
    if isinstance(result, dict):
        for key, value in result.items():
            yield key
            yield from parts_of(value)
    elif isinstance(result, tuple | list):
        for part in result:
            yield from parts_of(part)
    else:
        yield result


def results_of(monkeypatch, clf, sites, X_public):
    """Return the result of each site for each step, after the survey."""
    original, results = runtime_sites._at_site, []

    def noted(reader, function, config):
        result = original(reader, function, config)
        results.append(result.gathered)
        return result

    with monkeypatch.context() as patch:
        patch.setattr(runtime_sites, "_at_site", noted)
        clf.fit(sites, None, X_public)
    return results


@EACH_FIT
def test_sites_return_whole_numbers_and_no_rows(monkeypatch, clf, X_public):
    y = NUMBERS if isinstance(clf, PATERegressor) else LABELS
    results = results_of(monkeypatch, clone(clf), at_sites(y=y), X_public)
    surveys, others = results[: len(NAMES)], results[len(NAMES) :]
    for survey in surveys:
        assert survey.form.shape == (0, 3) and survey.n_records == (AT_SITES == survey.name).sum()
    sizes, sizes_of_sites = {}, np.unique(PLACES, return_counts=True)[1][:3]
    for part in parts_of([result for result in others if result is not None]):
        if isinstance(part, np.ndarray):
            assert part.dtype.kind == "i" and len(part) not in sizes_of_sites
            sizes[part.shape] = sizes.get(part.shape, 0) + 1
        else:  # texts of columns and labels, counts, and targets
            is_text = isinstance(part, str) and part in ("no", "yes", "u", "v")
            assert is_text or isinstance(part, int | np.integer | Target)
    assert all(number % 4 == 0 for number in sizes.values())  # of each site with records
    content = pickle.dumps(results)
    for values in (X["size"].to_numpy(), NUMBERS):
        assert not any(value.tobytes() in content for value in values[:200])


class Frame(pd.DataFrame):
    """A DataFrame that pickles with all rows that it was selected from."""

    @property
    def _constructor(self):
        return Frame


@cases(
    "rows",
    X,
    Frame(X),
    pd.DataFrame({"text": pd.array([f"{SECRET} {k}" for k in range(N)], dtype="string")}),
    X.to_numpy(object),
    sparse.csr_matrix(X[["size"]]),
    ids=lambda rows: type(rows).__name__,
)
def test_form_of_records_has_no_rows(rows):
    form = fitting_sites._form_of(rows)
    assert form.shape == (0, rows.shape[1])
    content = pickle.dumps(form)
    assert SECRET.encode() not in content and len(content) < 2500
    if hasattr(rows, "dtypes"):
        assert list(form.columns) == list(rows.columns)
        assert list(form.dtypes) == list(rows.dtypes)


def test_only_readers_and_public_objects_are_sent_to_sites(monkeypatch):
    sent = []
    original = runtime_sites._at_site

    def noted(reader, function, config):
        sent.append(pickle.dumps(function))
        return original(reader, function, config)

    monkeypatch.setattr(runtime_sites, "_at_site", noted)
    classifier(classes=None).fit(at_sites(), None)
    values = X["size"].to_numpy()[:200]
    assert len(sent) == 8 * len(NAMES)
    assert not any(value.tobytes() in content for content in sent for value in values)


# --- who is protected ----------------------------------------------------------------------------


@cases(
    "method, largest",
    (ReverseNeighbors(n_cells=9), 2),
    (ReverseNeighbors(n_cells=9, n_neighbors=2), 4),
)
def test_group_of_one_site_changes_the_table_as_one_record(method, largest):
    changed = X.copy()
    own = (PERSONS == PERSONS[0]) & (AT_SITES == AT_SITES[0])
    assert own.sum() > 1
    changed.loc[own, "size"] = 3 * np.arange(own.sum()) - 4.0
    labels = np.where(own, "yes", LABELS)
    clf = classifier(method=method)
    tables = [
        clf.poll(at_sites(y=y, rows=rows, groups=PERSONS), None, X_PUBLIC).counts
        for y, rows in ((LABELS, X), (labels, changed))
    ]
    assert GRID < np.abs(tables[0] - tables[1]).sum() <= largest


def test_statement_names_groups_at_several_sites():
    clf = classifier(unit="group").fit(at_sites(groups=PERSONS), None, X_PUBLIC)
    spent = clf.privacy_spent_
    assert spent.unit == "group" and "of a group at several sites" in spent.not_covered[0]
    assert "Not covered by this guarantee: all records together of a group" in spent.summary()
    assert not classifier().fit(at_sites(), None, X_PUBLIC).privacy_spent_.not_covered
    with pytest.raises(ValueError, match="these votes protect one record"):
        classifier(unit="group").fit(at_sites(), None, X_PUBLIC)


@cases("X_public", X_PUBLIC, None, ids=["public rows", "no public rows"])
def test_number_of_records_of_groups_at_sites_is_used_nowhere(monkeypatch, X_public):
    notes = [
        note_calls(monkeypatch, rules, name, lambda *args, **given: given["n_records"])
        for name in ("default_target_fraction", "estimates_within_bounds")
    ]
    notes.append(
        note_calls(monkeypatch, choose, "PublicCounts", lambda *args, **given: given["n_records"])
    )
    for module in (methods, synthesizers):
        monkeypatch.setattr(module, "PublicCounts", choose.PublicCounts)
    clf = classifier(classes=None, schema=None if X_public is not None else {"size": (-5, 7)})
    for given, expected in ({"groups": PERSONS}, None), ({}, N):
        clf.plan(at_sites(**given), None, X_public)
        found = [number for calls in notes for number in calls]
        assert len(found) >= 2 and set(found) == {expected}
        for calls in notes:
            calls.clear()


def test_private_parts_of_sites_cannot_be_pickled_and_show_nothing():
    records = fitting_sites.records_of(
        classifier(), at_sites(), y=None, X_public=X_PUBLIC, groups=None, sample_weight=None
    )
    assert len(records) == N and repr(records) == "SiteRecords(private)"
    with pytest.raises(TypeError, match="is private"):
        pickle.dumps(records)


# --- refused, before anything is paid for --------------------------------------------------------


def changed_at(name, change):
    """Return a function that loads something else at one site."""

    def changed(asked):
        return change(*load(asked)) if asked == name else load(asked)

    return changed


def fails(*loaded):
    raise ValueError(f"{SECRET} {loaded[0]}")


BROKEN = {
    "raises": (fails, "site 'east': load raised ValueError"),
    "nothing": (lambda X, y: None, "site 'east': load must return X and y, or X, y and a dict"),
    "a table": (lambda X, y: X, "site 'east': load must return X and y"),
    "another key": (lambda X, y: (X, y, {"weights": 0}), "site 'east': the third object"),
    "fewer columns": (lambda X, y: (X[["size"]], y), "'east' and 'north' have different columns"),
    "an array": (lambda X, y: (X.to_numpy(), y), "'east' and 'north' have different columns"),
    "other names": (lambda X, y: (X.rename(columns={"size": SECRET}), y), "different columns"),
    "other dtypes": (
        lambda X, y: (X.astype({"visits": float}), y),
        "site 'east': columns .*visits",
    ),
    "other categories": (
        lambda X, y: (X.assign(kind=X["kind"].cat.add_categories(SECRET)), y),
        "site 'east': columns .*kind",
    ),
    "one axis": (lambda X, y: (X["size"].to_numpy(), y), "site 'east': load must return X with"),
    "few labels": (lambda X, y: (X, y[1:]), "site 'east': .* y with one value for each row"),
    "no labels": (lambda X, y: (X, None), "site 'east': .* y with one value for each row"),
    "another label": (
        lambda X, y: (X, np.where(y == y[0], SECRET, y)),
        "site 'east': load returned labels that are not in classes",
    ),
    "numbers": (lambda X, y: (X, np.arange(len(y))), "site 'east': load returned labels .* type"),
    "missing labels": (lambda X, y: (X, np.where(y == "no", None, y)), "site 'east': .*NaN"),
    "groups": (
        lambda X, y: (X, y, {"groups": [*range(len(y))]}),
        "'east' and 'north' have different k",
    ),
    "labels in two columns": (
        lambda X, y: (X, np.column_stack([y, y])),
        "site 'east': y must have one value",
    ),
    "few weights": (
        lambda X, y: (X, y, {"sample_weight": [0.5]}),
        "site 'east': sample_weight must have one value",
    ),
    "missing weights": (
        lambda X, y: (X, y, {"sample_weight": np.full(len(y), np.nan)}),
        "site 'east': sample_weight must be finite numbers",
    ),
    "few groups": (
        lambda X, y: (X, y, {"groups": [SECRET]}),
        "site 'east': groups must have one value",
    ),
    "weights": (
        lambda X, y: (X, y, {"sample_weight": np.full(len(y), 1.5)}),
        "site 'east': sample_weight must be between 0 and 1",
    ),
}


@sampled()
@cases("X_public", X_PUBLIC, None, ids=["public rows", "no public rows"])
@rows_of("change, message", BROKEN)
def test_site_with_wrong_data_is_named_and_nothing_is_paid_for(ledger, change, message, X_public):
    sites = Sites(changed_at("east", change), NAMES)
    clf = classifier(
        ledger=ledger, random_state=None, schema=None if X_public is not None else SCHEMA
    )
    if X_public is None and "columns .*" in message:
        message = "site 'east': its declared columns have other dtypes than at the first site"
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        clf.fit(sites, None, X_public)
    text = "".join(traceback.format_exception(caught.value))
    assert "nothing was spent" in text and ledger.epsilon_spent == 0
    assert str((AT_SITES == "east").sum()) not in str(caught.value)
    assert SECRET not in text.replace("'size': SECRET", "") and not hasattr(clf, "privacy_spent_")


@cases(
    "y, message",
    (np.where(CODES, "yes", "no").astype(object), None),
    (CODES, "the sites have different kinds of labels, numbers and text"),
)
def test_sites_with_labels_of_different_kinds_are_refused(y, message):
    sites = Sites(lambda name: load(name, y=y if name == "south" else LABELS), NAMES)
    clf = classifier(classes=None)
    if message is None:  # text in arrays of two dtypes
        assert clf.fit(sites, None, X_PUBLIC).classes_.tolist() == ["no", "yes"]
    else:
        with pytest.raises(ValueError, match=message) as caught:
            clf.fit(sites, None, X_PUBLIC)
        assert not any(name in str(caught.value) for name in NAMES)  # some may have no records


def test_declared_column_of_another_dtype_at_a_site_is_refused_before_the_schema_is_paid_for(
    ledger,
):
    sites = Sites(changed_at("west", lambda X, y: (X.astype({"visits": float}), y)), NAMES)
    clf = classifier(ledger=ledger, random_state=None, schema={"visits": (0, 4)})
    with pytest.raises(ValueError, match="site 'west': its declared columns have other dtypes"):
        clf.fit(sites, None)
    assert ledger.epsilon_spent == 0


@pytest.mark.slow
def test_undeclared_columns_of_sites_may_have_different_dtypes():
    def mixed(name):
        rows, y = load(name)
        return (rows.astype({"visits": float, "kind": object}) if name == "east" else rows), y

    clf = classifier()
    found = clone(clf).fit(Sites(mixed, NAMES), None)
    assert_same(published(found), published(clf.fit(at_sites(), None)))


def test_sites_without_any_record_are_refused():
    empty = Sites(lambda name: (X.iloc[:0], LABELS[:0]), NAMES)
    with pytest.raises(ValueError, match="no site has a record"):
        classifier().fit(empty, None, X_PUBLIC)


def test_sites_refuse_numbers_beyond_bounds_only_if_all_are():
    with pytest.raises(ValueError, match=r"all of y lies outside of bounds=\(0, 1\) at all sites"):
        regressor(bounds=(0, 1)).fit(at_sites(y=NUMBERS), None, X_PUBLIC)
    y = np.where(AT_SITES == "east", 500.0, NUMBERS)
    clf = regressor(bounds=(30, 80))
    found = clone(clf).fit(at_sites(y=y), None, X_PUBLIC)
    assert_same(published(found), published(clf.fit(X, y, X_PUBLIC)))


class Counts(Release):
    def event(self, neighbors): ...

    def gather(self, private): ...

    def publish(self, gathered, rng): ...

    def describe(self): ...


class OwnSynthesizer(MarginalSynthesizer):
    pass


@rows_of(
    "params, given, message",
    ("y", {}, {"y": LABELS}, "y must be None when X is Sites, because load returns it"),
    ("groups", {}, {"groups": PERSONS}, r"return X, y, \{'groups': ...\}"),
    ("weights", {}, {"sample_weight": WEIGHT}, r"return X, y, \{'sample_weight': ...\}"),
    ("releases", {"releases": [Counts()]}, {}, "releases must be None when X is Sites"),
    (
        "synthesizer",
        {"synthesizer": OwnSynthesizer()},
        {"X_public": None},
        "a synthesizer of your own cannot be used when X is Sites",
    ),
    ("both", {"synthesizer": MarginalSynthesizer()}, {}, "two ways to have public rows"),
    ("method", {"method": Teachers([])}, {}, "method=.* cannot be used when X is Sites"),
    ("no limit", {"classes": None, "epsilon": None}, {}, "classes must be given when X is Sites"),
)
def test_arguments_that_sites_cannot_have_are_refused(params, given, message):
    asked = []
    sites = Sites(lambda name: asked.append(name) or load(name), NAMES)
    given = {"y": None, "X_public": X_PUBLIC} | given
    with pytest.raises(ValueError, match=message):
        classifier(**params).fit(sites, **given)
    assert not asked or "epsilon" in params


def test_function_that_cannot_be_sent_is_not_called_here():
    lock = __import__("threading").Lock()

    def locked(name):
        with lock:
            raise AssertionError("called")

    with pytest.raises(TeacherError, match="could not be sent to a worker"):
        classifier(n_jobs=2).fit(Sites(locked, NAMES), None, X_PUBLIC)


def test_search_refuses_sites():
    search = PrivateGridSearchCV(
        classifier(random_state=None), {"class_weight": [None]}, epsilon=2.0
    )
    with pytest.raises((ValueError, TypeError)) as caught:
        search.fit(at_sites(), None, X_PUBLIC)
    assert "nothing was spent" in "".join(traceback.format_exception(caught.value))


# --- sites that change or fail later -------------------------------------------------------------


class Calls:
    """Loads sites, and changes or fails from a number of calls on."""

    def __init__(self, limit, change=fails, y=LABELS):
        self.limit, self.change, self.y, self.n_calls = limit, change, y, 0

    def __call__(self, name):
        if name != "south":
            return load(name, y=self.y)
        self.n_calls += 1
        loaded = load(name, y=self.y)
        return self.change(*loaded) if self.n_calls > self.limit else loaded


@rows_of(
    "change, message",
    ("fails", fails, "site 'south': load raised ValueError"),
    (
        "fewer records",
        lambda X, y: (X.iloc[1:], y[1:]),
        "site 'south': load returned other records",
    ),
    ("no records", lambda X, y: (X.iloc[:0], y[:0]), "site 'south': load returned other records"),
    ("another form", lambda X, y: (X[["size"]], y), "site 'south': load returned other records"),
)
def test_site_that_changes_after_it_was_counted_is_refused(ledger, change, message):
    clf = classifier(method="neighbors", ledger=ledger, random_state=None)
    with pytest.raises(TeacherError, match=message) as caught:
        clf.fit(Sites(Calls(1, change), NAMES), None, X_PUBLIC)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert ledger.epsilon_spent == 0


def epsilon_recorded(folder, clf):
    """Return the entries of a ledger for a fit that is not interrupted."""
    other = PrivacyLedger(folder / "other.sqlite", epsilon=50.0)
    X_public = None if hasattr(clf, "X_synthetic_") else X_PUBLIC
    clone(clf).set_params(ledger=other).fit(X, LABELS, X_public)
    return other.epsilon_spent


@cases("n_calls, n_steps", (2, 0), (3, 1), (4, 2), (5, 3))
def test_warm_start_continues_after_a_site_failed(tmp_path, ledger, n_calls, n_steps):
    clf = classifier(ledger=ledger, random_state=None, warm_start=True, synthesizer=FEW)
    calls = Calls(n_calls - 1)
    with pytest.raises(TeacherError, match="site 'south': load raised"):
        clf.fit(Sites(calls, NAMES), None)
    before = ledger.epsilon_spent
    assert (before > 0) == (n_steps > 0)
    assert len(clf._prefix.synthesis.published if clf._prefix else ()) == n_steps
    clf.fit(at_sites(), None)
    assert len(ledger.history()) == 1 and before < ledger.epsilon_spent
    assert ledger.epsilon_spent == epsilon_recorded(tmp_path, clf)


def test_warm_start_keeps_the_classes_that_sites_found(ledger):
    given = {"classes": None, "ledger": ledger, "random_state": None, "warm_start": True}
    clf = classifier(**given)
    with pytest.raises(TeacherError, match="site 'south'"):
        clf.fit(Sites(Calls(3), NAMES), None)
    assert clf._prefix.first_release.found.target.values.tolist() == ["no", "yes"]
    with pytest.raises(ValueError, match="changed since: y"):
        clf.fit(at_sites(y=CODES), None)
    clf.fit(at_sites(), None)
    assert clf.classes_.tolist() == ["no", "yes"] and len(ledger.history()) == 1


def test_interrupted_fit_of_sites_has_paid_for_nothing(tmp_path, ledger, monkeypatch):
    clf = classifier(method="sums", ledger=ledger, random_state=None)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(TableRelease, "gather", interrupt)
        clf.fit(at_sites(), None, X_PUBLIC)
    assert ledger.epsilon_spent == 0
    clf.fit(at_sites(), None, X_PUBLIC)
    assert ledger.epsilon_spent == epsilon_recorded(tmp_path, clf) > 0


def test_bounds_of_sites_are_paid_for_once_a_site_fails_between_their_steps(ledger):
    clf = regressor(ledger=ledger, random_state=None)
    with pytest.raises(TeacherError, match="site 'south'"):
        clf.fit(Sites(Calls(1, y=NUMBERS), NAMES), None, X_PUBLIC)
    assert ledger.epsilon_spent == 0
    sites = Sites(Calls(2, y=NUMBERS), NAMES)
    with pytest.raises(TeacherError, match="site 'south'") as caught:
        clf.fit(sites, None, X_PUBLIC)
    assert 0 < ledger.epsilon_spent < 4.0
    assert caught.value.privacy_spent.epsilon == pytest.approx(ledger.epsilon_spent)


# --- plans, transformers, output -----------------------------------------------------------------


def test_plan_of_sites_equals_the_plan_of_pooled_records():
    clf = classifier(epsilon=1.0)
    found, expected = clf.plan(at_sites(), None, X_PUBLIC), clf.plan(X, LABELS, X_PUBLIC)
    assert str(found) == str(expected) and found.method_summary.n_records == N
    assert clf.plan(at_sites(groups=PERSONS), None, X_PUBLIC).method_summary.n_records is None


@pytest.mark.slow
def test_plan_of_sites_has_trials_on_labelled_public_rows():
    clf = classifier(epsilon=1.0)
    y_public = np.array(["no", "yes"])[(X_PUBLIC["size"] > 1).astype(int)]
    trials = clf.plan(at_sites(), None, X_PUBLIC, y_public=y_public).trials
    assert len(trials) == 5 and trials[0].score.mean < trials[-1].score.mean


def test_transformer_of_your_own_is_used_at_sites():
    method = ReverseNeighbors(FunctionTransformer(np.cbrt), n_cells=6)
    rows, public = X[["size", "visits"]], X_PUBLIC[["size", "visits"]]
    clf = classifier(method=method)
    votes = clf.poll(at_sites(rows=rows), None, public)
    np.testing.assert_array_equal(votes.counts, clf.poll(rows, LABELS, public).counts)


def test_output_of_load_is_suppressed_and_generators_are_restored(capfd):
    def loud(name):
        print(SECRET)
        np.random.seed(0)
        return load(name)

    np.random.seed(7)
    before = np.random.get_state()[1].tobytes()
    classifier().fit(Sites(loud, NAMES), None, X_PUBLIC)
    assert np.random.get_state()[1].tobytes() == before
    assert SECRET not in "".join(capfd.readouterr())


def test_memory_holds_nothing_of_sites(tmp_path):
    clf = classifier(method="neighbors", random_state=None, memory=str(tmp_path / "memory"))
    first = clf.poll(at_sites(), None, X_PUBLIC).counts
    np.testing.assert_array_equal(first, clf.poll(at_sites(), None, X_PUBLIC).counts)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    functions = {path.parent.parent.name for path in files if path.name == "output.pkl"}
    assert functions == {"_entropy"}  # seeds alone


def test_verbose_fit_counts_sites(capsys):
    classifier(method="neighbors", verbose=1).fit(at_sites(), None, X_PUBLIC)
    assert f"records {len(NAMES)}/{len(NAMES)}" in capsys.readouterr().out


def test_sites_with_a_model_are_teachers_as_before():
    sites = Sites(lambda name: load(name), NAMES[:3])
    clf = classifier(method="teachers", epsilon=20.0, on_bad_plan="warn").fit(sites, None, X_PUBLIC)
    assert clf.n_teachers_ == 3 and clf.privacy_spent_.unit == "group"
    assert issubclass(OwnSynthesizer, Synthesizer)


def test_names_of_sites_with_equal_texts_are_refused():
    with pytest.raises(ValueError, match="names must be .* that differ"):
        Sites(load, ["b'a'", b"a"])  # str of both is the same, so one site would count twice


def test_one_column_of_labels_for_several_targets_of_sites_is_refused():
    clf = PATEClassifier(classes=[[0, 1], [0, 1]])
    with pytest.raises(ValueError, match="y must have 2 columns, one for each target"):
        clf.fit(at_sites(), None, X_PUBLIC)

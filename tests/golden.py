"""What seeded fits publish, compared with `golden.json`; argument `write` makes it anew."""

import json
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from skorch import NeuralNetClassifier
from torch import nn

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import (
    ConfidentGNMax,
    GaussianMechanism,
    GNMax,
    ImmutableArgmax,
    InteractiveGNMax,
    LaplaceMechanism,
    LNMax,
    SoftVote,
    StableArgmax,
)
from sklearn_pate.column_sums import ColumnSums
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.model_selection import PrivateGridSearchCV
from sklearn_pate.neighbors import ReverseNeighbors
from sklearn_pate.public import PublicData
from sklearn_pate.synthesis import ClassSums, MarginalSynthesizer
from sklearn_pate.teachers import Sites
from sklearn_pate.teachers.batched import BatchedTeachers

FILE = Path(__file__).with_suffix(".json")
CLASSES = [0, 1]
SCHEMA = {"a": (-4, 4), "b": (-4, 4), "c": ["x", "y", "z"]}


def arrays(n=600, n_public=200):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + n_public + 50, 3))
    y = (X @ [2.0, 1.0, -1.0] + 0.5 * rng.normal(size=len(X)) > 0).astype(int)
    return X[:n], y[:n], X[n : n + n_public], X[-50:]


def named_rows(rows):
    return [f"person {k}" for k in range(len(rows))]


def frames():
    X, y, X_public, X_test = arrays()

    def frame(rows):
        named = pd.DataFrame(rows[:, :2], columns=["a", "b"], index=named_rows(rows))
        return named.assign(c=np.array(["x", "y", "z"])[np.digitize(rows[:, 2], [-0.5, 0.5])])

    return frame(X), y, frame(X_public), frame(X_test)


class Failing(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise RuntimeError("no")

    def predict(self, X):
        return np.zeros(len(X), int)


class FailsOnMany(GaussianNB):
    """A student that passes the rehearsal, and fails on the real labels."""

    calls = 0

    def fit(self, X, y, sample_weight=None):
        type(self).calls += 1
        if type(self).calls > 1:
            raise RuntimeError("no")
        return super().fit(X, y, sample_weight)


def plain(value):
    """Return numbers and words, floats with ten digits."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(v) for v in (value.tolist() if isinstance(value, np.ndarray) else value)]
    if isinstance(value, float | np.floating):
        return float(f"{value:.10g}")
    return value if isinstance(value, int | str | None | bool) else str(value)


def seen(clf, X_test=None):
    """Return what a fit, or one that failed, shows."""
    is_seeded = clf.get_params().get("random_state") is not None
    found = {"attributes": sorted(name for name in vars(clf) if name.endswith("_"))}
    spent = getattr(clf, "privacy_spent_", None)
    if spent is not None:
        told = spent.to_dict()
        for changes in ("fit_number", "version", "sklearn_pate"):
            told.pop(changes, None)
        if not is_seeded:
            told.pop("n_answered", None)
        found["spent"] = told
    if not is_seeded:
        return plain(found)
    for name in ("public_labels_", "query_indices_"):
        if hasattr(clf, name):
            found[name] = getattr(clf, name)
    if hasattr(clf, "X_synthetic_"):
        rows = clf.X_synthetic_
        found["drawn"] = rows[:10].to_numpy() if hasattr(rows, "to_numpy") else rows[:10]
    if hasattr(getattr(clf, "table_", None), "counts"):
        found["table"] = clf.table_.counts
    if hasattr(clf, "student_") and X_test is not None:
        found["proba"] = clf.predict_proba(X_test)[:, 0]
    return plain(found)


def fitted(clf, X, y, X_public, X_test, **more):
    """Return what plan and fit show; of an error its type, cause and what is left."""
    told = {}
    try:
        told["plan"] = str(clone(clf).set_params(ledger=None).plan(X, y, X_public, **more))
        clf.fit(X, y, X_public, **more)
    except Exception as error:
        told["error"] = [type(error).__name__, type(error.__cause__).__name__, str(error)[:50]]
        at_error = getattr(error, "privacy_spent", None)
        told["spent in error"] = None if at_error is None else plain(at_error.epsilon)
    told["ledger"] = rows_of(clf.ledger)
    return told | seen(clf, X_test)


def rows_of(ledger):
    if ledger is None:
        return None
    history = ledger.history()
    return plain(history[[c for c in KEPT if c in history.columns]].to_dict("records"))


KEPT = ("epsilon", "delta", "method", "unit", "n_queries", "adjacency")


def teachers(base=None, **params):
    base = GaussianNB() if base is None else base
    given = {
        "random_state": 0,
        "n_teachers": 20,
        "epsilon": 4.0,
        "n_queries": 30,
        "on_bad_plan": "warn",
    } | params
    return PATEClassifier(base, classes=CLASSES, **given)


def records(**params):
    given = {"random_state": 0, "on_bad_plan": "warn"} | params
    return PATEClassifier(classes=CLASSES, **given)


def cases(folder):
    """Yield names and what is fitted."""
    table = arrays()
    frame = frames()
    X, y, X_public, X_test = table
    groups = np.arange(len(y)) // 3
    none = (X, y, None, X_test)
    no_rows = (*frame[:2], None, frame[3])
    as_array = {"bounds": (-4, 4), "missing": []}
    yield "records", records(), table, {}
    yield "records, frame", records(), frame, {}
    yield "records, groups", records(unit="group"), table, {"groups": groups}
    yield "records, hash", records(partition="hash"), frame, {}
    yield "records, weights", records(), table, {"sample_weight": np.linspace(0, 1, len(y))}
    yield "records, Gaussian", records(aggregator=GaussianMechanism(5.0)), table, {}
    yield "records, Laplace", records(aggregator=LaplaceMechanism(5.0)), table, {}
    yield "records, own student", records(student=DecisionTreeClassifier(random_state=0)), table, {}
    yield "records, balanced", records(class_weight="balanced"), table, {}
    two = ReverseNeighbors(n_neighbors=2)
    yield "records, parameters", records(base_estimator=two), table, {}
    yield (
        "records, join",
        records(base_estimator=ReverseNeighbors(adjacency="add_or_remove")),
        table,
        {},
    )
    yield "columns", records(base_estimator=ColumnSums()), table, {}
    yield "columns, frame", records(base_estimator=ColumnSums()), frame, {}
    yield "teachers", teachers(), table, {}
    yield "teachers, frame", teachers(DecisionTreeClassifier(random_state=0)), table, {}
    yield "teachers, rule", teachers(n_teachers=None, n_queries=None), table, {}
    yield "teachers, groups", teachers(unit="group"), table, {"groups": groups}
    yield (
        "teachers, hash",
        teachers(DecisionTreeClassifier(random_state=0), partition="hash"),
        frame,
        {},
    )
    yield (
        "teachers, predefined",
        teachers(n_teachers=None, partition="predefined"),
        table,
        {"groups": np.arange(len(y)) % 20},
    )
    yield (
        "teachers, list",
        teachers([GaussianNB(), DecisionTreeClassifier(random_state=0)]),
        table,
        {},
    )
    yield "teachers, weights", teachers(), table, {"sample_weight": np.linspace(0, 1, len(y))}
    yield "teachers, kept", teachers(keep_teachers=True), table, {}
    yield "LNMax", teachers(aggregator=LNMax(2.0), epsilon=8.0), table, {}
    yield "GNMax, no cap", teachers(aggregator=GNMax(4.0), epsilon=None), table, {}
    yield "Immutable", teachers(aggregator=ImmutableArgmax(sigma=3.0)), table, {}
    yield "Stable", teachers(aggregator=StableArgmax()), table, {}
    yield "SoftVote", teachers(aggregator=SoftVote(3.0), epsilon=None), table, {}
    confident = ConfidentGNMax(0.6, 6.0, 3.0)
    yield "Confident", teachers(aggregator=confident, epsilon=6.0), table, {}
    interactive = InteractiveGNMax(0.6, 6.0, 3.0, 0.9)
    stages = teachers(aggregator=[confident, interactive], n_queries=[20, 20], epsilon=6.0)
    yield "Confident, then Interactive", stages, table, {}
    yield (
        "private test",
        teachers(n_teachers=100, accounting="ptr", epsilon=3.0, aggregator=GNMax(12.0)),
        table,
        {},
    )
    yield (
        "private test, failed",
        teachers(
            n_teachers=20, accounting="ptr", epsilon=2.0, aggregator=GNMax(12.0), n_queries=30
        ),
        table,
        {},
    )
    yield "uncertainty", teachers(query_strategy="uncertainty"), table, {}
    yield "diversity", teachers(query_strategy="diversity"), table, {}
    yield "n_jobs", teachers(n_jobs=2), table, {}
    yield "memory", teachers(memory=folder / "kept"), table, {}
    yield "memory, again", teachers(memory=folder / "kept"), table, {}
    network = NeuralNetClassifier(
        nn.Linear,
        module__in_features=3,
        module__out_features=2,
        max_epochs=3,
        train_split=None,
        criterion=nn.CrossEntropyLoss,
        verbose=0,
    )
    short = tuple(part.astype("float32") if part.dtype == float else part for part in table)
    batched = teachers(BatchedTeachers(network), student=LogisticRegression())
    yield "batched", batched, short, {}
    yield "rows and sums", records(schema=SCHEMA), no_rows, {}
    yield "rows and sums, array", records(schema=[(-4, 4)] * 3), none, {}
    yield (
        "rows and sums, groups",
        records(schema=[(-4, 4)] * 3, unit="group"),
        none,
        {"groups": groups},
    )
    yield "all sums", records(synthesizer=ClassSums(share=1.0, **as_array)), none, {}
    histograms = MarginalSynthesizer(**as_array, noise=LaplaceMechanism())
    yield (
        "rows and table, pure",
        records(synthesizer=histograms, delta=1e-300),
        none,
        {},
    )
    yield (
        "rows and table",
        records(synthesizer=histograms),
        none,
        {},
    )
    yield "rows and teachers", teachers(synthesizer=ClassSums(**as_array)), none, {}
    ledger = PrivacyLedger(folder / "a.sqlite", epsilon=20.0)
    yield "ledger, records", records(random_state=None, ledger=ledger), table, {}
    yield "ledger, teachers", teachers(random_state=None, ledger=ledger), table, {}
    yield (
        "ledger, rows and table",
        records(random_state=None, ledger=ledger, schema=[(-4, 4)] * 3),
        none,
        {},
    )
    yield (
        "ledger, full",
        teachers(random_state=None, ledger=PrivacyLedger(folder / "b.sqlite", epsilon=1.0)),
        table,
        {},
    )
    yield (
        "ledger, full, rows",
        records(
            random_state=None,
            ledger=PrivacyLedger(folder / "c.sqlite", epsilon=0.5),
            schema=[(-4, 4)] * 3,
        ),
        none,
        {},
    )
    yield "a failing teacher", teachers(Failing()), table, {}
    yield (
        "rows and a failing teacher",
        teachers(Failing(), synthesizer=ClassSums(**as_array)),
        none,
        {},
    )
    yield "a failing student", teachers(student=Failing()), table, {}
    FailsOnMany.calls = 0
    yield (
        "a student that fails late",
        teachers(
            random_state=None,
            student=FailsOnMany(),
            ledger=PrivacyLedger(folder / "d.sqlite", epsilon=9.0),
        ),
        table,
        {},
    )


def other_cases():
    """Yield what is done in other ways than by one fit."""
    X, y, X_public, X_test = arrays()
    clf = teachers()
    votes = clf.poll(X, y, X_public)
    yield "poll, fit_votes", seen(clf.fit_votes(votes, X_public), X_test)
    yield "poll, fit_votes, again", seen(clf.fit_votes(votes, X_public), X_test)
    clf = records()
    votes = clf.poll(X, y, X_public)
    yield "poll, fit_votes, records", seen(clf.fit_votes(votes, X_public), X_test)
    clf = teachers().fit(X, y, X_public)
    yield "fit_student", seen(clone_of(clf).fit_student(X_public), X_test)
    yield "export", plain(clf.export().predict_proba(X_test)[:, 0])
    for name, make, params in (
        ("teachers", lambda: teachers(random_state=None, epsilon=1.0), {"n_queries": [20, 30]}),
        ("records", lambda: records(random_state=None), {"class_weight": [None, "balanced"]}),
    ):
        for held, given in (
            ("held out", {}),
            ("public", {"X_val": X_test, "y_val": (X_test[:, 0] > 0).astype(int)}),
        ):
            search = PrivateGridSearchCV(make(), params, epsilon=8.0, random_state=0)
            yield f"search, {name}, {held}", searched(search, X, y, X_public, X_test, **given)
    search = PrivateGridSearchCV(
        records(random_state=None, schema=[(-4, 4)] * 3),
        {"class_weight": [None, "balanced"]},
        epsilon=4.0,
        random_state=0,
    )
    yield "search, drawn rows", searched(search, X, y, None, X_test)
    parts = np.array_split(np.arange(len(y)), 20)
    sites = Sites(
        lambda name: (X[parts[int(name)]], y[parts[int(name)]]), list(map(str, range(20)))
    )
    yield (
        "sites",
        seen(teachers(n_teachers=None, partition="predefined").fit(sites, None, X_public), X_test),
    )


def clone_of(clf):
    import copy

    return copy.copy(clf)


def searched(search, X, y, X_public, X_test, **more):
    try:
        search.fit(X, y, X_public=None if X_public is None else PublicData(X_public), **more)
    except Exception as error:
        return [type(error).__name__, str(error)[:60]]
    return seen(search, None) | {"proba": plain(search.predict_proba(X_test)[:, 0])}


def all_found():
    """Return what every case shows."""
    found = {}
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        for name, clf, given, more in cases(Path(folder)):
            found[name] = fitted(clf, *given, **more)
        for name, told in other_cases():
            found[name] = told
    return found


def differences(now, then, path=""):
    """Yield where two findings differ; floats by a part in a million, as sums may be rounded."""
    if isinstance(now, dict) and isinstance(then, dict):
        for key in sorted(now.keys() | then.keys()):
            yield from differences(now.get(key), then.get(key), f"{path}/{key}")
    elif isinstance(now, list) and isinstance(then, list) and len(now) == len(then):
        for k, (one, other) in enumerate(zip(now, then, strict=True)):
            yield from differences(one, other, f"{path}/{k}")
    elif isinstance(now, float) and isinstance(then, float):
        if abs(now - then) > 1e-6 * max(1, abs(then)):
            yield f"{path}: {then} -> {now}"
    elif now != then:
        yield f"{path}: {then!r} -> {now!r}"


if __name__ == "__main__":
    found = json.loads(json.dumps(all_found()))
    if sys.argv[1:] == ["write"]:
        FILE.write_text(json.dumps(found) + "\n")
    else:
        differ = list(differences(found, json.loads(FILE.read_text())))
        print(*differ[:40], f"{len(differ)} differences", sep="\n")
        sys.exit(bool(differ))

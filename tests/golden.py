"""Compare seeded fits of every path with fits of another commit, bit by bit.

    python tests/golden.py COMMIT

makes a worktree of the commit, runs the `golden.py` of that commit in it, and compares: votes,
labels, tables, synthetic rows, probabilities, costs and ledgers must be equal to the last bit.
Texts of plans, statements and errors are compared with ``--texts``.

    python tests/golden.py --write FILE

writes the results of this checkout.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

# Before numpy is imported: with more threads, BLAS adds up in another order
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from sklearn_pate import PATEClassifier, PATERegressor
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
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.methods import ReverseNeighbors
from sklearn_pate.methods.sums import ClassSums
from sklearn_pate.model_selection import PrivateGridSearchCV
from sklearn_pate.partition import PredefinedPartition
from sklearn_pate.public import PublicData
from sklearn_pate.rdp import ProvedEvent
from sklearn_pate.releases import Release
from sklearn_pate.synthesis import ClassSumsSynthesizer, MarginalSynthesizer
from sklearn_pate.teachers import Sites

ROOT = Path(__file__).parents[1]
CLASSES = [0, 1]
SCHEMA = {"a": (-4, 4), "b": (-4, 4), "c": ["x", "y", "z"]}
ARRAY_SCHEMA = [(-4, 4)] * 3

# --- data and parts of the fits -------------------------------------------------------------------


def arrays(n=600, n_public=200):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + n_public + 50, 3))
    y = (X @ [2.0, 1.0, -1.0] + 0.5 * rng.normal(size=len(X)) > 0).astype(int)
    return X[:n], y[:n], X[n : n + n_public], X[-50:]


def frames():
    X, y, X_public, X_test = arrays()

    def frame(rows):
        index = [f"person {k}" for k in range(len(rows))]
        numbers = pd.DataFrame(rows[:, :2], columns=["a", "b"], index=index)
        return numbers.assign(c=np.array(["x", "y", "z"])[np.digitize(rows[:, 2], [-0.5, 0.5])])

    return frame(X), y, frame(X_public), frame(X_test)


def wide(n=1500, n_public=400, n_columns=60):
    """Return arrays of many columns, for which class sums are chosen."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n + n_public + 50, n_columns))
    y = (X @ rng.normal(size=n_columns) > 0).astype(int)
    return X[:n], y[:n], X[n : n + n_public], X[-50:]


class Failing(ClassifierMixin, BaseEstimator):
    """Fails in every fit."""

    def fit(self, X, y):
        raise RuntimeError("no")

    def predict(self, X):
        return np.zeros(len(X), int)


class FailsLate(GaussianNB):
    """Passes its dry run, where labels alternate, and fails on the released labels."""

    def fit(self, X, y, sample_weight=None):
        if not np.array_equal(y, np.arange(len(y)) % 2):
            raise RuntimeError("no")
        return super().fit(X, y, sample_weight)


class ClassCounts(Release):
    """A release of a user's: the number of records of each class."""

    def __init__(self, scale=None, epsilon_fraction=0.1):
        self.scale = scale
        self.epsilon_fraction = epsilon_fraction

    def with_scale(self, scale):
        return clone(self).set_params(scale=scale) if self.scale is None else None

    def event(self, neighbors):
        mechanism, contribution = LaplaceMechanism(self.scale), neighbors.counts(1)
        return ProvedEvent(lambda orders: mechanism.cost(contribution, orders), is_pure=True)

    def gather(self, private):
        return np.bincount(private.codes, minlength=len(private.classes))

    def publish(self, gathered, rng):
        return LaplaceMechanism(self.scale).noisy(gathered[None], rng)[0]

    def describe(self):
        return "the number of records of each class"


# --- results --------------------------------------------------------------------------------------


def plain(value):
    """Return numbers as hexadecimal floats, arrays as digests of their bits."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if isinstance(value, np.ndarray) and value.dtype.kind in "iufb":
        content = np.ascontiguousarray(value).tobytes()
        return [value.dtype.str, list(value.shape), hashlib.sha256(content).hexdigest()[:16]]
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(v) for v in value]
    if isinstance(value, bool | np.bool_ | str | None):
        return value if isinstance(value, str | None) else bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value).hex()
    return str(value)


def cost_of(cost):
    parts = [cost.mu_squared, cost.pure, cost.delta, cost.pure_part, cost.mu_squared_part]
    return plain([*map(float, parts), cost.rdp])


def statement_of(spent):
    """Return the numbers of a statement and, by themselves, its texts."""
    record = spent.to_dict()
    numbers = {
        "epsilon": spent.epsilon,
        "delta": spent.delta,
        "composition": record["composition"],
        "unit": spent.unit,
        "n_teachers": spent.n_teachers,
        "n_queries": spent.n_queries,
        "n_answered": spent.n_answered,
        "arithmetic": spent.arithmetic,
        "generator": spent.generator,
        "n_synthetic": spent.n_synthetic,
        "covers": spent.covers,
    }
    changing = ("version", "fit_number")
    texts = {name: value for name, value in record.items() if name not in {*numbers, *changing}}
    return numbers, texts | {"summary": spent.summary().replace("\n", " ")}


def published_by(estimator, X_test=None):
    """Return everything that a fit published; of an unseeded one, the parts without noise."""
    is_seeded = estimator.get_params().get("random_state") is not None
    numbers = {}
    texts = {"attributes": sorted(name for name in vars(estimator) if name.endswith("_"))}
    spent = getattr(estimator, "privacy_spent_", None)
    if spent is not None:
        numbers["spent"], texts["spent"] = statement_of(spent)
        if not is_seeded:
            numbers["spent"].pop("n_answered")
            texts["spent"].pop("summary")
    if is_seeded:
        for name in ("public_labels_", "public_soft_labels_", "query_indices_", "X_synthetic_"):
            numbers[name] = getattr(estimator, name, None)
        numbers["released"] = [
            np.asarray(sampled) for sampled in getattr(estimator, "released_", [])
        ]
        numbers["table"] = getattr(getattr(estimator, "table_", None), "counts", None)
        if hasattr(estimator, "student_") and X_test is not None:
            numbers["predicted"] = estimator.predict(X_test)
            if hasattr(estimator, "predict_proba"):
                numbers["proba"] = estimator.predict_proba(X_test)
    return {"numbers": plain(numbers), "texts": plain(texts)}


def fitted(estimator, X, y, X_public, X_test, **more):
    """Return the results of plan and fit; of an error its type, cause and kept attributes."""
    numbers, texts = {}, {}
    try:
        plan = clone(estimator).set_params(ledger=None).plan(X, y, X_public, **more)
        texts["plan"] = str(plan)
        numbers["plan cost"] = cost_of(plan.cost)
        numbers["stages"] = [(str(stage), n) for stage, n in plan.stages]
        estimator.fit(X, y, X_public, **more)
    except Exception as error:
        numbers["error"] = [type(error).__name__, type(error.__cause__).__name__]
        texts["error"] = str(error)
        at_error = getattr(error, "privacy_spent", None)
        numbers["spent in error"] = None if at_error is None else at_error.epsilon
    numbers["ledger"] = ledger_rows(estimator.ledger)
    found = published_by(estimator, X_test)
    return {"numbers": plain(numbers) | found["numbers"], "texts": plain(texts) | found["texts"]}


def ledger_rows(ledger):
    if ledger is None:
        return None
    return ledger.history()[["n_teachers", "n_queries", "epsilon"]].to_dict("records")


# --- the cases ------------------------------------------------------------------------------------


def teachers(base=None, **params):
    base = GaussianNB() if base is None else base
    given = {"random_state": 0, "n_teachers": 20, "epsilon": 4.0, "n_queries": 30}
    given |= {"on_bad_plan": "warn"} | params
    return PATEClassifier(base, classes=CLASSES, **given)


def records(**params):
    return PATEClassifier(classes=CLASSES, **{"random_state": 0, "on_bad_plan": "warn"} | params)


def numbers(base=None, **params):
    given = {"random_state": 0, "on_bad_plan": "warn", "bounds": (-8, 8)} | params
    return PATERegressor(base, **given)


def cases(folder):
    """Yield names, estimators, data, and other arguments of `fit`."""
    table, frame = arrays(), frames()
    X, y, X_public, X_test = table
    groups = np.arange(len(y)) // 3
    weight = np.linspace(0, 1, len(y))
    none = (X, y, None, X_test)
    no_rows = (*frame[:2], None, frame[3])
    schema = {"bounds": (-4, 4), "missing": []}
    tree = DecisionTreeClassifier(random_state=0)

    yield "neighbors", records(), table, {}
    yield "neighbors, frame", records(), frame, {}
    yield "neighbors, groups", records(unit="group"), table, {"groups": groups}
    yield "neighbors, weights", records(), table, {"sample_weight": weight}
    yield "neighbors, Gaussian", records(aggregator=GaussianMechanism(8.0)), table, {}
    yield "neighbors, Laplace", records(aggregator=LaplaceMechanism(5.0)), table, {}
    yield (
        "neighbors, continuous",
        records(aggregator=LaplaceMechanism(5.0, "continuous")),
        table,
        {},
    )
    yield "neighbors, student", records(student=tree), table, {}
    yield "neighbors, balanced", records(class_weight="balanced"), table, {}
    yield "neighbors, two cells", records(method=ReverseNeighbors(n_neighbors=2)), table, {}
    joining = ReverseNeighbors(relation="add_or_remove_one")
    yield "neighbors, add or remove", records(method=joining), table, {}
    yield (
        "neighbors, add or remove groups",
        records(method=joining, unit="group"),
        table,
        {"groups": groups},
    )
    yield "neighbors, workers", records(n_jobs=2), table, {}
    yield "neighbors, memory", records(memory=folder / "records"), table, {}
    yield "neighbors, release", records(releases=[ClassCounts()]), table, {}
    yield "sums, chosen", records(), wide(), {}
    yield "sums", records(method=ClassSums()), table, {}
    yield "sums, frame", records(method=ClassSums()), frame, {}
    yield (
        "sums, groups",
        records(method=ClassSums(), unit="group"),
        table,
        {"groups": groups},
    )
    yield "sums, weights", records(method=ClassSums()), table, {"sample_weight": weight}
    columns = ClassSums(relation="add_or_remove_one", extra_columns=False)
    yield "sums, add or remove", records(method=columns), table, {}

    yield "teachers", teachers(), table, {}
    encoded = make_pipeline(
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), tree
    )
    yield "teachers, frame", teachers(encoded), frame, {}
    yield "teachers, default", teachers(n_teachers=None, n_queries=None), table, {}
    yield "teachers, default model", records(n_queries=20, n_teachers=20, epsilon=4.0), table, {}
    yield "teachers, groups", teachers(unit="group"), table, {"groups": groups}
    yield "teachers, hash", teachers(encoded, partition="hash"), frame, {}
    predefined = {"n_teachers": None, "partition": "predefined"}
    yield "teachers, predefined", teachers(**predefined), table, {"groups": np.arange(len(y)) % 20}
    named = PredefinedPartition(names=range(20))
    yield (
        "teachers, named",
        teachers(n_teachers=None, partition=named),
        table,
        {"groups": np.arange(len(y)) % 20},
    )
    yield "teachers, list", teachers([GaussianNB(), tree]), table, {}
    yield "teachers, weights", teachers(), table, {"sample_weight": weight}
    yield "teachers, kept", teachers(keep_teachers=True), table, {}
    yield "teachers, workers", teachers(n_jobs=2), table, {}
    yield "teachers, memory", teachers(memory=folder / "kept"), table, {}
    yield "teachers, memory, again", teachers(memory=folder / "kept"), table, {}
    yield "teachers, release", teachers(releases=[ClassCounts(5.0)]), table, {}
    yield "teachers, balanced", teachers(class_weight="balanced"), table, {}
    yield "LNMax", teachers(aggregator=LNMax(2.0), epsilon=8.0), table, {}
    yield "GNMax, no limit", teachers(aggregator=GNMax(4.0), epsilon=None), table, {}
    yield (
        "ImmutableArgmax",
        teachers(aggregator=ImmutableArgmax(sigma=3.0), epsilon=None),
        table,
        {},
    )
    yield (
        "StableArgmax",
        teachers(aggregator=StableArgmax(8.0, 5), n_teachers=100, epsilon=None),
        table,
        {},
    )
    yield "SoftVote", teachers(aggregator=SoftVote(3.0), epsilon=None), table, {}
    confident = ConfidentGNMax(0.6, 6.0, 3.0)
    yield "ConfidentGNMax, filter", teachers(aggregator=confident, epsilon=6.0), table, {}
    interactive = InteractiveGNMax(0.6, 6.0, 3.0, 0.9)
    stages = {"aggregator": [confident, interactive], "n_queries": [20, 20]}
    yield "stages", teachers(epsilon=6.0, **stages), table, {}
    tested = {"accounting": "ptr", "aggregator": GNMax(12.0)}
    yield "private test", teachers(n_teachers=100, epsilon=3.0, **tested), table, {}
    unrelated = (X, np.random.default_rng(0).permutation(y), X_public, X_test)
    yield "private test, failed", teachers(n_teachers=100, epsilon=1.6, **tested), unrelated, {}
    yield "uncertainty", teachers(query_strategy="uncertainty"), table, {}
    yield "diversity", teachers(query_strategy="diversity"), table, {}
    yield from network_cases(table)

    yield "schema", records(schema=SCHEMA), no_rows, {}
    yield "schema, array", records(schema=ARRAY_SCHEMA), none, {}
    yield "schema, many records", records(schema=SCHEMA), many_frames(), {}
    yield "schema, groups", records(schema=ARRAY_SCHEMA, unit="group"), none, {"groups": groups}
    yield "schema, release", records(schema=ARRAY_SCHEMA, releases=[ClassCounts()]), none, {}
    all_sums = ClassSumsSynthesizer(epsilon_fraction=1.0, **schema)
    yield "all sums", records(synthesizer=all_sums), none, {}
    yield (
        "sums, then neighbors",
        records(synthesizer=ClassSumsSynthesizer(epsilon_fraction=0.3, **schema)),
        none,
        {},
    )
    histograms = MarginalSynthesizer(**schema, noise=LaplaceMechanism())
    yield "histograms, pure", records(synthesizer=histograms), none, {}
    histograms = MarginalSynthesizer(**schema, n_bins=16)
    voting = {"aggregator": GaussianMechanism(), "synthesizer": histograms}
    yield "histograms, Gaussian", records(**voting), none, {}
    yield "synthetic rows, teachers", teachers(synthesizer=ClassSumsSynthesizer(**schema)), none, {}

    target = X @ [2.0, 1.0, -1.0]
    of_numbers = (X, target, X_public, X_test)
    yield "regressor, neighbors", numbers(), of_numbers, {}
    yield "regressor, levels", numbers(n_levels=10, epsilon=4.0), of_numbers, {}
    yield "regressor, sums", numbers(method=ClassSums()), of_numbers, {}
    queried = {"n_teachers": 20, "n_queries": 30, "epsilon": 8.0}
    yield "regressor, teachers", numbers(Ridge(), **queried), of_numbers, {}
    yield "regressor, schema", numbers(schema=ARRAY_SCHEMA), (X, target, None, X_test), {}
    yield "regressor, groups", numbers(unit="group"), of_numbers, {"groups": groups}

    ledger = PrivacyLedger(folder / "a.sqlite", epsilon=20.0)
    unseeded = {"random_state": None, "ledger": ledger}
    yield "ledger, neighbors", records(**unseeded), table, {}
    yield "ledger, teachers", teachers(**unseeded), table, {}
    yield "ledger, schema", records(schema=ARRAY_SCHEMA, **unseeded), none, {}
    full = {"random_state": None, "ledger": PrivacyLedger(folder / "b.sqlite", epsilon=0.5)}
    yield "ledger, over budget", teachers(**full), table, {}
    yield "ledger, over budget, schema", records(schema=ARRAY_SCHEMA, **full), none, {}
    yield "failing teacher", teachers(Failing()), table, {}
    sums = ClassSumsSynthesizer(**schema)
    yield "failing teacher, schema", teachers(Failing(), synthesizer=sums), none, {}
    yield "failing student", teachers(student=Failing()), table, {}
    late = {"student": FailsLate(), "ledger": PrivacyLedger(folder / "c.sqlite", epsilon=9.0)}
    yield "student that fails late", teachers(random_state=None, **late), table, {}


def many_frames():
    """Return frames of enough records for votes on synthetic rows."""
    rng = np.random.default_rng(2)
    numbers = rng.normal(size=(4000, 2))
    text = rng.choice(["x", "y", "z"], 4000)
    X = pd.DataFrame(numbers, columns=["a", "b"]).assign(c=text)
    y = (numbers[:, 0] * numbers[:, 1] + (text == "x") > 0).astype(int)
    return X[:3900], y[:3900], None, X[3900:]


def network_cases(table):
    """Yield teachers that train together, where torch is installed."""
    try:
        from skorch import NeuralNetClassifier
        from torch import nn

        from sklearn_pate.teachers.batched import BatchedTeachers
    except ImportError:
        return
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
    yield "batched", teachers(BatchedTeachers(network), student=LogisticRegression()), short, {}


def other_cases():
    """Yield results of `poll`, `fit_votes`, `fit_student`, `export`, searches and sites."""
    X, y, X_public, X_test = arrays()
    for name, make in (("teachers", teachers), ("records", records)):
        clf = make()
        votes = clf.poll(X, y, X_public)
        yield f"poll, fit_votes, {name}", published_by(clf.fit_votes(votes, X_public), X_test)
        yield f"fit_votes again, {name}", published_by(clf.fit_votes(votes, X_public), X_test)
    clf = teachers(synthesizer=ClassSumsSynthesizer((-4, 4), missing=[]))
    votes = clf.poll(X, y)
    yield "poll, fit_votes, synthetic rows", published_by(clf.fit_votes(votes), X_test)
    clf = teachers()
    counts = np.column_stack([np.arange(200) % 21, 20 - np.arange(200) % 21])
    yield "fit_votes, counts", published_by(clf.fit_votes(counts, X_public), X_test)
    clf = teachers().fit(X, y, X_public)
    yield "export", {"numbers": plain({"proba": clf.export().predict_proba(X_test)}), "texts": {}}
    again = clf.fit_student(X_public, GaussianNB())
    yield "fit_student", published_by(again, X_test)
    for name, make, params in (
        ("teachers", lambda: teachers(random_state=None, epsilon=1.0), {"n_queries": [20, 30]}),
        ("records", lambda: records(random_state=None), {"class_weight": [None, "balanced"]}),
    ):
        labelled = {"X_val": X_test, "y_val": (X_test[:, 0] > 0).astype(int)}
        for scored, given in (("held out", {}), ("public", labelled)):
            search = PrivateGridSearchCV(make(), params, epsilon=8.0, random_state=0)
            yield f"search, {name}, {scored}", searched(search, X, y, X_public, X_test, **given)
    search = PrivateGridSearchCV(
        records(random_state=None, schema=ARRAY_SCHEMA),
        {"class_weight": [None, "balanced"]},
        epsilon=4.0,
        random_state=0,
    )
    yield "search, schema", searched(search, X, y, None, X_test)
    rows = np.array_split(np.arange(len(y)), 20)

    def load(name):
        return X[rows[int(name)]], y[rows[int(name)]]

    sites = Sites(load, list(map(str, range(20))))
    clf = teachers(n_teachers=None, partition="predefined").fit(sites, None, X_public)
    yield "sites", published_by(clf, X_test)


def searched(search, X, y, X_public, X_test, **more):
    try:
        search.fit(X, y, X_public=None if X_public is None else PublicData(X_public), **more)
    except Exception as error:
        return {"numbers": {"error": type(error).__name__}, "texts": {"error": str(error)}}
    found = published_by(search, X_test)
    found["numbers"]["best"] = plain([search.best_score_, str(search.best_params_)])
    return found


def all_results():
    """Return the results of every case."""
    found = {}
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        for name, estimator, given, more in cases(Path(folder)):
            found[name] = fitted(estimator, *given, **more)
        for name, result in other_cases():
            found[name] = result
    return json.loads(json.dumps(found))


# --- comparing ------------------------------------------------------------------------------------


def differences(now, then, path=""):
    """Yield where two results differ."""
    if isinstance(now, dict) and isinstance(then, dict):
        for key in sorted(now.keys() | then.keys()):
            yield from differences(now.get(key), then.get(key), f"{path}/{key}")
    elif now != then:
        yield f"{path}: {then!r} -> {now!r}"


def results_of(commit):
    """Return the results of another commit, by its own `golden.py` in a worktree."""
    with tempfile.TemporaryDirectory() as folder:
        tree, file = Path(folder) / "tree", Path(folder) / "results.json"
        subprocess.run(
            ["git", "worktree", "add", "-q", "--detach", tree, commit], cwd=ROOT, check=True
        )
        try:
            command = [sys.executable, tree / "tests" / "golden.py", "--write", file]
            env = os.environ | {"PYTHONPATH": str(tree)}
            subprocess.run(command, cwd=tree, env=env, check=True)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)
        return json.loads(file.read_text())


def main():
    """Write the results, or compare them with the results of a commit."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("commit", nargs="?", help="commit to compare with")
    parser.add_argument("--write", type=Path, help="file to write the results to")
    parser.add_argument("--file", type=Path, help="file of results to compare with")
    parser.add_argument("--texts", action="store_true", help="compare texts as well")
    given = parser.parse_args()
    found = all_results()
    if given.write is not None:
        given.write.write_text(json.dumps(found, indent=1) + "\n")
        return
    then = results_of(given.commit) if given.file is None else json.loads(given.file.read_text())
    kinds = ("numbers", "texts") if given.texts else ("numbers",)
    differ = []
    for name in sorted(found.keys() | then.keys()):
        for kind in kinds:
            one, other = found.get(name, {}).get(kind), then.get(name, {}).get(kind)
            differ += differences(one, other, f"{name}: {kind}")
    print(*differ[:60], f"{len(found)} fits, {len(differ)} differences", sep="\n")
    sys.exit(bool(differ))


if __name__ == "__main__":
    main()

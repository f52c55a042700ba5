"""Pages of measurements: their odds, tables and numbers equal formulas and files."""

import contextlib
import csv
import json
import math
import re
import statistics
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import IN_THREADS, cases
from scipy.stats import ttest_1samp

from benchmarks.epsilons import command as epsilons
from benchmarks.papers import command
from benchmarks.papers import page as papers
from benchmarks.peers import page, tables
from benchmarks.peers.choice import chosen
from benchmarks.peers.found import OURS, firsts, found, other_models, own_relation, verdicts
from benchmarks.peers.measure import SEEDS, Results
from benchmarks.peers.models import MODELS
from benchmarks.shift import command as shift
from sklearn_pate.aggregators import LaplaceMechanism

ROOT = Path(__file__).parents[1]


def most_sure(epsilon, suspicion):
    """Odds grow by at most e^epsilon."""
    odds = np.exp(epsilon) * suspicion / (1 - suspicion)
    return odds / (1 + odds)


def right_on_average(epsilon):
    """Half of one more than the total variation of two numbers with Laplace noise of 2 / epsilon.

    Both differ by one. Each has a loss of epsilon / 2 in half of all cases, of -epsilon / 2 in half
    of e^(-epsilon / 2), and a density in between.
    """
    return 1 - (1 + epsilon / 4) * np.exp(-epsilon / 2) / 2


def test_odds_in_privacy_page_and_readme_equal_formulas():
    text = (ROOT / "docs" / "privacy.md").read_text()
    row = r"^\| ([\d.]+) \| at most ([\d.]+) % \| at most ([\d.]+) % \| ([\d.]+) %"
    rows = re.findall(row, text, re.M)
    assert len(rows) == 5
    readme = re.findall(r"([\d.]+) %", (ROOT / "README.md").read_text())
    assert readme == [rows[2][1], rows[0][1]]  # at epsilon 1, and at 0.1
    for row in rows:
        epsilon, *shown = map(float, row)
        expected = most_sure(epsilon, 0.5), most_sure(epsilon, 0.1), right_on_average(epsilon)
        assert shown == [math.ceil(10_000 * value) / 100 for value in expected]


@pytest.mark.parametrize("epsilon", [0.1, 4.0])
def test_right_on_average_equals_the_best_guess_about_a_vote(epsilon, global_random_seed):
    """Finds an error of 0.02 in 99 % of runs; fails by chance once in two millions."""
    mechanism = LaplaceMechanism(2 / epsilon)
    n_draws = 20_000
    right = 0
    for sign, votes in ((1, [1, 0]), (-1, [0, 1])):
        seed = np.random.default_rng([global_random_seed, sign + 1])
        seen = mechanism.noisy(np.tile(votes, (n_draws, 1)), random_state=seed)
        loss = np.abs(seen - [0, 1]).sum(axis=1) - np.abs(seen - [1, 0]).sum(axis=1)
        right += (sign * loss > 0).mean() / 2 + (loss == 0).mean() / 4  # a coin decides
    assert right == pytest.approx(right_on_average(epsilon), abs=5 * 0.5 / (2 * n_draws) ** 0.5)


# --- the fair table: its page is made of its files, and its arithmetic is right -------------------

DOCS = ROOT / "docs"
BY_NAME = {model.name: model for model in MODELS}


@pytest.fixture(scope="module")
def results():
    return Results(DOCS / "results" / "peers")


@pytest.fixture(scope="module")
def frame(results):
    return firsts(found(results, SEEDS))


@pytest.mark.slow
def test_results_page_and_readme_equal_tables_of_the_files(results, frame):
    made = page.render(results)
    shares = re.search(r"(?:^\|.*\n)+", made, re.M)[0]
    titles = ["Where ours is below", "All scores", "More of it, at epsilon 1", "Fits that failed"]
    assert all(f"\n## {title}\n" in made for title in [*titles, "Who had it easier"])
    assert made.count("\n### ") == len(tables.TABLES) and "Not measured yet." not in made
    assert page.readme_rows(frame) in (ROOT / "README.md").read_text()
    text = (DOCS / "results.md").read_text()
    worst = page.worst(frame)
    assert shares in text and worst in text
    (without,) = re.findall(r"^On (.*) no cell is lost\.$", text, re.M)
    lost = {row.split(" | ")[0].strip("| ") for row in worst.splitlines()[2:]}
    assert set(re.split(", | and ", without)) == set(tables.TABLES) - lost
    assert f"Ours is compared with {len(other_models(public=True))} private classifiers" in text


def test_results_page_row_of_another_paper_equals_the_files(frame):
    (row,) = re.findall(r"^\| S-BDT.*$", (DOCS / "results.md").read_text(), re.M)
    at = frame[(frame.table == "Adult") & (frame.epsilon == 0.1)]
    means = at.groupby("model")[["accuracy", "AUC"]].mean()
    ours = [" / ".join(f"{v:.3f}"[1:] for v in means.loc[model]) for model in list(OURS)[:2]]
    assert f"ours {ours[0]}, without public rows {ours[1]}." in row


def test_results_contain_each_model_in_each_cell(frame):
    assert not frame.duplicated(["model", "table", "epsilon", "seed"]).any()
    for model in MODELS:
        n_epsilons = len(model.epsilons) if model.is_private else 1
        for table in model.tables:
            fits = frame[(frame.model == model.name) & (frame.table == table)]
            assert set(fits.seed) == set(SEEDS), (model.name, table)
            assert len(fits) == n_epsilons * len(SEEDS), (model.name, table)


def made_frame(ours, theirs, epsilon=1.0):
    rows = []
    for name, values in {"PATE": ours, **theirs}.items():
        for seed, value in enumerate(values):
            place = {"model": name, "table": "Adult", "epsilon": epsilon, "seed": seed}
            rows.append(place | {"accuracy": value})
    return pd.DataFrame(rows)


@cases(
    "ours, is_lost, is_won",
    ([0.80, 0.81, 0.79, 0.80, 0.80], True, False),
    ([0.85, 0.95, 0.75, 0.85, 0.85], False, False),
    ([0.90, 0.91, 0.89, 0.90, 0.90], False, True),
    ([0.90, 0.91, np.nan, 0.90, 0.90], True, False),
)
def test_verdicts_compare_with_the_interval_of_the_best_peer(ours, is_lost, is_won):
    theirs = {"Opacus, network": [0.86] * 5, "diffprivlib, random forest": [0.5] * 5}
    lines = verdicts(made_frame(ours, theirs), "accuracy", of="PATE")
    assert list(lines["is lost"]) == [is_lost] and list(lines["is won"]) == [is_won]
    assert list(lines["best"]) == ["Opacus, network"]


def test_verdicts_count_peers_with_public_rows_only_with_public_rows():
    with_columns = "Opacus, network on columns of public rows"
    with_public = {with_columns: [0.9] * 5, "Opacus, network": [0.6] * 5}
    frame = made_frame([0.8] * 5, with_public)
    none = frame.replace({"model": {"PATE": "PATE, no public rows"}})
    assert verdicts(frame, "accuracy", of="PATE")["is lost"].all()
    assert not verdicts(none, "accuracy", of="PATE, no public rows")["is lost"].any()


def test_own_relation_halves_the_epsilon_of_a_replaced_record():
    frame = made_frame([0.8] * 5, {"Opacus, network": [0.7] * 5}, epsilon=0.5)
    own = own_relation(pd.concat([frame, frame.assign(epsilon=0.25)]))
    opacus = own[own.model == "Opacus, network"]
    assert set(opacus.epsilon) == {0.25} and len(opacus) == 5


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_own_epsilon_of_a_replaced_record_covers_two_changes(epsilon):
    """Group privacy: after a second change, P <= e^own (e^own Q + delta) + delta."""
    own, delta = BY_NAME["Opacus, network"].own(epsilon, 1e-6)
    assert 2 * own == pytest.approx(epsilon) and delta * np.exp(own) + delta == pytest.approx(1e-6)
    assert BY_NAME["diffprivlib, logistic regression"].own(epsilon, 1e-6) == (epsilon, 1e-6)


def test_chosen_settings_depend_on_other_tables():
    model = BY_NAME["diffprivlib, random forest"]
    first, second, third = model.settings
    by_table = {"a": (0.9, 0.1, 0.1), "b": (0.5, 0.6, 0.1), "c": (0.5, 0.6, 0.1)}
    cell = {"model": model.name, "epsilon": 1.0, "seed": 0}
    rows = [
        cell | {"table": table, "setting": setting, "accuracy": accuracy}
        for table, values in by_table.items()
        for setting, accuracy in zip((first, second, third), values, strict=True)
    ]
    assert chosen(pd.DataFrame(rows), model) == {"a": second, "b": first, "c": first}


# --- the papers -----------------------------------------------------------------------------------


def test_papers_page_has_every_section():
    made = papers.render(DOCS, command.NAMES)
    for name in command.NAMES:
        results = json.loads((DOCS / "results" / f"{name}.json").read_text())
        heading = results if "commit" in results else papers.heading(name)
        assert f"\n\n## {heading['title']}\n\n" in made
        assert all(entry["reported"] in made for entry in results["entries"])
        if name in command.KEPT:
            assert results["command"].startswith(f"python -m benchmarks papers --only {name} ")
        else:
            assert re.fullmatch("[0-9a-f]{7}", results["commit"])
    files = {file.stem for file in (DOCS / "results").glob("*.json")}
    assert files - {"regression"} == set(command.NAMES)


#: Rows of files of the papers' page that its section describes; fits first
AGAINST_PAPERS = [
    ("records", "UCI Adult, records, epsilon 0.25"),
    ("records", "UCI Adult, records, epsilon 1"),
    ("records", "MNIST, epsilon 0.1"),
    ("peers", "no privacy"),
    ("composition", "100 queries, LNMax(0.05), delta 1e-05"),
    ("composition", "1000 queries, LNMax(0.05), delta 1e-06"),
]
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?%?")


def test_results_page_numbers_equal_those_of_the_files():
    text = (DOCS / "results.md").read_text(encoding="utf-8")
    section = text.split("\n## Against the papers\n")[1].split("\n![")[0]
    shown = re.sub(r"arXiv [\d.]+|50,000 dollars", "", section)  # names, and data
    known = set()
    for k, (name, what) in enumerate(AGAINST_PAPERS):
        entries = json.loads((DOCS / "results" / f"{name}.json").read_text())["entries"]
        (entry,) = (each for each in entries if each["what"] == what)
        words = " ".join(str(entry.get(field, "")) for field in ("what", "setting", "reported"))
        known |= {*NUMBER.findall(words.replace(",", ""))}
        known |= {papers.number(statistics.fmean(ours)) for ours in entry["ours"].values()}
        assert k > 2 or len(entry["ours"]["accuracy"]) == 5
    numbers = [number.replace(",", "") for number in NUMBER.findall(shown)]
    assert len(numbers) == 20 and set(numbers) <= known


# --- networks -------------------------------------------------------------------------------------


@pytest.fixture
def networks(monkeypatch):
    """Return the benchmark of networks, of a few images and steps."""
    pytest.importorskip("torch", reason="needs the extra 'torch'")
    pytest.importorskip("skorch", reason="needs the extra 'torch'")
    from benchmarks.speed import networks
    from sklearn_pate.neural import base

    monkeypatch.delenv("SKLEARN_PATE_DATA", raising=False)
    monkeypatch.setattr(networks, "IMAGES", 40)
    monkeypatch.setattr(base, "_LEAST_STEPS", 2)
    return networks


SIZES = {"teachers": 3, "few": 2, "alone": 1, "epochs": 1, "slice": 1}
SIZES |= {"queries": 60, "labels": 30, "student_epochs": 1}


@pytest.mark.slow
@IN_THREADS
def test_networks_command_writes_times_and_accuracies(networks, tmp_path, monkeypatch, capsys):
    from benchmarks.speed import command as speed

    monkeypatch.setattr(networks.Sizes, "quick", classmethod(lambda cls: cls(**SIZES)))
    file = tmp_path / "made" / "networks.json"
    speed.main(["--quick", "--only", "networks", "--device", "cpu", "--out", str(file)])
    rows = {row["name"]: row for row in json.loads(file.read_text())["rows"]}
    assert not any(row["missing"] for row in rows.values())
    compared = rows["2 networks together, cpu, compared with a core"]
    assert compared["ratio"] == pytest.approx(1 / compared["details"]["times_a_core"])
    for name, row in rows.items():
        if row["unit"] == "ms/teacher" and "one core" not in name:
            assert {"seconds", "teacher_accuracy", "vote_accuracy"} <= set(row["details"])
    for name in ("student, cpu", "student, cpu, bfloat16"):
        assert rows[name]["details"]["steps"] == 2 and rows[name]["ratio"] > 0
    assert file.with_suffix(".md").read_text().count("\n- ") == len(rows)
    assert "vote_accuracy" in capsys.readouterr().out


def test_networks_rows_follow_one_that_fails(networks, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(networks.Networks, "poll", fail)
    rows = list(networks.networks(True, "cpu", sizes=networks.Sizes(**SIZES)))
    failed = [row.name for row in rows if row.missing == "RuntimeError: out of memory"]
    assert len(failed) == 3 and all("networks" in name for name in failed)
    assert rows[-1].name == "student, cpu, bfloat16" and rows[-1].pairs


def test_networks_rows_without_time_state_the_budget(networks):
    rows = list(networks.networks(True, "cpu", budget=0, sizes=networks.Sizes(**SIZES)))
    assert {row.missing for row in rows} == {"needs more than 0 seconds"}


def test_networks_without_a_gpu_need_one(networks, monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(networks.MissingError, match="a GPU"):
        next(networks.networks(True, "cuda"))


class Event:
    """An event of torch's profiler."""

    def __init__(self, name, start=0, length=1, device="DeviceType.CUDA", kind="kernel"):
        self.given = name, start, length, device, kind

    def name(self):
        return self.given[0]

    def start_ns(self):
        return self.given[1]

    def duration_ns(self):
        return self.given[2]

    def device_type(self):
        return self.given[3]

    def activity_type(self):
        return self.given[4]


def test_kernels_are_neither_copies_nor_ranges_nor_on_the_host(networks):
    other = [
        Event("Memcpy HtoD", kind="gpu_memcpy"),
        Event("Optimizer.step#Adam.step", kind="gpu_user_annotation"),
        Event("cudaLaunchKernel", device="DeviceType.CPU", kind="cuda_runtime"),
    ]
    assert networks.is_kernel(Event("gemm")) and not any(map(networks.is_kernel, other))


@cases(
    "intervals, length",
    ([], 0),
    ([(0, 2, "a"), (1, 3, "b")], 3),
    ([(5, 6, "c"), (0, 4, "a"), (1, 2, "b")], 5),
)
def test_kernels_that_overlap_count_once(networks, intervals, length):
    assert networks.covered(intervals) == length


@IN_THREADS
def test_share_of_kernels_is_of_training_and_of_a_poll(networks, monkeypatch):
    @contextlib.contextmanager
    def recorded(device):
        yield
        networks.RECORDED.update(seconds=4.0, kernel_seconds=3.0, n_kernels=7, longest={})

    monkeypatch.setattr(networks, "recorded", recorded)
    here = networks.Networks(networks.Sizes(**SIZES), "cpu")
    here.found[False] = {"seconds": 5.0}
    found = here.kernels()
    assert (found["share_of_training"], found["share_of_poll"]) == (0.75, 0.75)
    assert found["share_of_poll_without_profiler"] == 0.6


# --- public rows from elsewhere: pages are made of the fits ---------------------------------------


@pytest.fixture(scope="module")
def shifts():
    return json.loads(shift.FILE.read_text())


def test_pages_of_shifts_equal_their_fits(shifts):
    for name, rows in (("alarms", shift.alarms(shifts)), ("scores", shift.score_rows(shifts))):
        text = (DOCS / "results" / f"shift_{name}.csv").read_text().splitlines()
        shown = list(csv.reader(line for line in text if not line.startswith("#")))
        assert shown[1:] == rows and len(rows) > 10
        assert all(len(row) == len(shown[0]) for row in shown)


def test_alarms_without_a_shift_and_misses_of_units_are_those_that_the_page_names(shifts):
    units = ("months", "twice", "tenfold", "hundredfold", "dollars", "hours", "kilometres", "up to")
    units = (*units, "scaler")
    alarms, misses = set(), set()
    for key, fit in shifts["fits"].items():
        name, kind, *_ = key.split(" | ")
        if kind == "none" and fit["warned"]:
            alarms.add(name)
        if any(word in kind for word in units) and not fit["warned"]:
            misses.add((name, kind))
    text = (DOCS / "results" / "shift_alarms.csv").read_text()
    assert alarms == {"MNIST pixels"} and "MNIST" in text
    assert misses and all(name in text for name, _ in misses)
    assert {name for name, _ in misses} <= {"breast cancer", "digits", "pensions"}


# --- scores over epsilons: the page is made of the fits -------------------------------------------


def test_page_of_epsilons_equals_its_fits():
    rows = epsilons.rows(json.loads(epsilons.FILE.read_text()))
    text = epsilons.PAGE.read_text().splitlines()
    shown = list(csv.reader(line for line in text if not line.startswith("#")))
    assert shown[1:] == rows and len(rows) > 20
    assert all(len(row) == len(shown[0]) for row in shown)


def test_limits_of_epsilons_hold_for_all_comparisons_together(global_random_seed):
    """Of 60 comparisons without a change, one exceeds its limits in about 5 % of the tables."""
    rng = np.random.default_rng(global_random_seed)
    n_exceeded = 0
    for _ in range(400):
        mean, half = epsilons.limits(rng.normal(size=(5, 60)), 60)
        n_exceeded += bool((np.abs(mean) > half).any())
    assert 4 <= n_exceeded <= 45  # in all but one of 10^5 runs
    changes = rng.normal(size=(5, 1))
    mean, half = epsilons.limits(changes, 1)
    expected = ttest_1samp(changes[:, 0], 0).confidence_interval(0.95)
    assert (mean - half, mean + half) == pytest.approx((expected.low, expected.high))


def test_certain_fall_is_listed_and_random_one_is_not():
    """The first table loses 0.1 from epsilon 1 to 2 with each seed, the second one by chance."""
    fits = {}
    for table, name in enumerate(list(epsilons.TABLES)[:2]):
        for seed in range(4):
            for k, epsilon in enumerate(epsilons.EPSILONS):
                falls = epsilon > 1 and (table == 0 or seed == 0)
                score = 0.7 + 0.001 * k * (1 + seed % 2) - 0.1 * falls
                fits[f"{name} | {epsilon:g} | {seed}"] = {"AUC": score, "accuracy": score}
    rows = epsilons.rows({"fits": fits})
    assert [row[-1] for row in rows] == ["1 to 2"] * 2 + ["none"] * 2
    assert [row[0] for row in rows] == [name for name in list(epsilons.TABLES)[:2] for _ in "ab"]
    assert float(rows[0][-4]) == pytest.approx(-0.0985)

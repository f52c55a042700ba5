"""The page "Defaults" and its figure: made from docs/results/rules/*.json and nothing else."""

import json
import math
import statistics
from pathlib import Path

from . import figure
from .formulas import BINS, Earlier, Library, cases, left_out, score_of, synthetic_tables
from .tables import TABLES

#: Tables that no setting of a synthesizer is chosen by.
REPORTED = ("breast cancer",)
#: Settings of the synthesizer with a column of their own.
SHOWN = [(0.4, 32, True), (0.2, 32, True), (0.4, 8, True), (0.4, 4, True), (0.4, 32, False)]


def loaded(folder, name):
    file = folder / f"{name}.json"
    return json.loads(file.read_text()) if file.exists() else {}


def table(header, rows):
    """A Markdown table; the first column is text."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def render(folder):
    """The page as text: its words, with tables in the places marked for them."""
    text = (Path(__file__).parent / "defaults.md").read_text(encoding="utf-8")
    made = {"votes": teachers, "cells": cells, "synthetic": synthetic, "bare": bare}
    for name, section in made.items():
        measured = loaded(folder, name)
        text = text.replace(
            f"{{{{ {name} }}}}", section(measured) if measured else "Not measured yet."
        )
    return text.replace("{{ losses }}", losses(folder))


def losses(folder):
    """Where the rules lose, in words."""
    found = cases(loaded(folder, "votes"))
    to_earlier = [
        (f"{case.name}, {case.kind} at {case.epsilon:g}", score_of(Earlier(), case), of_library)
        for case in found
        for of_library in [score_of(Library(), case)]
    ]
    to_best = [
        (f"{name} at {epsilon:g} ({best})", statistics.fmean(others[best]), plain)
        for name, epsilon, plain, others, best in beside_bare(loaded(folder, "bare"))
    ]
    return "\n".join(
        [
            f"- Teachers by the rule, below the earlier 100 teachers: {listed(to_earlier)}.",
            f"- The bare classifier, below the best of the others: {listed(to_best)}.",
        ]
    )


def listed(pairs):
    """Names of what is better, by how much, most first."""
    losses = [(better - own, name) for name, better, own in pairs if better - own >= 0.005]
    lost = [f"{name} by {loss:.3f}" for loss, name in sorted(losses, reverse=True)]
    return "; ".join(lost) or "nowhere"


def teachers(votes):
    """By data set and epsilon: the best, the fitted, the library's and the earlier rule."""
    found = cases(votes)
    fitted = left_out(found)
    rules = (lambda case: fitted[case.name], lambda case: Library(), lambda case: Earlier())
    rows = []
    for case in found:
        if case.kind == "regression":
            scores = [case.best, *(score_of(rule(case), case) for rule in rules)]
            words = f"{case.name}, {case.n_records:,} records, {case.n_classes} classes"
            rows.append([words, f"{case.epsilon:g}", *(f"{score:.3f}" for score in scores)])
    for kind in dict.fromkeys(case.kind for case in found):
        of_kind = [case for case in found if case.kind == kind]
        losses = [
            statistics.fmean(case.best - score_of(rule(case), case) for case in of_kind)
            for rule in rules
        ]
        shown = [f"**{loss:.3f}**" for loss in losses]
        rows.append([f"**mean loss**, {kind} as teachers", "all", "", *shown])
    header = ["data set", "epsilon", "best measured", "left out", "the library's", "earlier"]
    formulas = "; ".join(
        f"{name}: {formula.factor:g}, {formula.power:g}, {formula.noise:g}, {formula.class_power:g}"
        for name, formula in fitted.items()
    )
    note = (
        "Formulas fitted without a data set (factor, power of epsilon, most noise, power of the "
        f"number of classes): {formulas}."
    )
    missing = [name for name in TABLES if name not in fitted]
    if missing:
        note += f" Not measured yet, as the data sets are drawn now: {', '.join(missing)}."
    return f"{table(header, rows)}\n\n{note}"


def cells(measured):
    """Accuracy by number of cells, and means."""
    scores = {tuple(key.split(" | ")): score for key, score in measured.items()}
    sizes = list(dict.fromkeys(key[2] for key in scores))
    rows = [
        [name, epsilon, *(f"{scores[name, epsilon, size]:.3f}" for size in sizes)]
        for name, epsilon in dict.fromkeys(key[:2] for key in scores)
        if all((name, epsilon, size) in scores for size in sizes)
    ]
    means = [statistics.fmean(float(row[k + 2]) for row in rows) for k in range(len(sizes))]
    rows.append(["**mean**", "", *(f"**{mean:.3f}**" for mean in means)])
    return table(["data set", "epsilon", *(f"{size} cells" for size in sizes)], rows)


def synthetic(measured):
    """By table and epsilon: the best setting, some fixed ones, and a fitted formula."""
    found = synthetic_tables(measured)
    rows = []
    for one in found:
        best = max(one.scores, key=one.scores.get)
        words = f"{one.name}: {one.n_records:,} records, {one.n_columns} columns"
        shown = map(three_digits, scores_of_settings(one, found))
        rows.append([words, f"{one.epsilon:g}", setting_in_words(best), *shown])
    set_on = [one for one in found if one.name not in REPORTED]
    scores = [scores_of_settings(one, found) for one in set_on]
    means = [f"**{three_digits(statistics.fmean(of))}**" for of in zip(*scores, strict=True)]
    rows.append(["**mean** without breast cancer", "", "", *means])
    header = ["data set", "epsilon", "best setting", "its accuracy"]
    header += [setting_in_words(setting) for setting in SHOWN]
    return table([*header, "formula, left out", "0.4, 32, Gaussian noise"], rows)


def three_digits(score):
    return "" if math.isnan(score) else f"{score:.3f}"


def scores_of_settings(one, found):
    """Scores of the best setting, of fixed ones, by a fitted formula, and with Gaussian noise."""
    fixed = [one.scores[setting] for setting in SHOWN]
    return [max(one.scores.values()), *fixed, by_formula(one, found), one.gaussian]


def setting_in_words(setting):
    share, n_bins, given_label = setting
    return f"{share:g}, {n_bins}" + ("" if given_label else ", no labels")


def by_formula(one, found):
    """Score of one table by the formula that loses least on tables of other names."""
    others = [other for other in found if other.name not in (one.name, *REPORTED)]
    if not others:
        return one.scores[BINS[0].setting(one)]

    def mean_score(formula):
        scores = (other.scores[formula.setting(other)] for other in others)
        return statistics.fmean(scores)

    return one.scores[max(BINS, key=mean_score).setting(one)]


def bare(measured):
    """The bare classifier beside the best of what else is measured."""
    rows = []
    for name, epsilon, _, others, best in beside_bare(measured):
        plain = measured[f"{name} | {epsilon} | bare"]
        words = f"{name} (AUC)" if name == "flights" else name
        row = [words, f"{epsilon:g}", mean_and_spread(plain["scores"])]
        row += [mean_and_spread(others[best]), best]
        rows.append([*row, f"{statistics.fmean(plain['seconds']):.1f}"])
    header = ["data set", "epsilon", "bare", "best of the others", "which", "seconds of a bare fit"]
    return table(header, rows)


def beside_bare(measured):
    """Yield name, epsilon, the bare mean, the scores of other settings, and the best of these."""
    found = {}
    for key, result in measured.items():
        name, epsilon, setting = key.split(" | ")
        if result["scores"]:
            found.setdefault((name, float(epsilon)), {})[setting] = result["scores"]
    for (name, epsilon), scores in found.items():
        others = scores | of_results(name, epsilon)
        plain = others.pop("bare", None)
        if plain:
            others = others or {"": [math.nan]}
            best = max(others, key=lambda setting: statistics.fmean(others[setting]))
            yield name, epsilon, statistics.fmean(plain), others, best


def of_results(name, epsilon):
    """Settings on the page of results: teachers tuned by scores on the same rows, and a forest."""
    names = {
        "Adult": "UCI Adult",
        "capital letters": "Letters, 26 classes",
        "two columns decide": "Two columns of twenty decide",
    }
    what = f"{names.get(name)}, teachers, epsilon {epsilon:g}"
    found = {
        "tuned teachers": entries("ballots").get(what, {}).get("accuracy"),
        "a forest as student": None,
    }
    if (name, epsilon) == ("flights", 1.0):
        tried = entries("experiments")["e. Student: a random forest"]
        found["a forest as student"] = tried["flights, AUC"]
    return {setting: scores for setting, scores in found.items() if scores}


def entries(name):
    """Our numbers of a file of the page of results, by what they are of."""
    file = figure.RESULTS / f"{name}.json"
    return {entry["what"]: entry["ours"] for entry in json.loads(file.read_text())["entries"]}


def mean_and_spread(scores):
    if math.isnan(scores[0]):
        return "not measured"
    spread = f" ± {statistics.stdev(scores):.3f}" if len(scores) > 1 else ""
    return f"{statistics.fmean(scores):.3f}{spread}"


def write(docs):
    """Write docs/defaults.md and its figure."""
    folder = docs / "results" / "rules"
    (docs / "defaults.md").write_text(render(folder), encoding="utf-8")
    figure.draw(folder, docs / "results")

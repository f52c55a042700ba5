"""The page "Defaults" and its figure: made from docs/results/rules/*.json and nothing else."""

import json
import statistics

from . import figure
from .formulas import BINS, Earlier, Library, cases, left_out, score_of, synthetic_tables
from .text import BARE, CELLS, HEAD, SYNTHETIC, TEACHERS

#: Tables that no setting of a synthesizer is chosen by.
REPORTED = ("breast cancer",)


def loaded(folder, name):
    file = folder / f"{name}.json"
    return json.loads(file.read_text()) if file.exists() else {}


def table(header, rows):
    """A Markdown table; the first column is text."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def render(folder):
    """The page as text."""
    parts = {
        "votes": (TEACHERS, teachers),
        "cells": (CELLS, cells),
        "synthetic": (SYNTHETIC, synthetic),
        "bare": (BARE, bare),
    }
    sections = [HEAD]
    for name, (text, section) in parts.items():
        measured = loaded(folder, name)
        sections.append(text.strip())
        sections.append(section(measured) if measured else "Not measured yet.")
    return "\n\n".join(section.strip() for section in sections) + "\n"


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
    formulas = ", ".join(
        f"{name}: {formula.factor:g}, {formula.power:g}, {formula.noise:g}, {formula.class_power:g}"
        for name, formula in fitted.items()
    )
    note = (
        "Formulas fitted without a data set (factor, power of epsilon, most noise, power of the "
        f"number of classes): {formulas}."
    )
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
    fixed = [(0.4, 32, True), (0.2, 32, True), (0.4, 8, True), (0.4, 4, True), (0.4, 32, False)]
    rows = []
    for one in found:
        best = max(one.scores, key=one.scores.get)
        words = f"{one.name}: {one.n_records:,} records, {one.n_columns} columns"
        shown = [
            one.scores[best],
            *(one.scores[setting] for setting in fixed),
            by_formula(one, found),
        ]
        rows.append(
            [
                words,
                f"{one.epsilon:g}",
                setting_in_words(best),
                *(f"{value:.3f}" for value in shown),
            ]
        )
    set_on = [one for one in found if one.name not in REPORTED]
    values = [max(one.scores.values()) for one in set_on]
    means = [statistics.fmean(values)]
    means += [statistics.fmean(one.scores[setting] for one in set_on) for setting in fixed]
    means.append(statistics.fmean(by_formula(one, found) for one in set_on))
    rows.append(["**mean** but for breast cancer", "", "", *(f"**{mean:.3f}**" for mean in means)])
    header = ["data set", "epsilon", "best setting", "its accuracy"]
    header += [setting_in_words(setting) for setting in fixed]
    return table([*header, "formula, left out"], rows)


def setting_in_words(setting):
    share, n_bins, given_label = setting
    return f"{share:g}, {n_bins}" + ("" if given_label else ", no labels")


def by_formula(one, found):
    """Score of one table by the formula that loses least on tables of other names."""
    others = [other for other in found if other.name not in (one.name, *REPORTED)]
    if not others:
        return one.scores[BINS[0].setting(one)]

    def mean_score(formula):
        scores = (other.scores.get(formula.setting(other), 0.0) for other in others)
        return statistics.fmean(scores)

    return one.scores.get(max(BINS, key=mean_score).setting(one), 0.0)


def bare(measured):
    """The bare classifier beside the best of what else is measured."""
    found = {}
    for key, result in measured.items():
        name, epsilon, setting = key.split(" | ")
        found.setdefault((name, float(epsilon)), {})[setting] = result
    rows = []
    for (name, epsilon), results in found.items():
        if "bare" not in results:
            continue
        plain = results["bare"]
        words = f"{name} (AUC)" if name == "flights" else name
        row = [words, f"{epsilon:g}", mean_and_spread(plain["scores"])]
        others = {
            setting: result["scores"] for setting, result in results.items() if setting != "bare"
        } | tuned_teachers(name, epsilon)
        best = max(others, key=lambda setting: statistics.fmean(others[setting]), default=None)
        row += ["", ""] if best is None else [mean_and_spread(others[best]), best]
        rows.append([*row, f"{statistics.fmean(plain['seconds']):.0f}"])
    header = ["data set", "epsilon", "bare", "best of the others", "which", "seconds of a bare fit"]
    return table(header, rows)


def tuned_teachers(name, epsilon):
    """Teachers of the page of results, whose numbers were chosen by scores on the same rows."""
    file = figure.RESULTS / "ballots.json"
    names = {
        "Adult": "UCI Adult",
        "capital letters": "Letters, 26 classes",
        "two columns decide": "Two columns of twenty decide",
    }
    what = f"{names.get(name)}, teachers, epsilon {epsilon:g}"
    entries = {entry["what"]: entry for entry in json.loads(file.read_text())["entries"]}
    return {"tuned teachers": entries[what]["ours"]["accuracy"]} if what in entries else {}


def mean_and_spread(scores):
    spread = f" ± {statistics.stdev(scores):.3f}" if len(scores) > 1 else ""
    return f"{statistics.fmean(scores):.3f}{spread}"


def write(docs):
    """Write docs/defaults.md and its figure."""
    folder = docs / "results" / "rules"
    (docs / "defaults.md").write_text(render(folder), encoding="utf-8")
    figure.draw(folder, docs / "results")

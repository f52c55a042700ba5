"""The fair table's page, and tables of other pages: made from docs/results/peers alone."""

from benchmarks import peers

from ..papers import page as papers
from . import figure
from .choice import EPSILON, chosen
from .found import counted, firsts, found, other_models, own_relation, verdicts
from .measure import SEEDS, Results
from .models import EPSILONS, MODELS
from .scores import half_width
from .tables import TABLES

SCORES = """\
![Accuracy against epsilon, a panel for each data set: ours, the peers, no privacy, and the majority
class](../results/peers.svg)

Means of five seeds; "PATE" is `PATEClassifier(epsilon=..., classes=...)`, no other parameter set.
Models without privacy have one column; for time, our student learns from 50,000 rows at most there,
and boosting from the first 10,204 of MNIST. AUC of more than two classes is the mean of each class
against all others."""
MORE = """\
Seconds are of one fit on one of two cores that both had work to do, so compare them with care.
"Accuracy at the public rate" calls the likeliest rows the second class, as many as its public share
says, which helps models whose threshold is off. Probabilities count as at least 0.001 in the log
loss."""
SETTINGS = """\
At epsilon 1: each model's other settings (`benchmarks/peers/models.py`) were tried on all data sets
with one seed; for each data set, that one was taken which has the best mean accuracy on all the
others, and fitted with five seeds. For Opacus this hides more than it shows: small tables want
small steps, and outvote the others. *Longer* is its better choice."""
#: Private rows, public rows and classes of four data sets, losses first.
IN_README = {
    "only together": "30,000 / 5,000 / 2",
    "Diabetes, balanced": "16,977 / 2,886 / 2",
    "Adult": "32,561 / 4,999 / 2",
    "digits": "1,000 / 500 / 10",
}
METRICS = ("accuracy", "AUC")
#: One data set is fitted again with these.
OTHER_SEEDS = (10, 11, 12, 13, 14)
#: Ours, in words.
_WAYS = {
    "PATE": "with public rows",
    "PATE, no public rows": "without public rows",
    "PATE, nothing declared": "nothing declared",
}


def write(docs):
    """Draw the figure, and print the tables that pages written by hand show."""
    frame = firsts(found(Results(docs / "results" / "peers"), SEEDS))
    if not frame.empty:
        figure.draw(frame, docs / "results")
        print(readme_rows(frame), shares(frame), worst(frame), sep="\n\n")


def render(results):
    """The page as text: its words are the docstring of this folder."""
    frame = found(results, SEEDS)
    as_they_come = firsts(frame)
    head = papers.words(peers.__doc__)
    sections = [
        f"# {head['title']}\n\n{shares(as_they_come)}\n\n{head['text']}",
        f"## Where ours is below\n\n{losses(as_they_come)}",
        f"## All scores\n\n{SCORES}\n\n{scores(as_they_come)}",
        f"## More of it, at epsilon 1\n\n{MORE}\n\n{more(as_they_come)}",
        f"## The setting that is best on the other data sets\n\n{SETTINGS}\n\n{settings(frame)}",
        "## One data set again\n\nWith seeds that nothing else was fitted with:\n\n"
        + again(as_they_come, firsts(found(results, OTHER_SEEDS))),
        f"## Fits that failed\n\n{failed(as_they_come)}",
    ]
    return "\n\n".join(sections) + "\n"


def table(header, rows):
    """A Markdown table; the first column is text."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def shares(frame):
    """How many cells are not lost, and how many are won."""
    rows = []
    for ours, words in _WAYS.items():
        for name, others in (
            ("replace one record, for all", frame),
            ("each package's own relation", own_relation(frame)),
        ):
            rows.append([f"{words}; {name}"])
            for metric in METRICS:
                lines = counted(verdicts(frame, metric, of=ours, peers=others))
                kept = len(lines) - lines["is lost"].sum()
                rows[-1].append(f"{kept} of {len(lines)} ({kept / len(lines):.0%})")
                rows[-1].append(lines["is won"].sum())
    header = ["not below the best peer by more than the interval, or above by more"]
    for metric in METRICS:
        header += [f"{metric}: not below", "above"]
    return table(header, rows)


def losses(frame):
    """Each cell that is lost, up to the epsilon that is counted."""
    parts = []
    for ours, words in _WAYS.items():
        for metric in METRICS:
            lines = counted(verdicts(frame, metric, of=ours))
            rows = [
                [
                    line["table"],
                    f"{line['epsilon']:g}",
                    f"{line['ours']:.3f}",
                    f"{line['theirs']:.3f}",
                    f"{line['difference']:+.3f} ± {line['half width']:.3f}",
                    line["best"],
                ]
                for _, line in lines[lines["is lost"]].iterrows()
            ]
            head = (
                f"**{metric[0].upper()}{metric[1:]}, {words}**: {len(rows)} cells of {len(lines)}."
            )
            header = ["data", "epsilon", "ours", "best peer", "difference", "who"]
            parts.append(f"{head}\n\n{table(header, rows)}" if rows else head)
    return "\n\n".join(parts)


def worst(frame):
    """For each data set the worst loss, and how many cells are lost that are counted."""
    rows = {name: [name] for name in TABLES}
    for ours in _WAYS:
        for metric in METRICS:
            lines = counted(verdicts(frame, metric, of=ours))
            lost = lines[lines["is lost"]].groupby("table").difference
            for name, row in rows.items():
                n_lost = lost.count().get(name, 0)
                row.append(f"{lost.min()[name]:.3f} ({n_lost})" if n_lost else "")
    rows = sorted(rows.values(), key=lambda row: row.count(""))
    header = ["data", *(f"{metric}, {words}" for words in _WAYS.values() for metric in METRICS)]
    return table(header, [row for row in rows if any(row[1:])])


def in_order(frame):
    names = [model.name for model in MODELS]
    return frame.reindex([name for name in names if name in frame.index])


def scores(frame):
    """Means by epsilon of each model, a table for each data set."""
    parts = []
    for name in TABLES:
        part = frame[frame.table == name]
        rows = []
        means = {metric: part.pivot_table(metric, "model", "epsilon") for metric in METRICS}
        for model in in_order(means["accuracy"]).index:
            cells = [_pair(means, model, epsilon) for epsilon in EPSILONS]
            if 0.0 in means["accuracy"].columns and means["accuracy"].loc[model].notna()[0.0]:
                cells = [_pair(means, model, 0.0)] + [""] * (len(EPSILONS) - 1)
            rows.append([model, *cells])
        header = ["accuracy / AUC", *(f"{epsilon:g}" for epsilon in EPSILONS)]
        parts.append(f"### {name[0].upper()}{name[1:]}\n\n{table(header, rows)}")
    return "\n\n".join(parts)


def _pair(means, model, epsilon):
    values = [of_metric[epsilon].get(model) for of_metric in means.values() if epsilon in of_metric]
    return " / ".join(filter(None, map(_number, values)))


def _number(value):
    return "" if value is None or value != value else f"{value:.3f}"


def more(frame):
    """Balanced accuracy, log loss, the threshold at the public rate, and seconds, at 1."""
    rows = []
    for name in TABLES:
        part = frame[(frame.table == name) & frame.epsilon.isin([EPSILON, 0.0])]
        for model, fits in in_order(part.groupby("model").mean(numeric_only=True)).iterrows():
            scores = [
                fits.get(key) for key in ("balanced accuracy", "log loss", "accuracy at rate")
            ]
            rows.append([name, model, *map(_number, scores), f"{fits['seconds']:.1f}"])
    header = ["data", "model", "balanced accuracy", "log loss", "accuracy at the public rate"]
    return table([*header, "seconds"], rows)


def settings(frame):
    """Return the first setting of each model, and the one that is best on the other data sets."""
    rows = []
    for model in MODELS:
        for name, setting in chosen(frame, model).items():
            fits = frame[(frame.model == model.name) & (frame.epsilon == EPSILON)]
            fits = fits[fits.table == name].groupby("setting").accuracy
            means, sizes = fits.mean(), fits.count()
            if setting in means and sizes[setting] == sizes[model.first]:
                first = f"{means[model.first]:.3f}"
                rows.append([model.name, name, setting, f"{means[setting]:.3f}", first])
    header = ["model", "data", "setting that is best on the others", "accuracy", "as it comes"]
    return table(header, rows) if rows else "Not measured yet."


def again(frame, other):
    """One data set with other seeds: means, and whether they are within the intervals."""
    rows = []
    for (name, model, epsilon), fits in (
        other.groupby(["table", "model", "epsilon"], sort=False) if len(other) else []
    ):
        same = (frame.table == name) & (frame.model == model) & (frame.epsilon == epsilon)
        before = frame[same].accuracy
        if len(before) < 2 or len(fits) < 2:
            continue
        width = (half_width(before) ** 2 + half_width(fits.accuracy) ** 2) ** 0.5
        change = fits.accuracy.mean() - before.mean()
        numbers = [f"{before.mean():.4f}", f"{fits.accuracy.mean():.4f}", f"{width:.4f}"]
        rows.append([f"{name}, {model}", f"{epsilon:g}", *numbers, abs(change) <= width + 1e-9])
    rows = [[*row[:-1], "yes" if row[-1] else "**no**"] for row in rows]
    header = ["what", "epsilon", "accuracy", "with other seeds", "interval", "within"]
    return table(header, rows) if rows else "Not measured yet."


def failed(frame):
    """Fits that raised, in a list."""
    if "failed" not in frame:
        return "None."
    fits = frame.dropna(subset="failed").groupby(["model", "table", "failed"]).size()
    lines = [f"- {model}, {name}: {n} fits, `{why[:90]}`" for (model, name, why), n in fits.items()]
    return "\n".join(lines) or "None."


def readme_rows(frame):
    """Four data sets at one epsilon: ours, the best other, and no privacy."""
    rows = []
    at = frame[frame.epsilon.isin([EPSILON, 0.0])]
    means = at.pivot_table("accuracy", "model", "table")
    for name, size in IN_README.items():
        best = means.loc[means.index.intersection(other_models(public=True)), name]
        plain = means.loc[means.index.str.startswith("no privacy"), name].max()
        ours = [means.loc[model, name] for model in ("PATE", "PATE, no public rows")]
        numbers = [*ours, best.max(), plain, means.loc["majority class", name]]
        rows.append([name, size, *(f"{number:.3f}" for number in numbers)])
    header = ["data", "private rows / public rows / classes", "ours", "ours, no public rows"]
    return table([*header, "best other", "no privacy", "majority class"], rows)

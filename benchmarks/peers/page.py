"""The fair table's page and rows of the README: made from docs/results/peers alone."""

from pathlib import Path

from . import figure
from .choice import EPSILON, chosen
from .found import (
    OURS,
    counted,
    firsts,
    found,
    own_adjacency,
    rivals,
    verdicts,
)
from .measure import SEEDS, Results
from .models import EPSILONS, MODELS
from .scores import half_width
from .tables import TABLES

TEMPLATE = Path(__file__).parent / "peers.md"
#: Private rows, public rows and classes of four data sets, two bad cases among them.
IN_README = {
    "Adult": "32,561 / 4,999 / 2",
    "Diabetes, balanced": "16,977 / 2,886 / 2",
    "digits": "1,000 / 500 / 10",
    "24 classes": "30,000 / 5,000 / 24",
}
METRICS = ("accuracy", "AUC")
#: One data set is fitted again with these.
OTHER_SEEDS = (10, 11, 12, 13, 14)
_PUBLIC = {True: "with public rows", False: "without public rows"}


def write(docs):
    """Write the page and its figure."""
    results = Results(docs / "results" / "peers")
    frame = found(results, SEEDS)
    if frame.empty:
        return
    (docs / "peers.md").write_text(render(results), encoding="utf-8")
    figure.draw(firsts(frame), docs / "results")


def render(results):
    """The page as text: its words, with tables in the places marked for them."""
    frame = found(results, SEEDS)
    made = {
        "shares": shares(firsts(frame)),
        "losses": losses(firsts(frame)),
        "scores": scores(firsts(frame)),
        "more": more(firsts(frame)),
        "settings": settings(frame),
        "again": again(firsts(frame), firsts(found(results, OTHER_SEEDS))),
        "failed": failed(frame),
    }
    text = TEMPLATE.read_text(encoding="utf-8")
    for name, part in made.items():
        text = text.replace(f"{{{{ {name} }}}}", part)
    return text


def table(header, rows):
    """A Markdown table; the first column is text."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def shares(frame):
    """How many cells are not lost, and how many are won."""
    rows = []
    for public, words in _PUBLIC.items():
        for name, peers in (
            ("replace one record, for all", frame),
            ("each package's own adjacency", own_adjacency(frame)),
        ):
            rows.append([f"{words}; {name}"])
            for metric in METRICS:
                lines = counted(verdicts(frame, metric, public=public, peers=peers))
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
    for public, words in _PUBLIC.items():
        for metric in METRICS:
            lines = counted(verdicts(frame, metric, public=public))
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
            told = [fits.get(key) for key in ("balanced accuracy", "log loss", "accuracy at rate")]
            rows.append([name, model, *map(_number, told), f"{fits['seconds']:.1f}"])
    header = ["data", "model", "balanced accuracy", "log loss", "accuracy at the public rate"]
    return table([*header, "seconds"], rows)


def settings(frame):
    """Beside the first setting of each model, the one that is best on the other data sets."""
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
        best = means.loc[means.index.intersection(rivals(public=True)), name]
        plain = means.loc[means.index.str.startswith("no privacy"), name].max()
        ours = [means.loc[OURS[public], name] for public in (True, False)]
        numbers = [*ours, best.max(), plain, means.loc["majority class", name]]
        rows.append([name, size, *(f"{number:.3f}" for number in numbers)])
    header = ["data", "private rows / public rows / classes", "ours", "ours, no public rows"]
    return table([*header, "best other", "no privacy", "majority class"], rows)

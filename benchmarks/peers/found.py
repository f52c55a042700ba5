"""Measurements as one frame, and the tables where ours is below the best peer."""

import pandas as pd

from .models import MODELS
from .scores import half_width

#: Cells up to here are counted.
MOST_COUNTED = 2.0
#: Ours, and whether it has public rows.
OURS = {"PATE": True, "PATE, no public rows": False, "PATE, nothing declared": False}


def found(results, seeds):
    """One row a fit: model, setting, table, epsilon, seed, and its scores.

    Parameters
    ----------
    results : Results
    seeds : collection of int

    Returns
    -------
    DataFrame
        Failed fits have missing scores.
    """
    rows = []
    for model in MODELS:
        for key, scores in results.of(model).items():
            setting, table, epsilon, seed = key.split(" | ")
            if int(seed) in seeds:
                place = dict(model=model.name, setting=setting, table=table, seed=int(seed))
                rows.append(place | {"epsilon": float(epsilon)} | scores)
    return pd.DataFrame(rows)


def firsts(frame):
    """The fits with the first setting of each model."""
    first = {model.name: model.first for model in MODELS}
    return frame[frame.setting == frame.model.map(first)]


def other_models(*, public):
    """Private models that somebody could publish who has public rows, or has none."""
    return [
        model.name
        for model in MODELS
        if model.is_private and model.name not in OURS and (public or not model.needs_public_rows)
    ]


def own_relation(frame):
    """The same fits under each package's own relation: its epsilon is half of the converted.

    Epsilons whose double was not fitted are left out, as they have few peers.
    """
    halved = {model.name: model.moves for model in MODELS}
    own = frame.assign(epsilon=frame.epsilon / frame.model.map(halved))
    fitted = set(frame.epsilon)
    return own[own.epsilon.isin([epsilon for epsilon in fitted if 2 * epsilon in fitted])]


def verdicts(frame, metric, *, of, peers=None):
    """One of ours and the best peer in each cell.

    Parameters
    ----------
    frame : DataFrame
        First settings.
    metric : str
    of : str
        A key of `OURS`; peers have public rows if it has.
    peers : DataFrame, default=None
        Where the rivals' scores are; None is `frame`.

    Returns
    -------
    DataFrame
        One row a table and epsilon: ours, the best peer's name and mean, the mean difference, half
        its interval, and whether ours is below, or above, by more than that. A failed fit of ours
        counts as below.
    """
    peers = frame if peers is None else peers
    peers = peers[peers.model.isin(other_models(public=OURS[of]))].dropna(subset=metric)
    by_seed = peers.pivot_table(metric, ["table", "epsilon", "model"], "seed")
    cells = dict(list(by_seed.groupby(level=["table", "epsilon"])))
    lines = []
    for place, cell in frame[frame.model == of].groupby(["table", "epsilon"], sort=False):
        there = cells.get(place, by_seed[:0])
        full = there[there.notna().sum(axis=1) == len(cell)]
        if full.empty:
            continue
        (table, epsilon), ours = place, pd.Series(cell[metric].array, cell.seed.array)
        means = full.mean(axis=1)
        best = means.argmax()
        theirs = full.iloc[best]
        differences = ours - theirs
        width = half_width(differences)
        lines.append(
            {
                "table": table,
                "epsilon": epsilon,
                "ours": ours.mean(),
                "best": full.index[best][-1],
                "theirs": means.iloc[best],
                "difference": differences.mean(),
                "half width": width,
                "is lost": not differences.mean() + width >= 0,
                "is won": differences.mean() - width > 0,
            }
        )
    return pd.DataFrame(lines)


def counted(lines):
    """Cells up to the epsilon that is counted."""
    return lines[lines.epsilon <= MOST_COUNTED]

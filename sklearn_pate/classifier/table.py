"""Records that vote: what they are given, the release of their table, and the labels it gives."""

from .._sklearn import _num_samples
from ..aggregators import LaplaceMechanism, TableMechanism
from ..aggregators.table import checked_noisy
from ..column_sums import ColumnSums, SumsMechanism
from ..electorate import TableElectorate, Votes
from ..isolation import Quiet, attempt
from ..synthesis.stacked import StackedTable
from .checks import check_defaults
from .nobody import OnlySums
from .voters import ABOUT_QUERIES


def check_for_table(estimator):
    """Refuse parameters that make no sense where a whole table is released."""
    check_defaults(estimator, ABOUT_QUERIES)
    table_mechanism(estimator.aggregator, estimator.base_estimator)


def table_mechanism(aggregator, electorate=None):
    """Return the mechanism of a table: the electorate's own, the one given, or Laplace noise."""
    if isinstance(electorate, ColumnSums | OnlySums):
        if aggregator is None:
            return electorate.mechanism
        if isinstance(electorate, ColumnSums) and electorate.takes(aggregator):
            return aggregator
        raise ValueError(
            f"{type(electorate).__name__} has a mechanism of its own, which is calibrated to "
            f"epsilon; got aggregator={aggregator!r}"
        )
    if aggregator is None:
        return LaplaceMechanism()
    if not isinstance(aggregator, TableMechanism) or isinstance(aggregator, SumsMechanism):
        raise ValueError(
            "aggregator must be a TableMechanism, as LaplaceMechanism() and GaussianMechanism(): "
            "records vote in a table, all of which is released at once, so a mechanism that "
            f"answers one question at a time has no cost here; got {aggregator!r}"
        )
    return aggregator


def check_votes_of_records(votes, electorate, *, is_given):
    """Refuse votes that were not cast as an electorate of records would have them cast.

    Parameters
    ----------
    votes : Votes or array-like
        As given by the user.
    electorate : Electorate
        That of the parameters.
    is_given : bool
        Whether it was asked for.
    """
    if not isinstance(electorate, TableElectorate):
        return
    name = type(electorate).__name__
    if not isinstance(votes, Votes) or not votes.is_table:
        raise ValueError(
            f"{name} counts ballots in cells, and neither a bare table nor votes of teachers say "
            "which: pass what poll returned"
        )
    if type(votes.electorate) is not type(electorate):
        if is_given:
            raise ValueError(
                f"base_estimator is {name}, and {type(votes.electorate).__name__} cast these "
                "votes: poll again, or leave base_estimator=None"
            )
        return
    cast_with, wanted = votes.electorate.get_params(), electorate.get_params()
    for param in ("adjacency", "n_neighbors"):  # the guarantee follows from them
        if cast_with.get(param) != wanted.get(param):
            raise ValueError(
                f"{param}={wanted[param]!r} of {name}, but these votes were cast with "
                f"{cast_with[param]!r}: poll again, or set base_estimator__{param}="
                f"{cast_with[param]!r}"
            )


def public_numbers(task, plan):
    """Return what cells are made by, beside the public rows."""
    ((mechanism, _),) = plan.stages
    return {
        "noise_std": mechanism.noise_std,
        "n_records": task.ballots.n_records,
        "n_classes": len(task.classes),
    }


def collect_table(task, plan, seed, *, n_jobs, progress):
    """Divide the feature space by public rows, and let records vote in its cells."""
    electorate = task.electorate
    with progress.phase("ballots", electorate.n_steps(n_records=task.ballots.n_records)) as done:
        electorate.divide(task.X_public, **public_numbers(task, plan), are_drawn=task.are_drawn)
        table = electorate.vote(task.private, task.X_public, seed=seed, n_jobs=n_jobs, on_done=done)
    return Votes(
        table,
        task.classes,
        task.ballots,
        electorate=electorate,
        n_public=_num_samples(task.X_public),
    )


def release_table(released, plan, votes, noise, task):
    """Draw the noisy table, and read what it says of each public row; `released` is filled."""
    ((mechanism, _),) = plan.stages
    noise_std = mechanism.noise_std  # before it sees the table, of which it could say something
    with Quiet():
        noisy, failed = attempt(lambda: checked_noisy(mechanism, votes.counts.copy(), noise))
    if failed is not None:
        raise ValueError(
            f"{type(mechanism).__name__} could not draw a table: {failed}, whose text is withheld, "
            "as it may quote ballots. What the plan costs is spent. Try it on a made-up table"
        )
    table = votes.electorate.released(noisy, noise_std=noise_std)
    prior = getattr(getattr(task.synthesis, "synthesizer", None), "released_", None)
    if prior is None:
        released.table = table
        released.add_rates(*votes.electorate.read(table))  # if interrupted, the table is kept
    else:
        released.table = prior if table is None else StackedTable(table, prior, task.X_public)
        released.add_rates(*released.table.read(task.X_public))

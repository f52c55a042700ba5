"""Records that vote: what they are given, the release of their table, and the labels it gives."""

import numpy as np

from .._sklearn import _num_samples
from ..aggregators import LaplaceMechanism, TableMechanism
from ..electorate import Votes
from ..isolation import Quiet, attempt
from .checks import check_defaults
from .mechanism import is_ours

__all__ = ["check_for_table", "collect_table", "release_table", "table_mechanism"]

#: Parameters about queries. There are none: the table is released at once.
_ABOUT_QUERIES = {
    "n_queries": "says how many rows teachers are asked about",
    "query_strategy": "says which rows teachers are asked about",
    "accounting": "says how the cost of queries is accounted for",
}


def check_for_table(estimator):
    """Refuse parameters that make no sense where a whole table is released."""
    check_defaults(estimator, _ABOUT_QUERIES)
    table_mechanism(estimator.aggregator)


def table_mechanism(aggregator):
    """Return the mechanism of a table: the one given, or Laplace noise."""
    if aggregator is None:
        return LaplaceMechanism()
    if not isinstance(aggregator, TableMechanism):
        raise ValueError(
            "aggregator must be a TableMechanism, as LaplaceMechanism() and GaussianMechanism(): "
            "records vote in a table, all of which is released at once, so a mechanism that "
            f"answers one question at a time has no cost here; got {aggregator!r}"
        )
    return aggregator


def collect_table(task, mechanism, seed):
    """Divide the feature space by public rows, and let records vote in its cells."""
    electorate = task.electorate
    electorate.divide(
        task.X_public,
        noise_std=mechanism.noise_std,
        n_records=task.ballots.n_records,
        n_classes=len(task.classes),
    )
    with Quiet():  # what libraries warn of from here on is private
        table = electorate.vote(task.private, task.X_public, seed=seed)
    return Votes(
        table,
        task.classes,
        task.ballots,
        electorate=electorate,
        n_public=_num_samples(task.X_public),
    )


def release_table(released, plan, votes, noise):
    """Draw the noisy table, and read what it says of each public row; `released` is filled."""
    ((mechanism, _),) = plan.stages
    failed = None
    with Quiet():
        if is_ours(mechanism):
            noisy = mechanism.noisy(votes.counts, noise)
        else:
            noisy, failed = attempt(lambda: np.asarray(mechanism.noisy(votes.counts, noise)))
    if failed is not None:
        raise ValueError(
            f"{type(mechanism).__name__} could not draw a table: {failed}, whose text is withheld, "
            "as it may quote ballots. What the plan costs is spent. Try it on a made-up table"
        )
    if noisy.shape != votes.counts.shape or noisy.dtype.kind != "f" or not np.isfinite(noisy).all():
        raise ValueError(
            f"noisy of {type(mechanism).__name__} must return finite floats, a table of the shape "
            f"that it is given, {votes.counts.shape}. What the plan costs is spent. Try it on a "
            "made-up table"
        )
    rates, labels = votes.electorate.read(noisy, noise_std=mechanism.noise_std)
    released.add_table(rates, labels)

"""The noisy table of what records cast: drawn at once, and read at any row."""

import numpy as np

from ..accountant import TableCurator, Voters, plan_table
from ..aggregators import LaplaceMechanism, TableMechanism
from ..aggregators.table import checked_noisy, rehearse_table
from ..column_sums import SumsMechanism
from ..electorate import Votes
from ..isolation import Quiet, is_ours, withheld
from ..synthesis.released import StackedTable
from .base import VotesRelease

#: Parameters of mechanisms that answer one question at a time, as those of teachers do.
ABOUT_QUERIES = {
    "n_queries": "says how many rows teachers are asked about",
    "query_strategy": "says which rows teachers are asked about",
    "accounting": "says how the cost of queries is accounted for",
}


class TableRelease(VotesRelease):
    """A table of noisy counts of the classes, in cells or of columns."""

    gives_rates = True
    most_rehearsed = 500

    def refused(self, estimator):
        """Return the parameters that say nothing here, each with what it says."""
        return ABOUT_QUERIES

    def check_votes(self, votes, electorate, *, is_given):
        """Refuse votes that were not cast as an electorate of records would have them cast."""
        cast_by = getattr(votes, "electorate", None)
        if cast_by is None:
            raise ValueError(
                f"{type(electorate).__name__} counts ballots in cells, and neither a bare table "
                "nor votes of teachers say which: pass what poll returned"
            )
        is_same = type(cast_by) is type(electorate)
        remedy = "poll again, or leave base_estimator=None"
        if is_given and not is_same:
            raise ValueError(f"{type(cast_by).__name__} cast these votes: {remedy}")
        cast_with, wanted = cast_by.get_params(), electorate.get_params()
        for param in ("relation", "n_neighbors"):  # the guarantee follows from them
            if is_same and cast_with.get(param) != wanted.get(param):
                remedy = f"poll again, or set base_estimator__{param}={cast_with[param]!r}"
                raise ValueError(
                    f"{param}={wanted.get(param)!r}, and these votes were cast with "
                    f"{cast_with[param]!r}: {remedy}"
                )

    def mechanism(self, estimator):
        """Return the mechanism of the table; refuse one that answers one question at a time."""
        return table_mechanism(estimator.aggregator, estimator.base_estimator)

    def plan(self, given):
        """Return how noisy the table is to be, and what it costs."""
        return plan_table(
            table_mechanism(given.estimator.aggregator, given.electorate),
            contribution=given.contribution,
            n_rows=given.n_public,
            epsilon=given.estimator.epsilon,
            delta=given.estimator.delta,
            before=given.cost_before,
            is_pure_before=given.is_pure_before,
        )

    def rehearse(self, given, plan):
        """Try a mechanism of the user's on a made-up table."""
        ((mechanism, _),) = plan.stages
        if not is_ours(mechanism):
            sizes = {"contribution": given.contribution, "n_classes": given.target.n_values}
            rehearse_table(mechanism, **sizes)

    def forecast(self, given, plan):
        """Return who votes, and problems and obstacles, by public numbers."""
        was_polled = given.private is None  # `poll` has told of the rest
        are_drawn = was_polled or given.rows_are_to_draw
        cells = given.electorate.forecast(**_public_numbers(given, plan), are_drawn=are_drawn)
        voters = Voters(
            n_classes=given.target.n_values,
            cells=cells,
            name=type(given.electorate).__name__,
            target_type=type(given.target),
        )
        return voters, () if was_polled else cells.problems, cells.obstacles

    def rows(self, given, plan):
        """Return all public rows."""
        return np.arange(given.n_public)

    def of_rows(self, votes, rows):
        """Return the votes, which say something of all rows."""
        return votes

    def gather(self, given, plan, rows):
        """Divide the feature space by public rows, and let records vote in its cells."""
        electorate = given.electorate
        with given.phase(
            "ballots", electorate.n_steps(n_records=given.neighbors.n_records)
        ) as done:
            public = given.X_public
            electorate.divide(public, **_public_numbers(given, plan), are_drawn=given.are_drawn)
            told = {"seed": given.seeds["teachers"], "n_jobs": given.estimator.n_jobs}
            table = electorate.vote(given.private, public, **told, on_done=done)
        return Votes(
            table, given.target, given.neighbors, electorate=electorate, n_public=given.n_public
        )

    def draw(self, given, plan, rows, votes, published, noise):
        """Draw the noisy table, and read what it says of each public row."""
        ((mechanism, _),) = plan.stages
        noise_std = mechanism.noise_std  # before it sees the table, of which it could tell
        with Quiet():
            noisy = withheld(
                lambda: checked_noisy(mechanism, votes.counts.copy(), noise),
                f"{type(mechanism).__name__} could not draw a table:",
                "What the plan costs is spent. Try it on a made-up table",
            )
        table = votes.electorate.released(noisy, noise_std=noise_std)
        prior = None if given.synthesis is None else given.synthesis.prior
        if prior is not None:
            table = prior if table is None else StackedTable(table, prior, given.X_public)
        published.table = table  # if interrupted, it is kept
        of_rows = votes.electorate.read(table) if prior is None else table.read(given.X_public)
        published.add_rates(*of_rows)

    def curator(self, published, votes, plan, delta):
        """Return the private view of what was released."""
        return TableCurator(votes.counts, plan.cost, delta)


def _public_numbers(given, plan):
    """Return what cells are made by, beside the public rows."""
    ((mechanism, _),) = plan.stages
    return {
        "noise_std": mechanism.noise_std,
        "n_records": given.neighbors.n_records,
        "n_classes": given.target.n_values,
    }


def table_mechanism(aggregator, electorate):
    """Return the mechanism of a table: the electorate's own, the one given, or Laplace noise."""
    if aggregator is None:
        return electorate.mechanism if hasattr(electorate, "takes") else LaplaceMechanism()
    if hasattr(electorate, "takes"):
        if electorate.takes(aggregator):
            return aggregator
        raise ValueError(
            f"{type(electorate).__name__} has a mechanism of its own, which is calibrated to "
            f"epsilon; got aggregator={aggregator!r}"
        )
    if not isinstance(aggregator, TableMechanism) or isinstance(aggregator, SumsMechanism):
        raise ValueError(
            "aggregator must be a TableMechanism, as LaplaceMechanism() and GaussianMechanism(): "
            f"records vote in a table, all of which is released at once; got {aggregator!r}"
        )
    return aggregator

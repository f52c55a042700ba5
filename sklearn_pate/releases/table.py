"""The noisy table of what records cast: drawn at once, and read at any row."""

import numpy as np

from ..accountant import TableCurator, Voters, plan_table
from ..aggregators import LaplaceMechanism, TableMechanism
from ..aggregators.table import checked_noisy, rehearse_table
from ..column_sums import ColumnSums, SumsMechanism
from ..electorate import CellForecast, TableElectorate, Votes
from ..isolation import Quiet, withheld
from ..rdp import DEFAULT_ORDERS, Cost
from ..rdp.checks import check_orders
from ..synthesis.released import StackedTable, SumsClassifier
from .votes import VotesRelease, is_ours

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

    def mechanism(self, estimator):
        """Return the mechanism of the table; refuse one that answers one question at a time."""
        return table_mechanism(estimator.aggregator, estimator.base_estimator)

    def plan(self, given):
        """Return how noisy the table is to be, and what it costs."""
        return plan_table(
            table_mechanism(given.estimator.aggregator, given.electorate),
            n_changed=given.ballots.n_changed,
            n_rows=given.n_public,
            epsilon=given.estimator.epsilon,
            delta=given.estimator.delta,
            before=given.cost_before,
            is_pure_before=all(part.is_pure for part in given.released_before),
        )

    def rehearse(self, given, plan):
        """Try a mechanism of the user's on a made-up table."""
        ((mechanism, _),) = plan.stages
        if not is_ours(mechanism):
            sizes = {"n_changed": given.ballots.n_changed, "n_classes": len(given.classes)}
            rehearse_table(mechanism, **sizes)

    def forecast(self, given, plan, why):
        """Return who votes, and problems and obstacles, by public numbers."""
        if given.private is None:  # `poll` has told of the rest
            cells = given.electorate.forecast(**_public_numbers(given, plan), are_drawn=True)
            return plan.voters, (), cells.obstacles
        are_drawn = given.rows_are_to_draw
        cells = given.electorate.forecast(**_public_numbers(given, plan), are_drawn=are_drawn)
        voters = Voters(
            n_classes=len(given.classes),
            cells=cells,
            n_records=given.ballots.n_records,
            name=type(given.electorate).__name__,
            why=why,
            are_levels=given.estimator.predicts_numbers,
        )
        return voters, cells.problems, cells.obstacles

    def gather(self, given, plan, rows, progress):
        """Divide the feature space by public rows, and let records vote in its cells."""
        electorate = given.electorate
        n_steps = electorate.n_steps(n_records=given.ballots.n_records)
        with progress.phase("ballots", n_steps) as done:
            public = given.X_public
            electorate.divide(public, **_public_numbers(given, plan), are_drawn=given.are_drawn)
            table = electorate.vote(
                given.private,
                public,
                seed=given.seeds["teachers"],
                n_jobs=given.estimator.n_jobs,
                on_done=done,
            )
        return Votes(
            table, given.classes, given.ballots, electorate=electorate, n_public=given.n_public
        )

    def draw(self, given, plan, rows, votes, published, noise, progress):
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
        prior = None if given.synthesis is None else given.synthesis.prior(given.classes)
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
        "n_records": given.ballots.n_records,
        "n_classes": len(given.classes),
    }


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


class NoTable(TableMechanism):
    """The mechanism of a table without cells, which costs nothing."""

    is_exact = True
    is_pure = True
    noise_std = 0.0

    def noisy(self, table, random_state=None):
        """Return the table, which is empty."""
        return table

    def cost(self, n_changed, orders=DEFAULT_ORDERS):
        """Return no cost."""
        return Cost(np.zeros(len(check_orders(orders))), 0.0, 0.0)


class OnlySums(TableElectorate):
    """Records that cast no ballots: the synthesizer's sums have said it all."""

    mechanism = NoTable()
    released_as = ""

    def enrol(self, private, X_public, *, seed=None, memory=None):
        """Say what one record changes: nothing."""
        return self.ballots(private)

    def divide(self, X_public, *, noise_std, n_records, n_classes, are_drawn=False):
        """Make no cells."""

    def forecast(self, *, noise_std, n_records, n_classes, are_drawn=False):
        """Say nothing: the synthesizer has said it."""
        return CellForecast(0, 0, None, (), ())

    def vote(self, private, X_query, *, temperature=None, seed=None, n_jobs=None, on_done=None):
        """Return a table without cells."""
        if on_done is not None:
            on_done(1)
        return np.zeros((0, len(private.classes)))

    def check_public(self, X_public):
        """Accept any rows: a synthesizer drew them."""

    def released(self, noisy, *, noise_std):
        """Return nothing: the sums take its place."""

    def read(self, table):
        """Return what the sums say; they are read instead."""
        raise NotImplementedError

    def default_student(self):
        """Return a classifier that is the discriminants."""
        return SumsClassifier()

"""Nobody votes: what a synthesizer released of the labels is all that there is."""

import numpy as np

from ..adjacency import Adjacency
from ..aggregators import TableMechanism
from ..electorate import CellForecast, TableBallots, TableElectorate
from ..rdp import DEFAULT_ORDERS, Cost
from ..rdp.checks import check_orders
from ..synthesis.student import SumsClassifier


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

    def enrol(self, private, X_public, *, seed=None, memory=None):
        """Say what one record changes: nothing."""
        unit = "record" if private.groups is None else "group"
        adjacency = Adjacency.REPLACE_RECORD if unit == "record" else Adjacency.REPLACE_GROUP
        return TableBallots(
            n_changed=2,
            unit=unit,
            adjacency=adjacency,
            n_records=Adjacency.public_count(adjacency, len(private.codes)),
        )

    def divide(self, X_public, *, noise_std, n_records, n_classes, are_drawn=False):
        """Make no cells."""

    def forecast(self, *, noise_std, n_records, n_classes, are_drawn=False):
        """Say nothing: the synthesizer has said it."""
        return CellForecast(0, 0, None, (), ())

    def n_steps(self, *, n_records):
        """Return 1."""
        return 1

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

"""The auditor of one query."""

from sklearn_pate.aggregators import GNMax
from sklearn_pate.audit import audit_aggregator

from .helpers import NAN, TEXT, each, refused, table

MECHANISM = GNMax(5.0)


@table(
    "votes, message",
    {
        "votes: one class": ([5], "votes must have shape"),
        "votes: negative": ([5, -1], "votes has negative counts"),
        "votes: fractions": ([5.5, 4.5], "votes must be finite whole numbers"),
        "votes: none": ([0, 0], "every row of votes must sum"),
        "votes: text": (TEXT, "votes must"),
    },
)
def test_wrong_votes(votes, message):
    with refused(message):
        audit_aggregator(MECHANISM, votes, n_samples=200)


@table(
    "neighbour_votes",
    {
        "neighbour_votes: two moves": [7, 3],
        "neighbour_votes: the same": [5, 5],
        "neighbour_votes: a class more": [5, 4, 1],
    },
)
def test_votes_that_are_no_neighbours(neighbour_votes):
    with refused("neighbour_votes must be votes with one"):
        audit_aggregator(MECHANISM, [5, 5], neighbour_votes, n_samples=200)


@each("confidence", (0, 1.0, NAN, "x"))
def test_a_wrong_confidence(confidence):
    with refused("confidence must lie strictly between 0 and 1; got"):
        audit_aggregator(MECHANISM, [5, 5], confidence=confidence)


@each("n_samples", (99, 500.0, "x"))
def test_a_wrong_number_of_samples(n_samples):
    with refused("n_samples must be a whole number, at least 100; got"):
        audit_aggregator(MECHANISM, [5, 5], n_samples=n_samples)


@each("delta", (1, -1, NAN, "x", None))
def test_a_wrong_delta(delta):
    with refused("delta must be a number from 0 to below 1; got"):
        audit_aggregator(MECHANISM, [5, 5], delta=delta)

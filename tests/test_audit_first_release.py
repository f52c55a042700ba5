"""Audits of the first release and of the schema release: honest ones, and ones with a fault.

Bounds hold with a probability of 1 - 1e-6. Faults are so large that all seeds show them.
"""

import math

import numpy as np
import pandas as pd
import pytest
from conftest import cases, sampled

from sklearn_pate.aggregators import LaplaceMechanism
from sklearn_pate.audit import audit_first_release, audit_schema_release
from sklearn_pate.encoding.targets import ClassTarget
from sklearn_pate.rdp import Neighbors
from sklearn_pate.schema_release import ClassRelease, RangeRelease, SchemaRelease, ShareRelease

ONE = Neighbors(relation="replace_one", unit="record", n_records=60)
GIVEN = {"epsilon": 2.0, "neighbors": ONE}
SHARE = {"target": ClassTarget(["no", "yes"]), "rare": 0.08}

#: Labels, codes or numbers of two data sets
LABELS = ["a"] * 30 + ["b"] * 30, ["a"] * 31 + ["b"] * 29
RARE = ["a"] * 59 + ["c"], ["a"] * 60
CODES = np.repeat([0, 1], [30, 30]), np.repeat([0, 1], [31, 29])
NUMBERS = np.full(60, 5.0), np.append(np.full(59, 5.0), 900.0)


def careless(kind, **changes):
    """A release with the cost of an honest one, and with other noise or another threshold."""

    def cost_of_honest(self):
        return kind(**vars(self)).cost

    return type("Careless", (kind,), changes | {"cost": property(cost_of_honest)})


def quarter_of_the_noise(self, fraction=1.0):
    (honest,) = type(self).__bases__
    return LaplaceMechanism(honest.mechanism(self, fraction).scale / 4)


def low_threshold(self, label):
    return ClassRelease.threshold(self, label) - 1


#: Probability that a count of 1 reaches a threshold of 2, with whole noise of an epsilon of 3
EDGE = math.exp(-1.5) / (1 + math.exp(-1.5)) * (1 + 1e-6)


@sampled(is_honest=False)
@cases(
    "kind, pair, options",
    (ClassRelease, LABELS, {"delta": 1e-3}),
    (ShareRelease, CODES, {"delta": 0.0, **SHARE}),
    pytest.param(RangeRelease, NUMBERS, {"delta": 0.0}, marks=pytest.mark.slow),
    ids=["classes", "shares", "range"],
)
@pytest.mark.parametrize("is_honest", [True, False])
def test_audit_first_release_refutes_a_quarter_of_the_noise(
    kind, pair, options, is_honest, global_random_seed
):
    honest = kind(**GIVEN, **options)
    wrong = careless(kind, mechanism=quarter_of_the_noise)(**GIVEN, **options)
    n_samples = 1000 if kind is RangeRelease else 600
    given = {"n_samples": n_samples, "random_state": global_random_seed}
    found = audit_first_release(honest if is_honest else wrong, *pair, **given)
    assert found.claimed == honest.cost.pure <= 2.0 and found.delta == options["delta"]
    assert found.refuted is not is_honest and found.epsilon > 0.4


@pytest.mark.slow
@pytest.mark.parametrize("is_honest", [True, False])
def test_audit_first_release_refutes_a_threshold_that_is_one_lower(is_honest, global_random_seed):
    """A label of one unit is found in half of all releases, of 18 % that are claimed."""
    kind = ClassRelease if is_honest else careless(ClassRelease, threshold=low_threshold)
    release = kind(epsilon=3.0, delta=EDGE, neighbors=ONE)
    given = {"n_samples": 1800, "random_state": global_random_seed}
    found = audit_first_release(release, *RARE, **given)
    assert found.delta == EDGE and found.refuted is not is_honest


@pytest.mark.slow
def test_audit_first_release_counts_a_unit_once():
    units = np.repeat(np.arange(20), 3)
    release = ClassRelease(**GIVEN, delta=1e-3)
    labels = np.repeat(["a", "b"], 30)
    other = labels.copy()
    other[:3] = "b"  # all records of the first unit
    given = {"n_samples": 800, "random_state": 0}
    assert not audit_first_release(release, labels, other, units=units, **given).refuted
    assert audit_first_release(release, labels, other, **given).epsilon > 2.0  # as three records


def test_audit_first_release_refuses_what_it_cannot_audit():
    release = ClassRelease(**GIVEN, delta=1e-3)
    with pytest.raises(ValueError, match="equal means: pass two data sets that differ"):
        audit_first_release(release, LABELS[0], LABELS[0])
    with pytest.raises(TypeError, match="no audit is known of a Plain"):
        audit_first_release(Plain(), LABELS[0], LABELS[1])


class Plain:
    """A release of another kind of target."""

    def check(self, y):
        return y

    def gather(self, y, units):
        return y


# --- the schema release --------------------------------------------------------------------------

COLUMNS = pd.DataFrame({"number": np.full(60, 2.5), "text": ["x", "y"] * 30}, dtype=object)
CHANGED = COLUMNS.copy()
CHANGED.iloc[0] = [-700.0, "y"]


def little_noise_of_values(self, *, n_trees, n_texts):
    sds = SchemaRelease.sd_values(self, n_trees=n_trees, n_texts=n_texts)
    return tuple(sd / 16 for sd in sds)


@pytest.mark.slow
@pytest.mark.usefixtures("small_trees")
@pytest.mark.parametrize("fault", ["none", "ranges", "values"])
def test_audit_schema_release_refutes_a_sixteenth_of_the_noise(fault, global_random_seed):
    """180 samples show some 1.3 to 2.1, of a claim of 0.9."""
    honest = SchemaRelease(n_columns=2, mu=0.5, delta=1e-3)
    changes = {
        "none": {},
        "ranges": {"sd_ranges": property(lambda self: honest.sd_ranges / 16)},
        "values": {"sd_values": little_noise_of_values},
    }[fault]
    cost = lambda self, *args, **given: honest.cost(*args, **given)  # noqa: E731
    release = type("Careless", (SchemaRelease,), changes | {"cost": cost})(2, 0.5, 1e-3)
    given = {"n_samples": 180, "random_state": global_random_seed}
    found = audit_schema_release(release, COLUMNS, CHANGED, ONE, **given)
    assert found.delta == 0.011 and 0.9 < found.claimed < 0.95
    assert found.refuted == bool(changes)

"""Neighboring data sets, and the contribution of one protected unit to a statistic.

`Neighbors` belongs to a fit: it defines the pairs of data sets that a guarantee compares.
`Contribution` belongs to a step of the fit: it bounds the difference of a statistic between the two
data sets. Mechanisms compute a cost from a contribution. The factor of two for a replaced unit is a
part of the contribution, and is not applied anywhere else.

A group of any size costs the same as a record, because its records share one vote in a cell
(`neighbors.counting`), the ticks of one row in sums (`class_sums.statistic.ticks_of`), or one
teacher (`partition`). The number of records is then private. Cells and sums keep the relation of
their method. If teachers are assigned by keyed hashes, the guarantee covers a group that is added,
removed or changed. A fit that protects groups requires user-defined releases with `counts_groups`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from numbers import Integral
from typing import Any, Self

from .._numbers import is_real
from .checks import check_count


class NeighboringRelation(StrEnum):
    """Relation between two neighboring data sets.

    A unit is one record, or all records of one group: see `Neighbors`.

    Attributes
    ----------
    REPLACE_ONE
        One unit is replaced by another. The number of units is the same in both.
    ADD_OR_REMOVE_ONE
        One data set has one unit more.
    ADD_REMOVE_OR_CHANGE_ONE
        One data set has one unit more, or one unit differs under the same identifier.
    CHANGE_ONE_NAMED
        The records of one unit differ, and may all be missing in one data set; the names of all
        units are public.
    CHANGE_ONE_NAMED_NONEMPTY
        As `CHANGE_ONE_NAMED`, but each unit has at least one record in both data sets.

    Examples
    --------
    >>> from sklearn_pate.rdp import NeighboringRelation
    >>> NeighboringRelation("replace_one").n_units
    2
    """

    REPLACE_ONE = "replace_one"
    ADD_OR_REMOVE_ONE = "add_or_remove_one"
    ADD_REMOVE_OR_CHANGE_ONE = "add_remove_or_change_one"
    CHANGE_ONE_NAMED = "change_one_named"
    CHANGE_ONE_NAMED_NONEMPTY = "change_one_named_nonempty"

    @property
    def n_units(self) -> int:
        """Largest number of units that are in one data set only: 1 for add or remove, else 2.

        A unit that is replaced or changed counts as two, the old one and the new one.
        """
        return 1 if self is NeighboringRelation.ADD_OR_REMOVE_ONE else 2


#: Relations of groups with public names; the protected unit is then a group.
OF_NAMED_GROUPS = (
    NeighboringRelation.CHANGE_ONE_NAMED,
    NeighboringRelation.CHANGE_ONE_NAMED_NONEMPTY,
)


@dataclass(frozen=True, kw_only=True)
class Neighbors:
    """The pairs of private data sets that a guarantee compares. All attributes are public.

    Attributes
    ----------
    relation : NeighboringRelation or str
        Difference between the two data sets. A user-defined partition may describe it by any other
        text, which is copied to privacy statements. Costs that depend on the relation are then
        unknown.
    unit : {"record", "group", "teacher"}
        The protected unit; "teacher" if it is unknown how the votes depend on records.
    n_records : int or None
        Number of private records; None if it is unknown, or private under `relation`.

    Examples
    --------
    >>> from sklearn_pate.rdp import NeighboringRelation, Neighbors
    >>> neighbors = Neighbors(relation=NeighboringRelation.REPLACE_ONE, unit="record")
    >>> neighbors.counts(1)
    Contribution(l1=2.0, l2_squared=2.0, linf=1.0)
    """

    relation: NeighboringRelation | str
    unit: str
    n_records: int | None = None

    def __post_init__(self) -> None:
        units = ("record", "group", "teacher")
        is_text = isinstance(self.relation, str) and self.relation != ""
        if not is_text or self.unit not in units or not isinstance(self.n_records, Integral | None):
            raise ValueError(
                "Neighbors requires a relation (rdp.NeighboringRelation, or your own text), a "
                "unit ('record', 'group' or 'teacher') and n_records, a whole number or None; got "
                f"{self.relation!r}, {self.unit!r} and {type(self.n_records).__name__}"
            )
        if self.relation in list(NeighboringRelation):
            object.__setattr__(self, "relation", NeighboringRelation(self.relation))
            if self.n_records is not None and not self.size_is_public:
                raise ValueError(
                    f"n_records must be None: under {str(self.relation)!r} of one {self.unit} it "
                    "is private"
                )

    @property
    def size_is_public(self) -> bool:
        """Whether both data sets have the same number of records, so that it is public."""
        return self.relation == NeighboringRelation.REPLACE_ONE and self.unit == "record"

    def with_size(self, n_records: int) -> Neighbors:
        """Return a copy with `n_records`, or with None if the relation keeps the number private.

        Parameters
        ----------
        n_records : int
            Number of private records.

        Returns
        -------
        Neighbors
        """
        size = n_records if self.size_is_public else None
        return Neighbors(relation=self.relation, unit=self.unit, n_records=size)

    def check_known(self) -> NeighboringRelation:
        """Return the relation, if the costs of all statistics are known under it.

        Returns
        -------
        NeighboringRelation

        Raises
        ------
        ValueError
            If the relation is the user's own text, or if the unit is a teacher.
        """
        if self.unit == "teacher":
            raise ValueError(
                "these votes protect one teacher, not one record; with a synthesizer or your own "
                "releases, a fit requires a relation of records or groups"
            )
        if not isinstance(self.relation, NeighboringRelation):
            raise ValueError(
                f"relation {self.relation!r} is not an rdp.NeighboringRelation, so the cost of "
                "synthetic rows or your own releases is unknown under it; use another partition"
            )
        return self.relation

    @property
    def n_units(self) -> int:
        """Largest number of units that are in one data set only; see `NeighboringRelation`."""
        return self.check_known().n_units

    def counts(self, n_counts: int) -> Contribution:
        """Return the contribution to a table in which each unit adds to a few counts.

        Parameters
        ----------
        n_counts : int
            Number of entries that one unit adds to, at most 1 to each. A unit with a weight below
            1, or with several records that share these counts, adds no more.

        Returns
        -------
        Contribution
            If a unit is replaced, the counts of the old and the new unit change, in different
            entries in the worst case.
        """
        return Contribution.of_counts(self.n_units * check_count("n_counts", n_counts))


@dataclass(frozen=True, kw_only=True)
class Contribution:
    """The largest change of a statistic between neighboring data sets: its sensitivity.

    Attributes
    ----------
    l1 : float
        Sum of the absolute changes of all entries; inf if unknown.
    l2_squared : float
        Sum of the squared changes. The square is stored because its root would be rounded.
    linf : float
        Largest absolute change of an entry; inf if unknown.

    Examples
    --------
    >>> from sklearn_pate.rdp import Contribution
    >>> Contribution.of_counts(2).l2
    1.4142135623730951
    """

    l1: float
    l2_squared: float
    linf: float

    def __post_init__(self) -> None:
        for name in ("l1", "l2_squared", "linf"):
            value = getattr(self, name)
            if not is_real(value) or not value > 0:  # false for NaN, too
                raise ValueError(f"Contribution.{name} must be a number above 0; got {value!r}")
            number = float(value)
            if number < value:  # possible for a fraction or a long whole number
                number = math.nextafter(number, math.inf)
            object.__setattr__(self, name, number)
        product = self.l1 * self.linf * (1 + 1e-12)  # the product may have been rounded down
        if self.linf > self.l1 or not self.l2_squared <= product:
            raise ValueError(
                f"a Contribution must have linf <= l1 and l2_squared <= l1 * linf; got {self}"
            )

    @property
    def l2(self) -> float:
        """The L2 sensitivity."""
        return math.sqrt(self.l2_squared)

    @classmethod
    def of_counts(cls, n_changed: int) -> Self:
        """Return the contribution of a number of entries that change by at most 1 each.

        Parameters
        ----------
        n_changed : int
            Number of entries that change.

        Returns
        -------
        Contribution
        """
        n_changed = check_count("n_changed", n_changed)
        return cls(l1=n_changed, l2_squared=n_changed, linf=1)


def check_contribution(contribution: Any) -> None:
    """Check that an argument is a `Contribution` and not, for instance, a `Neighbors`.

    Raises
    ------
    ValueError
        If `contribution` is not a `Contribution`.
    """
    if not isinstance(contribution, Contribution):
        raise ValueError(
            "contribution must be an rdp.Contribution, such as neighbors.counts(1) if each "
            f"unit adds to one count; got {contribution!r}"
        )

"""Expected numbers for a hypothetical rare class, because the class counts in y are private."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..encoding.targets import ClassTarget

if TYPE_CHECKING:
    from .plan import Plan

#: Share of the hypothetical class among all records.
_SHARE = 0.03


@dataclass(frozen=True, kw_only=True)
class RareClass:
    """Expected numbers for a hypothetical rare class; attributes of other methods are None.

    Attributes
    ----------
    share : float
        Share of the class among all records.
    n_labels : float or None
        For teachers: number of labels of the class.
    records_per_teacher : float or None
        For teachers: number of records of the class for each teacher; None if the number of records
        is private.
    votes_per_cell : float or None
        For cells: number of votes for the class in an average cell.
    n_records : float or None
        For class sums: number of records of the class.
    noise : float or None
        For cells: standard deviation of the noise on a count. For class sums: typical length of the
        noise on the sums of a class.
    """

    share: float
    n_labels: float | None = None
    records_per_teacher: float | None = None
    votes_per_cell: float | None = None
    n_records: float | None = None
    noise: float | None = None


def rare_class_of(plan: "Plan") -> RareClass | None:
    """Return the expected numbers for a hypothetical rare class, if they can be computed.

    Parameters
    ----------
    plan : Plan
        A plan.

    Returns
    -------
    RareClass or None
        None if the method is unknown, for targets without classes, for plans without stages, and
        for methods of records without a forecast of votes or without a known noise.
    """
    summary = plan.method_summary
    if summary is None or not issubclass(summary.target_type, ClassTarget) or not plan.stages:
        return None
    if plan.has_teachers:
        each = summary.records_per_teacher
        return RareClass(
            share=_SHARE,
            n_labels=_SHARE * plan.n_labels,
            records_per_teacher=None if each is None else _SHARE * each,
        )
    cells, noise_std = summary.cells, plan.noise_std
    if cells is None or noise_std is None:
        return None
    if cells.n_columns is not None:
        length = noise_std * math.sqrt(cells.n_columns)
        return RareClass(share=_SHARE, n_records=_SHARE * cells.n_votes, noise=length)
    votes = _SHARE * cells.n_votes / cells.n_cells
    return RareClass(share=_SHARE, votes_per_cell=votes, noise=noise_std)

"""Expected numbers for a class with a made-up share, as the class counts in y are private."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..encoding.targets import ClassTarget

if TYPE_CHECKING:
    from .plan import Plan

#: Share of the made-up class.
_SHARE = 0.03


@dataclass(frozen=True, kw_only=True)
class RareClass:
    """Expected numbers for a rare class; attributes for other methods are None.

    Attributes
    ----------
    share : float
        Share of the class.
    n_labels, records_per_teacher : float or None
        For teachers: number of labels of the class, and number of its records for each teacher if
        the number of records is public.
    votes_per_cell : float or None
        For cells: number of votes for the class in an average cell.
    n_records : float or None
        For class sums: number of records of the class.
    noise : float or None
        For records: standard deviation of the noise on a cell, or length of the noise on the sums.
    """

    share: float
    n_labels: float | None = None
    records_per_teacher: float | None = None
    votes_per_cell: float | None = None
    n_records: float | None = None
    noise: float | None = None


def rare_class_of(plan: "Plan") -> RareClass | None:
    """Return the expected numbers for a rare class, or None if a plan has none.

    Parameters
    ----------
    plan : Plan
        A plan.

    Returns
    -------
    RareClass or None
        None for targets without classes, for plans without stages, and for methods of records
        without a forecast of votes.
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

"""What a fit publishes, and what each costs: rows, a table or labels, and what you add to them."""

from functools import singledispatch

from ..electorate import TableElectorate
from .base import Release
from .labels import LabelsRelease
from .table import TableRelease


@singledispatch
def release_of(electorate):
    """Return what is published of an electorate's votes; nothing else asks who votes."""
    return LabelsRelease()


@release_of.register(TableElectorate)
def _(electorate):
    return TableRelease()


__all__ = ["Release", "release_of"]

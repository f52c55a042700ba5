"""Teachers: one classifier per part of the private data, and their votes on public rows."""

from .ensemble import collect_votes
from .sites import Sites
from .votes import Votes

__all__ = ["Sites", "Votes", "collect_votes"]

"""Teachers: one classifier per part of the private data, and their votes on public rows."""

from .electorate import SiteEnsemble, TeacherEnsemble
from .ensemble import collect_votes
from .sites import Sites

__all__ = ["SiteEnsemble", "Sites", "TeacherEnsemble", "collect_votes"]

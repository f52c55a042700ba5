"""Teachers: one model per part of the private data, and their votes on public rows."""

from .electorate import RegressorEnsemble, SiteEnsemble, TeacherEnsemble
from .ensemble import collect_votes
from .sites import Sites

__all__ = ["RegressorEnsemble", "SiteEnsemble", "Sites", "TeacherEnsemble", "collect_votes"]

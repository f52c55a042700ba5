"""Teachers: one model per part of the private data, and their votes on public rows."""

from .ensemble import RegressorEnsemble, SiteEnsemble, TeacherEnsemble
from .sites import Sites

__all__ = ["RegressorEnsemble", "SiteEnsemble", "Sites", "TeacherEnsemble"]

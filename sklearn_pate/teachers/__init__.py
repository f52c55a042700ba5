"""Teachers: sites with their own data, training, and networks that are trained together."""

from .sites import Sites

__all__ = ["Sites"]

"""Parts of teachers: sites with data of their own, training, and networks trained together."""

from .sites import Sites

__all__ = ["Sites"]

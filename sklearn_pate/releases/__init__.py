"""What a fit publishes, and what each costs: rows, a table or labels, and what you add to them."""

from .base import Release

__all__ = ["Release"]

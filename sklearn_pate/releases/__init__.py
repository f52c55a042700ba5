"""Releases: what a fit publishes of private records, and what each costs."""

from ..runtime.private_data import PrivateData
from .base import Release

__all__ = ["PrivateData", "Release"]

"""Releases: the published statistics of private records, and their events."""

from ..runtime.private_data import PrivateData
from .base import Release

__all__ = ["PrivateData", "Release"]

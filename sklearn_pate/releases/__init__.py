"""Releases: statistics of private records that a fit publishes with noise."""

from ..runtime.private_data import PrivateData
from .base import Release

__all__ = ["PrivateData", "Release"]

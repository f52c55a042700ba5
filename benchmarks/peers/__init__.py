"""Ours beside every peer that a user would try."""

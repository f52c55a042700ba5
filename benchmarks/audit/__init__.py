"""Audits of every path, honest and with a fault."""

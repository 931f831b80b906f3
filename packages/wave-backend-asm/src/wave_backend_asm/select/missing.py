"""What no rule of this package computes."""

from __future__ import annotations


class MissingError(Exception):
    """There is no selection for something; its text says for what."""

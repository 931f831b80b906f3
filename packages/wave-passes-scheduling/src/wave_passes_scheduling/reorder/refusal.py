"""Why a loop stays as it is."""

from __future__ import annotations


class ReorderError(Exception):
    """No order of the wanted kind is legal; the message names what forbids it."""

"""The one exception that the symbol engine raises."""

from __future__ import annotations


class SymbolError(ValueError):
    """An expression, fact or layout that cannot be built or evaluated."""

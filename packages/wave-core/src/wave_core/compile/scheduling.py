"""The names of scheduling strategies; the scheduling package gives them meaning."""

from __future__ import annotations

from enum import Enum


class SchedulingType(Enum):
    """How loops are pipelined. Only ``NONE`` needs no scheduling package."""

    NONE = "none"
    MODULO = "modulo"
    PREFETCH = "prefetch"
    FOUR_STAGE = "four-stage"
    PREFETCH_ATTENTION = "prefetch-attention"
    MANUAL = "manual"

    def __str__(self) -> str:
        """The word used in text."""
        return self.value

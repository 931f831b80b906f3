"""Traits of ops, on which passes may rely, and effects on memory."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wave_core.ops.base import Op


class Trait(Enum):
    """A property shared by all instances of an op class."""

    __hash__ = object.__hash__
    """Members are compared as objects; by its name, each hash is a call."""

    PURE = "pure"
    """No effect, no dependence on memory: may be merged, moved and dropped."""
    ELEMENTWISE = "elementwise"
    """``evaluate`` works element by element on arrays of any one shape."""
    FOLLOWS_OPERANDS = "follows_operands"
    """Laid out like its operands, dimension by dimension, and cut like them: each
    piece of the value follows from that piece of every operand. Elementwise ops do,
    without saying so; others may move elements within a piece."""
    LAYS_OUT_ITSELF = "lays_out_itself"
    """The layout of the value follows from the op's own rule, whatever its users ask
    for: a use that needs another one converts."""
    FLEXIBLE = "flexible"
    """Can produce its value in any layout at no cost (read, splat, self_index)."""
    TERMINATOR = "terminator"
    """Ends a region; its operands are what the region yields."""
    ORDERED = "ordered"
    """Has an order that the author asked for (barrier, wait, priority)."""


class EffectKind(Enum):
    """How a memory is touched."""

    __hash__ = object.__hash__
    """As of `Trait`."""

    READ = "read"
    WRITE = "write"
    READ_WRITE = "read_write"
    DMA_WRITE = "dma_write"
    ALLOCATE = "allocate"
    BARRIER = "barrier"
    FENCE = "fence"


_WRITING = frozenset({EffectKind.WRITE, EffectKind.READ_WRITE, EffectKind.DMA_WRITE})


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect of one op: a kind, and the memory operand it touches, if any."""

    kind: EffectKind
    memory: Op | None = None

    @property
    def writes(self) -> bool:
        """Whether a memory holds something else afterwards."""
        return self.memory is not None and self.kind in _WRITING

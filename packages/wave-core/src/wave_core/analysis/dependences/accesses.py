"""The accesses of shared memory in a graph, in program order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.analysis.effects import touched_memories
from wave_core.ops.memory import Allocate
from wave_core.ops.traits import EffectKind

if TYPE_CHECKING:
    from wave_core.ir import Graph, Region
    from wave_core.ops.base import Op


@dataclass(frozen=True, eq=False, slots=True)
class SharedAccess:
    """One op that touches one buffer of LDS.

    Attributes:
        op: The op.
        buffer: The buffer, seen through captures.
        kind: How it is touched.
        order: Its position among all accesses, in program order.
        around: The ops whose regions it stands in, outermost first.
    """

    op: Op
    buffer: Allocate
    kind: EffectKind
    order: int
    around: tuple[Op, ...]

    @property
    def writes(self) -> bool:
        """Whether it changes the buffer."""
        return self.kind is not EffectKind.READ

    @property
    def asynchronous(self) -> bool:
        """Whether the op goes on before the data has landed."""
        return self.kind is EffectKind.DMA_WRITE

    @property
    def atomic(self) -> bool:
        """Whether it reads and writes each element in one step."""
        return self.kind is EffectKind.READ_WRITE

    def races(self, other: SharedAccess) -> bool:
        """Whether threads must meet between the two, where they touch one byte.

        Atomics of one buffer are ordered by the memory.
        """
        together = self.atomic and other.atomic and self.buffer is other.buffer
        return self.conflicts(other) and not together

    def conflicts(self, other: SharedAccess) -> bool:
        """Whether the order of the two could matter: one of them writes."""
        return self.writes or other.writes


def shared_accesses(graph: Graph) -> list[SharedAccess]:
    """All accesses of LDS, in program order."""
    found: list[SharedAccess] = []
    _collect(graph.body, (), found)
    return found


def _collect(region: Region, around: tuple[Op, ...], found: list[SharedAccess]) -> None:
    for op in region.ops:
        for kind, buffer in touched_buffers(op):
            found.append(SharedAccess(op, buffer, kind, len(found), around))
        for nested in op.regions:
            _collect(nested, (*around, op), found)


def touched_buffers(op: Op) -> list[tuple[EffectKind, Allocate]]:
    """The LDS buffers that ``op`` itself touches, and how."""
    return [
        (effect.kind, memory)
        for memory, effect in touched_memories(op)
        if isinstance(memory, Allocate)
    ]

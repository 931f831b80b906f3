"""Finds buffers whose reads walk a dimension that is not the contiguous one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wave_core.analysis.effects import touched_memories
from wave_core.constraints.machine import REGISTER
from wave_core.ir import ACCESS, region_of
from wave_core.ops.memory import Allocate, Read, Write

if TYPE_CHECKING:
    from wave_core.ir import Access, Graph
    from wave_core.ops.base import Op


@dataclass
class Uses:
    """All that touches a buffer.

    Attributes:
        reads: Its reads.
        writes: Its writes.
        others: Whether anything else touches it.
    """

    reads: list[Read] = field(default_factory=list[Read])
    writes: list[Write] = field(default_factory=list[Write])
    others: bool = False

    def across(self) -> int | None:
        """The position of the dimension that all reads walk; ``None`` for the last."""
        found: set[int] = set()
        for read in self.reads:
            places = access_of(read).coordinates
            moving = [n for n, c in enumerate(places) if REGISTER in c.free_symbols]
            if len(moving) != 1 or moving[0] == len(places) - 1:
                return None
            found.update(moving)
        return found.pop() if len(found) == 1 and not self.others else None


def buffers_read_across(graph: Graph) -> dict[Allocate, tuple[int, Uses]]:
    """Buffers stored by their own dimensions, with the dimension that reads walk."""
    found: dict[Allocate, Uses] = {}
    for op in graph.walk():
        for memory, _ in touched_memories(op):
            if isinstance(memory, Allocate):
                _note(found.setdefault(memory, Uses()), op)
    return {
        buffer: (across, uses)
        for buffer, uses in found.items()
        if (across := uses.across()) is not None and _plain(buffer)
    }


def _note(uses: Uses, op: Op) -> None:
    if type(op) is Read and not op.indices:
        uses.reads.append(op)
    elif type(op) is Write and not op.indices:
        uses.writes.append(op)
    else:
        uses.others = True


def access_of(op: Read) -> Access:
    """The row of an expanded read."""
    access = region_of(op).graph.facts.get(ACCESS, op)
    assert access is not None, "expansion gives every access coordinates"
    return access


def _plain(buffer: Allocate) -> bool:
    """Whether rows have static length and nothing between them."""
    kind = buffer.memory_type
    return not buffer.padding and all(e.is_constant for e in kind.storage_shape)

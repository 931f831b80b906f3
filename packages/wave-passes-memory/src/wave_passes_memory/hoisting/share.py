"""Reads shared memory and global memory once; see `ShareCommonReads`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.analysis.dependences.storage import sharing_buffers
from wave_core.analysis.effects import written_by, written_memories
from wave_core.analysis.symbol_uses import symbols_set
from wave_core.ir import ACCESS, PLACEMENT, capture, region_of, replace, resolve
from wave_core.ops.base import Op
from wave_core.ops.control import Iterate, SetSymbol, While
from wave_core.ops.memory import Allocate, Read
from wave_core.ops.traits import Trait
from wave_core.passes import Pass

if TYPE_CHECKING:
    from wave_core.ir import Graph, Region
    from wave_core.passes import PassContext


@dataclass(frozen=True)
class ShareCommonReads(Pass):
    """Read once what is read twice.

    A read is replaced by an earlier one of the same elements with the same mask and
    the same layout, where the earlier one is on every way to it and nothing between
    the two writes the memory or sets a symbol. Needs expanded tiles. Does nothing to
    volatile reads, to reads with other tags, and across barriers to global memory that
    the kernel writes.

    Example::

          kernel "k" target "generic" {
            %a = argument parameter "a" : mem<M, global, f32>
            %b = argument parameter "b" : mem<M, global, f32>
            %x = read %a, [] : reg<M, f32> @access(coordinates = [$LANE], registers = 1)
        -   %y = read %a, [] : reg<M, f32> @access(coordinates = [$LANE], registers = 1)
        -   %z = mul %x, %y : reg<M, f32>
        +   %z = mul %x, %x : reg<M, f32>
            write %z, %b, [] @access(coordinates = [$LANE], registers = 1)
            yield []
          }
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Walk the regions from the outside in."""
        shared = _Sharing(graph).region(graph.body, {})
        context.count("shared_reads", shared)
        return shared > 0


_Known = dict[Op, dict[object, Read]]


class _Sharing:
    """Replaces reads; what is known travels into nested regions, not out of them."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._sharing = sharing_buffers(graph)
        written = written_memories(graph.body)
        self._exposed = {m for m in written if not isinstance(m, Allocate)}

    def region(self, region: Region, known: _Known) -> int:
        """Share the reads of a region; ``known`` are those on the way to it."""
        shared = 0
        for op in region.ops:
            if isinstance(op, Read) and op.flags == "none":
                shared += self._read(op, known)
            elif op.regions:
                shared += self._nested(op, known)
            elif not op.has(Trait.PURE):
                self._forget(op, known)
        return shared

    def _read(self, op: Read, known: _Known) -> int:
        rows = known.setdefault(resolve(op.memory), {})
        earlier = rows.setdefault(self._key(op), op)
        if earlier is op:
            return 0
        replace(op, capture(region_of(op), earlier))
        return 1

    def _key(self, op: Read) -> object:
        facts = self._graph.facts
        indices = tuple(id(resolve(value)) for value in op.indices)
        return (
            indices,
            op.type,
            op.tags,
            facts.get(ACCESS, op),
            facts.get(PLACEMENT, op),
        )

    def _nested(self, op: Op, known: _Known) -> int:
        written = {m for nested in op.regions for m in written_memories(nested)}
        sets = any(symbols_set(nested) for nested in op.regions)
        if isinstance(op, Iterate | While):
            # What an iteration writes, the next one finds.
            self._drop(written, known)
            if sets:
                known.clear()
        shared = 0
        for nested in op.regions:
            inner = {memory: dict(rows) for memory, rows in known.items()}
            shared += self.region(nested, inner)
        self._drop(written, known)
        if sets:
            known.clear()
        return shared

    def _forget(self, op: Op, known: _Known) -> None:
        """Drop from ``known`` the reads that an op makes stale."""
        if isinstance(op, SetSymbol):
            known.clear()
        self._drop(written_by(op), known)
        if op.has(Trait.ORDERED):
            self._drop(self._exposed, known)

    def _drop(self, memories: set[Op], known: _Known) -> None:
        """Forget reads of these memories, and of buffers in the same place."""
        for memory in memories:
            for other in self._sharing.get(memory, (memory,)):
                known.pop(other, None)

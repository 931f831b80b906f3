"""Puts the loads and the writes of blocks in the place of a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.ir import ACCESS, PLACEMENT, capture, erase, insert_before
from wave_core.ops.memory import Read, Write
from wave_core.ops.shape import Assemble
from wave_passes_memory.copies.rows import Rows

if TYPE_CHECKING:
    from wave_core.analysis.region_facts import RegionFacts
    from wave_core.symbols import Expr
    from wave_passes_memory.copies.find import Copy
    from wave_passes_memory.transposes.blocks import Block, Part


def emit_blocks(copy: Copy, blocks: list[Block], known: RegionFacts) -> None:
    """All loads where the copy begins, then all writes where it ends."""
    emitter = _Emitter(copy, Rows(known.geometry.lanes))
    loaded = [[emitter.load(part) for part in block.loads] for block in blocks]
    for block, values in zip(blocks, loaded, strict=True):
        for column, part in enumerate(block.writes):
            emitter.write(values, column, part)
    for read, write in copy.pairs:
        erase(write)
        erase(read)


class _Emitter:
    def __init__(self, copy: Copy, rows: Rows) -> None:
        self._copy = copy
        self._rows = rows
        self._facts = copy.region.graph.facts
        self._front = copy.pairs[0][0]
        self._last = copy.pairs[-1][1]

    @property
    def _shape(self) -> tuple[Expr, ...]:
        kind = self._copy.buffer.memory_type
        return kind.shape

    def load(self, part: Part) -> Read:
        """One row."""
        copy, front = self._copy, self._front
        memory = capture(copy.region, copy.memory)
        load = Read(memory, (), copy.mapping, self._shape, flags=front.flags)
        load.tags = front.tags
        insert_before(front, load)
        self._facts.put(ACCESS, load, part.access)
        row = self._rows.placement(part.index, part.access.registers)
        self._facts.put(PLACEMENT, load, row)
        return load

    def write(self, rows: list[Read], column: int, part: Part) -> None:
        """One column of the rows."""
        picks = tuple((row, column) for row in range(len(rows)))
        value = Assemble(tuple(rows), picks, self._shape)
        insert_before(self._last, value)
        row = self._rows.placement(part.index, part.access.registers)
        self._facts.put(PLACEMENT, value, row)
        write = Write(value, capture(self._copy.region, self._copy.buffer), ())
        write.tags = self._last.tags
        insert_before(self._last, write)
        self._facts.put(ACCESS, write, part.access)

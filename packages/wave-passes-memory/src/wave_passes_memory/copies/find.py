"""Finds reads of global memory whose values are only written to LDS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.analysis.dependences.uniform import Uniformity
from wave_core.analysis.effects import touches, written_memories
from wave_core.ir import region_of, regions, resolve, walk_op
from wave_core.ops.control import SetSymbol, symbols_set_by
from wave_core.ops.memory import Allocate, Read, Write
from wave_core.ops.structure import Argument
from wave_passes_memory.copies.gathered import plain_source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_core.ir import Graph, Region
    from wave_core.ops.base import Op
    from wave_core.types import AccessMapping


@dataclass(frozen=True)
class Copy:
    """All that a region copies from one memory to one buffer.

    Attributes:
        region: Where.
        memory: The kernel's parameter.
        buffer: The allocation.
        pairs: The reads, each with the write of its value; in program order.
    """

    region: Region
    memory: Argument
    buffer: Allocate
    pairs: tuple[tuple[Read, Write], ...]

    @property
    def mapping(self) -> AccessMapping | None:
        """How the reads address the memory, the same for all."""
        return self.pairs[0][0].mapping

    @property
    def members(self) -> frozenset[Op]:
        """All ops of the copy."""
        return frozenset(op for pair in self.pairs for op in pair)


def copies(graph: Graph, *, gathered: bool = False) -> list[Copy]:
    """The copies that all waves of a workgroup run together, nothing in between.

    With ``gathered``, also those whose addresses come from index registers.

    Nothing else of the region touches the buffer between the first and the last op of
    a copy, and the kernel never writes the memory: the reads may move up to the first
    of them, and the writes down to the last.
    """
    uniformity = Uniformity(graph)
    written = written_memories(graph.body)
    found: list[Copy] = []
    for region in regions(graph.body):
        if not uniformity.reached_together(region):
            continue
        found.extend(
            copy
            for copy in _of_region(region, gathered=gathered)
            if copy.memory not in written
            and _undisturbed(copy)
            and all(_is_steady(source, copy, written) for source in _sources(copy))
        )
    return found


def _sources(copy: Copy) -> dict[Read, None]:
    """The reads that the copy's index registers are."""
    values = [value for read, _ in copy.pairs for value in read.indices]
    sources = [plain_source(value) for value in values]
    return dict.fromkeys(source for source in sources if source is not None)


def _is_steady(source: Read, copy: Copy, written: set[Op]) -> bool:
    """Whether the read gives at its place what it would where the copy is.

    Nobody writes the table, and no symbol changes from the read to the copy.
    """
    region = region_of(source)
    last: Op = copy.pairs[-1][1]
    while last.owner is not region:
        parent = region_of(last).parent
        assert parent is not None, "a value is used where it is known"
        last = parent
    ops = list(region.ops)
    between = ops[ops.index(source) : ops.index(last) + 1]
    changed = any(symbols_set_by(each) for op in between for each in walk_op(op))
    return resolve(source.memory) not in written and not changed


def _kind(read: Read) -> object:
    """Equal for reads that address one memory alike."""
    sources = [plain_source(value) for value in read.indices]
    tables = [
        None if s is None else (resolve(s.memory), s.mapping, s.flags) for s in sources
    ]
    return resolve(read.memory), read.mapping, read.flags, tuple(tables)


def _of_region(region: Region, *, gathered: bool) -> Iterator[Copy]:
    pairs: dict[Op, list[tuple[Read, Write]]] = {}
    others: set[Op] = set()
    for op in region.ops:
        if not isinstance(op, Write):
            continue
        buffer = resolve(op.memory)
        read = op.value
        copied = isinstance(read, Read) and _is_copy(op, read, region)
        if isinstance(read, Read) and copied and (gathered or not read.indices):
            pairs.setdefault(buffer, []).append((read, op))
        else:
            others.add(buffer)
    for buffer, rows in pairs.items():
        memory = resolve(rows[0][0].memory)
        same = {_kind(read) for read, _ in rows}
        if buffer in others or len(same) > 1:
            continue
        if not isinstance(buffer, Allocate) or buffer.offset is not None:
            continue
        if isinstance(memory, Argument):
            yield Copy(region, memory, buffer, tuple(rows))


def _is_copy(write: Write, read: Read, region: Region) -> bool:
    """Whether a write stores what was read just for it, element for element."""
    return (
        read.owner is region
        and list(read.users) == [write]
        and write.mapping is None
        and write.flags == "none"
        and not read.is_volatile
        and isinstance(resolve(read.memory), Argument)
    )


def _undisturbed(copy: Copy) -> bool:
    members = copy.members
    seen = 0
    for op in copy.region.ops:
        if op in members:
            seen += 1
        elif 0 < seen < len(members) and _disturbs(op, copy.buffer):
            return False
    return True


def _disturbs(op: Op, buffer: Op) -> bool:
    return any(
        isinstance(each, SetSymbol) or touches(each, buffer) for each in walk_op(op)
    )

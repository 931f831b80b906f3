"""Measures of each buffer of a lowered kernel."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from wave_core.analysis.waves import thread_number
from wave_core.ir import ACCESS, LANDING, region_of, resolve
from wave_core.ops.memory import Allocate, GatherToLDS, Read, Write
from wave_core.symbols import Kind, logical_and
from wave_passes_memory.copies.lane_points import LanePoints
from wave_passes_memory.layouts.patterns import conflict_cycles, patterns, row_of
from wave_passes_memory.layouts.schemes import Scheme

if TYPE_CHECKING:
    from types import UnionType

    from wave_core.constraints.geometry import Geometry
    from wave_core.ir import Access, Graph
    from wave_core.ops.base import Op
    from wave_core.targets import MemorySpec

NOBODY = -1
ROWS_SHOWN = 64
"""Rows whose owners are looked up; the pattern repeats."""


@dataclass(frozen=True)
class BufferReport:
    """One buffer.

    Attributes:
        name: Its dimensions.
        line: Where the kernel asks for it; 0 if that is not known.
        extents: Elements along each dimension, padding included.
        dtype: The element type.
        bytes: Its size.
        offset: Its first byte.
        first, last: The ops, counted in program order, between which it is used.
        layout: How its rows are stored.
        reads, writes: Accesses of each thread, by bits, in the order of the program.
        conflicts_before, conflicts: Conflict cycles of one execution of each access
            by a workgroup, rows stored as they come, and as they are.
        owners: For the first rows the thread that writes each element.
    """

    name: str
    line: int
    extents: tuple[int, ...]
    dtype: str
    bytes: int
    offset: int
    first: int
    last: int
    layout: str
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    conflicts_before: int
    conflicts: int
    owners: tuple[tuple[int, ...], ...]

    def to_json(self) -> dict[str, object]:
        """All of it as JSON values."""
        return asdict(self)


def measure(
    graph: Graph, plain: Graph, geometry: Geometry, memory: MemorySpec
) -> list[BufferReport]:
    """The buffers of ``graph``; ``plain`` is the kernel before layouts are chosen."""
    found: list[BufferReport] = []
    end = 0
    earlier = {op.location: op for op in _buffers(plain)}
    for buffer in _buffers(graph):
        one = _Measurement(graph, buffer, geometry, memory)
        before = earlier.get(buffer.location)
        other = one
        if before is not None:
            other = _Measurement(plain, before, geometry, memory)
        offset = buffer.offset if buffer.offset is not None else end
        row = one.report(offset, other.conflicts())
        end = max(end, row.offset + row.bytes)
        found.append(row)
    return found


def _buffers(graph: Graph) -> list[Allocate]:
    return [op for op in graph.body.ops if isinstance(op, Allocate)]


class _Measurement:
    """Looks at the accesses of one buffer."""

    def __init__(
        self, graph: Graph, buffer: Allocate, geometry: Geometry, memory: MemorySpec
    ) -> None:
        self._graph = graph
        self._buffer = buffer
        self._geometry = geometry
        self._memory = memory
        self._points = LanePoints.of(geometry)
        kind = buffer.memory_type
        self._kind = kind
        self._extents = tuple(e.constant_value for e in kind.storage_shape)
        self._order = {op: position for position, op in enumerate(graph.walk())}
        self._accesses = [
            op
            for op in self._order
            if isinstance(op, Read | Write) and resolve(op.memory) is buffer
        ]
        self._copies = [
            op
            for op in self._order
            if isinstance(op, GatherToLDS) and resolve(op.destination) is buffer
        ]

    def report(self, offset: int, before: int) -> BufferReport:
        """All there is to say."""
        size = self._buffer.dtype.bytes
        at = self._buffer.location
        places = [self._span(op) for op in self._touching] or [(0, 0)]
        return BufferReport(
            name=", ".join(self._kind.dims),
            line=0 if at is None else at.line,
            extents=self._extents,
            dtype=self._buffer.dtype.name,
            bytes=prod(self._extents) * size,
            offset=offset,
            first=min(first for first, _ in places),
            last=max(last for _, last in places),
            layout=self._layout(),
            reads=self._widths(Read),
            writes=self._widths(Write | GatherToLDS),
            conflicts_before=before,
            conflicts=self.conflicts(),
            owners=self._owners(),
        )

    def conflicts(self) -> int:
        """Conflict cycles of one execution of each access by all waves."""
        row_bytes = self._extents[-1] * self._buffer.dtype.bytes
        plain = Scheme(self._memory.max_access_bits // 8)
        total = 0
        for pattern in patterns(self._buffer, self._accesses, self._points):
            places = plain.places(pattern.rows, pattern.columns, row_bytes)
            cycles = conflict_cycles(
                places, pattern.alive, pattern.width, self._memory, reads=pattern.reads
            )
            total += int((cycles * (pattern.weights > 0)).sum())
        return total

    def _span(self, op: Op) -> tuple[int, int]:
        """The ops between which an access may run: the outermost loop around it."""
        *_, outer = op, *region_of(op).around
        inner = [self._order[outer], self._order[op]]
        for region in outer.regions:
            terminator = region.terminator
            if terminator is not None:
                inner.append(self._order[terminator])
        return min(inner), max(inner)

    @property
    def _touching(self) -> list[Op]:
        """The accesses, and the copies that land here."""
        return [*self._accesses, *self._copies]

    def _row(self, op: Op) -> Access | None:
        """The part of the buffer that an op touches."""
        return self._graph.facts.get(
            LANDING if isinstance(op, GatherToLDS) else ACCESS, op
        )

    def _widths(self, kind: type[Op] | UnionType) -> tuple[int, ...]:
        bits = self._buffer.dtype.bits
        chosen = [op for op in self._touching if isinstance(op, kind)]
        rows = [self._row(op) for op in chosen]
        return tuple(row.registers * bits for row in rows if row is not None)

    def _layout(self) -> str:
        if self._buffer.padding:
            return f"rows padded by {self._buffer.padding} elements"
        swizzled = False
        for op in self._accesses:
            row = self._graph.facts.get(ACCESS, op)
            if row is not None:
                terms = row.coordinates[-1].linear()[1]
                swizzled |= any(term.kind is Kind.XOR for term, _ in terms)
        return "chunks of a row permuted" if swizzled else "row by row"

    def _owners(self) -> tuple[tuple[int, ...], ...]:
        """The thread that writes each element of the first rows."""
        rows = min(prod(self._extents[:-1]), ROWS_SHOWN)
        found = np.full((rows, self._extents[-1]), NOBODY, dtype=np.int64)
        thread = thread_number(self._geometry)
        for op in self._touching:
            row = self._row(op)
            gathered = isinstance(op, Write) and op.indices
            if isinstance(op, Read) or row is None or gathered:
                continue
            mine, _ = self._points.conditions(row.mask)
            alive, down, across, owner = (
                self._points.own_values(expr, row.registers)
                for expr in (
                    logical_and(*mine),
                    row_of(row, self._kind),
                    row.coordinates[-1],
                    thread,
                )
            )
            shown = (alive != 0) & (down < rows)
            found[down[shown], across[shown]] = owner[shown]
        return tuple(tuple(int(owner) for owner in row) for row in found)

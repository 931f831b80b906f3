"""The view ``memory``: measures of the buffers of a compiled kernel."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from math import prod
from typing import TYPE_CHECKING, cast

import numpy as np

from wave_core.analysis.waves import thread_number
from wave_core.diagnostics import UserError
from wave_core.ir import ACCESS, LANDING, region_of, resolve, source_of
from wave_core.ops.memory import Allocate, GatherToLDS, Read, Write
from wave_core.plugin import ViewResult
from wave_core.symbols import logical_and
from wave_passes_memory.copies.lane_points import LanePoints
from wave_passes_memory.layouts.choose import is_swizzled
from wave_passes_memory.layouts.patterns import conflict_cycles, patterns, row_of
from wave_passes_memory.layouts.schemes import Scheme

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import UnionType

    from wave_core.compile.kernel import WaveKernel
    from wave_core.constraints.geometry import Geometry
    from wave_core.ir import Access, Graph
    from wave_core.ops.base import Op
    from wave_core.plugin import ViewRequest
    from wave_core.targets import BankPhases, MemorySpec

NOBODY = -1
ROWS_SHOWN = 64
"""Rows whose owners are looked up; the pattern repeats."""


@dataclass(frozen=True)
class AccessReport:
    """One access of a buffer, by the first wave.

    Attributes:
        kind: ``read`` or ``write``.
        source: The author's ``file:line``; empty if that is not known.
        bits: What a lane moves.
        cycles: Of the whole wave, those of conflicts among them.
        conflicts: Cycles beyond one a phase.
        banks: Banks that serve it.
        phases: Lanes that are served together.
        bytes: Where in the buffer each lane begins; -1 for one that takes no part.
    """

    kind: str
    source: str
    bits: int
    cycles: int
    conflicts: int
    banks: int
    phases: tuple[tuple[int, ...], ...]
    bytes: tuple[int, ...]


@dataclass(frozen=True)
class BufferReport:
    """One buffer.

    Attributes:
        name: Its dimensions.
        line: Where the kernel asks for it; 0 if that is not known.
        source: The same with its file, ``file:line``; empty if that is not known.
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
        element_bytes: Of the element type.
        accesses: Each different access once, as the first wave makes it.
    """

    name: str
    line: int
    source: str
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
    element_bytes: int
    accesses: tuple[AccessReport, ...]


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
            source=source_of(self._buffer),
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
            element_bytes=size,
            accesses=tuple(self._access_reports()),
        )

    def _access_reports(self) -> Iterator[AccessReport]:
        """The accesses whose addresses are known, those alike once."""
        seen: set[AccessReport] = set()
        for op in self._accesses:
            report = None if op.indices else self._access_report(op)
            if report is not None and report not in seen:
                seen.add(report)
                yield report

    def _access_report(self, op: Read | Write) -> AccessReport | None:
        (pattern,) = patterns(self._buffer, [op], self._points)
        phases = self._memory.phases(pattern.width, reads=pattern.reads)
        if phases is None:
            return None
        row_bytes = self._extents[-1] * self._buffer.dtype.bytes
        places = (pattern.rows * row_bytes + pattern.columns)[:1]
        alive = pattern.alive[:1]
        conflicts = conflict_cycles(
            places, alive, pattern.width, self._memory, reads=pattern.reads
        )
        groups = _served(phases, places.shape[1])
        return AccessReport(
            kind="read" if pattern.reads else "write",
            source=source_of(op),
            bits=pattern.width * 8,
            cycles=len(groups) + int(conflicts[0]),
            conflicts=int(conflicts[0]),
            banks=phases.banks,
            phases=groups,
            bytes=tuple(np.where(alive, places, NOBODY)[0].tolist()),
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
        inner += [self._order[region.end] for region in outer.regions]
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
        rows = [(op, self._row(op)) for op in chosen]
        return tuple(
            (getattr(op, "elements_per_thread", None) or row.registers) * bits
            for op, row in rows
            if row is not None
        )

    def _layout(self) -> str:
        if self._buffer.padding:
            return f"rows padded by {self._buffer.padding} elements"
        rows = [self._graph.facts.get(ACCESS, op) for op in self._accesses]
        swizzled = any(row is not None and is_swizzled(row) for row in rows)
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


def _served(phases: BankPhases, lanes: int) -> tuple[tuple[int, ...], ...]:
    """The lanes of a wave that LDS serves together, one group after the other."""
    groups = (
        tuple(begin + lane for lane in group if begin + lane < lanes)
        for begin in range(0, lanes, phases.lanes)
        for group in phases.phases
    )
    return tuple(group for group in groups if group)


_BEFORE_LAYOUTS = "split-accesses"


COLUMNS = (
    "buffer",
    "line",
    "type",
    "bytes",
    "offset",
    "used in ops",
    "writes of a thread",
    "reads of a thread",
    "layout",
    "conflict cycles",
)


def _cells(buffer: BufferReport) -> tuple[str, ...]:
    extents = "x".join(map(str, buffer.extents))
    return (
        buffer.name,
        str(buffer.line or ""),
        f"{extents} {buffer.dtype}",
        str(buffer.bytes),
        str(buffer.offset),
        f"{buffer.first} to {buffer.last}",
        _widths(buffer.writes),
        _widths(buffer.reads),
        buffer.layout,
        f"{buffer.conflicts_before} -> {buffer.conflicts}",
    )


def _widths(bits: tuple[int, ...]) -> str:
    counts = Counter(bits)
    return ", ".join(f"{counts[width]} of {width} bits" for width in sorted(counts))


def memory(request: ViewRequest) -> ViewResult:
    """The buffers of a compiled kernel as table and JSON."""
    kernel = cast("WaveKernel", request.compiled)
    found = buffers_of(kernel)
    memory = kernel.compiled.target.memory
    budget = memory.lds_bytes
    return ViewResult(
        {
            "kernel": kernel.name,
            "lds_bytes": budget,
            "bank_bytes": memory.bank_bytes,
            "banks": max((row.banks for _, row in memory.read_phases), default=1),
            "buffers": [asdict(buffer) for buffer in found],
        },
        ((COLUMNS, (*map(_cells, found), _sum(found, budget))),),
    )


def buffers_of(kernel: WaveKernel) -> list[BufferReport]:
    """A report of each buffer of a compiled kernel."""
    memory = kernel.compiled.target.memory
    geometry = kernel.compiled.geometry
    return measure(kernel.graph, _before_layouts(kernel), geometry, memory)


def _sum(buffers: Sequence[BufferReport], budget: int) -> tuple[str, ...]:
    used = max((b.offset + b.bytes for b in buffers), default=0)
    return ("all", "", "", f"{used} of {budget} bytes", *[""] * 6)


def _before_layouts(kernel: WaveKernel) -> Graph:
    """The kernel before layouts are chosen; as it is where that pass does not run."""
    try:
        return kernel.snapshots(_BEFORE_LAYOUTS)
    except UserError:
        return kernel.graph

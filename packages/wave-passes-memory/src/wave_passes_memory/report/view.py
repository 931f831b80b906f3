"""The view ``memory``: the buffers of a compiled kernel."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, cast

from wave_core.diagnostics import UserError
from wave_core.plugin import ViewResult
from wave_passes_memory.report.draw import draw
from wave_passes_memory.report.measure import measure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.compile.kernel import WaveKernel
    from wave_core.ir import Graph
    from wave_core.plugin import ViewRequest
    from wave_passes_memory.report.measure import BufferReport

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
    """The buffers of a compiled kernel as table, JSON and picture."""
    kernel = cast("WaveKernel", request.compiled)
    found = buffers_of(kernel)
    budget = kernel.compiled.target.memory.lds_bytes
    return ViewResult(
        {
            "kernel": kernel.name,
            "lds_bytes": budget,
            "buffers": [buffer.to_json() for buffer in found],
        },
        ((COLUMNS, (*map(_cells, found), _sum(found, budget))),),
        draw(found, f"LDS of {kernel.name}", budget),
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

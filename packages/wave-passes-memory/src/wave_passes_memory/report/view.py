"""The view ``memory``: the buffers of a compiled kernel."""

from __future__ import annotations

import colorsys
from collections import Counter
from typing import TYPE_CHECKING, cast
from xml.sax.saxutils import escape

from wave_core.diagnostics import UserError
from wave_core.plugin import ViewResult
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


_WIDTH, _HEIGHT = 480, 320
_MARGIN, _LINE = 24, 16
_CELL = 6
_ROWS, _COLUMNS = 32, 64
_LANES = 64


def draw(buffers: Sequence[BufferReport], title: str, budget: int) -> str:
    """Left the bytes of LDS over the ops of the program, right the owners.

    A cell on the right is an element of a buffer; its colour is the lane of the
    thread that writes it.
    """
    parts = [_text(_MARGIN, _LINE, title)]
    parts += _map(buffers, budget)
    left = _WIDTH + 3 * _MARGIN
    height = _HEIGHT + 4 * _LINE
    for buffer in buffers:
        columns = min(_COLUMNS, len(buffer.owners[0]) if buffer.owners else 0)
        parts += _owners(buffer, left)
        left += max(columns * _CELL, 200) + _MARGIN
    space = 'xmlns="http://www.w3.org/2000/svg" font-family="monospace" font-size="11"'
    head = f'<svg {space} width="{left}" height="{height}">'
    ground = f'<rect width="{left}" height="{height}" fill="white"/>'
    return "\n".join([head, ground, *parts, "</svg>", ""])


def _map(buffers: Sequence[BufferReport], budget: int) -> list[str]:
    """Rectangles: across the ops between which a buffer is used, down its bytes."""
    used = max((b.offset + b.bytes for b in buffers), default=1)
    steps = max((b.last + 1 for b in buffers), default=1)
    top = 2 * _LINE
    parts = [
        _text(_MARGIN, top + _HEIGHT + _LINE, f"{used} of {budget} bytes; ops across"),
        (
            f'<rect x="{_MARGIN}" y="{top}" width="{_WIDTH}" height="{_HEIGHT}" '
            'fill="none" stroke="#888"/>'
        ),
    ]
    for number, buffer in enumerate(buffers):
        x = _MARGIN + buffer.first * _WIDTH // steps
        width = max(2, (buffer.last + 1 - buffer.first) * _WIDTH // steps)
        y = top + buffer.offset * _HEIGHT // used
        height = max(2, buffer.bytes * _HEIGHT // used)
        colour = _colour(number / max(1, len(buffers)))
        parts.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" '
            f'fill="{colour}" stroke="#444"/>'
        )
        label = f"[{buffer.name}] conflicts {buffer.conflicts_before} to "
        parts.append(_text(x + 4, y + _LINE, f"{label}{buffer.conflicts}"))
    return parts


def _owners(buffer: BufferReport, left: int) -> list[str]:
    parts = [_text(left, 2 * _LINE - 4, f"[{buffer.name}] {buffer.layout}")]
    for down, row in enumerate(buffer.owners[:_ROWS]):
        for across, owner in enumerate(row[:_COLUMNS]):
            colour = "#fff" if owner < 0 else _colour(owner % _LANES / _LANES)
            x, y = left + across * _CELL, 2 * _LINE + down * _CELL
            parts.append(
                f'<rect x="{x}" y="{y}" width="{_CELL}" height="{_CELL}" '
                f'fill="{colour}"><title>thread {owner}</title></rect>'
            )
    return parts


def _colour(part: float) -> str:
    red, green, blue = colorsys.hls_to_rgb(part, 0.75, 0.6)
    return f"#{int(red * 255):02x}{int(green * 255):02x}{int(blue * 255):02x}"


def _text(x: int, y: int, text: str) -> str:
    return f'<text x="{x}" y="{y}">{escape(text)}</text>'

"""LDS as a picture: which bytes are used when, and who writes what."""

from __future__ import annotations

import colorsys
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_passes_memory.report.measure import BufferReport

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

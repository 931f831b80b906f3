"""Draws who owns which element as an SVG picture."""

from __future__ import annotations

import colorsys
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from wave_core.cli.ownership import NOBODY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.cli.ownership import Ownership

#: Units: pixels.
_CELL = 18
_MARGIN = 24
_HEAD = 40

#: Elements drawn down and across; larger tiles are cut off, their pattern repeats.
_MAX_ROWS = 32
_MAX_COLUMNS = 64


def draw(panels: Sequence[Ownership], title: str) -> str:
    """A picture with one panel for each value, side by side.

    A cell is an element; its colour and number are the lane that holds it, the small
    number the place in that lane's vector.
    """
    parts: list[str] = []
    left, bottom = _MARGIN, 0
    for panel in panels:
        width, height, body = _panel(panel, left)
        parts += body
        left += width + _MARGIN
        bottom = max(bottom, height)
    note = "cell = element; number = lane (register); +n = held by n more lanes"
    height = bottom + _HEAD + 2 * _MARGIN
    return "\n".join(
        [
            _head(left, height),
            f"<title>{escape(title)}</title>",
            f'<rect width="{left}" height="{height}" fill="white"/>',
            *parts,
            _text(_MARGIN, height - 8, note, size=10),
            "</svg>",
            "",
        ]
    )


def _head(width: int, height: int) -> str:
    space = 'xmlns="http://www.w3.org/2000/svg" font-family="monospace"'
    return f'<svg {space} width="{width}" height="{height}">'


def _panel(panel: Ownership, left: int) -> tuple[int, int, list[str]]:
    rows = min(panel.lane.shape[0], _MAX_ROWS)
    columns = min(panel.lane.shape[1], _MAX_COLUMNS)
    names = " x ".join(
        f"{name}: {size}"
        for name, size in zip(panel.dims, panel.lane.shape, strict=True)
        if name
    )
    cut = f" (first {rows} x {columns})" if (rows, columns) != panel.lane.shape else ""
    parts = [
        _text(left, _MARGIN - 6, panel.title, size=11),
        _text(left, _MARGIN + 8, f"rows x columns = {names}{cut}", size=10),
    ]
    for row in range(rows):
        for column in range(columns):
            x = left + column * _CELL
            y = _HEAD + row * _CELL
            parts += _cell(panel, (row, column), x, y)
    width = max(columns * _CELL, 8 * len(panel.title))
    return width, rows * _CELL, parts


def _cell(panel: Ownership, at: tuple[int, int], x: int, y: int) -> list[str]:
    lane = int(panel.lane[at])
    fill = "#eeeeee" if lane == NOBODY else _color(lane)
    box = (
        f'<rect x="{x}" y="{y}" width="{_CELL}" height="{_CELL}" fill="{fill}"'
        ' stroke="#666" stroke-width="0.4"/>'
    )
    if lane == NOBODY:
        return [box]
    more = int(panel.copies[at]) - 1
    extra = f" +{more}" if more else ""
    return [
        box,
        _text(x + 2, y + 8, str(lane), size=7),
        _text(x + 2, y + 15, f"({int(panel.register[at])}){extra}", size=5),
    ]


def _text(x: int, y: int, text: str, size: int) -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}">{escape(text)}</text>'


def _color(lane: int) -> str:
    """A light colour; lanes that follow each other differ (golden angle steps)."""
    red, green, blue = colorsys.hls_to_rgb(lane * 0.618034 % 1.0, 0.8, 0.6)
    return f"#{int(red * 255):02x}{int(green * 255):02x}{int(blue * 255):02x}"

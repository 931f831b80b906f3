"""Draws rates over sizes: SVG without any script or font of its own."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_tune.bench import Report, Row

WIDTH, HEIGHT, MARGIN, LEGEND = 720, 420, 64, 150
"""Units: pixels."""

COLORS = ("#c00", "#888", "#06c", "#080", "#a50", "#808")
"""Of Wave, of the roofline, then of peers."""

TICKS = 5


def drawn(report: Report) -> str:
    """A picture of a report: rates upwards, sizes to the right."""
    rows = report.rows
    names = ["wave", "roofline", *dict.fromkeys(n for row in rows for n in row.peers)]
    lines = [[_rate(row, name) for row in rows] for name in names]
    top = max((rate for line in lines for rate in line if rate), default=1.0)
    places = _places(rows)
    parts = [*_axes(report, top, places)]
    for number, (name, line) in enumerate(zip(names, lines, strict=True)):
        color = COLORS[number % len(COLORS)]
        points = [
            (x, _height(rate, top))
            for x, rate in zip(places, line, strict=True)
            if rate is not None
        ]
        if points:
            parts += _line(points, color, dashed=name == "roofline")
            parts += _entry(number, name, color)
    space = 'xmlns="http://www.w3.org/2000/svg" font-family="sans-serif"'
    head = f'<svg {space} font-size="11" width="{WIDTH}" height="{HEIGHT}">'
    back = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
    return "\n".join([head, back, *parts, "</svg>", ""])


def _rate(row: Row, name: str) -> float | None:
    if name == "wave":
        return row.rate
    return row.roof if name == "roofline" else row.peers.get(name)


def _places(rows: Sequence[Row]) -> list[float]:
    """Where sizes are: by the logarithm of the first that differs."""
    names = [n for n in rows[0].shape if len({row.shape[n] for row in rows}) > 1]
    values = [log2(max(1, row.shape[names[0]])) if names else 0.0 for row in rows]
    low, span = min(values), max(values) - min(values) or 1.0
    room = WIDTH - 2 * MARGIN - LEGEND
    return [MARGIN + (value - low) / span * room for value in values]


def _height(rate: float, top: float) -> float:
    return HEIGHT - MARGIN - rate / top * (HEIGHT - 2 * MARGIN)


def _axes(report: Report, top: float, places: Sequence[float]) -> list[str]:
    """Title, both axes with their units, and what stands at them."""
    title = f"{report.kernel} on {report.target}, measured on {report.on}"
    floor, right = HEIGHT - MARGIN, WIDTH - MARGIN - LEGEND
    parts = [
        f"<title>{escape(title)}</title>",
        _text(MARGIN, 24, title),
        _text(8, MARGIN - 12, report.rows[0].unit),
        f'<path d="M{MARGIN} {MARGIN} V{floor} H{right}" fill="none" stroke="#333"/>',
    ]
    for tick in range(TICKS + 1):
        rate = top * tick / TICKS
        parts.append(_text(8, _height(rate, top) + 4, f"{rate:,.3g}"))
    for row, x in zip(report.rows, places, strict=True):
        told = " ".join(f"{name}={size}" for name, size in row.shape.items())
        turned = f'transform="rotate(20 {x:.1f} {floor + 16})"'
        parts.append(_text(x, floor + 16, told, turned))
    return parts


def _line(
    points: Sequence[tuple[float, float]], color: str, *, dashed: bool
) -> list[str]:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    style = f'fill="none" stroke="{color}" stroke-width="2"{dash}'
    dots = [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>' for x, y in points
    ]
    return [f'<polyline points="{path}" {style}/>', *dots]


def _entry(number: int, name: str, color: str) -> list[str]:
    """A line of the legend."""
    x, y = WIDTH - LEGEND, MARGIN + 20 * number
    return [
        f'<rect x="{x}" y="{y - 9}" width="12" height="10" fill="{color}"/>',
        _text(x + 18, y, name),
    ]


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(text)}</text>'

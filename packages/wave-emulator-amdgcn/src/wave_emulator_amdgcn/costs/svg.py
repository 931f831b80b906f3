"""Draws a timeline of waves as SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from wave_emulator_amdgcn.costs.timeline import Event
    from wave_emulator_amdgcn.program import Program

_COLOURS = {
    "mfma": "#c0392b", "valu": "#2980b9", "lds": "#27ae60", "vmem": "#8e44ad",
    "smem": "#9b59b6", "salu": "#f39c12", "sync": "#7f8c8d", "branch": "#34495e",
}  # fmt: skip
_WIDTH = 1600
_ROW = 12
_MOST_EVENTS = 20_000


def draw(events: list[Event], program: Program) -> str:
    """Each wave is a row, each instruction a bar from its start to its unit's release.

    Bars carry the instruction, its cycles and what it waited for as a title. Only the
    first 20,000 events are drawn.
    """
    shown = events[:_MOST_EVENTS]
    last = max((event.end for event in shown), default=1.0)
    waves = sorted({event.wave for event in shown})
    row_of = {wave: k for k, wave in enumerate(waves)}
    height = _ROW * len(waves) + 20
    size = f'width="{_WIDTH}" height="{height}"'
    font = 'font-family="monospace" font-size="9"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>',
        f'<text x="2" y="10">{last:g} cycles, {len(waves)} waves</text>',
    ]
    parts.extend(_bar(event, row_of[event.wave], last, program) for event in shown)
    return "\n".join([*parts, "</svg>", ""])


def _bar(event: Event, row: int, last: float, program: Program) -> str:
    x = event.start * _WIDTH / last
    width = max(0.3, (event.end - event.start) * _WIDTH / last)
    text = program.at(event.pc).instruction.text
    why = f"; waited {event.stall:g} for {event.reason}" if event.stall else ""
    title = escape(f"{event.start:g}: {text}{why}")
    return (
        f'<rect x="{x:.2f}" y="{16 + row * _ROW}" width="{width:.2f}" '
        f'height="{_ROW - 2}" fill="{_COLOURS.get(event.unit, "#000")}">'
        f"<title>{title}</title></rect>"
    )

"""The time of waves as a picture that stands alone: for pages, reports and reviews."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error
from wave_view.spans import spans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_view.records import Json, View
    from wave_view.spans import Span

#: What a wave does, with names and colours that are read on light and on dark ground.
KINDS = {
    "mfma": ("matrix unit", "#c9504a"),
    "valu": ("vector unit", "#3f7fbf"),
    "salu": ("scalar unit", "#cf7f26"),
    "lds": ("LDS", "#45964d"),
    "vmem": ("global memory", "#8262b0"),
    "smem": ("scalar memory", "#b8538f"),
    "sync": ("waits and barriers", "#6f7b88"),
    "branch": ("branches", "#8f7040"),
    "for memory": ("waits for memory", "#cdbfe3"),
    "for LDS": ("waits for LDS", "#b9dcbd"),
    "for results": ("waits for results", "#bcc3ca"),
}
#: Reasons to wait that are of one kind.
_REASONS = {
    **dict.fromkeys(("hbm", "l2", "l1", "vmem", "smem"), "for memory"),
    "lds": "for LDS",
}
_MOST_WAVES = 16
_COLUMNS = 560
"""Units: pixels of the time axis, of which each shows what took most of it."""

_LEFT, _TOP, _ROW, _BAR, _KEY, _IN_A_LINE = 64, 4, 11, 8, 16, 5
_TEXT = 'font-family="system-ui, sans-serif" font-size="10" fill="#7d8590"'


@dataclass(frozen=True)
class _Bar:
    """One kind in neighbouring columns of a row."""

    row: int
    first: int
    columns: int
    kind: str


def picture(view: View) -> str:
    """An SVG of the waves of a compute unit over time, by the units at work.

    At most 16 waves are drawn. Units: cycles.

    Raises:
        UserError: WV0829 where no cycles are known.
    """
    timeline = view.documents.get("cycles", {}).get("timeline")
    if timeline is None:
        raise user_error(
            "WV0829",
            f"kernel `{view.kernel}` has no cycles for a picture",
            notes=[row.why for row in view.missing if row.view == "cycles"],
            help="compile for a target whose emulator counts cycles: --target gfx942",
        )
    waves = [each["wave"] for each in timeline["waves"]][:_MOST_WAVES]
    shown = [span for span in spans(timeline) if span.wave in waves]
    cycles = max((span.end for span in shown), default=0.0)
    columns = {wave: [dict[str, float]() for _ in range(_COLUMNS)] for wave in waves}
    for span in shown:
        _add(columns[span.wave], span, _kind(timeline, span), cycles / _COLUMNS)
    bars = [bar for row, wave in enumerate(waves) for bar in _bars(row, columns[wave])]
    named = f"Waves of {view.kernel} on a compute unit of {view.target} over time"
    return _drawn(named, waves, bars, cycles)


def _kind(timeline: Json, span: Span) -> str:
    if span.reason:
        return _REASONS.get(span.reason, "for results")
    return timeline["instructions"][span.instruction]["unit"]


def _add(columns: list[dict[str, float]], span: Span, kind: str, width: float) -> None:
    """Add the cycles of a span to the columns in which it lies."""
    start, end = span.start, span.start + span.cycles
    for column in range(int(start / width), min(int(end / width) + 1, _COLUMNS)):
        shared = min(end, (column + 1) * width) - max(start, column * width)
        if shared > 0:
            columns[column][kind] = columns[column].get(kind, 0) + shared


def _bars(row: int, columns: list[dict[str, float]]) -> Iterator[_Bar]:
    """Neighbours of which one kind takes the most."""
    most = [max(each, key=lambda kind: each[kind], default=None) for each in columns]
    at = 0
    for kind, group in groupby(most):
        count = len(list(group))
        if kind is not None:
            yield _Bar(row, at, count, kind)
        at += count


def _drawn(named: str, waves: list[int], bars: list[_Bar], cycles: float) -> str:
    height = _TOP + _ROW * len(waves)
    used = [kind for kind in KINDS if any(bar.kind == kind for bar in bars)]
    lines = 2 + (len(used) - 1) // _IN_A_LINE
    box = f"0 0 {_LEFT + _COLUMNS + 8} {height + _KEY * lines}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="{box}"'
    parts = [
        f"{head} {_TEXT}><title>{escape(named)}</title>",
        *(_label(row, wave) for row, wave in enumerate(waves)),
        *(_path(kind, bars) for kind in used),
        *_axis(cycles, height + _KEY - 4),
        *_key(used, height + 2 * _KEY - 4),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _label(row: int, wave: int) -> str:
    return f'<text x="0" y="{_TOP + _ROW * row + _BAR}">wave {wave}</text>'


def _path(kind: str, bars: list[_Bar]) -> str:
    """All bars of a kind as one path of thick lines."""
    lines = "".join(
        f"M{_LEFT + bar.first} {_TOP + _ROW * bar.row + _BAR // 2}h{bar.columns}"
        for bar in bars
        if bar.kind == kind
    )
    return f'<path stroke="{KINDS[kind][1]}" stroke-width="{_BAR}" d="{lines}"/>'


def _axis(cycles: float, y: int) -> Iterator[str]:
    """The first cycle, the middle and the last."""
    for share, anchor in ((0, "start"), (0.5, "middle"), (1, "end")):
        told = f"{cycles * share:,.0f}" + (" cycles" if share == 1 else "")
        x = _LEFT + round(_COLUMNS * share)
        yield f'<text x="{x}" y="{y}" text-anchor="{anchor}">{told}</text>'


def _key(used: list[str], y: int) -> Iterator[str]:
    """What the colours mean."""
    step = _COLUMNS // _IN_A_LINE
    for place, kind in enumerate(used):
        name, colour = KINDS[kind]
        line, column = divmod(place, _IN_A_LINE)
        x, base = _LEFT + column * step, y + line * _KEY
        square = f'x="{x}" y="{base - _BAR}" width="{_BAR}" height="{_BAR}"'
        yield f'<rect {square} fill="{colour}"/>'
        yield f'<text x="{x + _BAR + 3}" y="{base}">{name}</text>'

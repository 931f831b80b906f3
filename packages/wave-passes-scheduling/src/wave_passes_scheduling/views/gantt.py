"""A schedule as a picture: resources downwards, cycles of the interval to the right."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_passes_scheduling.modulo.schedule import Schedule

WIDTH, LANE, LEFT, TOP = 960, 14, 190, 40
"""Units: pixels, of the time axis, of one lane, and of the margins."""

COLOURS = ("#4878a8", "#d98b3a", "#5a9b5f", "#b85450", "#8064a2", "#7f7f7f")
"""One for each stage, from the first on; then again."""


def draw(schedule: Schedule, title: str) -> str:
    """SVG: each task as a bar of its stage's colour, beside those it overlaps."""
    lanes = list(_lanes(schedule))
    height = TOP + LANE * (sum(count for _, count, _ in lanes) + 2)
    parts = [_text(8, 18, f"{title}: interval {schedule.interval}")]
    parts += _legend(schedule)
    top = TOP
    for name, count, bars in lanes:
        parts.append(_text(8, top + LANE - 3, name))
        for lane, start, length, stage, label in bars:
            parts.append(_bar(schedule, top + lane * LANE, start, length, stage, label))
        top += LANE * count
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 10}"'
        f' height="{height}" font-family="monospace" font-size="11">\n{body}\n</svg>\n'
    )


def _lanes(
    schedule: Schedule,
) -> Iterator[tuple[str, int, list[tuple[int, int, int, int, str]]]]:
    """By resource: how many lanes it needs, and the bars in them."""
    problem = schedule.problem
    for index, resource in enumerate(problem.resources):
        ends: list[int] = []
        bars: list[tuple[int, int, int, int, str]] = []
        rows = [
            (
                (schedule.cycles[t] + use.offset) % schedule.interval,
                use.cycles,
                schedule.stages[t],
                task.name,
            )
            for t, task in enumerate(problem.tasks)
            for use in task.uses
            if use.resource == index
        ]
        for start, length, stage, label in sorted(rows):
            free = [lane for lane, end in enumerate(ends) if end <= start]
            lane = free[0] if free else len(ends)
            if not free:
                ends.append(0)
            ends[lane] = start + length
            bars.append((lane, start, length, stage, label))
        if bars:
            yield resource.name, len(ends), bars


def _legend(schedule: Schedule) -> Iterator[str]:
    for stage in range(schedule.depth):
        at = LEFT + 80 * stage
        colour = COLOURS[stage % len(COLOURS)]
        yield f'<rect x="{at}" y="24" width="10" height="10" fill="{colour}"/>'
        yield _text(at + 14, 33, f"stage {stage}")


def _bar(
    schedule: Schedule, top: int, start: int, length: int, stage: int, label: str
) -> str:
    """A bar, cut at the end of the interval, with its name as a tool tip."""
    unit = WIDTH / schedule.interval
    shown = min(length, schedule.interval - start)
    colour = COLOURS[stage % len(COLOURS)]
    return (
        f'<rect x="{LEFT + start * unit:.1f}" y="{top}" width="{shown * unit:.1f}"'
        f' height="{LANE - 2}" fill="{colour}" stroke="white">'
        f"<title>{escape(label)}, stage {stage}, cycle {start}</title></rect>"
    )


def _text(x: int, y: int, text: str) -> str:
    return f'<text x="{x}" y="{y}">{escape(text)}</text>'

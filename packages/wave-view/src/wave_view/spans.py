"""The time of waves in spans that do not overlap, for whoever draws it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_view.records import Json


@dataclass(frozen=True)
class Span:
    """What a wave does for a while: it executes an instruction, or waits for it.

    Attributes:
        wave: The number of the wave.
        instruction: The number of the instruction.
        start: The cycle at which it begins.
        cycles: How long it takes, at most until the wave goes on.
        end: The cycle from which on the instruction's unit is free.
        reason: What the wave waits for; empty where it executes.
    """

    wave: int
    instruction: int
    start: float
    cycles: float
    end: float
    reason: str = ""


def spans(timeline: Json) -> Iterator[Span]:
    """The spans of each wave in order; ``timeline`` is that of the view of cycles."""
    for wave, events in _by_wave(timeline["events"]).items():
        begins = [start - stall for _, _, start, _, stall, _ in events[1:]]
        for event, following in zip_longest(events, begins):
            _, number, start, end, stall, reason = event
            if stall:
                why = timeline["reasons"][reason]
                yield Span(wave, number, start - stall, stall, end, why)
            # A unit may work on behind the next instruction.
            until = end if following is None else min(end, following)
            yield Span(wave, number, start, until - start, end)


def _by_wave(events: list[list[Any]]) -> dict[int, list[list[Any]]]:
    """The events of each wave, in order."""
    found: dict[int, list[list[Any]]] = {}
    for event in events:
        found.setdefault(event[0], []).append(event)
    return found

"""The replay of a compute unit as JSON values, for whoever draws it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_emulator_amdgcn.costs.turns import MORE

if TYPE_CHECKING:
    from wave_emulator_amdgcn.codeobject import CodeObject
    from wave_emulator_amdgcn.costs.timeline import Timeline
    from wave_emulator_amdgcn.program import Program

MOST_EVENTS = 20_000
"""Events of a record; later ones are counted."""


def record(
    timeline: Timeline, program: Program, code: CodeObject, turns: int
) -> dict[str, object]:
    """Waves, instructions and events of a replay that kept them.

    ``events`` are rows ``[wave, instruction, start, end, stall, reason]``: the place of
    an instruction and of a reason in their lists, and cycles. A wave that waits at a
    barrier has an event without length when it goes on. ``turns`` is how many the
    loop has of which `MORE` are replayed; 0 where all are.
    """
    shown = timeline.events[:MOST_EVENTS]
    addresses = sorted({event.pc for event in shown})
    reasons = sorted({event.reason for event in shown})
    at = {pc: number for number, pc in enumerate(addresses)}
    why = {reason: number for number, reason in enumerate(reasons)}
    units = {event.pc: event.unit for event in shown}
    waves = sorted({(event.wave, event.simd) for event in shown})
    return {
        "cycles": max(timeline.ends, default=0.0),
        "clock_ghz": timeline.cost.ghz,
        "waves": [
            {"wave": wave, "simd": simd, "group": wave // len(timeline.paths)}
            for wave, simd in waves
        ],
        "instructions": [
            {
                "pc": pc,
                "bytes": program.at(pc).following - pc,
                "text": program.at(pc).instruction.text,
                "source": code.lines.place(pc),
                "unit": units[pc],
            }
            for pc in addresses
        ],
        "reasons": reasons,
        "events": [
            [e.wave, at[e.pc], round(e.start, 1), round(e.end, 1), round(e.stall, 1),
             why[e.reason]]
            for e in shown
        ],
        "events_left_out": len(timeline.events) - len(shown),
        "turns_left_out": max(0, turns - MORE),
    }  # fmt: skip

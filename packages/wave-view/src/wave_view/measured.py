"""A recorded trace in the place of the emulator's cycles."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import user_error
from wave_view.executed import executed_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_view.recorded import Recording, Row
    from wave_view.records import View

_UNITS = (
    ("mfma", r"v_s?mfma"),
    ("valu", r"v_"),
    ("lds", r"ds_"),
    ("vmem", r"(buffer|global|flat|scratch)_"),
    ("smem", r"s_(buffer_)?(load|store|atomic|dcache)|s_memtime"),
    ("barrier", r"s_barrier"),
    ("wait", r"s_(wait|sleep|nop)"),
    ("branch", r"s_(c?branch|call|endpgm|setpc|swappc)"),
    ("salu", r""),
)
"""Units by how names of instructions begin. Source: AMD's manuals of its ISAs."""

_LONGEST = 16
"""Bytes of an instruction, at most; a larger distance is a gap."""


def with_recording(view: View, recording: Recording) -> View:
    """The view with the cycles of a trace.

    Raises:
        UserError: WV0851 where the trace is of other code.
    """
    lines = {event[0] for wave in recording.waves for event in wave.events}
    used = sorted(lines, key=lambda line: recording.rows[line].pc)
    sizes = _sizes(recording.rows)
    instructions = [_instruction(recording.rows[line], sizes) for line in used]
    executed = () if view.code is None else executed_lines(view.code, instructions)
    files = {PurePath(source.file).name for source in view.sources}
    told = {PurePath(row["source"].rpartition(":")[0]).name for row in instructions}
    if not instructions or not (executed or files & told):
        raise user_error(
            "WV0851",
            f"`{recording.name}` is no trace of kernel `{view.kernel}`",
            help="give the sizes, settings and target that were traced",
        )
    timeline = _timeline(recording, {line: at for at, line in enumerate(used)})
    cycles = {"timeline": timeline | {"instructions": instructions}}
    return replace(
        view,
        executed=executed,
        documents={**view.documents, "cycles": cycles},
    )


def _sizes(rows: Mapping[int, Row]) -> dict[int, int]:
    """Bytes of each instruction but the last, by address, where the next is near."""
    addresses = sorted({row.pc for row in rows.values()})
    near = [(at, after - at) for at, after in pairwise(addresses)]
    return {at: size for at, size in near if size <= _LONGEST}


def _instruction(row: Row, sizes: Mapping[int, int]) -> dict[str, Any]:
    unit = unit_of(row.text)
    return {
        "pc": row.pc,
        "bytes": sizes.get(row.pc, 4),
        "text": row.text,
        "unit": "sync" if unit in ("wait", "barrier") else unit,
        "source": row.source,
    }


def unit_of(text: str) -> str:
    """The unit that executes an instruction; ``wait`` or ``barrier`` for those."""
    return next(unit for unit, begin in _UNITS if re.match(begin, text))


def _timeline(recording: Recording, numbers: Mapping[int, int]) -> dict[str, Any]:
    """The waves over time, from the first stall on."""
    reasons = [unit for unit, _ in _UNITS]
    # A row of code stands for one unit; its text is read once, not at each execution.
    units = {
        line: reasons.index(unit_of(recording.rows[line].text)) for line in numbers
    }
    everything = [event for wave in recording.waves for event in wave.events]
    first = min((event[1] for event in everything), default=0)
    return {
        "recorded": recording.name,
        "waves": [
            {"wave": at, "simd": wave.simd, "group": None,
             "title": f"engine {wave.engine} · SIMD {wave.simd} · slot {wave.slot}"}
            for at, wave in enumerate(recording.waves)
        ],
        "reasons": reasons,
        "events": [
            [at, numbers[line], start - first, end - first, start - begin, units[line]]
            for at, wave in enumerate(recording.waves)
            for line, begin, start, end in wave.events
        ],
        "cycles": max((event[3] for event in everything), default=0) - first,
        "clock_ghz": None,
        "turns_left_out": 0,
        "events_left_out": recording.left_out,
        "waves_shown": [recording.numbers[0], recording.numbers[-1]],
        "waves_recorded": recording.recorded,
    }  # fmt: skip

"""Cycles and schedules in the form of Chrome's traces, which ui.perfetto.dev opens.

A cycle is shown as a nanosecond. The form: "Trace Event Format", whose events of the
phase ``X`` have a start and a length in microseconds, and ``M`` names rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import user_error
from wave_view.spans import spans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_view.records import View

_CYCLES_PER_US = 1000
_WAVES, _LOOPS = 1, 100
"""Numbers of processes: a SIMD each from the first on, and a loop each."""

Event = dict[str, Any]


def trace(view: View) -> dict[str, object]:
    """A trace of the waves of a compute unit, and of the intervals of loops.

    Raises:
        UserError: WV0829 where there are neither cycles nor schedules.
    """
    events = [*_waves(view), *_schedules(view)]
    if not events:
        told = [row for row in view.missing if row.view in ("cycles", "schedule")]
        raise user_error(
            "WV0829",
            f"kernel `{view.kernel}` has no cycles and no schedule for a trace",
            notes=[f"{row.view}: {row.why}" for row in told],
            help="compile for a target whose emulator counts cycles: --target gfx942",
        )
    about = {"kernel": view.kernel, "target": view.target, "unit": "1 ns is 1 cycle"}
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": about}


def _waves(view: View) -> Iterator[Event]:
    found = view.documents.get("cycles", {}).get("timeline")
    if found is None:
        return
    rows: dict[int, tuple[int, int]] = {}
    for each in found["waves"]:
        number, process = each["wave"], _WAVES + each["simd"]
        rows[number] = process, number
        yield _name("process_name", process, 0, f"SIMD {each['simd']}")
        told = each.get("title", f"wave {number} of workgroup {each['group']}")
        yield _name("thread_name", process, number, told)
    for span in spans(found):
        made, row = found["instructions"][span.instruction], rows[span.wave]
        what = {key: made[key] for key in ("unit", "source", "pc")}
        what["end"] = span.end
        waits = f"waits for {span.reason}" if span.reason else ""
        kind = "stall" if waits else made["unit"]
        yield _bar(waits or made["text"], kind, row, span.start, span.cycles, what)


def _schedules(view: View) -> Iterator[Event]:
    loops = view.documents.get("schedule", {}).get("loops", [])
    for number, loop in enumerate(loop for loop in loops if "chart" in loop):
        process, chart = _LOOPS + number, loop["chart"]
        yield _name("process_name", process, 0, f"schedule of loop {loop['loop']}")
        lanes = [
            (row["name"], lane)
            for row in chart["resources"]
            for lane in range(row["lanes"])
        ]
        for at, (resource, lane) in enumerate(lanes):
            yield _name("thread_name", process, at, f"{resource}, row {lane}")
        for bar in chart["bars"]:
            row = process, lanes.index((bar["resource"], bar["lane"]))
            what = {key: bar[key] for key in ("kind", "stage", "source")}
            yield _bar(
                bar["task"], f"stage {bar['stage']}", row, bar["start"], bar["cycles"],
                what,
            )  # fmt: skip


def _name(what: str, process: int, thread: int, name: str) -> Event:
    return {"ph": "M", "name": what, "pid": process, "tid": thread,
            "args": {"name": name}}  # fmt: skip


def _bar(
    name: str,
    kind: str,
    row: tuple[int, int],
    start: float,
    cycles: float,
    what: dict[str, object],
) -> Event:
    return {
        "ph": "X",
        "name": name,
        "cat": kind,
        "pid": row[0],
        "tid": row[1],
        "ts": start / _CYCLES_PER_US,
        "dur": cycles / _CYCLES_PER_US,
        "args": what,
    }

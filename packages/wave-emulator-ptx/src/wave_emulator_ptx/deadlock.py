"""Who waits for what, where nobody can go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_ptx.batch import DONE, LANES, REGISTERS, Batch
from wave_emulator_ptx.errors import ExecutionError

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Ints
    from wave_emulator_ptx.program import Program

SHOWN = 8
"""Places that are told."""


def stuck(program: Program, batch: Batch) -> ExecutionError:
    """All threads that are left wait for ever; the places where, with their lines."""
    waiting = np.flatnonzero(batch.place != DONE)
    behind = batch.place[waiting] - (batch.waits[waiting] >= 0)
    rows = [
        _row(program, batch, int(place), waiting[behind == place])
        for place in np.unique(behind)[:SHOWN]
    ]
    before = [f"before that {each}" for each in list(batch.reports.values())[:SHOWN]]
    told = "; ".join([*rows, *before])
    return ExecutionError("EP0304", f"{len(waiting)} threads wait for ever: {told}")


def _row(program: Program, batch: Batch, place: int, threads: Ints) -> str:
    at = program.steps[place].instruction
    source = f" at {at.source}" if at.source else ""
    first = threads[:1]
    group = int(batch.shape.workgroups[batch.workgroup(first)[0]])
    mine = threads[batch.workgroup(threads) == batch.workgroup(first)]
    warps = ", ".join(map(str, np.unique(batch.within[mine] // LANES)))
    text = f"line {at.line} `{at}`{source}, warps {warps} of workgroup {group}"
    number = int(batch.asleep[first[0]])
    if number == REGISTERS:
        limits = batch.limits[batch.shape.warps * int(batch.workgroup(first)[0]) :]
        used = ", ".join(map(str, limits[: batch.shape.warps]))
        text += f", for registers: threads of its workgroup's warps have {used}"
    elif number >= 0:
        barrier = batch.barriers.numbered(number)
        state = barrier.state() if barrier else "the barrier was invalidated"
        text += f", where {state}"
    return text

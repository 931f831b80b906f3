"""Hints that keep code generators from undoing a schedule."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from wave_core.ir import insert_before
from wave_core.ops.sync import SchedulingBarrier
from wave_passes_scheduling.loops.kinds import OCCUPIES, kind_of

if TYPE_CHECKING:
    from wave_core.ops.control import Iterate


def keep_order(kernel: Iterate) -> int:
    """Put a scheduling barrier wherever the kernel turns to other units.

    Within a run of ops on the same units the code generator stays free. Ops without
    an instruction belong to the run that they stand in.

    Returns:
        How many barriers there are now.
    """
    ops = [op for op in kernel.body.ops if OCCUPIES[kind_of(op)]]
    switches = [
        after
        for before, after in pairwise(ops)
        if OCCUPIES[kind_of(before)] != OCCUPIES[kind_of(after)]
    ]
    for op in switches:
        barrier = SchedulingBarrier()
        barrier.location = op.location
        insert_before(op, barrier)
    return len(switches)

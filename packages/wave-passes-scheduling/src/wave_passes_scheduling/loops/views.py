"""Ops that rename registers, beside what uses them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.ops.shape import Assemble, Broadcast, Permute
from wave_passes_scheduling.modulo import Schedule

if TYPE_CHECKING:
    from wave_passes_scheduling.loops.analysis import ScheduledLoop

VIEWS = (Assemble, Broadcast, Permute)
"""Ops that cost nothing, and whose operands are registers."""


def with_late_views(analysed: ScheduledLoop, schedule: Schedule) -> Schedule:
    """The schedule with each view in the stage of its first user.

    From one iteration to the next a loop then keeps what was read as a whole. Parts of
    it would be values of their own, and cost a move each where code generators do not
    put them side by side.
    """
    cycles = list(schedule.cycles)
    users: dict[int, list[tuple[int, int]]] = {}
    for row in schedule.problem.dependences:
        wait = row.distance * schedule.interval - row.latency
        users.setdefault(row.source, []).append((row.target, wait))
    # Users come later in the body, or in a later iteration.
    for task in reversed(range(len(cycles))):
        if isinstance(analysed.ops[task], VIEWS) and task in users:
            latest = min(cycles[user] + wait for user, wait in users[task])
            cycles[task] = max(cycles[task], latest)
    return Schedule(schedule.problem, schedule.interval, tuple(cycles))

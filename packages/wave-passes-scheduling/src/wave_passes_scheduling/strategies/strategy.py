"""Strategies of scheduling: their form, and those of this package."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from wave_core.ops.shape import Assemble, Broadcast, Permute
from wave_passes_scheduling.modulo.schedule import Schedule
from wave_passes_scheduling.modulo.scheduler import modulo_schedule
from wave_passes_scheduling.strategies.staged import staged_schedule
from wave_passes_scheduling.strategies.stages import (
    FETCH_AHEAD,
    FOUR_STAGE,
    PREFETCH,
    attention_stages,
    stages_by_kind,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wave_passes_scheduling.loops.analysis import ScheduledLoop
    from wave_passes_scheduling.loops.costs import OpKind


@dataclass(frozen=True)
class Strategy:
    """How to schedule a loop.

    Attributes:
        schedule: From the loop as a problem to a schedule; raises `StageError` or
            `Infeasible` where it has none.
        buffers: Copies of each LDS buffer that iterations fill anew, if there is
            room for them and nothing else is asked for.
    """

    schedule: Callable[[ScheduledLoop], Schedule]
    buffers: int = 1


def _staged(wanted: Mapping[OpKind, int], analysed: ScheduledLoop) -> Schedule:
    return staged_schedule(analysed.problem, stages_by_kind(analysed, wanted))


def _attention(analysed: ScheduledLoop) -> Schedule:
    return staged_schedule(analysed.problem, attention_stages(analysed))


def _modulo(analysed: ScheduledLoop) -> Schedule:
    return with_late_views(analysed, modulo_schedule(analysed.problem))


PREFETCHING = Strategy(partial(_staged, PREFETCH))
"""Fetches for the next iteration while this one computes."""

FETCHING_AHEAD = Strategy(partial(_staged, FETCH_AHEAD), buffers=2)
"""Global read, LDS write, and the rest: each an iteration apart."""

FOUR_STAGES = Strategy(partial(_staged, FOUR_STAGE), buffers=2)
"""Global read, LDS write, LDS read and compute, each an iteration apart."""

ATTENTION = Strategy(_attention, buffers=2)
"""The first product of one iteration beside the second product of the one before."""

MODULO = Strategy(_modulo, buffers=2)
"""The shortest interval that resources and dependences allow."""


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

"""The pipeline that ping-pong clusters run best on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_passes_scheduling.loops import OpKind
from wave_passes_scheduling.strategies.staged import staged_schedule
from wave_passes_scheduling.strategies.stages import stages_by_kind
from wave_passes_scheduling.strategies.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_passes_scheduling.loops import ScheduledLoop
    from wave_passes_scheduling.modulo import Schedule

FETCH_AHEAD: Mapping[OpKind, int] = {
    OpKind.READ_GLOBAL: 0,
    OpKind.GLOBAL_TO_SHARED: 1,
    OpKind.WRITE_SHARED: 1,
    OpKind.READ_SHARED: 2,
    OpKind.MMA: 2,
    OpKind.SHUFFLE: 2,
    OpKind.NESTED: 2,
    OpKind.WRITE_GLOBAL: 2,
}
"""Three stages: a read of global memory has a whole iteration of the loop to arrive."""


def _schedule(analysed: ScheduledLoop) -> Schedule:
    return staged_schedule(analysed.problem, stages_by_kind(analysed, FETCH_AHEAD))


FETCHING_AHEAD = Strategy(_schedule, buffers=2)
"""Global read, LDS write, and the rest: each an iteration apart."""

"""Strategies of scheduling: their form, and those of this package."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from wave_passes_scheduling.modulo.scheduler import modulo_schedule
from wave_passes_scheduling.strategies.staged import staged_schedule
from wave_passes_scheduling.strategies.stages import (
    FOUR_STAGE,
    PREFETCH,
    attention_stages,
    fetch_ahead_stages,
    stages_by_kind,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wave_passes_scheduling.loops.analysis import ScheduledLoop
    from wave_passes_scheduling.loops.costs import OpKind
    from wave_passes_scheduling.modulo.schedule import Schedule


@dataclass(frozen=True)
class Strategy:
    """How to schedule a loop.

    Attributes:
        schedule: From the loop as a problem to a schedule; raises `StageError` or
            `Infeasible` where it has none.
        buffers: Copies of each LDS buffer that iterations fill anew, if there is
            room for them and nothing else is asked for.
        name: What reports call it.
        instead: The strategy for loops in which this one needs more registers than
            there are; ``None`` for no schedule.
    """

    schedule: Callable[[ScheduledLoop], Schedule]
    buffers: int = 1
    name: str = "the strategy"
    instead: Strategy | None = None


def _staged(wanted: Mapping[OpKind, int], analysed: ScheduledLoop) -> Schedule:
    return staged_schedule(analysed.problem, stages_by_kind(analysed, wanted))


MODULO = Strategy(lambda loop: modulo_schedule(loop.problem), buffers=2, name="modulo")
"""The shortest interval that resources, registers and dependences allow."""

PREFETCHING = Strategy(partial(_staged, PREFETCH), name="prefetch", instead=MODULO)
"""Fetches for the next iteration while this one computes."""

FETCHING_AHEAD = Strategy(
    lambda loop: staged_schedule(loop.problem, fetch_ahead_stages(loop)),
    2,
    "fetch-ahead",
    MODULO,
)
"""Global read, LDS write, and the rest: each an iteration apart."""

FOUR_STAGES = Strategy(partial(_staged, FOUR_STAGE), 2, "four-stage", FETCHING_AHEAD)
"""Global read, LDS write, LDS read and compute, each an iteration apart."""

ATTENTION = Strategy(
    lambda loop: staged_schedule(loop.problem, attention_stages(loop)),
    2,
    "prefetch-attention",
    FETCHING_AHEAD,
)
"""The first product of one iteration beside the second product of the one before."""

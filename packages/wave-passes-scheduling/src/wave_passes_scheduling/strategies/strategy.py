"""Strategies of scheduling: their form, and those of this package."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from wave_passes_scheduling.modulo.scheduler import modulo_schedule
from wave_passes_scheduling.strategies.attention import attention_schedule
from wave_passes_scheduling.strategies.staged import staged_schedule
from wave_passes_scheduling.strategies.stages import (
    FOUR_STAGE,
    PREFETCH,
    fetch_ahead_stages,
    in_flight_stages,
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
        in_flight: The same where products read buffers in place, and those of one
            iteration go on into the next.
        name: What reports call it.
        instead: The strategy for loops in which this one needs more registers than
            there are; ``None`` for no schedule.
    """

    schedule: Callable[[ScheduledLoop], Schedule]
    buffers: int = 1
    in_flight: int = 1
    name: str = "the strategy"
    instead: Strategy | None = None


def _staged(wanted: Mapping[OpKind, int], analysed: ScheduledLoop) -> Schedule:
    return staged_schedule(analysed.problem, stages_by_kind(analysed, wanted))


def _ahead(
    otherwise: Callable[[ScheduledLoop], list[int]], analysed: ScheduledLoop
) -> Schedule:
    """Copies ahead of products that go on; ``otherwise`` where there are none."""
    stages = in_flight_stages(analysed)
    return staged_schedule(analysed.problem, stages or otherwise(analysed))


def _modulo(analysed: ScheduledLoop) -> Schedule:
    """The shortest interval; products that go on leave the matrix unit no gap."""
    stages = in_flight_stages(analysed)
    if stages is not None:
        found = staged_schedule(analysed.problem, stages)
        if found.fits:
            return found
    return modulo_schedule(analysed.problem)


MODULO = Strategy(_modulo, buffers=2, in_flight=4, name="modulo")
"""The shortest interval that resources, registers and dependences allow."""

PREFETCHING = Strategy(partial(_staged, PREFETCH), name="prefetch", instead=MODULO)
"""Fetches for the next iteration while this one computes."""

FETCHING_AHEAD = Strategy(
    partial(_ahead, fetch_ahead_stages),
    2,
    3,
    "fetch-ahead",
    MODULO,
)
"""Global read, LDS write, and the rest: each an iteration apart."""

FOUR_STAGES = Strategy(
    partial(_ahead, lambda loop: stages_by_kind(loop, FOUR_STAGE)),
    2,
    4,
    "four-stage",
    FETCHING_AHEAD,
)
"""Global read, LDS write, LDS read and compute, each an iteration apart."""

ATTENTION = Strategy(
    attention_schedule,
    2,
    3,
    "prefetch-attention",
    FETCHING_AHEAD,
)
"""The first product of one iteration beside the second product of the one before."""

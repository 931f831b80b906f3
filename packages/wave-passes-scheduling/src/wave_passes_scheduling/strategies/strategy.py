"""Strategies of scheduling: their form, and those of this package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from wave_passes_scheduling.loops.views import with_late_views
from wave_passes_scheduling.modulo import Schedule, modulo_schedule
from wave_passes_scheduling.strategies.attention import attention_stages
from wave_passes_scheduling.strategies.staged import staged_schedule
from wave_passes_scheduling.strategies.stages import (
    FOUR_STAGE,
    PREFETCH,
    stages_by_kind,
)

if TYPE_CHECKING:
    from wave_passes_scheduling.loops import OpKind, ScheduledLoop


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

FOUR_STAGES = Strategy(partial(_staged, FOUR_STAGE), buffers=2)
"""Global read, LDS write, LDS read and compute, each an iteration apart."""

ATTENTION = Strategy(_attention, buffers=2)
"""The first product of one iteration beside the second product of the one before."""

MODULO = Strategy(_modulo, buffers=2)
"""The shortest interval that resources and dependences allow."""

OWN: Mapping[str, Strategy] = {
    "prefetch": PREFETCHING,
    "four-stage": FOUR_STAGES,
    "prefetch-attention": ATTENTION,
    "modulo": MODULO,
}
"""The strategies of this package, by name."""

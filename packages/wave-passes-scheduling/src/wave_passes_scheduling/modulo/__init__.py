"""Modulo scheduling: when each task of a loop starts, iterations overlapping."""

from __future__ import annotations

from wave_passes_scheduling.modulo.bounds import Bounds, Infeasible, bounds_of
from wave_passes_scheduling.modulo.reservation import ReservationTable
from wave_passes_scheduling.modulo.schedule import Schedule
from wave_passes_scheduling.modulo.scheduler import modulo_schedule

__all__ = [
    "Bounds",
    "Infeasible",
    "ReservationTable",
    "Schedule",
    "bounds_of",
    "modulo_schedule",
]

"""The scheduling problem: a loop as a graph of numbers, independent of any IR."""

from __future__ import annotations

from wave_passes_scheduling.problem.loop import (
    Dependence,
    LoopProblem,
    Resource,
    Task,
    Use,
)

__all__ = ["Dependence", "LoopProblem", "Resource", "Task", "Use"]

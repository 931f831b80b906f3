"""Schedules at one interval that place each task once: nothing is taken out again.

Tasks come after all that they wait for within an iteration, and take the first cycle
in which resources are free; or the other way round, from the end, and the last one.
The time grows with tasks and dependences alone. Where recurrences leave little room,
what comes late may fit nowhere any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_passes_scheduling.modulo.links import Links
from wave_passes_scheduling.modulo.reservation import ReservationTable

if TYPE_CHECKING:
    from wave_passes_scheduling.problem import LoopProblem


def one_pass(
    problem: LoopProblem, interval: int, *, backward: bool
) -> list[int] | None:
    """The start of each task; ``None`` where one fits nowhere.

    Args:
        problem: The loop.
        interval: Cycles from one iteration to the next.
        backward: Whether to start at the end of the iteration, which is cycle 0.
    """
    table, links = ReservationTable(problem, interval), Links.of(problem)
    found: dict[int, int] = {}
    for task in links.order(backward=backward):
        low, high = _window(links, found, task, interval, backward=backward)
        free = (
            table.free_cycle(task, low, high, latest=backward) if low <= high else None
        )
        if free is None:
            return None
        table.place(task, free)
        found[task] = free
    return [found[task] for task in range(problem.size)]


def _window(
    links: Links, starts: dict[int, int], task: int, interval: int, *, backward: bool
) -> tuple[int, int]:
    """The cycles that the tasks which are placed leave, at most one interval."""
    if backward:
        high = min(0, links.latest(starts, task, interval, 0))
        low = links.earliest(starts, task, interval, high - interval + 1)
        return max(low, high - interval + 1), high
    low = max(0, links.earliest(starts, task, interval, 0))
    high = links.latest(starts, task, interval, low + interval - 1)
    return low, min(high, low + interval - 1)

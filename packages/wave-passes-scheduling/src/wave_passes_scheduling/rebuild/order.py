"""The order of tasks within one iteration of a pipelined loop."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wave_passes_scheduling.modulo import Schedule


def kernel_order(schedule: Schedule) -> list[int]:
    """Tasks by their cycle in the interval; what waits within an iteration comes later.

    A dependence holds within an iteration if its source is as many stages later as its
    distance: then both work on iterations that far apart.
    """
    problem, stages = schedule.problem, schedule.stages
    followers: list[list[int]] = [[] for _ in problem.tasks]
    missing = [0] * problem.size
    for row in problem.dependences:
        near = stages[row.source] == stages[row.target] + row.distance
        if near and row.source != row.target:
            followers[row.source].append(row.target)
            missing[row.target] += 1
    places = [cycle % schedule.interval for cycle in schedule.cycles]
    ready = [(places[i], i) for i in range(problem.size) if not missing[i]]
    heapify(ready)
    found: list[int] = []
    while ready:
        _, task = heappop(ready)
        found.append(task)
        for target in followers[task]:
            missing[target] -= 1
            if not missing[target]:
                heappush(ready, (places[target], target))
    assert len(found) == problem.size, (
        "a right schedule has no cycle within an iteration"
    )
    return found

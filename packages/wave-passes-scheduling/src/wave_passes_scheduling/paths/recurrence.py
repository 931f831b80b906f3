"""The smallest initiation interval that the recurrences of a loop allow.

The interval is the largest ratio latency / distance of a cycle, rounded up. Whether a
cycle exceeds an interval is the question whether a graph has a positive cycle, which
Bellman and Ford answer in polynomial time; the interval is found by bisection. No
cycle is enumerated, of which there can be exponentially many.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from wave_passes_scheduling.arrays import Array
    from wave_passes_scheduling.problem import Dependence, LoopProblem


@dataclass(frozen=True)
class Recurrence:
    """The demands of recurrences.

    Attributes:
        interval: The smallest initiation interval they allow; at least 1. ``None``
            where some task waits for itself within one iteration.
        cycle: Dependences of a cycle that needs it; empty where none needs more
            than 1.
    """

    interval: int | None
    cycle: tuple[Dependence, ...]


def recurrence_interval(problem: LoopProblem) -> Recurrence:
    """The smallest interval at which no cycle of dependences is too long."""
    high = int(np.maximum(problem.latencies, 0).sum()) + 1
    cycle = positive_cycle(problem, high)
    if cycle:
        return Recurrence(None, cycle)
    low, tight = 1, positive_cycle(problem, 1)
    if not tight:
        return Recurrence(1, ())
    # `low` has a positive cycle, which `tight` is; `high` has none.
    while high - low > 1:
        middle = (low + high) // 2
        found = positive_cycle(problem, middle)
        if found:
            low, tight = middle, found
        else:
            high = middle
    return Recurrence(high, tight)


def positive_cycle(problem: LoopProblem, interval: int) -> tuple[Dependence, ...]:
    """A cycle whose latencies exceed its distances times ``interval``; or nothing."""
    if not problem.dependences:
        return ()
    starts = np.zeros(problem.size, np.int64)
    parents = np.full(problem.size, -1, np.int64)
    weights = problem.weights(interval)
    for _ in range(problem.size + 1):
        raised = _relax(problem, starts, parents, weights)
        if not raised.any():
            return ()
        found = _parent_cycle(problem, parents)
        if found:
            return found
    raise AssertionError("relaxing settles, or the parents close a cycle")


def _relax(
    problem: LoopProblem, starts: Array, parents: Array, weights: Array
) -> Array:
    """One sweep over all dependences; which tasks start later now."""
    wanted = starts[problem.sources] + weights
    best = starts.copy()
    np.maximum.at(best, problem.targets, wanted)
    raised = best > starts
    # Of the dependences that demand the most, the last one in order is the parent.
    decisive = raised[problem.targets] & (wanted == best[problem.targets])
    rows = np.flatnonzero(decisive)
    parents[problem.targets[rows]] = rows
    starts[:] = best
    return raised.astype(np.int64)


def _parent_cycle(problem: LoopProblem, parents: Array) -> tuple[Dependence, ...]:
    """A cycle among the dependences that decided last; each such cycle is positive."""
    size = problem.size
    up = np.append(np.where(parents >= 0, problem.sources[parents], size), size)
    # Twice as far each time: after as many steps as there are tasks, a task is above
    # all, or on a cycle.
    for _ in range(size.bit_length()):
        up = up[up]
    inside = np.flatnonzero(up[:size] < size)
    return _walk(problem, parents, int(up[inside[0]])) if len(inside) else ()


def _walk(problem: LoopProblem, parents: Array, start: int) -> tuple[Dependence, ...]:
    found: list[Dependence] = []
    at = start
    while not found or at != start:
        row = problem.dependences[int(parents[at])]
        found.append(row)
        at = row.source
    return tuple(reversed(found))

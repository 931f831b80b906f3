"""Recurrences and all-pairs longest paths, the initiation interval left open.

The smallest interval is the largest ratio latency / distance of a cycle, rounded up.
Whether a cycle exceeds an interval is the question whether a graph has a positive
cycle, which Bellman and Ford answer in polynomial time; the interval is found by
bisection. No cycle is enumerated, of which there can be exponentially many.

A path of delay ``s`` and distance ``d`` is worth ``s - d * T`` at initiation interval
``T``. For every pair of tasks the best delay of each distance is kept: layer ``d`` is
a matrix of delays. Layer 0 is the closure of the dependences within an iteration,
which have no cycle; layer ``d`` extends earlier layers by one dependence that crosses
iterations, and the closure again. At an interval that the recurrences allow, cycles do
not lengthen a path, so finitely many layers matter: once as many layers in a row as
the largest distance have nothing that an earlier layer does not beat at the smallest
interval, no later layer has, at any interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wave_passes_scheduling.orders import sorted_by
from wave_passes_scheduling.problem import NO_PATH

if TYPE_CHECKING:
    from wave_passes_scheduling.problem import Array, Dependence, LoopProblem


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


@dataclass(frozen=True)
class LongestPaths:
    """The longest paths between all pairs of tasks.

    Attributes:
        layers: ``[distance, source, target]``, the largest delay; `NO_PATH` if none.
        smallest: The smallest interval that they hold for.
    """

    layers: Array
    smallest: int

    def at(self, interval: int) -> Array:
        """Cycles from the start of one task to that of another, at least.

        Shapes: ``[source, target]``; `NO_PATH` where nothing connects them, 0 or more
        on the diagonal.

        Raises:
            ValueError: an interval that the recurrences do not allow.
        """
        if interval < self.smallest:
            raise ValueError(f"recurrences need an interval of {self.smallest}")
        distances = np.arange(len(self.layers), dtype=np.int64)
        found = (self.layers - distances[:, None, None] * interval).max(axis=0)
        return np.where(found > NO_PATH // 2, found, NO_PATH)


def longest_paths(problem: LoopProblem, smallest: int | None = None) -> LongestPaths:
    """All-pairs longest paths of a loop, for every interval that it allows.

    Args:
        problem: The loop.
        smallest: The interval that its recurrences need, if it is known.

    Raises:
        ValueError: where a task waits for itself within one iteration.
    """
    if smallest is None:
        smallest = recurrence_interval(problem).interval
    if smallest is None:
        raise ValueError("a task waits for itself within one iteration")
    closure = _closure(problem)
    far = sorted({d.distance for d in problem.dependences if d.distance})
    layers = [closure]
    best = closure
    idle, distance = 0, 0
    while far and idle < far[-1]:
        distance += 1
        layer = _layer(problem, layers, closure, distance)
        layers.append(layer)
        worth = layer - distance * smallest
        idle = 0 if (worth > best).any() else idle + 1
        best = np.maximum(best, worth)
    useful = layers[: len(layers) - idle]
    return LongestPaths(np.stack(useful), smallest)


def _closure(problem: LoopProblem) -> Array:
    """Longest paths within an iteration, by sweeping tasks in an order they allow."""
    size = problem.size
    found = np.full((size, size), NO_PATH, np.int64)
    np.fill_diagonal(found, 0)
    near = [row for row in problem.dependences if row.distance == 0]
    before: dict[int, list[Dependence]] = {task: [] for task in range(size)}
    for row in near:
        before[row.target].append(row)
    numbers = {task: task for task in range(size)}
    for task in sorted_by(numbers, [(row.source, row.target) for row in near]):
        for row in before[task]:
            reached = found[:, row.source] + row.latency
            np.maximum(found[:, task], reached, out=found[:, task])
    found[found < NO_PATH // 2] = NO_PATH
    return found


def _layer(
    problem: LoopProblem, layers: list[Array], closure: Array, distance: int
) -> Array:
    """The largest delay of paths with one distance in all."""
    found = np.full_like(closure, NO_PATH)
    for row in problem.dependences:
        if 0 < row.distance <= distance:
            before = layers[distance - row.distance][:, row.source] + row.latency
            reached = before > NO_PATH // 2
            left = closure[row.target] > NO_PATH // 2
            block = np.ix_(reached, left)
            found[block] = np.maximum(
                found[block], before[reached][:, None] + closure[row.target][left]
            )
    return found

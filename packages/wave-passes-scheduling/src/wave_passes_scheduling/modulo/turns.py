"""A lower bound of the interval where two sets of tasks take turns.

Copies fill a buffer and reads empty it: each read waits for all of its copies, and the
copies of a later iteration wait for all reads. No two copies hold their resource at
once, nor do two reads. So from the first copy to the first one of that later iteration
pass the starts of all copies, one wait, the starts of all reads, and the other wait,
which is more than any cycle of single dependences says.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_passes_scheduling.problem import Dependence, LoopProblem, Task


@dataclass(frozen=True, slots=True)
class _Hold:
    """What tasks need alone, from the same cycle of theirs on."""

    resource: int
    offset: int


@dataclass(frozen=True, slots=True)
class _Turn:
    """How the tasks of one side wait for those of the other, and these for them.

    Attributes:
        delay: Cycles of both waits.
        distance: Iterations of both.
        near, other: What the tasks of each side hold.
    """

    delay: int
    distance: int
    near: _Hold
    other: _Hold


def turns_interval(problem: LoopProblem) -> int:
    """The smallest interval at which all such sets have time for their turns."""
    others: dict[tuple[int, _Turn], set[int]] = defaultdict(set)
    for task, other, turn in _turns(problem):
        others[task, turn].add(other)
    sides: dict[tuple[_Turn, frozenset[int]], set[int]] = defaultdict(set)
    for (task, turn), found in others.items():
        sides[turn, frozenset(found)].add(task)
    least = 1
    for (turn, other), near in sides.items():
        own = _span(problem, near, turn.near) + _span(problem, other, turn.other)
        least = max(least, -(-(turn.delay + own) // turn.distance))
    return least


def _turns(problem: LoopProblem) -> Iterator[tuple[int, int, _Turn]]:
    """Pairs of tasks that wait for each other, by all that both may hold."""
    rows: dict[tuple[int, int], Dependence] = {}
    for row in problem.dependences:
        pair = row.source, row.target
        known = rows.get(pair)
        if known is None or _strength(row) > _strength(known):
            rows[pair] = row
    for (task, other), row in rows.items():
        back = rows.get((other, task))
        if task == other or back is None or not row.distance + back.distance:
            continue
        delay, distance = row.latency + back.latency, row.distance + back.distance
        for near in _holds(problem, problem.tasks[task]):
            for far in _holds(problem, problem.tasks[other]):
                yield task, other, _Turn(delay, distance, near, far)


def _strength(row: Dependence) -> tuple[int, int]:
    return -row.distance, row.latency


def _holds(problem: LoopProblem, task: Task) -> Iterator[_Hold]:
    """What the task needs so much of that no other such task can run beside it."""
    for use in task.uses:
        if 2 * use.units > problem.resources[use.resource].units:
            yield _Hold(use.resource, use.offset)


def _span(problem: LoopProblem, tasks: set[int] | frozenset[int], hold: _Hold) -> int:
    """Cycles from the first start to the last of tasks that hold one after another."""
    cycles = [
        max(
            u.cycles
            for u in problem.tasks[task].uses
            if _Hold(u.resource, u.offset) == hold
        )
        for task in tasks
    ]
    return sum(cycles) - max(cycles)

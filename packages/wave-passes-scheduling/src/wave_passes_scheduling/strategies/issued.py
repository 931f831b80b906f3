"""Products that go on after they are issued, as tasks of a loop."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wave_core.ops.constant import Splat
from wave_core.ops.matrix import Mma, SharedTile

if TYPE_CHECKING:
    from collections.abc import Mapping, Set as AbstractSet

    from wave_passes_scheduling.loops.analysis import ScheduledLoop
    from wave_passes_scheduling.problem import Dependence, LoopProblem, Task


def going_on(analysed: ScheduledLoop) -> frozenset[int]:
    """The products that read LDS in place: these are issued, and go on."""
    ops = enumerate(analysed.ops)
    return frozenset(i for i, op in ops if isinstance(op, Mma) and op.shared_tiles)


def issued(analysed: ScheduledLoop, going: AbstractSet[int]) -> LoopProblem:
    """The loop as the wave sees it that issues products and goes on.

    Such a product takes the time of its issue, and the next one can follow at once.
    What else uses its result waits until it, and all that it waits for, are done. To
    name a tile of LDS that it reads takes no time, nor does a constant.
    """
    problem = analysed.problem
    ops = enumerate(analysed.ops)
    named = {i for i, op in ops if isinstance(op, SharedTile | Splat)}
    done = _products_before(problem, going)
    return replace(
        problem,
        tasks=tuple(
            _taking(task, 0 if i in named else 1) if i in going | named else task
            for i, task in enumerate(problem.tasks)
        ),
        dependences=tuple(
            replace(row, latency=0) if row.source in named else _seen(row, going, done)
            for row in problem.dependences
        ),
    )


def _products_before(problem: LoopProblem, going: AbstractSet[int]) -> dict[int, int]:
    """How many products an iteration has issued with each, all that it waits for."""
    behind: list[set[int]] = [{task} & going for task in range(problem.size)]
    for row in sorted(problem.dependences, key=lambda row: row.target):
        if row.distance == 0:
            behind[row.target] |= behind[row.source]
    return {task: len(behind[task]) for task in going}


def _taking(task: Task, cycles: int) -> Task:
    """A task that holds its units so long."""
    uses = tuple(replace(use, cycles=cycles) for use in task.uses)
    return replace(task, uses=uses if cycles else ())


def _seen(
    row: Dependence, going: AbstractSet[int], done: Mapping[int, int]
) -> Dependence:
    """A dependence with the latency that it has then."""
    if row.source not in going or row.reason == "memory":
        return row
    if row.target in going:
        return replace(row, latency=1)
    return replace(row, latency=row.latency * done[row.source])

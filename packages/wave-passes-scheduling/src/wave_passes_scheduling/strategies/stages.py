"""Stages by class of operation: the prefetch and four-stage pipelines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_passes_scheduling.loops import OpKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_passes_scheduling.loops import ScheduledLoop
    from wave_passes_scheduling.problem import Dependence

PREFETCH: Mapping[OpKind, int] = {
    OpKind.READ_GLOBAL: 0,
    OpKind.GLOBAL_TO_SHARED: 0,
    OpKind.WRITE_SHARED: 0,
    OpKind.READ_SHARED: 1,
    OpKind.MMA: 1,
    OpKind.SHUFFLE: 1,
    OpKind.NESTED: 1,
    OpKind.WRITE_GLOBAL: 1,
}
"""Two stages: what the next iteration needs is fetched while this one computes."""

FOUR_STAGE: Mapping[OpKind, int] = {
    OpKind.READ_GLOBAL: 0,
    OpKind.GLOBAL_TO_SHARED: 0,
    OpKind.WRITE_SHARED: 1,
    OpKind.READ_SHARED: 2,
    OpKind.MMA: 3,
    OpKind.SHUFFLE: 3,
    OpKind.NESTED: 3,
    OpKind.WRITE_GLOBAL: 3,
}
"""Four stages: global read, LDS write, LDS read, compute; each an iteration apart."""


def stages_by_kind(analysed: ScheduledLoop, wanted: Mapping[OpKind, int]) -> list[int]:
    """A stage for each task: that of its kind, or later where it has to wait."""
    kinds = enumerate(analysed.kinds)
    rows = {task: wanted[kind] for task, kind in kinds if kind in wanted}
    return settle_stages(analysed, rows, max(wanted.values()))


def settle_stages(
    analysed: ScheduledLoop, wanted: Mapping[int, int], last: int
) -> list[int]:
    """A stage for each task: the wanted one, or later where a dependence asks for it.

    Tasks without a wanted stage go where their values are used, so that they take
    no register across iterations.

    Args:
        analysed: The loop.
        wanted: Stages by task.
        last: The last stage.
    """
    problem = analysed.problem
    stages = [wanted.get(task, 0) for task in range(problem.size)]
    users: list[list[Dependence]] = [[] for _ in stages]
    for row in problem.dependences:
        if row.source != row.target:
            users[row.source].append(row)
    _raise(analysed, stages)
    for task in reversed(range(problem.size)):
        if task not in wanted:
            limits = [stages[row.target] + row.distance for row in users[task]]
            stages[task] = max(stages[task], min([last, *limits]))
    _raise(analysed, stages)
    return stages


def _raise(analysed: ScheduledLoop, stages: list[int]) -> None:
    """Push tasks to the stage of what they wait for in their own iteration."""
    rows = [row for row in analysed.problem.dependences if row.distance == 0]
    changed = True
    while changed:
        changed = False
        for row in rows:
            if stages[row.target] < stages[row.source]:
                stages[row.target] = stages[row.source]
                changed = True

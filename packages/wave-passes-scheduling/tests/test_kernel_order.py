"""The order of a kernel loop: what is queued is issued together, and shown late."""

from __future__ import annotations

from wave_passes_scheduling.problem import Dependence, LoopProblem, Resource, Task, Use
from wave_passes_scheduling.rebuild.order import kernel_order
from wave_passes_scheduling.strategies.staged import staged_schedule

MACHINE = (Resource("MMA_UNITS", 1), Resource("VALU_UNITS", 1))
PRODUCT, VECTOR = (Use(0, cycles=8),), (Use(1, cycles=2),)


def loop(*, queued):
    """Two products of a sum, what is computed beside them, and the sum as shown."""
    tasks = (
        Task("mma_0", "MMA", PRODUCT, queued=queued),
        Task("exp_0", "VALU", VECTOR),
        Task("mma_1", "MMA", PRODUCT, queued=queued),
        Task("view_0", "NoOp", view=True),
        Task("exp_1", "VALU", VECTOR),
    )
    rows = (Dependence(0, 2, 8), Dependence(2, 3, 0), Dependence(1, 4, 20))
    return LoopProblem(tasks, MACHINE, rows)


def names(problem, **how):
    schedule = staged_schedule(problem, [0] * problem.size, **how)
    return [problem.tasks[task].name for task in kernel_order(schedule)]


def test_tasks_are_issued_when_they_start():
    found = names(loop(queued=False))
    assert found == ["mma_0", "exp_0", "mma_1", "view_0", "exp_1"]


def test_what_is_queued_is_issued_behind_what_it_adds_to():
    found = names(loop(queued=True))
    assert found == ["mma_0", "mma_1", "exp_0", "exp_1", "view_0"]


def test_a_sum_that_is_used_is_shown_where_it_is_used():
    problem = loop(queued=True)
    used = (*problem.dependences, Dependence(3, 4, 0))
    found = names(LoopProblem(problem.tasks, MACHINE, used))
    assert found == ["mma_0", "mma_1", "exp_0", "view_0", "exp_1"]


def test_a_task_starts_behind_what_it_needs_nothing_of():
    found = names(loop(queued=True), behind=[(2, 1)])
    assert found.index("mma_1") < found.index("exp_0")
    schedule = staged_schedule(loop(queued=False), [0] * 5, behind=[(2, 1)])
    assert schedule.cycles[1] > schedule.cycles[2]

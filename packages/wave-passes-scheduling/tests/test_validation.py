"""Moves by hand, repaired under true latencies."""

from __future__ import annotations

import numpy as np
import pytest
from loop_problems import random_problem

from wave_passes_scheduling.modulo.schedule import Schedule
from wave_passes_scheduling.modulo.scheduler import modulo_schedule
from wave_passes_scheduling.problem import Dependence, LoopProblem, Resource, Task, Use
from wave_passes_scheduling.validation import ScheduleValidator


def chain(latency=2):
    """Four tasks in a row on two resources, as the documentation's example."""
    tasks = tuple(Task(n, "x", (Use(i % 2),)) for i, n in enumerate("abcd"))
    rows = (Dependence(0, 1, latency), Dependence(1, 2, 1), Dependence(2, 3, 1))
    problem = LoopProblem(tasks, (Resource("r0", 2), Resource("r1", 2)), rows)
    return Schedule(problem, 4, (0, 3, 5, 6))


def test_an_earlier_task_takes_those_before_it_along():
    validator = ScheduleValidator(chain(latency=1))
    assert validator.attempt_move("c", 2).moved == ("b", "c")
    assert validator.schedule.cycles == (0, 1, 2, 6)


def test_a_later_task_takes_those_after_it_along():
    validator = ScheduleValidator(chain())
    assert validator.attempt_move("b", 7)
    assert validator.schedule.cycles == (0, 7, 8, 9)


def test_no_room_for_true_latencies_is_refused_with_the_edge():
    result = ScheduleValidator(chain()).attempt_move("c", 2)
    assert not result
    assert result.reason == "a -> b (latency 2): a would start at -1"


def test_a_lower_floor_lets_the_first_task_move():
    validator = ScheduleValidator(chain(), floor=-4)
    assert validator.attempt_move("c", 2)
    assert validator.schedule.cycles == (-1, 1, 2, 6)


def test_a_refused_move_leaves_the_schedule():
    validator = ScheduleValidator(chain())
    before = validator.schedule
    assert not validator.attempt_move("c", 1)
    assert validator.schedule is before


def test_a_full_resource_is_named():
    tasks = tuple(Task(n, "x", (Use(0),)) for n in "ab")
    problem = LoopProblem(tasks, (Resource("r", 1),), (Dependence(0, 1, 1),))
    tight = Schedule(problem, 2, (0, 1))
    assert "b finds no free resource" not in str(ScheduleValidator(tight))
    result = ScheduleValidator(Schedule(problem, 2, (0, 1))).attempt_move("a", 3)
    assert result
    assert result.schedule.violations() == ()


def test_a_wrong_schedule_is_refused():
    with pytest.raises(ValueError, match="a -> b"):
        ScheduleValidator(Schedule(chain().problem, 4, (0, 1, 5, 6)))


@pytest.mark.parametrize("seed", range(60))
def test_moves_leave_a_right_schedule_or_none(seed):
    validator = ScheduleValidator(modulo_schedule(random_problem(seed)))
    rng = np.random.default_rng(seed)
    for _ in range(10):
        task = validator.schedule.problem.tasks[
            rng.integers(validator.schedule.problem.size)
        ]
        cycle = int(rng.integers(0, 3 * validator.schedule.interval))
        result = validator.attempt_move(task.name, cycle)
        assert validator.schedule.violations() == ()
        assert bool(result) != bool(result.reason)

"""Schedules: right, short, and honest about what stands in the way."""

from __future__ import annotations

import pytest
from interval_oracle import smallest_interval
from loop_problems import MACHINE, random_problem

from wave_passes_scheduling.modulo.bounds import Infeasible, bounds_of
from wave_passes_scheduling.modulo.schedule import Schedule
from wave_passes_scheduling.modulo.scheduler import modulo_schedule
from wave_passes_scheduling.problem import Dependence, LoopProblem, Task, Use

SMALL = 20


@pytest.fixture(scope="module")
def outcomes():
    """Five hundred loops: the loop, its schedule, the bound that no schedule beats."""
    problems = [random_problem(seed) for seed in range(500)]
    return [(p, modulo_schedule(p), bounds_of(p).interval) for p in problems]


def test_all_schedules_are_right(outcomes):
    assert [s.violations() for _, s, _ in outcomes] == [()] * 500


def test_most_intervals_are_as_short_as_resources_and_recurrences_allow(outcomes):
    found = [schedule.interval == least for _, schedule, least in outcomes]
    assert sum(found) >= 0.95 * len(found)


def test_small_loops_get_the_optimum(outcomes):
    found = [
        schedule.interval == smallest_interval(problem, least, schedule.interval)
        for problem, schedule, least in outcomes
        if problem.size <= SMALL
    ]
    assert len(found) > 200
    assert sum(found) >= 0.98 * len(found)


def test_schedules_depend_on_nothing_but_the_loop():
    first, second = (modulo_schedule(random_problem(3)) for _ in range(2))
    assert first.cycles == second.cycles


def test_shortening_lifetimes_saves_registers():
    read, mma = MACHINE[0], MACHINE[2]
    tasks = (
        Task("read", "ReadGlobal", (Use(0),), registers=8),
        *(Task(f"mma{i}", "MMA", (Use(1, cycles=4),), registers=4) for i in range(4)),
    )
    rows = (*(Dependence(i, i + 1, 5) for i in (1, 2, 3)), Dependence(0, 4, 9))
    schedule = modulo_schedule(LoopProblem(tasks, (read, mma), rows))
    # The read waits until nine cycles before its only user, the last one.
    assert schedule.cycles[4] - schedule.cycles[0] == 9


def test_the_busiest_resource_is_named():
    tasks = tuple(Task(f"mma{i}", "MMA", (Use(2, cycles=4),)) for i in range(3))
    problem = LoopProblem(tasks, MACHINE, ())
    with pytest.raises(Infeasible, match="below 12, which resource MMA_UNITS needs"):
        modulo_schedule(problem, interval=11)


def test_the_longest_recurrence_is_named():
    tasks = (Task("a", "VALU"), Task("b", "VALU"))
    rows = (Dependence(0, 1, 3), Dependence(1, 0, 3, 1))
    with pytest.raises(Infeasible, match=r"6, which recurrence .*b -> a \(latency 3"):
        modulo_schedule(LoopProblem(tasks, (), rows), interval=5)


def test_a_task_that_wants_more_than_there_is_is_named():
    problem = LoopProblem((Task("big", "MMA", (Use(2, units=2),)),), MACHINE, ())
    with pytest.raises(Infeasible, match="big needs 2 of MMA_UNITS, the machine has 1"):
        bounds_of(problem)


def test_what_breaks_a_schedule_is_listed():
    tasks = tuple(Task(n, "MMA", (Use(2, cycles=2),)) for n in "ab")
    problem = LoopProblem(tasks, MACHINE, (Dependence(0, 1, 5),))
    broken, overfull = Schedule(problem, 4, (0, 4)).violations()[:2]
    assert broken.startswith("a -> b (latency 5): starts at 4, not before 5")
    assert overfull == "MMA_UNITS in cycle 0: 2 of 1"


def test_pressure_counts_values_of_all_iterations_in_flight():
    tasks = (Task("a", "x", registers=3), Task("b", "x"))
    problem = LoopProblem(tasks, (), (Dependence(0, 1, 5),))
    assert Schedule(problem, 2, (0, 5)).pressure() == 9


def test_an_empty_loop_has_a_schedule():
    assert modulo_schedule(LoopProblem((), MACHINE, ())).cycles == ()

"""Schedules: right, short, and honest about what stands in the way."""

from __future__ import annotations

from dataclasses import replace

import pytest
from interval_oracle import smallest_interval
from loop_problems import MACHINE, random_problem

from wave_passes_scheduling.modulo import scheduler
from wave_passes_scheduling.modulo.bounds import Infeasible, bounds_of
from wave_passes_scheduling.modulo.one_pass import one_pass
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


def wide_product(columns, links):
    """Chains of products, as accumulators are; each link has a fragment of its own."""
    reads = [Task(f"read{i}", "ReadShared", (Use(1),), 4) for i in range(links)]
    chains = [(c, i) for i in range(links) for c in range(columns)]
    products = [Task(f"mma{c}_{i}", "MMA", (Use(2, cycles=4),), 4) for c, i in chains]
    rows = [Dependence(i, links + n, 16) for n, (_, i) in enumerate(chains)]
    last = links + (links - 1) * columns
    for c in range(columns):
        for i in range(links - 1):
            first = links + i * columns + c
            rows.append(Dependence(first, first + columns, 8))
        rows.append(Dependence(last + c, links + c, 8, 1, "carried"))
    return LoopProblem((*reads, *products), MACHINE, tuple(rows))


def test_wide_products_fill_their_unit_without_a_search(monkeypatch):
    monkeypatch.setattr(scheduler, "WORK", 0)
    schedule = modulo_schedule(wide_product(64, 4))
    assert schedule.violations() == ()
    assert schedule.interval == 64 * 4 * 4


def test_of_two_schedules_at_one_interval_the_one_with_fewer_registers_counts():
    problem = wide_product(16, 4)
    found = modulo_schedule(problem)
    ends = [one_pass(problem, found.interval, backward=end) for end in (False, True)]
    for row in ends:
        each = Schedule.of(problem, found.interval, row)
        assert each.violations() == ()
        assert each.pressure() >= found.pressure()


def test_a_search_that_has_no_step_left_ends_with_a_longer_interval(monkeypatch):
    problems = [random_problem(seed, 60) for seed in range(30)]
    least = [modulo_schedule(problem).interval for problem in problems]
    monkeypatch.setattr(scheduler, "WORK", 0)
    found = [modulo_schedule(problem) for problem in problems]
    assert [schedule.violations() for schedule in found] == [()] * 30
    assert all(s.interval >= known for s, known in zip(found, least, strict=True))
    assert any(s.interval > known for s, known in zip(found, least, strict=True))


@pytest.mark.parametrize("backward", [False, True])
def test_one_pass_is_right_or_finds_nothing(backward):
    done = 0
    for seed in range(60):
        problem = random_problem(seed)
        interval = bounds_of(problem).interval
        row = one_pass(problem, interval, backward=backward)
        if row is not None:
            assert Schedule.of(problem, interval, row).violations() == ()
            done += 1
    assert done > 20


def test_what_a_view_shows_lives_until_the_view_is_used_last():
    tasks = (
        Task("read", "x", registers=4),
        Task("part", "NoOp", registers=2, view=True),
        Task("use", "x"),
    )
    rows = (Dependence(0, 1, 1), Dependence(1, 2, 0), Dependence(2, 2, 1, 1, "order"))
    schedule = Schedule(LoopProblem(tasks, (), rows), 4, (0, 1, 6))
    assert schedule.lifetimes().tolist() == [6, 0, 0]
    # Two iterations overlap for half of the time, and one register more is moved.
    assert (schedule.pressure(), schedule.moves()) == (8, 4)


def test_registers_and_moves_bound_what_fits():
    tasks = (Task("a", "x", registers=3), Task("b", "x"))
    problem = LoopProblem(tasks, MACHINE, (Dependence(0, 1, 5),), held=2)
    schedule = Schedule(problem, 2, (0, 5))
    assert (schedule.pressure(), schedule.moves()) == (11, 6)
    for change, fits in (
        ({}, True),
        ({"room": 11}, True),
        ({"room": 10}, False),
        ({"move": Use(3)}, False),
    ):
        assert replace(schedule, problem=replace(problem, **change)).fits == fits


def test_modulo_takes_the_shortest_interval_that_has_the_registers():
    free = wide_product(16, 4)
    least = modulo_schedule(free)
    for room in range(least.pressure() - 8, least.pressure()):
        found = modulo_schedule(replace(free, room=room))
        assert found.violations() == ()
        assert not found.fits or found.interval > least.interval
        assert found.pressure() <= least.pressure()


def test_reads_come_later_within_their_stage():
    for seed in range(40):
        schedule = modulo_schedule(random_problem(seed))
        shorter = schedule.compact()
        assert shorter.violations() == ()
        assert shorter.stages == schedule.stages

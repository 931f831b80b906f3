"""Bounds from tasks that take turns, and what a start would waste."""

from __future__ import annotations

import numpy as np
import pytest
from interval_oracle import smallest_interval
from loop_problems import random_problem

from wave_passes_scheduling.modulo.bounds import bounds_of
from wave_passes_scheduling.modulo.reservation import TIGHT, ReservationTable
from wave_passes_scheduling.modulo.scheduler import modulo_schedule
from wave_passes_scheduling.modulo.turns import turns_interval
from wave_passes_scheduling.problem import Dependence, LoopProblem, Resource, Task, Use


def buffered(copies, reads, landing, buffers, units=1):
    """A loop that reads what it copied, and copies into one of a few buffers."""
    tasks = [
        *(Task(f"copy{i}", "copy", (Use(0, cycles=c),)) for i, c in enumerate(copies)),
        *(Task(f"read{i}", "read", (Use(1, cycles=c),)) for i, c in enumerate(reads)),
    ]
    behind = range(len(copies), len(tasks))
    rows = [
        row
        for copy in range(len(copies))
        for read in behind
        for row in (
            Dependence(copy, read, landing, 0, "memory"),
            Dependence(copy, read, landing, buffers, "memory"),
            Dependence(read, copy, 0, buffers, "memory"),
        )
    ]
    machine = Resource("copies", units), Resource("reads", 1)
    return LoopProblem(tuple(tasks), machine, tuple(rows))


def test_copies_and_reads_of_a_buffer_take_turns():
    problem = buffered([4, 4], [2, 2, 2], landing=11, buffers=2)
    # In two intervals: a second copy, the landing, and two more reads.
    assert bounds_of(problem).interval == 8
    assert turns_interval(problem) == 10 == smallest_interval(problem, 1, 30)
    assert modulo_schedule(problem).interval == 10


def test_what_runs_side_by_side_takes_no_turns():
    problem = buffered([4, 4], [2], landing=10, buffers=2, units=2)
    assert turns_interval(problem) == 1
    assert smallest_interval(problem, 1, 30) == bounds_of(problem).interval


@pytest.mark.parametrize("seed", range(8))
def test_no_loop_beats_the_bound(seed):
    rng = np.random.default_rng(seed)
    copies, reads = (rng.integers(1, 5, rng.integers(1, 4)).tolist() for _ in "ab")
    landing, buffers = int(rng.integers(0, 12)), int(rng.integers(1, 4))
    problem = buffered(copies, reads, landing, buffers)
    assert 1 < turns_interval(problem) <= smallest_interval(problem, 1, 60)


def test_waste_is_what_placing_the_task_would_leave():
    seen = sum(compared_waste(seed) for seed in range(6))
    assert seen, "some gap is wasted in some loop"


def compared_waste(seed):
    """The waste of all starts of a loop's tasks, which a count of cells agrees with."""
    problem = random_problem(seed, 24)
    interval = bounds_of(problem).interval
    table = ReservationTable(problem, interval)
    seen = 0
    for task in range(problem.size):
        free = [cycle for cycle in range(interval) if table.fits(task, cycle)]
        expected = [wasted(problem, interval, table, task, cycle) for cycle in free]
        assert [table.waste(task, cycle) for cycle in free] == expected
        seen += sum(expected)
        if free:
            table.place(task, free[seed % len(free)])
    return seen


def wasted(problem, interval, table, task, cycle):
    """Free cycles that no shortest hold fits in, counted cell by cell."""
    taken = table.taken()
    for use in problem.tasks[task].uses:
        for at in range(cycle + use.offset, cycle + use.offset + use.cycles):
            taken[at % interval, use.resource] += use.units
    found = 0
    for resource in {use.resource for use in problem.tasks[task].uses}:
        holds = [
            u.cycles for t in problem.tasks for u in t.uses if u.resource == resource
        ]
        units = problem.resources[resource].units
        if problem.totals[resource] < TIGHT * interval * units:
            continue
        for wanted in range(1, units + 1):
            free = taken[:, resource] + wanted <= units
            found += sum(run % min(holds) for run in runs(free))
    return found


def runs(free):
    """Lengths of the runs of free cycles around the interval."""
    if free.all():
        return [len(free)]
    lengths, length = [], 0
    for each in np.roll(free, -int(np.argmin(free)) - 1):
        if each:
            length += 1
        else:
            lengths.append(length)
            length = 0
    return lengths

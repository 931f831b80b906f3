"""Longest paths and recurrences, against searches that try everything."""

from __future__ import annotations

import time

import networkx as nx
import numpy as np
import pytest
from loop_problems import random_problem

from wave_passes_scheduling.paths import longest_paths, recurrence_interval
from wave_passes_scheduling.problem import NO_PATH, Dependence, LoopProblem, Task


def brute_force(problem, interval):
    """Longest paths at one interval: relax every dependence until nothing changes."""
    found = np.full((problem.size, problem.size), NO_PATH)
    np.fill_diagonal(found, 0)
    weights = problem.weights(interval)
    for _ in range(problem.size):
        for row, weight in zip(problem.dependences, weights, strict=True):
            reach = found[:, row.source] > NO_PATH // 2
            longer = np.maximum(found[:, row.target], found[:, row.source] + weight)
            found[:, row.target] = np.where(reach, longer, found[:, row.target])
    return found


def compare(seed, intervals):
    problem = random_problem(seed, carried=0.3)
    paths = longest_paths(problem)
    for interval in range(paths.smallest, paths.smallest + intervals):
        assert (paths.at(interval) == brute_force(problem, interval)).all()


@pytest.mark.parametrize("seed", range(40))
def test_longest_paths_at_every_interval(seed):
    compare(seed, 6)


@pytest.mark.fuzz
def test_longest_paths_of_many_loops():
    for seed in range(1000):
        compare(seed, 20)


@pytest.mark.parametrize("seed", range(60))
def test_the_interval_of_recurrences_is_the_largest_ratio(seed):
    problem = random_problem(seed, size=9, carried=0.4)
    graph = nx.MultiDiGraph()
    for number, row in enumerate(problem.dependences):
        graph.add_edge(row.source, row.target, key=number)
    ratios = [1]
    for cycle in nx.simple_cycles(nx.DiGraph(graph)):
        best = _ratio(problem, graph, cycle)
        ratios.append(best)
    assert recurrence_interval(problem).interval == max(ratios)


def _ratio(problem, graph, cycle):
    """The largest latency over distance of a cycle, over all choices of its edges."""
    choices = [[(0, 0)]]
    for source, target in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
        edges = [problem.dependences[key] for key in graph[source][target]]
        choices = [
            [(s + e.latency, d + e.distance) for s, d in choices[0] for e in edges]
        ]
    return max(-(-s // d) for s, d in choices[0])


def test_the_cycle_that_decides_is_named():
    tasks = tuple(Task(name, "VALU") for name in "abc")
    rows = (Dependence(0, 1, 4), Dependence(1, 0, 3, 2), Dependence(1, 2, 9))
    found = recurrence_interval(LoopProblem(tasks, (), rows))
    assert (found.interval, set(found.cycle)) == (4, set(rows[:2]))


def test_a_task_that_waits_for_itself_has_no_interval():
    tasks = (Task("a", "VALU"), Task("b", "VALU"))
    problem = LoopProblem(tasks, (), (Dependence(0, 1, 1), Dependence(1, 0, 1)))
    assert recurrence_interval(problem).interval is None
    with pytest.raises(ValueError, match="waits for itself"):
        longest_paths(problem)


def test_an_interval_that_recurrences_forbid_is_refused():
    tasks = (Task("a", "VALU"),)
    paths = longest_paths(LoopProblem(tasks, (), (Dependence(0, 0, 5, 1),)))
    with pytest.raises(ValueError, match="interval of 5"):
        paths.at(4)


def test_three_hundred_tasks_take_less_than_a_second():
    problem = random_problem(7, size=300)
    tries = []
    for _ in range(3):  # The least counts: garbage may be collected during any.
        started = time.process_time()
        longest_paths(problem)
        tries.append(time.process_time() - started)
    assert min(tries) < 1.0

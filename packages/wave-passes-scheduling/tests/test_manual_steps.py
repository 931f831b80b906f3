"""Stages, places and lists of ops, without kernels."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from loop_problems import random_problem

from wave_core.passes.manual import Ref, Step
from wave_passes_scheduling.manual.find import interleaved
from wave_passes_scheduling.manual.pipelines import (
    Listed,
    broken_chain,
    schedule_listed,
)


def random_listing(seed):
    """A loop and a random listing of about half of its tasks."""
    problem, rng = random_problem(seed), np.random.default_rng(seed)
    length, depth = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    tasks = [t for t in range(problem.size) if rng.random() < 0.5]
    # In program order as a rule, so that many listings are right.
    times = np.sort(rng.integers(0, length * depth, len(tasks))).tolist()
    stages = {task: time // length for task, time in zip(tasks, times, strict=True)}
    places = {task: time % length for task, time in zip(tasks, times, strict=True)}
    return problem, Listed(stages, places, length, depth)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None)
def test_right_listings_give_right_schedules(seed):
    problem, listed = random_listing(seed)
    if broken_chain(problem, listed):
        return
    schedule = schedule_listed(problem, listed)
    assert schedule.violations() == ()
    first = min(listed.stages.values(), default=0)
    shift = schedule.stages[next(iter(listed.stages))] if listed.stages else 0
    offset = shift - next(iter(listed.stages.values()), 0)
    for task, stage in listed.stages.items():
        assert schedule.stages[task] == stage + offset
    assert first + offset >= 0


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None)
def test_places_follow_each_other_on_each_unit(seed):
    problem, listed = random_listing(seed)
    if broken_chain(problem, listed):
        return
    schedule = schedule_listed(problem, listed)
    starts = [cycle % schedule.interval for cycle in schedule.cycles]
    for one, early in listed.places.items():
        for other, late in listed.places.items():
            mine = {use.resource for use in problem.tasks[one].uses}
            theirs = {use.resource for use in problem.tasks[other].uses}
            if early < late and mine & theirs:
                assert starts[one] < starts[other]


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None)
def test_a_broken_chain_is_one(seed):
    problem, listed = random_listing(seed)
    chain = broken_chain(problem, listed)
    for row, following in pairwise(chain):
        assert row.target == following.source
        assert row.target not in listed.stages
    if chain:
        iterations = sum(row.distance for row in chain) * listed.length
        ends = listed.time(chain[0].source), listed.time(chain[-1].target)
        assert ends[0] - iterations > ends[1]


def merged(base, others, every, offsets, after):
    arguments = ((Ref(0),), (), tuple(every), tuple(offsets), tuple(after))
    step = Step("interleaved", arguments)
    names = [[SimpleNamespace(name=x) for x in row] for row in (base, *others)]
    found = interleaved(names[0], names[1:], step)
    return "".join(op.name for op in found)


@pytest.mark.parametrize(
    ("every", "offsets", "after", "wanted"),
    [
        ((1,), (0,), ((),), "axbyczd"),
        ((2,), (0,), ((),), "abxcdyz"),
        ((1,), (2,), ((),), "abcxdyz"),
        ((9,), (0,), ((),), "abcdxyz"),
    ],
)
def test_nodes_are_interleaved(every, offsets, after, wanted):
    assert merged("abcd", ["xyz"], every, offsets, after) == wanted


def test_a_list_waits_for_others():
    assert merged("abcd", ["x", "y"], (1, 1), (0, 0), ((1,), ())) == "aybxcd"

"""The fewest barriers: against exhaustive search and the race detector."""

from __future__ import annotations

import numpy as np
import pytest
from barrier_programs import (
    Branch,
    Loop,
    Meeting,
    Small,
    Touch,
    build,
    cheapest,
    launches,
    races,
    random_small,
)

from wave_core.diagnostics import UserError
from wave_core.ir import erase, region_of, verify
from wave_core.ops.control import Iterate
from wave_core.passes import PassContext
from wave_core.targets import generic_target
from wave_passes_memory.barriers.place import PlaceMinimalBarriers

TARGET = generic_target()
FUZZ = pytest.mark.fuzz
BARRIER = "shared_memory_barrier"
OWN = Touch(0, writes=True)
NEXT = Touch(0, writes=False, turn=1)


def placed(program):
    """The graph with barriers, and the ops that the pass added."""
    graph = build(program)
    before = {op for op in graph.walk() if op.op_name == BARRIER}
    PlaceMinimalBarriers().apply(graph, PassContext(TARGET))
    verify(graph, target=TARGET, locations=False)
    return graph, [
        op for op in graph.walk() if op.op_name == BARRIER and op not in before
    ]


def depth(op):
    count, parent = 0, region_of(op).parent
    while parent is not None:
        count += isinstance(parent, Iterate)
        parent = region_of(parent).parent
    return count


def cost(barriers):
    return tuple(sum(depth(op) == d for op in barriers) for d in (2, 1, 0))


def check(program):
    expected = cheapest(program)
    if expected is None:
        with pytest.raises(UserError) as caught:
            placed(program)
        assert caught.value.diagnostics[0].code == "WV0412"
        return
    graph, barriers = placed(program)
    assert cost(barriers) == expected, program
    assert not any(races(graph, program, v, TARGET) for v in launches(program)), program
    for index in range(len(barriers)):
        assert missed(program, index), (program, index)


def missed(program, index):
    """Whether a race shows without one of the barriers."""
    graph, barriers = placed(program)
    erase(barriers[index])
    every = launches(program, most=10_000)
    return any(races(graph, program, values, TARGET) for values in reversed(every))


@pytest.mark.parametrize(
    "first", [0, 20, 40, *(pytest.param(n, marks=FUZZ) for n in range(60, 1000, 20))]
)
def test_no_more_than_an_exhaustive_search_finds(first):
    for seed in range(first, first + 20):
        check(random_small(np.random.default_rng(seed), divergent=seed % 4 == 0))


def barriers_of(*body, waves=2):
    return cost(placed(Small(waves, 2, body))[1])


def test_a_single_buffer_needs_two_barriers_an_iteration():
    assert barriers_of(Loop((OWN, NEXT), "C1")) == (0, 2, 0)


def test_two_alternating_buffers_need_one_barrier_an_iteration():
    write, read = Touch(0, writes=True, twin=True), Touch(0, False, 1, twin=True)
    assert barriers_of(Loop((write, read), "C1")) == (0, 1, 0)


def test_lanes_of_one_wave_need_no_barrier():
    assert barriers_of(Loop((OWN, Touch(0, writes=False)), "C1")) == (0, 0, 0)


def test_one_wave_alone_needs_no_barrier():
    assert barriers_of(OWN, NEXT, OWN, waves=1) == (0, 0, 0)


def test_the_authors_barriers_count():
    assert barriers_of(Loop((OWN, Meeting(), NEXT, Meeting()), "C1")) == (0, 0, 0)


def test_a_barrier_that_a_branch_may_skip_does_not_count():
    branch = Branch((Meeting(),), "P1")
    assert barriers_of(OWN, branch, NEXT) == (0, 0, 1)


def test_a_barrier_within_a_branch_counts_for_what_is_within():
    assert barriers_of(OWN, Branch((Meeting(), NEXT), "P1")) == (0, 0, 0)


def test_a_loop_without_turns_does_not_separate():
    inside = Loop((Meeting(),), "C1")
    assert barriers_of(OWN, inside, NEXT) == (0, 0, 1)
    assert barriers_of(OWN, Loop((Meeting(),), 2), NEXT) == (0, 0, 0)


def test_barriers_move_out_of_inner_loops():
    inner = Loop((NEXT,), "C2")
    assert barriers_of(Loop((OWN, inner), "C1")) == (0, 2, 0)


def test_a_second_run_finds_nothing():
    graph, _ = placed(Small(2, 2, (Loop((OWN, NEXT), "C1"),)))
    assert not PlaceMinimalBarriers().apply(graph, PassContext(TARGET))


def test_a_barrier_that_not_all_waves_reach_is_refused():
    some = Branch((OWN, NEXT), "P1", divergent=True)
    with pytest.raises(UserError) as caught:
        placed(Small(3, 2, (some,)))
    assert caught.value.diagnostics[0].code == "WV0412"
    assert barriers_of(some) == (0, 0, 0), "one wave alone needs no barrier"

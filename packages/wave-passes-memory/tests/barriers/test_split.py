"""Barriers in two halves, and copies that land later."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from barrier_programs import Loop, Small, Touch, build, launches, races, random_small

from wave_core.ir import erase, region_of, verify
from wave_core.ops.base import Op, operand
from wave_core.ops.traits import Effect, EffectKind
from wave_core.passes import PassContext
from wave_core.targets import BarrierKind, generic_target
from wave_passes_memory.barriers.place import PlaceMinimalBarriers

SPLIT = replace(generic_target(), barrier=BarrierKind.SPLIT)
WHOLE = generic_target()
OWN, NEXT = Touch(0, writes=True), Touch(0, writes=False, turn=1)
OTHER = Touch(1, writes=False)
SIGNAL, WAIT = "shared_memory_barrier_signal", "shared_memory_barrier_wait"


def placed(program, target=SPLIT):
    graph = build(program)
    PlaceMinimalBarriers().apply(graph, PassContext(target))
    verify(graph, target=target, locations=False)
    return graph


def names(region):
    return [op.op_name for op in region.ops]


def test_work_between_runs_between_the_halves():
    program = Small(2, 2, (OWN, OTHER, OTHER, NEXT))
    graph = placed(program)
    order = names(graph.body)
    assert order[order.index("write") + 1] == SIGNAL
    assert order[order.index(WAIT) + 1] == "read"
    assert order.index(WAIT) - order.index(SIGNAL) == 3
    assert not races(graph, program, {}, SPLIT)


def test_nothing_between_makes_one_barrier():
    assert "shared_memory_barrier" in names(placed(Small(2, 2, (OWN, NEXT))).body)


def test_halves_pair_up_in_a_loop():
    program = Small(2, 2, (Loop((OTHER, OWN, OTHER, NEXT, OTHER), "C1"),))
    graph = placed(program)
    (loop,) = [op for op in graph.walk() if op.op_name == "iterate"]
    halves = [n for n in names(loop.body) if n in (SIGNAL, WAIT)]
    assert halves == [SIGNAL, WAIT] * (len(halves) // 2)
    assert len(halves) == 4
    assert not any(races(graph, program, v, SPLIT) for v in launches(program))


def test_without_a_wait_there_is_a_race():
    program = Small(2, 2, (OWN, OTHER, OTHER, NEXT))
    graph = placed(program)
    (wait,) = [op for op in graph.walk() if op.op_name == WAIT]
    erase(wait)
    assert races(graph, program, {}, SPLIT)


def test_a_second_run_finds_nothing():
    graph = placed(Small(2, 2, (Loop((OTHER, OWN, OTHER, NEXT, OTHER), "C1"),)))
    assert not PlaceMinimalBarriers().apply(graph, PassContext(SPLIT))


class LateCopy(Op, name="test_late_copy"):
    """Something that fills a buffer of LDS on its own."""

    memory: Op = operand()

    def effects(self):
        return (Effect(EffectKind.DMA_WRITE, self.memory),)


def with_copy(*body):
    """A program whose first write is an asynchronous copy."""
    graph = build(Small(2, 2, body))
    write = next(op for op in graph.walk() if op.op_name == "write")
    region_of(write).insert_before(write, LateCopy(write.memory))
    erase(write)
    PlaceMinimalBarriers().apply(graph, PassContext(WHOLE))
    return graph


def barriers(graph):
    return [op for op in graph.walk() if op.op_name == "shared_memory_barrier"]


def test_a_barrier_waits_for_the_copy():
    (barrier,) = barriers(with_copy(OWN, Touch(0, writes=False)))
    assert barrier.wait_async_ops


def test_only_the_barrier_after_the_copy_waits_for_it():
    graph = with_copy(Loop((OWN, NEXT), "C1"))
    waiting = [op.wait_async_ops for op in barriers(graph)]
    assert sorted(waiting) == [False, True]


def test_a_copy_before_the_loop_is_waited_for_outside():
    graph = with_copy(OWN, Loop((NEXT,), "C1"))
    (barrier,) = barriers(graph)
    assert barrier.wait_async_ops
    assert region_of(barrier) is graph.body


@pytest.mark.parametrize("first", range(0, 100, 25))
def test_random_programs_have_no_races(first):
    for seed in range(first, first + 25):
        program = random_small(np.random.default_rng(seed))
        graph = placed(program)
        for values in launches(program):
            assert not races(graph, program, values, SPLIT), (seed, program)

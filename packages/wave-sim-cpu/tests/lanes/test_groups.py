"""Lanes of one wave that do not run in step: they race until a fence orders them."""

from __future__ import annotations

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.ir import erase
from wave_core.ops.sync import WaveFence
from wave_core.targets import generic128_target
from wave_sim_cpu.lanes import execute

N, GLOBAL = tkl.sym.N, tkl.GLOBAL_ADDRESS_SPACE
Numbers = tkl.Memory[N, GLOBAL, tkl.i32]
LANES = 128


def lowered(body, waves=1):
    """The graph, with all fences of the compiler's."""
    count = LANES * waves

    @tkw.thread(
        [
            tkw.WorkgroupConstraint(N, count, 0),
            tkw.HardwareConstraint(waves_per_block=(waves,)),
        ]
    )
    def kernel(a: Numbers, b: Numbers):
        body(a, b, tkw.thread_id(0))

    options = tkw.WaveCompileOptions(
        subs={N: count}, target="generic128", device="sim", preset="naive"
    )
    return tkw.wave_compile(options, kernel).graph, count


def reports(graph, count):
    arguments = {
        "a": np.arange(count, dtype=np.int32),
        "b": np.zeros(count, np.int32),
    }
    return execute.run(graph, arguments, {}, generic128_target()).reports


def without_fences(graph):
    for op in list(graph.walk()):
        if isinstance(op, WaveFence):
            erase(op)


def through_lds(distance, meet=lambda: None):
    """Each lane takes what another wrote to LDS, after they met in some way."""

    def body(a, b, t):
        own = tkw.allocate(LANES, dtype=tkl.i32)
        tkw.store(tkw.load(a, t), own, t)
        meet()
        tkw.store(tkw.load(own, (t + distance) % LANES), b, t)

    return body


@pytest.mark.parametrize("distance", [1, 32, 100])
def test_a_fence_orders_groups_of_a_wave(distance):
    graph, count = lowered(through_lds(distance))
    assert reports(graph, count) == ()
    without_fences(graph)
    (found,) = reports(graph, count)
    assert found.code == "WV0901"
    assert "a lane of a wave reads what another of it writes" in str(found)
    assert "wave_fence()" in str(found)


@pytest.mark.parametrize("meet", [tkw.shared_memory_barrier, tkw.workgroup_barrier])
def test_a_barrier_orders_them_too(meet):
    graph, count = lowered(through_lds(32, meet))
    without_fences(graph)
    assert reports(graph, count) == ()


def test_a_fence_of_a_wave_does_not_order_another_wave():
    def body(a, b, t):
        own = tkw.allocate(2 * LANES, dtype=tkl.i32)
        tkw.store(tkw.load(a, t), own, t)
        tkw.wave_fence()
        tkw.store(tkw.load(own, (t + LANES) % (2 * LANES)), b, t)

    (found,) = reports(*lowered(body, waves=2))
    assert found.code == "WV0901"
    assert "a wave reads what another writes" in str(found)


def test_a_lane_needs_no_fence_for_its_own_elements():
    graph, count = lowered(through_lds(0))
    without_fences(graph)
    assert reports(graph, count) == ()


def test_two_groups_that_write_one_element_race():
    def body(a, b, t):
        tkw.store(tkw.load(a, t) * 0, b, t % 32)

    (found,) = reports(*lowered(body))
    assert found.code == "WV0901"
    assert "lanes that do not run in step write one element" in str(found)


def test_lanes_in_step_that_write_one_value_are_only_warned_of():
    def body(a, b, t):
        tkw.store(tkw.load(a, t) * 0, b, t // 32 * 32)

    (found,) = reports(*lowered(body))
    assert found.code == "WV0910"

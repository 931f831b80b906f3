"""Barriers of whole kernels: how many, that all are needed, and at what cost."""

from __future__ import annotations

import time

import numpy as np
import pytest
from lowering_runs import Lowered, random_array

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.ir import erase
from wave_core.passes import PassContext
from wave_passes_memory.barriers.place import PlaceMinimalBarriers
from wave_testing.conformance import PassConformance

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
PLACE = "place-minimal-barriers"
BARRIER = "shared_memory_barrier"


class TestPlaceMinimalBarriers(PassConformance):
    pass_name = PLACE


def gemm(tile=(64, 64, 32), wave=(32, 32)):
    """A matrix product that stages both operands in LDS, each in one buffer."""
    rows, columns, depth = tile
    constraints = [
        tkw.WorkgroupConstraint(M, rows, 0),
        tkw.WorkgroupConstraint(N, columns, 1),
        tkw.TilingConstraint(K, depth),
        tkw.WaveConstraint(M, wave[0]),
        tkw.WaveConstraint(N, wave[1]),
        tkw.HardwareConstraint(threads_per_wave=64),
    ]

    @tkw.wave(constraints)
    def kernel(
        a: tkl.Memory[M, K, GLOBAL, tkl.f16],
        b: tkl.Memory[N, K, GLOBAL, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        zero = tkl.Register[M, N, tkl.f32](0.0)
        left = tkw.allocate((M, K), (rows, depth), tkl.f16, padding=4)
        right = tkw.allocate((N, K), (columns, depth), tkl.f16, padding=4)

        @tkw.iterate(K, init_args=[zero])
        def body(acc):
            tkw.write(tkw.read(a), left)
            tkw.write(tkw.read(b), right)
            return tkw.mma(tkw.read(left), tkw.read(right), acc)

        tkw.write(body, c)

    return kernel


def operands(m=100, n=70, k=80):
    a, b = random_array((m, k), "float16"), random_array((n, k), "float16", 1)
    return {"a": a, "b": b, "c": np.zeros((m, n), np.float32)}


def run(lowered):
    arrays = operands()
    lowered.run(arrays, M=100, N=70, K=80)
    return arrays


def test_a_gemm_needs_two_barriers_an_iteration():
    lowered = Lowered(gemm(), PLACE)
    arrays = run(lowered)
    wanted = arrays["a"].astype("f4") @ arrays["b"].astype("f4").T
    assert np.array_equal(arrays["c"], wanted)
    (loop,) = lowered.loops()
    assert lowered.count(BARRIER, loop.body) == lowered.count(BARRIER) == 2


def test_fewer_than_the_safe_ones():
    safe, few = Lowered(gemm(), ""), Lowered(gemm(), PLACE)
    assert few.count(BARRIER) < safe.count(BARRIER)
    assert few.counted[PLACE]["barriers"] == 2


@pytest.mark.parametrize("index", [0, 1])
def test_without_either_there_is_a_race(index):
    lowered = Lowered(gemm(), PLACE)
    erase([op for op in lowered.graph.walk() if op.op_name == BARRIER][index])
    with pytest.raises(AssertionError, match="race"):
        run(lowered)


def test_one_wave_needs_fences_only():
    lowered = Lowered(gemm((32, 32, 32)), PLACE)
    run(lowered)
    assert (lowered.count(BARRIER), lowered.count("wave_fence")) == (0, 2)


@pytest.mark.bench
def test_it_costs_little():
    lowered = Lowered(gemm((256, 256, 32), (64, 128)), "", M=512, N=512, K=256)
    for op in [op for op in lowered.graph.walk() if op.op_name == BARRIER]:
        erase(op)
    graphs = [lowered.graph.clone() for _ in range(5)]
    spent = []
    for graph in graphs:
        start = time.process_time()
        PlaceMinimalBarriers().apply(graph, PassContext(lowered.target))
        spent.append(time.process_time() - start)
    assert min(spent) <= 0.015

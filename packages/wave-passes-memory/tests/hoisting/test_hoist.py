"""What leaves loops, what stays, and that results are the same."""

from __future__ import annotations

import numpy as np
import pytest
from lowering_runs import Lowered, random_array

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_testing.conformance import PassConformance

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
HOIST = "hoist-loop-invariants"
CONSTRAINTS = [
    tkw.WorkgroupConstraint(M, 32, 0),
    tkw.WaveConstraint(M, 16),
    tkw.TilingConstraint(K, 16),
    tkw.TilingConstraint(N, 8),
    tkw.HardwareConstraint(threads_per_wave=64),
]


class TestHoistLoopInvariants(PassConformance):
    pass_name = HOIST


class TestShareCommonReads(PassConformance):
    pass_name = "share-common-reads"


def scaled_sum():
    """Each row of `a` times exp2 of a number that the loop does not change."""

    @tkw.wave(CONSTRAINTS)
    def kernel(
        a: tkl.Memory[M, K, GLOBAL, tkl.f32],
        b: tkl.Memory[M, GLOBAL, tkl.f32],
        c: tkl.Memory[M, GLOBAL, tkl.f32],
    ):
        zero = tkl.Register[M, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[zero])
        def body(acc):
            factor = tkw.exp2(tkw.read(b))
            scaled = tkw.read(a) * tkw.broadcast(factor, [M, K])
            return tkw.sum(scaled, acc, dim=K)

        tkw.write(body, c)

    return kernel


def run_scaled_sum(passes, rows=40, columns=40):
    lowered = Lowered(scaled_sum(), passes)
    a, b = random_array((rows, columns)), random_array(rows, seed=1)
    c = np.full(rows, 7, np.float32)
    counters = lowered.run({"a": a, "b": b, "c": c}, M=rows, K=columns)
    return lowered, counters, c, (a * np.exp2(b)[:, None]).sum(axis=1)


def test_reads_and_arithmetic_leave_the_loop():
    before, many, _, _ = run_scaled_sum("")
    after, few, found, wanted = run_scaled_sum(HOIST)
    assert np.array_equal(found, wanted)
    (inside,), (outside,) = before.loops(), after.loops()
    assert (before.count("exp2", inside.body), after.count("exp2", outside.body)) == (
        1,
        0,
    )
    assert few.bytes_moved["global_read"] < many.bytes_moved["global_read"]
    assert after.counted[HOIST]["hoisted_reads"] == 1


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (33, 16), (32, 0), (31, 17)])
def test_shapes_at_the_edges(rows, columns):
    _, _, found, wanted = run_scaled_sum(HOIST, rows, columns)
    assert np.array_equal(found, wanted)


def nested():
    """Two loops; the inner one reads what only the outer one moves along."""

    @tkw.wave(CONSTRAINTS)
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32],
        b: tkl.Memory[M, K, GLOBAL, tkl.f32],
        c: tkl.Memory[M, GLOBAL, tkl.f32],
        d: tkl.Memory[M, GLOBAL, tkl.f32],
    ):
        zero = tkl.Register[M, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[zero])
        def outer(first):
            @tkw.iterate(N, init_args=[first])
            def inner(acc):
                column = tkw.sum(tkw.read(b), dim=K) * tkw.exp2(tkw.read(d))
                row = tkw.sum(tkw.read(a), dim=N)
                return acc + row * column

            return inner

        tkw.write(outer, c)

    return kernel


def run_nested(passes, m=20, n=24, k=32):
    lowered = Lowered(nested(), passes)
    a, b = random_array((m, n)), random_array((m, k), seed=1)
    d, c = random_array(m, seed=2), np.zeros(m, np.float32)
    counters = lowered.run({"a": a, "b": b, "c": c, "d": d}, M=m, N=n, K=k)
    return lowered, counters, c, a.sum(1) * b.sum(1) * np.exp2(d)


def test_each_value_leaves_as_many_loops_as_it_can():
    lowered, counters, found, wanted = run_nested(HOIST)
    assert np.allclose(found, wanted)
    outer, inner = lowered.loops()
    assert lowered.count("read", inner.body) == 1
    assert lowered.count("exp2", outer.body) == 0
    _, before, _, _ = run_nested("")
    assert counters.bytes_moved["global_read"] < before.bytes_moved["global_read"]


@pytest.mark.parametrize(("n", "k"), [(0, 16), (16, 0), (0, 0), (9, 17)])
def test_loops_without_turns(n, k):
    _, _, found, wanted = run_nested(HOIST, n=n, k=k)
    assert np.allclose(found, wanted)


def test_memory_that_the_kernel_writes_is_read_each_time():
    @tkw.wave(CONSTRAINTS)
    def kernel(a: tkl.Memory[M, K, GLOBAL, tkl.f32], b: tkl.Memory[M, GLOBAL, tkl.f32]):
        @tkw.iterate(K)
        def body():
            tkw.write(tkw.sum(tkw.read(a), tkw.read(b), dim=K), b)

    lowered = Lowered(kernel, HOIST)
    (loop,) = lowered.loops()
    a, b = random_array((32, 48)), np.zeros(32, np.float32)
    lowered.run({"a": a, "b": b}, M=32, K=48)
    assert np.array_equal(b, a.sum(1))
    assert lowered.count("read", loop.body) >= 2


def staged(after_too=False):
    """Rows of `b` through LDS in each iteration, though they do not change."""

    @tkw.wave(CONSTRAINTS)
    def kernel(
        a: tkl.Memory[M, K, GLOBAL, tkl.f32],
        b: tkl.Memory[M, GLOBAL, tkl.f32],
        c: tkl.Memory[M, GLOBAL, tkl.f32],
    ):
        zero = tkl.Register[M, tkl.f32](0.0)
        shared = tkw.allocate((M,), (32,), tkl.f32)

        @tkw.iterate(K, init_args=[zero])
        def body(acc):
            tkw.write(tkw.read(b), shared)
            scaled = tkw.read(a) * tkw.broadcast(tkw.read(shared), [M, K])
            return tkw.sum(scaled, acc, dim=K)

        tkw.write(body + tkw.read(shared) if after_too else body, c)

    return kernel


@pytest.mark.parametrize("columns", [0, 5, 48])
def test_a_copy_to_lds_leaves_as_a_whole(columns):
    lowered = Lowered(staged(), f"{HOIST},place-minimal-barriers")
    (loop,) = lowered.loops()
    assert lowered.count("write", loop.body) == 0
    a, b = random_array((32, columns)), random_array(32, seed=1)
    c = np.zeros(32, np.float32)
    lowered.run({"a": a, "b": b, "c": c}, M=32, K=columns)
    assert np.array_equal(c, a.sum(1) * b)


def test_a_buffer_that_others_read_is_filled_in_the_loop():
    lowered = Lowered(staged(after_too=True), HOIST)
    (loop,) = lowered.loops()
    assert lowered.count("write", loop.body) == 1


def twice(between):
    @tkw.wave(CONSTRAINTS)
    def kernel(
        a: tkl.Memory[M, GLOBAL, tkl.f32],
        b: tkl.Memory[M, GLOBAL, tkl.f32],
        c: tkl.Memory[M, GLOBAL, tkl.f32],
    ):
        first = tkw.read(a)
        between(a, b, first)
        tkw.write(first + tkw.read(a), c)

    return kernel


def run_twice(between):
    lowered = Lowered(twice(between), "share-common-reads")
    a, b = random_array(50), np.zeros(50, np.float32)
    c, kept = np.zeros(50, np.float32), a.copy()
    lowered.run({"a": a, "b": b, "c": c}, M=50) if a.size else None
    return lowered, kept, c


def test_what_is_read_twice_is_read_once():
    lowered, a, c = run_twice(lambda a, b, first: tkw.write(first, b))
    assert np.array_equal(c, 2 * a)
    assert lowered.count("read") == 1
    assert lowered.counted["share-common-reads"]["shared_reads"] == 1


def test_a_write_between_keeps_both_reads():
    lowered, a, c = run_twice(lambda a, b, first: tkw.write(first * first, a))
    assert np.array_equal(c, a + a * a)
    assert lowered.count("read") == 2


def test_a_read_in_a_loop_uses_the_one_before_it():
    @tkw.wave(CONSTRAINTS)
    def kernel(
        a: tkl.Memory[M, GLOBAL, tkl.f32],
        b: tkl.Memory[M, K, GLOBAL, tkl.f32],
        c: tkl.Memory[M, GLOBAL, tkl.f32],
    ):
        @tkw.iterate(K, init_args=[tkw.read(a)])
        def body(acc):
            return tkw.sum(tkw.read(b), acc, dim=K) + tkw.read(a)

        tkw.write(body, c)

    lowered = Lowered(kernel, "share-common-reads")
    a, b, c = random_array(30), random_array((30, 40), seed=1), np.zeros(30, np.float32)
    lowered.run({"a": a, "b": b, "c": c}, M=30, K=40)
    assert np.array_equal(c, a + b.sum(1) + 3 * a)
    assert lowered.counted["share-common-reads"]["shared_reads"] == 1

"""Where safe barriers stand."""

from __future__ import annotations

import wave_core.lang as tkl
import wave_core.lang as tkw

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
CONSTRAINTS = [
    tkw.WorkgroupConstraint(M, 16, 0),
    tkw.TilingConstraint(K, 16),
    tkw.HardwareConstraint(threads_per_wave=64),
]


def order(region):
    names = {"read", "write", "shared_memory_barrier", "iterate"}
    return [op.op_name for op in region.ops if op.op_name in names]


def test_a_loop_waits_for_the_reads_of_the_iteration_before(lowered):
    @tkw.wave(CONSTRAINTS)
    def kernel(
        a: tkl.Memory[M, K, GLOBAL, tkl.f32], b: tkl.Memory[M, K, GLOBAL, tkl.f32]
    ):
        shared = tkw.allocate((M, K), (16, 16), tkl.f32)

        @tkw.iterate(K)
        def body():
            tkw.write(tkw.read(a), shared)
            tkw.write(tkw.read(shared), b)

    graph = lowered(kernel, M=16, K=64)
    (loop,) = [op for op in graph.walk() if op.op_name == "iterate"]
    barrier = "shared_memory_barrier"
    assert order(loop.body) == ["read", barrier, "write", barrier, "read", "write"]


def test_the_authors_barriers_count(lowered):
    @tkw.wave(CONSTRAINTS)
    def kernel(
        a: tkl.Memory[M, K, GLOBAL, tkl.f32], b: tkl.Memory[M, K, GLOBAL, tkl.f32]
    ):
        shared = tkw.allocate((M, K), (16, 16), tkl.f32)

        @tkw.iterate(K)
        def body():
            tkw.write(tkw.read(a), shared)
            tkw.shared_memory_barrier()
            tkw.write(tkw.read(shared), b)
            tkw.shared_memory_barrier()

    graph = lowered(kernel, M=16, K=64)
    assert sum(op.op_name == "shared_memory_barrier" for op in graph.walk()) == 2


def test_reading_twice_needs_no_barrier_between(lowered):
    @tkw.wave(CONSTRAINTS[::2])
    def kernel(
        a: tkl.Memory[M, K, GLOBAL, tkl.f32], b: tkl.Memory[M, K, GLOBAL, tkl.f32]
    ):
        shared = tkw.allocate((M, K), (16, 16), tkl.f32)
        tkw.write(tkw.read(a), shared)
        first = tkw.read(shared)
        tkw.write(first + tkw.read(shared), b)

    graph = lowered(kernel, M=16, K=16)
    assert sum(op.op_name == "shared_memory_barrier" for op in graph.walk()) == 1

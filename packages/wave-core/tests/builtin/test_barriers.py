"""Where safe barriers stand."""

from __future__ import annotations

import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.diagnostics import UserError

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


def first_row():
    return tkw.extract(tkw.self_index(M, tkl.i64), [0])


def half(shared, body):
    """A kernel whose waves enter a conditional differently."""
    two_waves = [
        tkw.WorkgroupConstraint(M, 32, 0),
        tkw.WaveConstraint(M, 16),
        tkw.HardwareConstraint(threads_per_wave=64),
    ]

    @tkw.wave(two_waves)
    def kernel(
        a: tkl.Memory[M, K, GLOBAL, tkl.f32], b: tkl.Memory[M, K, GLOBAL, tkl.f32]
    ):
        buffer = tkw.allocate((M, K), (32, 16), tkl.f32)
        if shared:
            tkw.write(tkw.read(a), buffer)
        body(a, b, buffer)

    return kernel


def test_a_barrier_against_what_came_before_stands_before_the_conditional(lowered):
    def enter(a, b, buffer):
        @tkw.conditional(first_row() < tkw.scalar(16, tkl.i64))
        def body():
            tkw.write(tkw.read(buffer), b)

    graph = lowered(half(shared=True, body=enter), M=32, K=16)
    names = [op.op_name for op in graph.body.ops]
    barrier = names.index("shared_memory_barrier")
    assert names.index("write") < barrier < names.index("conditional")
    assert sum(op.op_name == "shared_memory_barrier" for op in graph.walk()) == 1


def test_a_barrier_that_not_all_waves_reach_is_refused(lowered):
    def enter(a, b, buffer):
        @tkw.conditional(first_row() < tkw.scalar(16, tkl.i64))
        def body():
            tkw.write(tkw.read(a), buffer)
            tkw.write(tkw.read(buffer), b)

    with pytest.raises(UserError) as caught:
        lowered(half(shared=False, body=enter), M=32, K=16)
    assert caught.value.diagnostics[0].code == "WV0412"


def part(of, rest, *, outside):
    """Sums of what two waves have, by one of them or both, in a conditional."""
    halves = [
        tkw.WorkgroupConstraint(M, 32, 0),
        tkw.WorkgroupConstraint(K, 16, 1),
        tkw.WaveConstraint(M, 16),
        tkw.HardwareConstraint(threads_per_wave=64),
    ]
    condition = tkw.WORKGROUP_0 < 1 if outside else tkw.THREAD_0 // 64 < 1

    @tkw.wave(halves)
    def kernel(
        a: tkl.Memory[M, K, GLOBAL, tkl.f32], b: tkl.Memory[rest, GLOBAL, tkl.f32]
    ):
        row = tkw.read(a)
        nothing = tkl.Register[rest, tkl.f32](0.0)

        @tkw.conditional(condition, else_return=[nothing])
        def total(_):
            return of(row)

        tkw.write(total, b)

    return kernel


def whole(row):
    return tkw.sum(row, dim=M)


def up_to_here(row):
    return tkw.max(tkw.cumsum(row, dim=M), dim=K)


@pytest.mark.parametrize(("of", "rest"), [(whole, K), (up_to_here, M)])
def test_a_sum_over_waves_of_which_some_stay_away_is_refused(lowered, of, rest):
    """Whatever places barriers: it may prove that the others write nothing."""
    upto, sizes = "decompose-reductions", {"M": 32, "K": 16}
    with pytest.raises(UserError, match="each wave needs what the others") as caught:
        lowered(part(of, rest, outside=False), upto, **sizes)
    assert caught.value.diagnostics[0].code == "WV0412"
    assert lowered(part(of, rest, outside=True), upto, **sizes)


def test_a_bare_workgroup_barrier_covers_only_what_was_waited_for(lowered):
    def kernel(waits):
        @tkw.wave([CONSTRAINTS[0], CONSTRAINTS[2]])
        def copy(
            a: tkl.Memory[M, K, GLOBAL, tkl.f32], b: tkl.Memory[M, K, GLOBAL, tkl.f32]
        ):
            buffer = tkw.allocate((M, K), (16, 16), tkl.f32)
            tkw.write(tkw.read(a), buffer)
            if waits:
                tkw.memory_counter_wait(ds=0)
            tkw.workgroup_barrier()
            tkw.write(tkw.read(buffer), b)

        return copy

    def inserted(waits):
        graph = lowered(kernel(waits), M=16, K=16)
        return sum(op.op_name == "shared_memory_barrier" for op in graph.walk())

    assert (inserted(waits=True), inserted(waits=False)) == (0, 1)

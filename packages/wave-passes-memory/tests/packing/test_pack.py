"""Buffers that share memory: when they may, what it saves, that it stays right."""

from __future__ import annotations

import numpy as np
import pytest
from lowering_runs import Lowered, random_array

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.diagnostics import UserError
from wave_core.ir import erase, set_attributes
from wave_core.ops.memory import Allocate
from wave_testing.conformance import PassConformance

M, K = tkl.sym.M, tkl.sym.K
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
PACK = "pack-shared-memory"
BOTH = f"{PACK},place-minimal-barriers"
LOOPS = f"{PACK}{{within-loops=true}},place-minimal-barriers"
CONSTRAINTS = [
    tkw.WorkgroupConstraint(M, 32, 0),
    tkw.WaveConstraint(M, 16),
    tkw.TilingConstraint(K, 16),
    tkw.HardwareConstraint(threads_per_wave=64),
]
SWAPPED = tkw.IndexMapping(
    num_iterators=2,
    inputs={
        M: (tkw.IndexMapping.iterator(0) + 16) % 32,
        K: tkw.IndexMapping.iterator(1),
    },
    outputs={M: tkw.IndexMapping.iterator(0), K: tkw.IndexMapping.iterator(1)},
)


class TestPackSharedMemory(PassConformance):
    pass_name = PACK


def swap_twice(loop=False, first_again=False):
    """Two copies whose waves exchange rows, each through a buffer of its own."""

    @tkw.wave(CONSTRAINTS)
    def kernel(
        a: tkl.Memory[M, K, GLOBAL, tkl.f16],
        b: tkl.Memory[M, K, GLOBAL, tkl.f16],
        c: tkl.Memory[M, K, GLOBAL, tkl.f32],
        d: tkl.Memory[M, K, GLOBAL, tkl.f32],
    ):
        one = tkw.allocate((M, K), (32, 16), tkl.f16)
        two = tkw.allocate((M, K), (32, 16), tkl.f32)

        def body():
            tkw.write(tkw.read(a), one)
            tkw.write(tkw.read(one, mapping=SWAPPED), b)
            tkw.write(tkw.read(c), two)
            tkw.write(tkw.read(two, mapping=SWAPPED), d)
            if first_again:
                tkw.write(tkw.read(one, mapping=SWAPPED), b)

        if loop:
            tkw.iterate(K)(body)
        else:
            body()

    return kernel


def arrays(columns=16):
    a, c = random_array((64, columns), "float16"), random_array((64, columns), seed=1)
    return {"a": a, "b": np.zeros_like(a), "c": c, "d": np.zeros_like(c)}


def swapped(array):
    return array.reshape(-1, 2, 16, array.shape[1])[:, ::-1].reshape(array.shape)


def run(kernel, passes, columns=16):
    lowered = Lowered(kernel, passes, M=64, K=columns)
    given = arrays(columns)
    lowered.run(given)
    assert np.array_equal(given["b"], swapped(given["a"]))
    assert np.array_equal(given["d"], swapped(given["c"]))
    return lowered


def lds_bytes(lowered):
    return lowered.counted["check-lds-budget"]["lds_bytes"]


def test_buffers_that_follow_each_other_share():
    before, after = run(swap_twice(), ""), run(swap_twice(), BOTH)
    assert (lds_bytes(before), lds_bytes(after)) == (3072, 2048)
    assert after.counted[PACK]["lds_bytes_saved"] == 1024


def test_buffers_that_are_needed_together_do_not_share():
    assert lds_bytes(run(swap_twice(first_again=True), BOTH)) == 3072


def test_sharing_makes_a_dependence_that_gets_a_barrier():
    apart, shared = run(swap_twice(), "place-minimal-barriers"), run(swap_twice(), BOTH)
    barrier = "shared_memory_barrier"
    assert (apart.count(barrier), shared.count(barrier)) == (2, 3)


@pytest.mark.parametrize("index", range(3))
def test_without_one_of_the_barriers_there_is_a_race(index):
    lowered = run(swap_twice(), BOTH)
    barriers = [op for op in lowered.graph.walk() if "barrier" in op.op_name]
    erase(barriers[index])
    with pytest.raises(AssertionError, match="race"):
        lowered.run(arrays())


def test_the_safe_barriers_see_what_shares():
    assert run(swap_twice(), PACK).count("shared_memory_barrier") == 3


@pytest.mark.parametrize("columns", [16, 48])
def test_buffers_take_turns_in_a_loop_only_where_asked(columns):
    plain = run(swap_twice(loop=True), BOTH, columns)
    assert lds_bytes(plain) == 3072
    assert lds_bytes(run(swap_twice(loop=True), LOOPS, columns)) == 2048


def running_sum():
    """The sum of each row, kept in LDS from iteration to iteration."""

    @tkw.wave(CONSTRAINTS)
    def kernel(a: tkl.Memory[M, K, GLOBAL, tkl.f32], b: tkl.Memory[M, GLOBAL, tkl.f32]):
        kept = tkw.allocate((M,), (32,), tkl.f32)
        other = tkw.allocate((M,), (32,), tkl.f32)
        tkw.write(tkl.Register[M, tkl.f32](0.0), kept)

        @tkw.iterate(K)
        def body():
            tkw.write(tkw.sum(tkw.read(a), tkw.read(kept), dim=K), other)
            tkw.write(tkw.read(other), kept)

        tkw.write(tkw.read(kept), b)

    return kernel


def test_what_a_loop_carries_along_is_needed_all_the_time():
    lowered = Lowered(running_sum(), LOOPS, M=32, K=64)
    a, b = random_array((32, 64)), np.zeros(32, np.float32)
    lowered.run({"a": a, "b": b})
    assert np.array_equal(b, a.sum(1))
    assert lds_bytes(lowered) == 256


def taking_turns():
    @tkw.wave(CONSTRAINTS)
    def kernel(
        a: tkl.Memory[M, K, GLOBAL, tkl.f32], b: tkl.Memory[M, K, GLOBAL, tkl.f32]
    ):
        one = tkw.allocate((M, K), (32, 16), tkl.f32, padding=304)
        two = tkw.allocate((M, K), (32, 16), tkl.f32, padding=304)

        @tkw.iterate(K)
        def body():
            tkw.write(tkw.read(a), one)
            value = tkw.read(one, mapping=SWAPPED)
            tkw.write(value, two)
            tkw.write(tkw.read(two, mapping=SWAPPED), b)

    return kernel


def test_buffers_take_turns_where_the_machine_is_too_small():
    with pytest.raises(UserError) as caught:
        Lowered(taking_turns(), "", M=32, K=32)
    assert caught.value.diagnostics[0].code == "WV0406"
    lowered = Lowered(taking_turns(), BOTH, M=32, K=32)
    a, b = random_array((32, 32)), np.zeros((32, 32), np.float32)
    lowered.run({"a": a, "b": b})
    assert np.array_equal(a, b)
    assert lds_bytes(lowered) == 32 * 320 * 4


def test_the_text_reads_back_with_offsets():
    lowered = run(swap_twice(), BOTH)
    assert str(lowered.graph).count("offset = 0") == 2


def test_a_write_through_one_buffer_destroys_another():
    kernel = swap_twice(first_again=True)
    lowered = Lowered(kernel, "place-minimal-barriers", M=64, K=16)
    for op in lowered.graph.walk():
        if isinstance(op, Allocate):
            set_attributes(op, offset=0)
    with pytest.raises(AssertionError, match=r"without a meaning|race"):
        lowered.run(arrays())

"""Code of single threads on both simulators: who runs what, and what is reported."""

from __future__ import annotations

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.diagnostics import UserError

N, M = tkl.sym.N, tkl.sym.M
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
Numbers = tkl.Memory[N, GLOBAL, tkl.i32]
Floats = tkl.Memory[N, GLOBAL, tkl.f32]
TWO_WAVES = [tkw.HardwareConstraint(waves_per_block=(2,))]
BOTH = pytest.mark.parametrize("device", ["sim-logical", "sim"])


def compiled(kernel, device, **subs):
    subs = {tkl.index_symbol(name): value for name, value in subs.items()}
    return tkw.wave_compile(tkw.WaveCompileOptions(subs=subs, device=device), kernel)


def run(kernel, device, *arrays, **subs):
    found = compiled(kernel, device, N=len(arrays[0]), **subs)
    found(*arrays)
    return arrays[-1]


def finding(kernel, device, *arrays, **subs):
    with pytest.raises(UserError) as caught:
        run(kernel, device, *arrays, **subs)
    return caught.value.diagnostics[0]


def texts(found):
    """What is said at each line of a finding."""
    return [found.primary.message, *(label.message for label in found.secondary)]


@BOTH
def test_numbers_of_threads_and_programs(device):
    @tkw.thread(
        [
            tkw.WorkgroupConstraint(N, 192, 0),
            tkw.HardwareConstraint(waves_per_block=(1, 3)),
        ]
    )
    def numbers(out: Numbers):
        t = tkw.thread_id(1) * tkw.num_threads(0) + tkw.thread_id(0)
        i = tkw.program_id(0) * 192 + t
        size = tkw.num_threads(0) + tkw.num_threads(1) + tkw.num_threads(2)
        value = tkw.num_programs(0) * 1000 + size + tkw.thread_id(2)
        tkw.store(value + i * 10000, out, i, mask=i < N)

    out = run(numbers, device, np.full(400, -1, np.int32))
    assert (out == 3000 + 64 + 3 + 1 + np.arange(400) * 10000).all()


@BOTH
def test_each_thread_leaves_a_loop_by_itself(device):
    @tkw.thread(TWO_WAVES)
    def collatz(a: Numbers, steps: Numbers):
        t = tkw.thread_id()
        zero = tkw.scalar(0, tkl.i32)
        first = tkw.load(a, t, mask=t < N, other=1)

        @tkw.iterate(init_args=[first, zero], condition=lambda n, _: n > 1)
        def loop(n, count):
            return tkw.select(n % 2 == 0, n // 2, 3 * n + 1), count + 1

        tkw.store(loop[1], steps, t, mask=t < N)

    def reference(n):
        count = 0
        while n > 1:
            n, count = n // 2 if n % 2 == 0 else 3 * n + 1, count + 1
        return count

    a = np.random.default_rng(3).integers(1, 100, 99, np.int32)
    out = run(collatz, device, a, np.full(99, -1, np.int32))
    assert out.tolist() == [reference(n) for n in a.tolist()]


@BOTH
def test_branches_within_loops_within_branches(device):
    """Sums of the even numbers up to a bound of each thread, for odd threads."""

    @tkw.thread(TWO_WAVES)
    def sums(bounds: Numbers, out: Numbers):
        t = tkw.thread_id()
        zero = tkw.scalar(0, tkl.i32)

        @tkw.conditional(t % 2 == 1, else_return=tkw.scalar(-5, tkl.i32))
        def odd():
            bound = tkw.load(bounds, t)

            @tkw.iterate(init_args=[zero, zero], condition=lambda i, _: i < bound)
            def loop(i, total):
                @tkw.conditional(i % 2 == 0, else_return=total)
                def more():
                    return total + i

                return i + 1, more

            return loop[1]

        tkw.store(odd, out, t)

    bounds = np.random.default_rng(4).integers(-2, 9, 128, np.int32)
    out = run(sums, device, bounds, np.zeros(128, np.int32))
    wanted = [sum(range(0, max(n, 0), 2)) for n in bounds.tolist()]
    assert out.tolist() == [w if t % 2 else -5 for t, w in enumerate(wanted)]


@BOTH
@pytest.mark.parametrize(
    ("mode", "partner"),
    [
        ("xor", lambda t: t ^ 5),
        ("up", lambda t: t - 5 if t % 16 >= 5 else t),
        ("down", lambda t: t + 5 if t % 16 < 11 else t),
        ("idx", lambda t: t - t % 16 + 5),
    ],
)
def test_shuffle(mode, partner, device):
    @tkw.thread(TWO_WAVES)
    def shuffled(a: Numbers, b: Numbers):
        t = tkw.thread_id()
        tkw.store(tkw.shuffle(tkw.load(a, t), 5, 16, mode), b, t)

    a = np.random.default_rng(5).permutation(128).astype(np.int32)
    out = run(shuffled, device, a, np.zeros(128, np.int32))
    assert out.tolist() == [a[partner(t)] for t in range(128)]


@BOTH
def test_shuffle_wider_than_a_wave(device):
    @tkw.thread(TWO_WAVES)
    def shuffled(a: Numbers):
        t = tkw.thread_id()
        tkw.store(tkw.shuffle(tkw.load(a, t), 64, 128), a, t)

    found = finding(shuffled, device, np.zeros(128, np.int32))
    assert found.code == "WV0216"
    assert found.message == "`shuffle` in groups of 128 lanes, a wave has 64"


@BOTH
def test_atomics_of_threads(device):
    @tkw.thread(TWO_WAVES)
    def histogram(a: Numbers, counts: tkl.Memory[M, GLOBAL, tkl.i32]):
        t = tkw.thread_id()
        own = tkw.allocate(7, dtype=tkl.i32)
        tkw.store(0, own, t, mask=t < 7)
        tkw.shared_memory_barrier()

        @tkw.conditional(t < N)
        def inside():
            tkw.atomic_add(1, own, at=tkw.load(a, t))

        tkw.shared_memory_barrier()

        @tkw.conditional(t < 7)
        def bins():
            before = tkw.atomic_add(tkw.load(own, t), counts, at=t)
            tkw.atomic_cas(-1, counts, before, at=t)

    a = np.random.default_rng(6).integers(0, 7, 100, np.int32)
    out = run(histogram, device, a, np.zeros(7, np.int32), M=7)
    wanted = np.bincount(a, minlength=7)
    assert out.tolist() == [int(w) or -1 for w in wanted]


def barrier_where_positive(a: Floats):
    x = tkw.load(a, tkw.thread_id())

    @tkw.conditional(x > 0)
    def positive():
        tkw.shared_memory_barrier()


def barrier_in_a_loop(a: Floats):
    @tkw.iterate(init_args=[tkw.load(a, tkw.thread_id())], condition=lambda x: x > 0)
    def loop(x):
        tkw.workgroup_barrier()
        return x - 1


@BOTH
@pytest.mark.parametrize("function", [barrier_where_positive, barrier_in_a_loop])
def test_barrier_that_threads_of_a_wave_miss(function, device):
    a = np.full(128, 1, np.float32)
    a[70] = -1
    found = finding(tkw.thread(TWO_WAVES)(function), device, a)
    assert (found.code, found.message) == (
        "WV0902",
        "63 of 64 threads of a wave reach a barrier",
    )
    assert texts(found) == ["the others never come here", "decides who comes"]
    where = "of workgroup (0,), wave 1 thread 0 comes here, thread 6 does not"
    assert found.notes == (where,)


@BOTH
@pytest.mark.parametrize("function", [barrier_where_positive, barrier_in_a_loop])
def test_barrier_that_a_wave_misses(function, device):
    a = np.repeat(np.float32([1, -1]), 64)
    found = finding(tkw.thread(TWO_WAVES)(function), device, a)
    assert (found.code, found.message) == (
        "WV0902",
        "1 of 2 waves of workgroup (0,) reach a barrier",
    )
    assert texts(found) == ["the others never come here", "decides who comes"]


@BOTH
@pytest.mark.parametrize("function", [barrier_where_positive, barrier_in_a_loop])
@pytest.mark.parametrize("value", [1, -1])
def test_barrier_that_all_threads_reach_or_none(function, value, device):
    kernel = tkw.thread(TWO_WAVES)(function)
    run(kernel, device, np.full(128, value, np.float32))


def reversed_through_lds(barrier):
    @tkw.thread(TWO_WAVES)
    def reverse(a: Floats, b: Floats):
        t = tkw.thread_id()
        shared = tkw.allocate(128, dtype=tkl.f32)
        tkw.store(tkw.load(a, t), shared, t)
        if barrier:
            tkw.shared_memory_barrier()
        tkw.store(tkw.load(shared, 127 - t), b, t)

    return reverse


def test_missing_barrier_is_a_race():
    a, b = np.random.default_rng(7).random((2, 128), np.float32)
    found = finding(reversed_through_lds(barrier=False), "sim", a, b)
    assert found.code == "WV0901"
    assert [line.startswith("wave ") for line in texts(found)] == [True, True]
    assert (run(reversed_through_lds(barrier=True), "sim", a, b) == a[::-1]).all()


def test_lanes_of_one_wave_need_no_barrier():
    @tkw.thread([tkw.HardwareConstraint()])
    def reverse(a: Floats, b: Floats):
        t = tkw.thread_id()
        shared = tkw.allocate(64, dtype=tkl.f32)
        tkw.store(tkw.load(a, t), shared, t)
        tkw.store(tkw.load(shared, 63 - t), b, t)

    a, b = np.random.default_rng(8).random((2, 64), np.float32)
    assert (run(reverse, "sim", a, b) == a[::-1]).all()


def test_stray_threads_are_reported():
    @tkw.thread(TWO_WAVES)
    def copy(a: Floats, b: Floats):
        t = tkw.thread_id()
        tkw.store(tkw.load(a, t), b, t)

    a, b = np.zeros((2, 100), np.float32)
    assert finding(copy, "sim", a, b).code == "WV0903"


@BOTH
def test_what_a_branch_stores_may_be_the_same_along_an_axis(device):
    """Values from outside of a branch, with fewer dims than there are axes."""

    @tkw.thread([tkw.HardwareConstraint(waves_per_block=(1, 2))])
    def kernel(a: Numbers):
        row, column = tkw.thread_id(1), tkw.thread_id(0)

        @tkw.conditional(column >= 0)
        def always():
            tkw.store(row, a, row * 64 + column)
            tkw.atomic_add(row, a, at=row * 64 + column)

    out = run(kernel, device, np.full(128, -1, np.int32))
    assert out.tolist() == [0] * 64 + [2] * 64


@BOTH
def test_symbols_of_threads_are_values(device):
    @tkw.thread([tkw.HardwareConstraint(waves_per_block=(1, 2))])
    def kernel(a: Floats):
        at = tkw.THREAD_0 + 64 * tkw.THREAD_1

        @tkw.conditional(at < N)
        def inside():
            tkw.store(tkw.load(a, at) * tkw.THREAD_0 + tkw.THREAD_2, a, at)

    out = run(kernel, device, np.full(100, 2, np.float32))
    assert out.tolist() == [2 * (t % 64) for t in range(100)]


def test_the_number_of_a_thread_in_a_constraint():
    waves = tkw.WaveConstraint(N, 64, wave_id=tkw.THREAD_0 // 2)
    group = tkw.WorkgroupConstraint(N, 256, 0)

    @tkw.wave([group, waves, tkw.HardwareConstraint(waves_per_block=(4,))])
    def copy(a: Floats):
        tkw.write(tkw.read(a), a)

    with pytest.raises(UserError) as caught:
        compiled(copy, "sim", N=64)
    (found,) = caught.value.diagnostics
    assert found.code == "WV0156"
    assert texts(found) == ["this constraint uses the number of a thread"]

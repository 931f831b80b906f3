"""Fences, and atomics that order other accesses: what the trace holds."""

from __future__ import annotations

import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Config, Session
from wave_core.compile.compiler import lower_front
from wave_core.compile.front import front_of
from wave_core.diagnostics import UserError

M, N = tkl.sym.M, tkl.sym.N
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
ROWS = [tkw.WorkgroupConstraint(M, 64, 0), tkw.HardwareConstraint(threads_per_wave=64)]
Numbers = tkl.Memory[M, GLOBAL, tkl.i32]
RELEASE = ["fence release device", "workgroup_barrier"]
ACQUIRE = ["fence acquire device", "workgroup_barrier"]


def steps(kernel):
    """The fences, barriers and atomics of a kernel, in order."""
    found = []
    for op in kernel.trace().walk():
        if op.op_name == "fence":
            found.append(f"fence {op.order} {op.scope}")
        elif op.op_name.startswith(("workgroup", "atomic")):
            found.append(op.op_name)
    return found


def test_in_a_kernel_on_tiles_the_waves_meet():
    @tkw.wave(ROWS)
    def kernel(a: Numbers):
        tkw.fence()
        tkw.fence("release", scope="system")

    assert steps(kernel) == [
        *("fence acq_rel device", "workgroup_barrier"),
        *("fence release system", "workgroup_barrier"),
    ]


def test_a_single_thread_orders_its_own_accesses():
    @tkw.thread([tkw.HardwareConstraint(waves_per_block=(2,))])
    def kernel(a: Numbers):
        tkw.fence("acquire")

    assert steps(kernel) == ["fence acquire device"]


@pytest.mark.parametrize(
    ("order", "before", "after"),
    [
        ("relaxed", [], []),
        ("release", RELEASE, []),
        ("acquire", [], ACQUIRE),
        ("acq_rel", RELEASE, ACQUIRE),
    ],
)
def test_atomics_order_by_fences_beside_them(order, before, after):
    @tkw.wave(ROWS)
    def kernel(a: Numbers):
        one = tkl.Register[M, tkl.i32](1)
        tkw.atomic_add(one, a, order=order)
        tkw.atomic_cas(one, a, one, order=order)

    both = [[*before, name, *after] for name in ("atomic_add", "atomic_cas")]
    assert steps(kernel) == both[0] + both[1]


@pytest.mark.parametrize(
    ("call", "message", "words"),
    [
        (
            lambda a, one: tkw.fence("seq_cst"),
            "`order` is 'seq_cst'",
            "'acquire', 'release', 'acq_rel'",
        ),
        (
            lambda a, one: tkw.fence(scope="gpu"),
            "`scope` is 'gpu'",
            "'workgroup', 'device', 'system'",
        ),
        (
            lambda a, one: tkw.atomic_xchg(one, a, order="acquires"),
            "`order` is 'acquires'",
            "'relaxed', 'acquire', 'release', 'acq_rel'",
        ),
    ],
)
def test_unknown_words(call, message, words):
    @tkw.wave(ROWS)
    def kernel(a: Numbers):
        call(a, tkl.Register[M, tkl.i32](1))

    with pytest.raises(UserError) as caught:
        kernel.trace()
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == ("WV0222", message)
    assert found.help == (f"it takes one of {words}",)


def test_a_fence_in_a_loop_that_waves_leave_one_by_one():
    """The barrier of a fence is refused there as any other is."""

    @tkw.wave(ROWS)
    def kernel(a: Numbers):
        @tkw.iterate(
            condition=tkw.GET_ITER_ARG(0) < 1, init_args=[tkw.scalar(0, tkl.i32)]
        )
        def wait(_):
            tkw.set_symbol(N, tkw.read(a, flags=tkw.MemoryAccessFlags.VOLATILE))
            tkw.fence("acquire")
            return tkw.scalar(N, tkl.i32)

    options = tkw.WaveCompileOptions(subs={M: 64}, target="generic")
    front = front_of(options, kernel, Session(config=Config(cache=False)))
    with pytest.raises(UserError) as caught:
        lower_front(front, kernel)
    assert caught.value.diagnostics[0].code == "WV0145"

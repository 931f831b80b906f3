"""Workgroups that wait for one another as machine code: order of memory, locks."""

from __future__ import annotations

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Config, Session, wave_compile
from wave_core.diagnostics import SimulationError, UserError

sym = tkl.sym
M, LOCKS, ONE, LAST, SEEN = sym.M, sym.LOCKS, sym.ONE, sym.LAST, sym.SEEN
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
VOLATILE = tkw.MemoryAccessFlags.VOLATILE
ME = tkw.WORKGROUP_0
ROWS = [
    tkw.WorkgroupConstraint(M, 128, 0),
    tkw.WaveConstraint(M, 64),
    tkw.HardwareConstraint(),
]
TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
PRESETS = tuple(Session().plugins.presets)
Floats = tkl.Memory[M, GLOBAL, tkl.f32]
Locks = tkl.Memory[LOCKS, GLOBAL, tkl.i32]
i = tkw.IndexMapping.iterator(0)
my_lock = tkw.IndexMapping(1, inputs={ONE: i}, outputs={LOCKS: ME})
next_lock = tkw.IndexMapping(1, inputs={LOCKS: ME + 1}, outputs={ONE: i})
next_rows = tkw.IndexMapping(1, inputs={M: i + 128}, outputs={M: i})


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def wait_for(locks, mapping):
    """Go around until a lock is not 0."""

    @tkw.iterate(condition=tkw.GET_ITER_ARG(0) < 1, init_args=[tkw.scalar(0, tkl.i32)])
    def wait(_):
        tkw.set_symbol(SEEN, tkw.read(locks, mapping=mapping, flags=VOLATILE))
        return tkw.scalar(SEEN, tkl.i32)


def handing_on(without=None, atomic=False):
    """Each workgroup adds what the next one had added: the last one starts."""

    @tkw.wave(ROWS)
    def kernel(a: Floats, sums: Floats, locks: Locks):
        value = tkw.read(a)

        @tkw.conditional(ME < LAST, else_return=value)
        def added():
            wait_for(locks, next_lock)
            if without != "acquire":
                tkw.fence("acquire")
            return value + tkw.read(sums, mapping=next_rows)

        tkw.write(added, sums)
        one = tkl.Register[ONE, tkl.i32](1)
        if atomic:
            tkw.atomic_xchg(one, locks, mapping=my_lock, order="release")
        else:
            if without != "release":
                tkw.fence("release")
            tkw.write(one, locks, mapping=my_lock, flags=VOLATILE)

    return kernel


def run(session, kernel, groups=3, **options):
    sizes = {M: 128 * groups, LOCKS: groups, ONE: 1, LAST: groups - 1}
    given = tkl.WaveCompileOptions(subs=sizes, **options)
    compiled = wave_compile(given, kernel, session=session)
    a = np.random.default_rng(groups).integers(-9, 9, 128 * groups).astype(np.float32)
    sums = np.full_like(a, np.nan)
    compiled(a, sums, np.zeros(groups, np.int32))
    expected = a.reshape(groups, 128)[::-1].cumsum(axis=0)[::-1].reshape(-1)
    np.testing.assert_array_equal(sums, expected)
    assert compiled.last_run.reports == ()
    return compiled


@pytest.mark.covering(1)
@pytest.mark.parametrize("buffers", [False, True], ids=["pointers", "buffers"])
@pytest.mark.parametrize("atomic", [False, True], ids=["volatile", "atomic"])
@pytest.mark.parametrize("target", TARGETS)
def test_each_chip_hands_over(session, target, atomic, buffers):
    options = {"target": target, "device": "emulator", "use_buffer_ops": buffers}
    run(session, handing_on(atomic=atomic), **options)


@pytest.mark.covering(1)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("device", ["sim", "emulator"])
def test_passes_leave_the_order(session, device, preset):
    run(session, handing_on(), device=device, target="gfx942", preset=preset)


@pytest.mark.parametrize("preset", PRESETS)
def test_no_access_is_shared_or_merged_across_a_fence(session, preset):
    """What is read twice may differ, and what is written side by side is seen apart."""
    N = sym.N
    low, high = (
        tkw.IndexMapping(1, inputs={M: i}, outputs={N: 2 * i + k}) for k in (0, 1)
    )

    @tkw.wave(ROWS)
    def kernel(data: tkl.Memory[N, GLOBAL, tkl.f32], c: Floats):
        even = tkw.IndexMapping(1, inputs={N: 2 * i}, outputs={M: i})
        first = tkw.read(data, mapping=even)
        tkw.fence()
        second = tkw.read(data, mapping=even)
        tkw.write(first + second, c)
        tkw.write(first, data, mapping=low)
        tkw.fence("release")
        tkw.write(second, data, mapping=high)

    sizes = {M: 256, N: 512}
    options = {"target": "gfx942", "device": "sim", "preset": preset}
    given = tkl.WaveCompileOptions(subs=sizes, **options)
    compiled = wave_compile(given, kernel, session=session)
    kinds = ("read", "write", "fence")
    names = [op.op_name for op in compiled.compiled.lowered.walk()]
    found = [name for name in names if name in kinds]
    assert found == ["read", "fence", "read", "write", "write", "fence", "write"]
    data = np.arange(512, dtype=np.float32)
    c = np.full(256, np.nan, np.float32)
    compiled(data.copy(), c)
    np.testing.assert_array_equal(c, 2 * data[::2])


@pytest.mark.covering(1)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("missing", ["release", "acquire"])
def test_machine_code_without_a_fence_races(session, missing, target):
    """The numbers may be right; on a GPU they need not be."""
    with pytest.raises(UserError) as caught:
        run(session, handing_on(missing), target=target, device="emulator")
    codes = {row.code for row in caught.value.diagnostics}
    assert codes == {"WV0901"}
    assert "tkw.read(sums, mapping=next_rows)" in str(caught.value)


INSTRUCTIONS = {
    # What the machine's memory model asks for, at the scope of the device.
    "gfx90a": (("s_waitcnt vmcnt(0)",), ("buffer_wbinvl1_vol",)),
    "gfx942": (("buffer_wbl2 sc1", "s_waitcnt vmcnt(0)"), ("buffer_inv sc1",)),
    "gfx950": (("buffer_wbl2 sc1", "s_waitcnt vmcnt(0)"), ("buffer_inv sc1",)),
    "gfx1100": (
        ("s_waitcnt_vscnt null, 0x0",),
        ("buffer_gl1_inv", "buffer_gl0_inv"),
    ),
    "gfx1201": (("s_wait_storecnt 0x0",), ("global_inv scope:SCOPE_DEV",)),
}
"""By chip: how a fence releases, and how it acquires."""


@pytest.mark.parametrize("target", TARGETS)
def test_instructions_of_fences(session, target):
    compiled = run(session, handing_on(), target=target, device="emulator")
    text = " ".join(compiled.asm.split())
    for wanted in INSTRUCTIONS[target]:
        assert " ".join(wanted) in text


def never():
    """Each waits for the next one before it writes its own lock, the last one for 0."""

    @tkw.wave(ROWS)
    def kernel(a: Floats, sums: Floats, locks: Locks):
        tkw.write(tkw.read(a), sums)
        around = tkw.IndexMapping(
            1, inputs={LOCKS: (ME + 1) % (LAST + 1)}, outputs={ONE: i}
        )
        wait_for(locks, around)
        tkw.fence()
        one = tkl.Register[ONE, tkl.i32](1)
        tkw.write(one, locks, mapping=my_lock, flags=VOLATILE)

    return kernel


@pytest.mark.parametrize("target", ["gfx942", "gfx1201"])
def test_machine_code_that_waits_for_ever(session, target):
    with pytest.raises(SimulationError) as caught:
        run(session, never(), target=target, device="emulator")
    (found,) = caught.value.diagnostics
    assert found.code == "WV0916"
    assert "workgroups 0, 1, 2 wait for what nobody writes" in found.message
    assert found.primary.location.file.endswith("test_waiting_workgroups.py")
    assert found.help[0].startswith("let each lock be written before")


@pytest.mark.parametrize("device", ["sim-logical", "sim", "emulator"])
def test_threads_take_a_lock_in_turn(session, device):
    """One thread of each workgroup adds to a number that a lock guards."""
    N = sym.N
    number = tkl.Memory[N, GLOBAL, tkl.i32]

    @tkw.thread([tkw.HardwareConstraint(), tkw.GridConstraint(sym.GROUPS)])
    def kernel(lock: number, total: number):
        zero, one = tkw.scalar(0, tkl.i32), tkw.scalar(1, tkl.i32)

        @tkw.conditional(tkw.thread_id(0) < one)
        def first():
            @tkw.iterate(init_args=[one], condition=lambda taken: taken > 0)
            def taken(_):
                return tkw.atomic_cas(one, lock, zero, at=0)

            tkw.fence("acquire")
            tkw.store(tkw.load(total, 0) + one, total, 0)
            tkw.atomic_xchg(zero, lock, at=0, order="release")

    options = tkl.WaveCompileOptions(
        subs={N: 1, sym.GROUPS: 5}, device=device, target="gfx942"
    )
    compiled = wave_compile(options, kernel, session=session)
    total = np.full(1, 10, np.int32)
    compiled(np.zeros(1, np.int32), total)
    assert total[0] == 15
    assert compiled.last_run.reports == ()


@pytest.mark.parametrize("more", [0, 1])
def test_more_workgroups_than_a_chip_holds(session, more):
    """304 compute units with 4 SIMDs of 8 waves; a workgroup has two waves."""
    groups = 304 * 4 * 8 // 2 + more
    sizes = {M: 128 * groups, LOCKS: groups, ONE: 1, LAST: groups - 1}
    options = tkl.WaveCompileOptions(subs=sizes, device="sim", target="gfx942")
    warnings = wave_compile(options, handing_on(), session=session).warnings
    assert [row.code for row in warnings] == ["WV0344"] * more
    for row in warnings:
        assert row.message == (
            "4865 workgroups look at what others write, and `gfx942` holds at most "
            "4864 at once"
        )
        assert row.primary.message == "may wait for one that cannot start"

"""Workgroups that wait for one another: both simulators let whoever can go on."""

from __future__ import annotations

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.diagnostics import SimulationError, UserError
from wave_core.ir import erase
from wave_core.ops.sync import WorkgroupBarrier
from wave_core.targets import generic128_target
from wave_sim_cpu.lanes import execute
from wave_sim_cpu.memory import Buffer
from wave_sim_cpu.together import _Watch

sym = tkl.sym
M, LOCKS, ONE, LAST = sym.M, sym.LOCKS, sym.ONE, sym.LAST
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
FLAGS = tkw.MemoryAccessFlags
ME = tkw.WORKGROUP_0
ROWS = [
    tkw.WorkgroupConstraint(M, 128, 0),
    tkw.WaveConstraint(M, 64),
    tkw.HardwareConstraint(threads_per_wave=64),
]
Floats = tkl.Memory[M, GLOBAL, tkl.f32]
Locks = tkl.Memory[LOCKS, GLOBAL, tkl.i32]
BOTH = pytest.mark.parametrize("device", ["sim-logical", "sim"])
i = tkw.IndexMapping.iterator(0)


def lock_of(group):
    return tkw.IndexMapping(1, inputs={LOCKS: group}, outputs={ONE: i})


def set_lock(group, value=1, flags=FLAGS.VOLATILE):
    mapping = tkw.IndexMapping(1, inputs={ONE: i}, outputs={LOCKS: group})
    register = tkl.Register[ONE, tkl.i32](value)
    tkw.write(register, locks_of_kernel[-1], mapping=mapping, flags=flags)


def wait_for(group):
    """Go around until the lock of a workgroup is not 0."""
    locks = locks_of_kernel[-1]

    @tkw.iterate(condition=tkw.GET_ITER_ARG(0) < 1, init_args=[tkw.scalar(0, tkl.i32)])
    def wait(_):
        seen = tkw.read(locks, mapping=lock_of(group), flags=FLAGS.VOLATILE)
        tkw.set_symbol(sym.SEEN, seen)
        return tkw.scalar(sym.SEEN, tkl.i32)


locks_of_kernel = []
"""The locks of the kernel that is traced."""


def compiled(kernel, device, groups):
    sizes = {M: 128 * groups, LOCKS: groups, ONE: 1, LAST: groups - 1}
    options = tkw.WaveCompileOptions(subs=sizes, device=device)
    return tkw.wave_compile(options, kernel)


def sums_of_neighbours(
    step, *, release=True, acquire=True, flags=FLAGS.VOLATILE, rows=ROWS
):
    """Each workgroup adds to its rows those of a neighbour, which hands them over."""

    @tkw.wave(rows)
    def kernel(a: Floats, handed: Floats, locks: Locks, c: Floats):
        locks_of_kernel.append(locks)
        other = ME + step
        theirs = tkw.IndexMapping(1, inputs={M: i + 128 * step}, outputs={M: i})
        value = tkw.read(a)
        tkw.write(value, handed)
        if release:
            tkw.fence("release")
        set_lock(ME, flags=flags)

        @tkw.conditional(ME < LAST if step > 0 else ME > 0, else_return=value)
        def rest():
            wait_for(other)
            if acquire:
                tkw.fence("acquire")
            return value + tkw.read(handed, mapping=theirs)

        tkw.write(rest, c)

    return kernel


def run_sums(device, step, groups=5, **options):
    a = np.random.default_rng(groups).standard_normal(128 * groups).astype(np.float32)
    handed, c = np.full_like(a, np.nan), np.full_like(a, np.nan)
    locks = np.zeros(groups, np.int32)
    kernel = compiled(sums_of_neighbours(step, **options), device, groups)
    kernel(a, handed, locks, c)
    expected = a.copy()
    rest = slice(None, -128) if step > 0 else slice(128, None)
    expected[rest] += a[128:] if step > 0 else a[:-128]
    np.testing.assert_array_equal(c, expected)
    return kernel.last_run


@pytest.mark.parametrize("groups", [1, 5])
@pytest.mark.parametrize("step", [-1, 1])
@BOTH
def test_neighbours_hand_over(device, step, groups):
    """The one waited for runs earlier, or later."""
    assert run_sums(device, step, groups).reports == ()


@pytest.mark.parametrize("missing", ["release", "acquire"])
@pytest.mark.parametrize("step", [-1, 1])
def test_what_is_handed_over_without_a_fence_races(step, missing):
    with pytest.raises(UserError) as caught:
        run_sums("sim", step, **{missing: False})
    (found,) = caught.value.diagnostics
    assert found.code == "WV0901"
    assert "`handed`" in found.message
    line = "tkw.read(handed, mapping=theirs)"
    text = str(caught.value)
    assert line in text
    assert "tkw.write(value, handed)" in text
    assert '`fence` with "release" before it is written' in text


def test_a_lock_that_is_written_plainly_races():
    with pytest.raises(UserError) as caught:
        run_sums("sim", -1, flags=FLAGS.NONE)
    assert "`locks`" in caught.value.diagnostics[0].message
    (label,) = caught.value.diagnostics[0].secondary
    assert label.message == "wave 0 of workgroup (0,) writes it here"


def never(first):
    """Workgroup 0 waits for 1, which waits for ``first``; 2 waits for nobody."""

    @tkw.wave(ROWS)
    def kernel(a: Floats, locks: Locks):
        locks_of_kernel.append(locks)

        @tkw.conditional(ME < 2)
        def waiting():
            wait_for(1 - ME if first == 0 else ME + 1)

        tkw.fence()
        set_lock(ME if first == 0 else 0)
        tkw.write(tkl.Register[M, tkl.f32](1.0), a)

    return kernel


WIDE = [
    tkw.WorkgroupConstraint(M, 128, 0),
    tkw.HardwareConstraint(threads_per_wave=128),
]
"""One wave of 128 lanes, 32 of which run in step."""


def reported_of_wide_waves(without=None):
    """What the hand-over reports, without the barrier at a place among all."""
    groups, target = 5, generic128_target()
    sizes = {M: 128 * groups, LOCKS: groups, ONE: 1, LAST: groups - 1}
    options = tkw.WaveCompileOptions(subs=sizes, target=target.name, device="sim")
    kernel = sums_of_neighbours(1, rows=WIDE)
    graph = tkw.wave_compile(options, kernel).graph
    meetings = [op for op in graph.walk() if isinstance(op, WorkgroupBarrier)]
    if without is not None:
        erase(meetings[without])
    arrays = {name: np.ones(128 * groups, np.float32) for name in ("a", "handed", "c")}
    arrays["locks"] = np.zeros(groups, np.int32)
    reports = execute.run(graph, arrays, {}, target).reports
    return len(meetings), [row.code for row in reports]


def test_lanes_that_do_not_run_in_step_hand_over_together():
    """One lane writes the lock for all, which it must meet; all read it themselves."""
    assert reported_of_wide_waves() == (2, [])
    assert reported_of_wide_waves(without=0) == (2, ["WV0901"])
    assert reported_of_wide_waves(without=1) == (2, [])


@BOTH
def test_a_circle_of_waiting_workgroups(device):
    """Each waits before it writes its own lock: the rendering."""
    kernel = compiled(never(0), device, 3)
    with pytest.raises(SimulationError) as caught:
        kernel(np.zeros(384, np.float32), np.zeros(3, np.int32))
    text = str(caught.value)
    assert text.startswith(
        "error[WV0916]: a while loop waits for what nobody writes any more\n"
    )
    assert "test_waiting.py" in text
    assert "@tkw.iterate(" in text
    assert text.endswith(
        "= note: 2 of 3 workgroups wait: (0,), (1,)\n"
        "   = note: the others have ended\n"
        "   = help: let each lock be written before its writer waits itself, or ends\n"
        "   = help: give the launch a lock that holds zeros"
    )


@BOTH
def test_a_lock_that_nobody_writes(device):
    kernel = compiled(never(1), device, 3)
    with pytest.raises(SimulationError, match="WV0916"):
        kernel(np.zeros(384, np.float32), np.zeros(3, np.int32))
    # A lock that is set before the launch ends the wait of who reads it.
    kernel(np.zeros(384, np.float32), np.array([0, 1, 1], np.int32))


@BOTH
def test_a_loop_that_counts_is_not_stuck(device):
    """Nobody writes the lock, but the loop gives up by itself."""

    @tkw.wave(ROWS)
    def kernel(locks: Locks, tries: Floats):
        @tkw.iterate(sym.TRIES, start=0, condition=sym.TRIES < 9)
        def wait():
            tkw.set_symbol(sym.TRIES, sym.TRIES + 1)
            tkw.read(locks, mapping=lock_of(0), flags=FLAGS.VOLATILE)

        tkw.write(tkl.Register[M, tkl.f32](9.0), tries)

    sizes = {M: 256, LOCKS: 1, ONE: 1}
    options = tkw.WaveCompileOptions(subs=sizes, device=device)
    tries = np.zeros(256, np.float32)
    tkw.wave_compile(options, kernel)(np.zeros(1, np.int32), tries)
    assert (tries == 9).all()


@BOTH
def test_one_loop_may_be_entered_often_with_nothing_new(device):
    """A counted loop around the wait: each wait ends at once, as nothing changed."""

    @tkw.wave([*ROWS, tkw.TilingConstraint(sym.N, 1)])
    def kernel(locks: Locks, n: tkl.Memory[sym.N, GLOBAL, tkl.i32], a: Floats):
        locks_of_kernel.append(locks)

        @tkw.iterate(sym.N, init_args=[tkl.Register[M, tkl.f32](0.0)])
        def count(total):
            wait_for(0)
            return total + tkl.Register[M, tkl.f32](1.0)

        tkw.write(count, a)

    sizes = {M: 256, LOCKS: 1, ONE: 1, sym.N: 6}
    options = tkw.WaveCompileOptions(subs=sizes, device=device)
    a = np.zeros(256, np.float32)
    kernel = tkw.wave_compile(options, kernel)
    kernel(np.ones(1, np.int32), np.zeros(6, np.int32), a)
    assert (a == 6).all()


def last_one_adds(order):
    """Who comes last, by an atomic counter, adds up what all left: nobody waits."""
    N = sym.N
    first = tkw.IndexMapping(1, inputs={ONE: i}, outputs={LOCKS: 0})
    row = i - 64 * ME
    part = tkw.IndexMapping(1, inputs={M: 64 * N + row}, outputs={M: i})
    to_c = tkw.IndexMapping(1, inputs={M: i}, outputs={sym.C: row})

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 64, 0),
            tkw.HardwareConstraint(threads_per_wave=64),
        ]
    )
    def kernel(
        a: Floats, parts: Floats, locks: Locks, c: tkl.Memory[sym.C, GLOBAL, tkl.f32]
    ):
        tkw.write(tkw.read(a) * tkl.Register[M, tkl.f32](2.0), parts)
        one = tkl.Register[ONE, tkl.i32](1)
        tkw.set_symbol(
            sym.BEFORE, tkw.atomic_add(one, locks, mapping=first, order=order)
        )

        @tkw.conditional(sym.BEFORE > sym.GROUPS - 2)
        def last():
            @tkw.iterate(
                N,
                start=0,
                condition=N < sym.GROUPS,
                init_args=[tkl.Register[M, tkl.f32](0.0)],
            )
            def total(acc):
                value = tkw.read(parts, mapping=part)
                tkw.set_symbol(N, N + 1)
                return acc + value

            tkw.write(total, c, mapping=to_c)

    return kernel


@pytest.mark.parametrize("order", ["acq_rel", "relaxed", "release", "acquire"])
@BOTH
def test_orders_of_atomics(device, order):
    groups = 4
    sizes = {M: 64 * groups, LOCKS: 1, ONE: 1, sym.GROUPS: groups, sym.C: 64}
    options = tkw.WaveCompileOptions(subs=sizes, device=device)
    kernel = tkw.wave_compile(options, last_one_adds(order))
    a = np.random.default_rng(0).integers(-9, 9, 64 * groups).astype(np.float32)
    c = np.full(64, np.nan, np.float32)
    arguments = a, np.full_like(a, np.nan), np.zeros(1, np.int32), c
    if device == "sim" and order != "acq_rel":
        with pytest.raises(UserError, match="WV0901"):
            kernel(*arguments)
        return
    kernel(*arguments)
    np.testing.assert_array_equal(c, 2 * a.reshape(groups, 64).sum(axis=0))


@pytest.fixture
def buffers():
    cells = (np.zeros(4, np.float32) for _ in range(2))
    return [Buffer("x", tkl.f32, (4,), (1,), each) for each in cells]


def write(buffer, value):
    buffer.cells[:] = value
    buffer.writes += 1


def test_a_change_is_seen_once(buffers):
    watch = _Watch(buffers)
    assert not watch.changed()
    write(buffers[1], 1.0)
    assert watch.changed()
    assert not watch.changed()


def test_what_is_written_again_is_no_change(buffers):
    watch = _Watch(buffers)
    write(buffers[0], 2.0)
    assert watch.changed()
    write(buffers[0], 2.0)
    assert not watch.changed()


def test_what_changes_back_after_nobody_looked_is_a_change(buffers):
    """Who read it in between waits for what is there again."""
    watch = _Watch(buffers)
    write(buffers[0], 1.0)
    assert watch.changed()
    write(buffers[0], 2.0)
    watch.look_away()
    assert not watch.changed()
    write(buffers[0], 1.0)
    assert watch.changed()

"""Copies to LDS: what they move, and who may touch it when."""

from __future__ import annotations

import numpy as np
import pytest
from lowered import WV, Kernel, L, M, R

from wave_core.diagnostics import InternalError
from wave_core.ir.facts import ACCESS, LANDING, Access
from wave_core.ops.constant import Splat
from wave_core.ops.memory import GatherToLDS
from wave_core.ops.sync import (
    MemoryCounterWait,
    SharedMemoryBarrier,
    SharedMemoryBarrierSignal,
    SharedMemoryBarrierWait,
    WorkgroupBarrier,
)
from wave_core.symbols import as_expr, lt
from wave_core.targets import generic_target
from wave_core.types import DTYPES
from wave_sim_cpu import lanes

F32 = DTYPES["f32"]
THREAD = WV * 64 + L
OTHER = (WV * 64 + L + 64) % 128

LANDED = (SharedMemoryBarrier, {"wait_async_ops": True})
BARRIER = (SharedMemoryBarrier, {})
WAIT = (MemoryCounterWait, {"load": 0})
MEET = (WorkgroupBarrier, {})
SIGNAL = (SharedMemoryBarrierSignal, {"tensor_wait": True})
EARLY_SIGNAL = (SharedMemoryBarrierSignal, {})
MET = (SharedMemoryBarrierWait, {})

FOR_OTHERS = [
    ((), False),
    ((BARRIER,), False),
    ((WAIT,), False),
    ((BARRIER, WAIT), False),
    ((EARLY_SIGNAL, WAIT, MET), False),
    ((LANDED,), True),
    ((WAIT, BARRIER), True),
    ((WAIT, MEET), True),
    ((WAIT, EARLY_SIGNAL, MET), True),
    ((SIGNAL, MET), True),
]
"""What stands between a copy and a read by the other wave, and whether that does."""


BETWEEN = pytest.mark.parametrize(
    ("between", "enough"), [((BARRIER,), False), ((LANDED,), True)]
)


def gather(kernel, source, target, at, place, registers=1, mask=None, present=None):
    op = kernel.add(GatherToLDS(source, target))
    facts = kernel.graph.facts
    facts.put(ACCESS, op, Access((as_expr(at),), registers, mask))
    facts.put(LANDING, op, Access((as_expr(place),), registers, present))
    return op


def wait(kernel, *ops):
    for cls, fields in ops:
        kernel.add(cls(**fields))


class Copying:
    """A kernel of two waves that copies ``a`` to LDS, 128 elements."""

    def __init__(self, waves=2):
        self.kernel = Kernel(waves, M=128)
        self.a = self.kernel.parameter("a", (M,), F32)
        self.out = self.kernel.parameter("out", (M,), F32)
        self.lds = self.kernel.lds((128,), F32)

    def copy(self, **more):
        gather(self.kernel, self.a, self.lds, THREAD, THREAD, **more)

    def read(self, at):
        value = self.kernel.read(self.lds, (at,))
        self.kernel.write(value, self.out, (THREAD,))

    def run(self):
        self.given = np.arange(128, dtype=np.float32)
        self.got = np.full(128, -1, np.float32)
        arrays = {"a": self.given, "out": self.got}
        return lanes.run(self.kernel.finish(), arrays, {}, generic_target())


def codes(result):
    return {report.code for report in result.reports}


@pytest.mark.parametrize(("between", "enough"), FOR_OTHERS)
def test_another_wave_sees_a_copy_after_wait_and_barrier(between, enough):
    program = Copying()
    program.copy()
    wait(program.kernel, *between)
    program.read(OTHER)
    assert codes(program.run()) == (set() if enough else {"WV0901"})
    assert (program.got == np.roll(program.given, 64)).all()


@pytest.mark.parametrize("between", [(), (BARRIER,), (WAIT,)])
def test_the_own_wave_has_to_wait(between):
    program = Copying(waves=1)
    program.copy()
    wait(program.kernel, *between)
    program.read(THREAD)
    assert codes(program.run()) == (set() if WAIT in between else {"WV0901"})


@pytest.mark.parametrize(("left", "enough"), [(0, True), (1, True), (2, False)])
def test_waits_count_the_copies_that_follow(left, enough):
    program = Copying(waves=1)
    program.copy()
    other = program.kernel.lds((64,), F32)
    gather(program.kernel, program.a, other, THREAD, THREAD)
    wait(program.kernel, (MemoryCounterWait, {"load": left}))
    program.read(THREAD)
    assert codes(program.run()) == (set() if enough else {"WV0901"})


def leaving(groups):
    return (SharedMemoryBarrier, {"wait_async_ops": True, "groups_left": groups})


GROUPS = [
    ((leaving(0),), True),
    ((leaving(1),), False),
    ((BARRIER, leaving(1)), True),
    ((BARRIER, leaving(2)), False),
    ((WAIT, leaving(2)), True),
    ((BARRIER, BARRIER, leaving(2)), True),
    ((BARRIER,) * 8 + (leaving(9),), True),
]
"""What stands between a copy and a read by the other wave, and whether that does."""


@pytest.mark.parametrize(("between", "enough"), GROUPS)
def test_barriers_leave_the_latest_groups_of_copies(between, enough):
    program = Copying()
    program.copy()
    wait(program.kernel, *between)
    program.read(OTHER)
    assert codes(program.run()) == (set() if enough else {"WV0901"})
    assert (program.got == np.roll(program.given, 64)).all()


@pytest.mark.parametrize("left", [0, 1, 2])
def test_a_group_that_is_left_may_not_be_read(left):
    program = Copying()
    other = program.kernel.lds((128,), F32)
    wait(program.kernel, BARRIER)
    program.copy()
    wait(program.kernel, BARRIER)
    gather(program.kernel, program.a, other, THREAD, THREAD)
    wait(program.kernel, leaving(left))
    program.read(OTHER)
    value = program.kernel.read(other, (OTHER,))
    program.kernel.write(value, program.out, (THREAD,))
    assert codes(program.run()) == ({"WV0901"} if left else set())


@pytest.mark.parametrize(
    ("between", "enough"), [((BARRIER,), False), ((LANDED,), True)]
)
def test_the_source_stays_untouched_until_the_copy_lands(between, enough):
    program = Copying()
    program.copy()
    wait(program.kernel, *between)
    one = program.kernel.add(Splat((M,), F32, 1.0))
    program.kernel.write(one, program.a, (OTHER,))
    assert codes(program.run()) == (set() if enough else {"WV0901"})


@pytest.mark.parametrize(
    ("between", "enough"), [((BARRIER,), False), ((LANDED,), True)]
)
def test_nothing_else_writes_where_a_copy_lands(between, enough):
    program = Copying()
    program.copy()
    wait(program.kernel, *between)
    program.copy()
    assert codes(program.run()) == (set() if enough else {"WV0901"})


def test_a_copy_waits_for_reads_of_other_waves():
    program = Copying()
    program.copy()
    wait(program.kernel, LANDED)
    program.read(OTHER)
    program.copy()
    assert codes(program.run()) == {"WV0901"}


def test_elements_that_do_not_exist_are_zeros_or_left_out():
    program = Copying()
    program.copy(mask=lt(THREAD, as_expr(100)), present=lt(THREAD, as_expr(120)))
    wait(program.kernel, LANDED)
    value = program.kernel.read(program.lds, (THREAD,), mask=lt(THREAD, as_expr(120)))
    program.kernel.write(value, program.out, (THREAD,))
    assert program.run().reports == ()
    wanted = np.where(np.arange(128) < 100, np.arange(128), 0)
    assert (program.got == wanted).all()


def test_what_is_left_out_stays_undefined():
    program = Copying()
    program.copy(present=lt(THREAD, as_expr(120)))
    wait(program.kernel, LANDED)
    program.read(THREAD)
    assert codes(program.run()) == {"WV0905"}


def test_lanes_choose_what_they_read_and_not_where_it_lands():
    program = Copying()
    gather(program.kernel, program.a, program.lds, 127 - THREAD, THREAD)
    wait(program.kernel, LANDED)
    program.read(THREAD)
    assert program.run().ok
    assert (program.got == program.given[::-1]).all()
    scattered = Copying()
    gather(scattered.kernel, scattered.a, scattered.lds, THREAD, 127 - THREAD)
    with pytest.raises(InternalError, match="side by side"):
        scattered.run()


def test_copies_are_counted_with_their_width():
    kernel = Kernel(1, M=256)
    a, out = (kernel.parameter(name, (M,), F32) for name in ("a", "out"))
    lds = kernel.lds((256,), F32)
    gather(kernel, a, lds, 4 * L + R, 4 * L + R, registers=4)
    wait(kernel, WAIT)
    kernel.write(kernel.read(lds, (4 * L + R,), 4), out, (4 * L + R,), 4)
    given, got = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    arrays = {"a": given, "out": got}
    result = lanes.run(kernel.finish(), arrays, {}, generic_target())
    assert (got == given).all()
    assert result.counters.instructions["global_to_lds.b128"] == 1
    assert result.counters.cache_lines["global_to_lds"] == 8
    assert result.counters.bytes_moved["global_to_lds"] == 1024

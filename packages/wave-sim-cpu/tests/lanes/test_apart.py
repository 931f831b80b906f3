"""Waves that run barriers apart: counted as hardware counts them."""

from __future__ import annotations

import numpy as np
import pytest
from lowered import WV, Kernel, L, M, flat

from wave_core.ops.base import Op
from wave_core.ops.constant import Splat
from wave_core.ops.control import Conditional
from wave_core.ops.structure import Yield
from wave_core.ops.sync import MemoryCounterWait, SharedMemoryBarrier, WorkgroupBarrier
from wave_core.symbols import eq
from wave_core.targets import generic_target
from wave_core.types import DTYPES
from wave_sim_cpu import lanes

I32 = DTYPES["i32"]
SEGMENTS = 5
LOW, HIGH = 0, 1


def barrier_of(kernel: Kernel, wave: int) -> None:
    region = kernel.graph.region()
    for op in (SharedMemoryBarrier(), Yield(())):
        region.append(op)
    kernel.add(Conditional(None, (), (), expr=eq(WV, wave), body=region))


def meet(kernel: Kernel, *, bare: bool) -> None:
    if not bare:
        kernel.add(SharedMemoryBarrier())
        return
    kernel.add(MemoryCounterWait(ds=0))
    kernel.add(WorkgroupBarrier())


def apart(
    writer: tuple[int, int],
    reader: tuple[int, int],
    *,
    bare: bool = False,
    balanced: bool = True,
) -> list[str]:
    """Codes of a program of two waves that are a barrier apart.

    One wave writes LDS in a segment, one reads it in a segment: (wave, segment).
    """
    kernel = Kernel(waves=2, M=128)
    target = kernel.parameter("b", (M,), I32)
    buffer = kernel.lds((64,), I32)
    one = kernel.add(Splat((M,), I32, 1), flat(1))
    barrier_of(kernel, HIGH)
    got: Op = one
    for segment in range(SEGMENTS):
        if segment == writer[1]:
            kernel.write(one, buffer, (L,), mask=eq(WV, writer[0]))
        if segment == reader[1]:
            got = kernel.read(buffer, (L,), mask=eq(WV, reader[0]))
        meet(kernel, bare=bare)
    if balanced:
        barrier_of(kernel, LOW)
    kernel.write(got, target, (L,), mask=eq(WV, reader[0]))
    b = np.zeros(128, np.int32)
    result = lanes.run(kernel.finish(), {"b": b}, {}, generic_target(), None)
    assert b[:64].all()
    return [report.code for report in result.reports]


@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("distance", [1, 2, 3])
def test_what_the_wave_ahead_wrote_is_there_a_barrier_later(distance, bare):
    assert apart((LOW, 1), (HIGH, 1 + distance), bare=bare) == []


@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("distance", [1, 2, 3])
def test_what_the_wave_behind_wrote_is_there_two_barriers_later(distance, bare):
    races = ["WV0901"] if distance == 1 else []
    assert apart((HIGH, 1), (LOW, 1 + distance), bare=bare) == races


def test_waves_that_stay_apart_wait_for_ever():
    assert apart((LOW, 1), (HIGH, 4), balanced=False) == ["WV0902"]

"""Reads, writes and their checks, on hand-built lowered graphs."""

from __future__ import annotations

import numpy as np
import pytest
from lowered import WG, WV, Kernel, L, M, R

from wave_core.ops.sync import SharedMemoryBarrier
from wave_core.symbols import lt
from wave_core.targets import generic_target
from wave_core.types import DTYPES
from wave_sim_cpu import SimulationOptions, SimulationResult, lanes

F16, F32, I32 = DTYPES["f16"], DTYPES["f32"], DTYPES["i32"]


def simulate(
    kernel: Kernel, options: SimulationOptions | None = None, **arguments: np.ndarray
) -> SimulationResult:
    return lanes.run(kernel.finish(), arguments, {}, generic_target(), options)


def codes(result: SimulationResult) -> list[str]:
    return [report.code for report in result.reports]


def copy_kernel(size: int, shift: int = 0, masked: bool = True) -> Kernel:
    kernel = Kernel(waves=2, groups=3, M=size)
    source = kernel.parameter("a", (M,), F16)
    target = kernel.parameter("b", (M,), F16)
    index = WG * 512 + WV * 256 + L * 4 + R
    mask = lt(index, M) if masked else None
    value = kernel.read(source, (index + shift,), 4, mask=mask)
    kernel.write(value, target, (index,), 4, mask=mask)
    return kernel


@pytest.mark.parametrize("size", [1, 7, 1000, 1536])
def test_copy_is_bit_equal(size: int) -> None:
    a = np.random.default_rng(0).standard_normal(size).astype(np.float16)
    b = np.full(size, np.nan, np.float16)
    result = simulate(copy_kernel(size), a=a, b=b)
    assert result.reports == ()
    np.testing.assert_array_equal(a, b)


def test_strided_arguments_are_not_copied() -> None:
    a = np.arange(3072, dtype=np.float16)[::-2]
    whole = np.zeros((1536, 3), np.float16)
    assert simulate(copy_kernel(1536), a=a, b=whole[::-1, 1]).ok
    np.testing.assert_array_equal(whole[::-1, 1], a)
    assert not whole[:, [0, 2]].any()


def test_unmasked_access_is_out_of_bounds() -> None:
    a = np.ones(1000, np.float16)
    result = simulate(copy_kernel(1000, masked=False), a=a, b=np.zeros_like(a))
    assert codes(result) == ["WV0903", "WV0903"]
    assert "`a` of shape [1000] (f16)" in result.reports[0].message
    assert "[1000]" in result.reports[0].message
    assert "workgroup (1,), wave 1" in result.reports[0].notes[0]


def test_shifted_access_is_out_of_bounds() -> None:
    a = np.ones(1000, np.float16)
    result = simulate(copy_kernel(1000, shift=1), a=a, b=np.zeros_like(a))
    assert codes(result) == ["WV0903"]


def exchange_kernel(barriers: int = 2, turns: int = 1) -> Kernel:
    """Each wave hands its elements to the other wave through LDS."""
    kernel = Kernel(waves=2, groups=2, M=256)
    source = kernel.parameter("a", (M,), F32)
    target = kernel.parameter("b", (M,), F32)
    buffer = kernel.lds((128,), F32)
    for turn in range(turns):
        value = kernel.read(source, (WG * 128 + WV * 64 + L,))
        kernel.write(value, buffer, (WV * 64 + L,))
        if barriers > 0:
            kernel.add(SharedMemoryBarrier())
        other = kernel.read(buffer, (WV * -64 + 64 + L,))
        if turn + 1 < turns and barriers > 1:
            kernel.add(SharedMemoryBarrier())
        kernel.write(other, target, (WG * 128 + WV * 64 + L,))
    return kernel


def run_exchange(kernel: Kernel) -> SimulationResult:
    a = np.arange(256, dtype=np.float32)
    b = np.full(256, np.nan, np.float32)
    result = simulate(kernel, a=a, b=b)
    np.testing.assert_array_equal(b.reshape(2, 2, 64), a.reshape(2, 2, 64)[:, ::-1])
    return result


def test_exchange_with_barriers_is_clean() -> None:
    result = run_exchange(exchange_kernel(turns=3))
    assert result.reports == ()
    assert result.counters.instructions["barrier"] == 20
    assert result.counters.instructions["lds_read.b32"] == 12


def test_missing_barrier_is_a_race() -> None:
    result = run_exchange(exchange_kernel(barriers=0))
    assert codes(result) == ["WV0901"]
    race = result.reports[0]
    assert "LDS" in race.message
    assert race.primary is not None
    assert race.secondary[0].location.line < race.primary.location.line


def test_missing_barrier_between_turns_is_a_race() -> None:
    result = run_exchange(exchange_kernel(barriers=1, turns=2))
    assert "WV0901" in codes(result)
    assert "reads" in result.reports[0].secondary[0].message


def test_unwritten_lds_is_poison() -> None:
    kernel = Kernel(M=64)
    target = kernel.parameter("b", (M,), F32)
    buffer = kernel.lds((64,), F32)
    kernel.write(kernel.read(buffer, (L,)), target, (L,))
    result = simulate(kernel, b=np.zeros(64, np.float32))
    assert codes(result) == ["WV0905"]
    assert "`b`" in result.reports[0].message


def test_masked_poison_does_not_alarm() -> None:
    kernel = Kernel(M=64)
    target = kernel.parameter("b", (M,), F32)
    buffer = kernel.lds((64,), F32)
    kernel.write(kernel.read(buffer, (L,)), target, (L,), mask=lt(L, 0 * L))
    assert simulate(kernel, b=np.zeros(64, np.float32)).reports == ()


def test_reading_an_unwritten_output_is_poison() -> None:
    kernel = Kernel(M=64)
    target = kernel.parameter("b", (M,), F32)
    kernel.write(kernel.read(target, (L,)), target, (L,))
    b = np.zeros(64, np.float32)
    assert simulate(kernel, SimulationOptions(poison_outputs=True), b=b).reports
    assert simulate(Kernel2(), b=b).reports == ()


def Kernel2() -> Kernel:
    kernel = Kernel(M=64)
    target = kernel.parameter("b", (M,), F32)
    kernel.write(kernel.read(target, (L,)), target, (L,))
    return kernel


def test_lanes_that_write_one_element_collide() -> None:
    kernel = Kernel(M=64)
    source = kernel.parameter("a", (M,), F32)
    target = kernel.parameter("b", (M,), F32)
    kernel.write(kernel.read(source, (L,)), target, (L // 2,))
    a = np.arange(64, dtype=np.float32)
    result = simulate(kernel, a=a, b=np.zeros_like(a))
    assert codes(result) == ["WV0910"]


def test_workgroups_that_write_one_element_race() -> None:
    kernel = Kernel(groups=2, M=128)
    source = kernel.parameter("a", (M,), F32)
    target = kernel.parameter("b", (M,), F32)
    kernel.write(kernel.read(source, (WG * 64 + L,)), target, (L,))
    kernel.write(kernel.read(source, (WG * 64 + L,)), target, (L + 1,))
    a = np.arange(128, dtype=np.float32)
    result = simulate(kernel, a=a, b=np.zeros_like(a))
    assert "WV0901" in codes(result)

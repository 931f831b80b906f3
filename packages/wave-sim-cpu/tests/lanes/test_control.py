"""Loops, conditions, symbols, barriers and limits, on hand-built lowered graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from lowered import WG, WV, Kernel, L, M, flat

from wave_core.diagnostics import SimulationError
from wave_core.ops.arithmetic import Add
from wave_core.ops.constant import LaneExpr, Scalar, Splat
from wave_core.ops.control import Conditional, Iterate, SetSymbol
from wave_core.ops.structure import GetResult, Yield
from wave_core.ops.sync import (
    MemoryCounterWait,
    SharedMemoryBarrier,
    SharedMemoryBarrierSignal,
    SharedMemoryBarrierWait,
    WorkgroupBarrier,
)
from wave_core.symbols import Expr, eq, lt, symbol
from wave_core.targets import generic_target
from wave_core.types import DTYPES
from wave_sim_cpu import SimulationOptions, SimulationResult, lanes

if TYPE_CHECKING:
    from collections.abc import Callable

    from wave_core.ops.base import Op

F32, I32, BOOL = DTYPES["f32"], DTYPES["i32"], DTYPES["bool"]
IV = symbol("$IV:M")


def simulate(
    kernel: Kernel, options: SimulationOptions | None = None, **arguments: np.ndarray
) -> SimulationResult:
    return lanes.run(kernel.finish(), arguments, {}, generic_target(), options)


def codes(result: SimulationResult) -> list[str]:
    return [report.code for report in result.reports]


def loop(
    kernel: Kernel,
    init: Op,
    count: Expr | int,
    body: Callable[[Op], Op],
    captures: tuple[Op, ...] = (),
) -> Op:
    """A loop that carries one value."""
    region = kernel.graph.region()
    outer, kernel.region = kernel.region, region
    carried = region.add_argument("carried", "x", init.type, None)
    seen = [region.add_argument("capture", "c", c.type, None) for c in captures]
    region.append(Yield((body(carried, *seen),)))
    kernel.region = outer
    count = count if isinstance(count, Expr) else M * 0 + count
    op = Iterate((init,), captures, axis=M, induction=IV, count=count, body=region)
    kernel.add(op)
    return kernel.add(GetResult(op, 0), flat(1))


def counting_kernel(count: Expr | int, barrier: bool = False) -> Kernel:
    kernel = Kernel(waves=2, groups=2, M=256)
    target = kernel.parameter("b", (M,), I32)
    zero = kernel.add(Splat((M,), I32, 0), flat(1))

    def body(value: Op) -> Op:
        if barrier:
            kernel.add(SharedMemoryBarrier())
        turn = kernel.add(LaneExpr(IV + 1, (M,), I32), flat(1))
        return kernel.add(Add(value, turn), flat(1))

    total = loop(kernel, zero, count, body)
    kernel.write(total, target, (WG * 128 + WV * 64 + L,))
    return kernel


@pytest.mark.parametrize("count", [0, 1, 5])
def test_loop(count: int) -> None:
    b = np.full(256, -1, np.int32)
    assert simulate(counting_kernel(count), b=b).reports == ()
    assert (b == count * (count + 1) // 2).all()


def test_waves_may_loop_differently_often() -> None:
    b = np.full(256, -1, np.int32)
    assert simulate(counting_kernel(WG * 2 + WV), b=b).reports == ()
    assert b[::64].tolist() == [0, 1, 3, 6]


def test_barrier_in_a_loop_of_unequal_length_diverges() -> None:
    b = np.full(256, -1, np.int32)
    result = simulate(counting_kernel(WV + 1, barrier=True), b=b)
    assert codes(result) == ["WV0902"]
    assert "present: waves [1]" in result.reports[0].notes


def test_capture_is_seen_in_the_body() -> None:
    kernel = Kernel(M=64)
    source = kernel.parameter("a", (M,), F32)
    target = kernel.parameter("b", (M,), F32)
    value = kernel.read(source, (L,))
    total = loop(
        kernel, value, 3, lambda x, c: kernel.add(Add(x, c), flat(1)), (value,)
    )
    kernel.write(total, target, (L,))
    a = np.arange(64, dtype=np.float32)
    b = np.zeros_like(a)
    simulate(kernel, a=a, b=b)
    np.testing.assert_array_equal(b, 4 * a)


def conditional_kernel(
    expr: Expr | None, lanes_only: Expr | None = None, barrier: bool = False
) -> Kernel:
    kernel = Kernel(waves=2, M=128)
    target = kernel.parameter("b", (M,), I32)
    one = kernel.add(Splat((M,), I32, 1), flat(1))
    two = kernel.add(Splat((M,), I32, 2), flat(1))
    condition = None
    if lanes_only is not None:
        condition = kernel.add(LaneExpr(lanes_only, (M,), BOOL), flat(1))
    region = kernel.graph.region()
    seen = [
        region.add_argument("capture", "t", target.type, None),
        region.add_argument("capture", "v", one.type, None),
    ]
    outer, kernel.region = kernel.region, region
    if barrier:
        kernel.add(SharedMemoryBarrier())
    kernel.write(seen[1], seen[0], (WV * 64 + L,))
    region.append(Yield((seen[1],)))
    kernel.region = outer
    op = Conditional(condition, (target, one), (two,), expr=expr, body=region)
    kernel.add(op)
    result = kernel.add(GetResult(op, 0), flat(1))
    kernel.write(result, target, (WV * 64 + L,), mask=lt(L, 2 + 0 * M))
    return kernel


def test_condition_of_a_wave() -> None:
    b = np.zeros(128, np.int32)
    assert simulate(conditional_kernel(eq(WV, 1)), b=b).reports == ()
    assert b[[0, 1, 2, 63, 64, 65, 66]].tolist() == [2, 2, 0, 0, 1, 1, 1]


def test_condition_of_lanes() -> None:
    b = np.zeros(128, np.int32)
    assert simulate(conditional_kernel(None, eq(L % 2, 0)), b=b).reports == ()
    assert b[:6].tolist() == [1, 2, 1, 0, 1, 0]


def test_barrier_in_one_wave_diverges() -> None:
    b = np.zeros(128, np.int32)
    result = simulate(conditional_kernel(eq(WV, 1), barrier=True), b=b)
    assert codes(result) == ["WV0902"]


def test_set_symbol_changes_addresses() -> None:
    kernel = Kernel(M=64)
    target = kernel.parameter("b", (M,), I32)
    where, one = symbol("S"), kernel.add(Splat((M,), I32, 1), flat(1))
    for position in (3, 5):
        value = kernel.add(Scalar(position, I32))
        kernel.add(SetSymbol(value, where))
        kernel.write(one, target, (where,), mask=eq(L, 0))
    b = np.zeros(64, np.int32)
    assert simulate(kernel, b=b).reports == ()
    assert np.flatnonzero(b).tolist() == [3, 5]


def test_set_symbol_needs_one_value() -> None:
    kernel = Kernel(M=64)
    kernel.add(SetSymbol(kernel.add(LaneExpr(L, (M,), I32), flat(1)), symbol("S")))
    assert codes(simulate(kernel)) == ["WV0907"]


def split_kernel(*sync: Op, early: bool = False) -> Kernel:
    kernel = Kernel(waves=2, M=128)
    target = kernel.parameter("b", (M,), I32)
    buffer = kernel.lds((128,), I32)
    one = kernel.add(Splat((M,), I32, 1), flat(1))
    ops = list(sync)
    if early:
        kernel.add(ops.pop(0))
    kernel.write(one, buffer, (WV * 64 + L,))
    for op in ops:
        kernel.add(op)
    value = kernel.read(buffer, (WV * -64 + 64 + L,))
    kernel.write(value, target, (WV * 64 + L,))
    return kernel


def signal_and_wait(**more: bool) -> tuple[Op, Op]:
    return SharedMemoryBarrierSignal(1, **more), SharedMemoryBarrierWait(1)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (lambda: split_kernel(*signal_and_wait()), []),
        (lambda: split_kernel(*signal_and_wait(), early=True), ["WV0901"]),
        (lambda: split_kernel(*signal_and_wait(ds_wait=False)), ["WV0901"]),
        (lambda: split_kernel(SharedMemoryBarrierWait(2)), ["WV0911", "WV0901"]),
        (lambda: split_kernel(WorkgroupBarrier()), ["WV0901"]),
        (lambda: split_kernel(MemoryCounterWait(ds=0), WorkgroupBarrier()), []),
    ],
)
def test_split_barriers(kernel: Callable[[], Kernel], expected: list[str]) -> None:
    assert codes(simulate(kernel(), b=np.zeros(128, np.int32))) == expected


@pytest.mark.parametrize("limit", ["step_limit", "cost_limit"])
def test_limits_stop_the_run(limit: str) -> None:
    options = SimulationOptions(**{limit: 100})
    with pytest.raises(SimulationError) as caught:
        simulate(counting_kernel(1000), options, b=np.zeros(256, np.int32))
    assert caught.value.code in ("WV0908", "WV0909")

"""Matrix instructions, moves between lanes, elementwise ops, breakpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from lowered import K, Kernel, L, M, N, R, flat

from wave_core.ir.facts import PLACEMENT, Placement
from wave_core.ops.arithmetic import Add, FloorDiv
from wave_core.ops.compare import Select
from wave_core.ops.constant import ApplyExpr, LaneExpr, Splat, argument_symbol
from wave_core.ops.control import Breakpoint
from wave_core.ops.matrix import Mma
from wave_core.ops.reduce import Shuffle
from wave_core.ops.shape import Assemble
from wave_core.symbols import constant, lt
from wave_core.targets import generic_target
from wave_core.types import DTYPES
from wave_sim_cpu import SimulationOptions, SimulationResult, Snapshot, lanes

if TYPE_CHECKING:
    from wave_core.ops.base import Op

F16, F32, I32, BOOL = (DTYPES[name] for name in ("f16", "f32", "i32", "bool"))


def simulate(
    kernel: Kernel, options: SimulationOptions | None = None, **arguments: np.ndarray
) -> SimulationResult:
    return lanes.run(kernel.finish(), arguments, {}, generic_target(), options)


def mma_kernel(name: str) -> Kernel:
    row = generic_target().matrix_instruction(name)
    m, n, k = row.shape
    kernel = Kernel(M=m, N=n, K=k)
    a = kernel.parameter("a", (M, K), F16)
    b = kernel.parameter("b", (N, K), F16)
    c = kernel.parameter("c", (M, N), F32)
    at = {
        side: {dim: layout.expr(dim, L, R) for dim in layout.dims}
        for side, layout in (("lhs", row.lhs), ("rhs", row.rhs), ("acc", row.acc))
    }
    lhs = kernel.read(a, (at["lhs"]["M"], at["lhs"]["K"]), row.lhs.registers)
    rhs = kernel.read(b, (at["rhs"]["N"], at["rhs"]["K"]), row.rhs.registers)
    acc: Op = kernel.add(Splat((M, N), F32, 1.0), row.acc)
    for _ in range(2):
        acc = kernel.add(Mma(lhs, rhs, acc, name), row.acc)
    kernel.write(acc, c, (at["acc"]["M"], at["acc"]["N"]), row.acc.registers)
    return kernel


@pytest.mark.parametrize("name", ["F32_16x16x16_F16", "F32_32x32x8_F16"])
def test_mma_is_a_matrix_product(name: str) -> None:
    m, n, k = generic_target().matrix_instruction(name).shape
    rng = np.random.default_rng(1)
    a = rng.standard_normal((m, k)).astype(np.float16)
    b = rng.standard_normal((n, k)).astype(np.float16)
    c = np.full((m, n), np.nan, np.float32)
    result = simulate(mma_kernel(name), a=a, b=b, c=c)
    wide = a.astype(np.float64) @ b.astype(np.float64).T
    np.testing.assert_allclose(c, 1 + 2 * wide, rtol=1e-5, atol=1e-5)
    assert result.reports == ()
    assert result.counters.instructions["mma"] == 2
    assert result.counters.instructions["global_read.b64"] == 2


def output_kernel(make: object, dtype: object = F32, registers: int = 1) -> Kernel:
    kernel = Kernel(M=64 * registers)
    source = kernel.parameter("a", (M,), dtype)
    target = kernel.parameter("b", (M,), dtype)
    at = (L * registers + R,)
    value = make(kernel, kernel.read(source, at, registers))
    kernel.write(value, target, at, registers)
    return kernel


@pytest.mark.parametrize(
    ("mode", "offset", "width", "expected"),
    [
        ("xor", 1, 64, lambda i: i ^ 1),
        ("up", 3, 16, lambda i: i - 3 if i % 16 >= 3 else i),
        ("down", 3, 16, lambda i: i + 3 if i % 16 < 13 else i),
        ("idx", 5, 32, lambda i: i // 32 * 32 + 5),
    ],
)
def test_shuffle(mode: str, offset: int, width: int, expected: object) -> None:
    kernel = output_kernel(lambda k, v: k.add(Shuffle(v, offset, width, mode), flat(1)))
    a = np.arange(64, dtype=np.float32)
    b = np.zeros_like(a)
    simulate(kernel, a=a, b=b)
    assert b.tolist() == [expected(i) for i in range(64)]


def test_assemble_renames_registers() -> None:
    def make(kernel: Kernel, value: Op) -> Op:
        one = kernel.add(Splat((M,), F32, 9.0), flat(1))
        picks = ((0, 3), (1, 0), (0, 0), (0, 1))
        return kernel.add(Assemble((value, one), picks, (M,)), flat(4))

    a = np.arange(256, dtype=np.float32)
    b = np.zeros_like(a)
    simulate(output_kernel(make, registers=4), a=a, b=b)
    assert b[4:8].tolist() == [7, 9, 4, 5]


def test_elementwise_and_lane_expr() -> None:
    def make(kernel: Kernel, value: Op) -> Op:
        index = kernel.add(LaneExpr(L * 2 + R, (M,), I32), flat(2))
        two = argument_symbol(0) * 2 + argument_symbol(1)
        both = kernel.add(ApplyExpr((value, index), two), flat(2))
        return kernel.add(Add(both, value), flat(2))

    a = np.arange(128, dtype=np.int32)
    b = np.zeros_like(a)
    result = simulate(output_kernel(make, I32, 2), a=a, b=b)
    assert b.tolist() == [4 * i for i in range(128)]
    assert result.counters.instructions["valu"] == 6


def division_kernel(masked: bool) -> Kernel:
    kernel = Kernel(M=64)
    source = kernel.parameter("a", (M,), I32)
    target = kernel.parameter("b", (M,), I32)
    mask = lt(L, constant(5)) if masked else None
    value = kernel.read(source, (L,), mask=mask)
    quotient = kernel.add(FloorDiv(value, value), flat(1))
    kernel.write(quotient, target, (L,), mask=mask)
    return kernel


def test_division_by_zero_is_reported_where_it_matters() -> None:
    a = np.ones(64, np.int32)
    a[7] = 0
    result = simulate(division_kernel(masked=False), a=a, b=np.zeros_like(a))
    assert [r.code for r in result.reports] == ["WV0906"]
    masked = simulate(division_kernel(masked=True), a=a, b=np.zeros_like(a))
    assert masked.reports == ()


def test_breakpoint_shows_tensors() -> None:
    shown: list[Snapshot] = []

    def make(kernel: Kernel, value: Op) -> Op:
        place = Placement(flat(2), origin=(("M", constant(0)),))
        kernel.graph.facts.put(PLACEMENT, value, place)
        kernel.add(Breakpoint((value,), ("x",)))
        return value

    options = SimulationOptions(breakpoint=shown.append)
    a = np.arange(128, dtype=np.float32)
    result = simulate(
        output_kernel(make, registers=2), options, a=a, b=np.zeros(128, np.float32)
    )
    assert result.snapshots == tuple(shown)
    np.testing.assert_array_equal(shown[0].tensors["x"], a)
    assert shown[0].present["x"].all()
    assert shown[0].dims["x"] == ("M",)
    assert result.ok
    assert [r.code for r in result.reports] == ["WV0913"]


def test_poison_that_select_drops_does_not_alarm() -> None:
    def make(kernel: Kernel, value: Op) -> Op:
        unwritten = kernel.read(kernel.lds((64,), F32), (L,))
        condition = kernel.add(LaneExpr(lt(L, 64), (M,), BOOL), flat(1))
        return kernel.add(Select(condition, value, unwritten), flat(1))

    a = np.arange(64, dtype=np.float32)
    assert simulate(output_kernel(make), a=a, b=np.zeros_like(a)).reports == ()


def test_poison_spreads_through_mma() -> None:
    row = generic_target().matrix_instruction("F32_16x16x16_F16")
    kernel = Kernel(M=16, N=16, K=16)
    target = kernel.parameter("c", (M, N), F32)
    buffer = kernel.lds((16, 16), F16, (M, K))
    at = row.acc.expr("M", L, R), row.acc.expr("N", L, R)
    lhs = kernel.read(buffer, (row.lhs.expr("M", L, R), row.lhs.expr("K", L, R)), 4)
    rhs = kernel.add(Splat((N, K), F16, 1.0), row.rhs)
    acc = kernel.add(Splat((M, N), F32, 0.0), row.acc)
    acc = kernel.add(Mma(lhs, rhs, acc, row.name), row.acc)
    kernel.write(acc, target, at, 4)
    result = simulate(kernel, c=np.zeros((16, 16), np.float32))
    assert [r.code for r in result.reports] == ["WV0905"]

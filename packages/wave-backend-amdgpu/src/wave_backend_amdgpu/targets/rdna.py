"""Matrix instructions of RDNA chips (wave32, WMMA), one row each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_amdgpu.targets.cdna import HALF, OCP
from wave_core.targets import MatrixInstruction, MMAType, layouts
from wave_core.types import DTYPES, DType

if TYPE_CHECKING:
    from wave_core.symbols import Layout

LANES = 32
ROWS = 16

_RDNA3 = "AMD RDNA3 ISA, 'Wave Matrix Multiply Accumulate', wave32"
_RDNA4 = (
    "AMD RDNA4 ISA, 'Wave Matrix Multiply Accumulate', wave32;"
    " K permuted alike in both operands, which changes no product"
)
_F32, _I32, _I8 = (DTYPES[n] for n in ("f32", "i32", "i8"))


def _row(
    name: MMAType,
    k: int,
    takes: tuple[DType, ...],
    result: DType,
    acc: Layout,
    source: str,
) -> MatrixInstruction:
    make = layouts.replicated if source is _RDNA3 else layouts.operand
    registers = k if source is _RDNA3 else k * ROWS // LANES
    lhs, rhs = (make(dim, LANES, ROWS, registers) for dim in ("M", "N"))
    shape = (ROWS, ROWS, k)
    return MatrixInstruction(
        name.value, shape, takes, result, lhs, rhs, acc, source, unit="wmma"
    )


def rdna3() -> tuple[MatrixInstruction, ...]:
    """gfx11: both halves of the wave hold the operands; rows alternate."""
    acc = layouts.strided_accumulator(LANES, ROWS, 8)
    f16 = MMAType.RDNA3_WAVE32_F32_16x16x16_F16
    i8 = MMAType.RDNA3_WAVE32_I32_16x16x16_I8
    return (
        _row(f16, 16, HALF, _F32, acc, _RDNA3),
        _row(i8, 16, (_I8,), _I32, acc, _RDNA3),
    )


def rdna4() -> tuple[MatrixInstruction, ...]:
    """gfx12."""
    acc = layouts.accumulator(LANES, ROWS, 8)
    f16 = MMAType.RDNA4_WAVE32_F32_16x16x16_F16
    i8 = MMAType.RDNA4_WAVE32_I32_16x16x16_I8
    f8 = MMAType.RDNA4_WAVE32_F32_16x16x16_F8
    return (
        _row(f16, 16, HALF, _F32, acc, _RDNA4),
        _row(i8, 16, (_I8,), _I32, acc, _RDNA4),
        _row(f8, 16, OCP, _F32, acc, _RDNA4),
    )


def gfx1250_rows() -> tuple[MatrixInstruction, ...]:
    """gfx1250: twice the K of RDNA4, and scaled products."""
    acc = layouts.accumulator(LANES, ROWS, 8)
    f16 = MMAType.GFX1250_F32_16x16x32_F16
    scaled = MatrixInstruction(
        MMAType.GFX1250_F32_16x16x128_F8F6F4.value,
        (ROWS, ROWS, 128),
        OCP,
        _F32,
        layouts.interleaved("M", LANES, ROWS, 64, 16),
        layouts.interleaved("N", LANES, ROWS, 64, 16),
        acc,
        _RDNA4,
        scale_block=32,
        scales=layouts.scales("M", LANES, ROWS, 4),
        unit="scaled_wmma",
    )
    return (_row(f16, 32, HALF, _F32, acc, _RDNA4), scaled)

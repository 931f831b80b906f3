"""Matrix instructions of CDNA chips (wave64, MFMA), one row each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.targets import MatrixInstruction, MMAType, layouts
from wave_core.types import DTYPES, DType

if TYPE_CHECKING:
    from collections.abc import Callable

    from wave_core.symbols import Layout

LANES = 64

_ISA2 = "AMD Instinct MI200 ISA, 'Matrix Arithmetic Instructions'"
_ISA3 = "AMD Instinct MI300 ISA, 'Matrix Arithmetic Instructions'"
_ISA4 = "AMD Instinct CDNA4 ISA, 'Matrix Arithmetic Instructions'"
_PERMUTED = "; K permuted alike in both operands, which changes no product"

HALF = (DTYPES["f16"], DTYPES["bf16"])
FNUZ = (DTYPES["f8e4m3fnuz"], DTYPES["f8e5m2fnuz"])
OCP = (DTYPES["f8e4m3fn"], DTYPES["f8e5m2"])
NARROW = (DTYPES["f4e2m1fn"], DTYPES["f6e2m3fn"], DTYPES["f6e3m2fn"])
_F32, _F64, _I32, _I8 = (DTYPES[n] for n in ("f32", "f64", "i32", "i8"))


def _accumulator(rows: int) -> Layout:
    wide = layouts.accumulator_32
    return layouts.accumulator(LANES, 16, 4) if rows == 16 else wide()


def _row(
    name: MMAType,
    shape: tuple[int, int, int],
    takes: tuple[DType, ...],
    result: DType,
    source: str,
    *,
    cycles: int | None = None,
    issues: int = 1,
    piece: int = 0,
) -> MatrixInstruction:
    rows, _, k = shape
    registers = rows * k // LANES

    def side(dim: str) -> Layout:
        if piece:
            return layouts.interleaved(dim, LANES, rows, registers, piece)
        return layouts.operand(dim, LANES, rows, registers)

    acc = _accumulator(rows)
    sides = side("M"), side("N")
    return MatrixInstruction(
        name.value, shape, takes, result, *sides, acc, source, issues, cycles=cycles
    )


def _common(
    source: str, *, half: int = 16, double: int = 32
) -> tuple[MatrixInstruction, ...]:
    """Rows of every CDNA chip since CDNA2, and the virtual forms made of them.

    Args:
        source: Where they are documented.
        half: Cycles of 16 rows of f16 and bf16; 32 rows take twice as long.
        double: Cycles of f64.
    """
    virtual = source + _PERMUTED
    tall = 2 * half
    of_doubles = MatrixInstruction(
        MMAType.F64_16x16x4_F64.value,
        (16, 16, 4),
        (_F64,),
        _F64,
        layouts.operand("M", LANES, 16, 1),
        layouts.operand("N", LANES, 16, 1),
        layouts.strided_accumulator(LANES, 16, 4),
        source,
        cycles=double,
    )

    def paired(
        name: MMAType, shape: tuple[int, int, int], cycles: int
    ) -> MatrixInstruction:
        return _row(name, shape, HALF, _F32, virtual, issues=2, cycles=cycles)

    return (
        _row(MMAType.F32_16x16x16_F16, (16, 16, 16), HALF, _F32, source, cycles=half),
        _row(MMAType.F32_32x32x8_F16, (32, 32, 8), HALF, _F32, source, cycles=tall),
        paired(MMAType.F32_16x16x32_K8_F16, (16, 16, 32), half),
        paired(MMAType.F32_32x32x16_K8_F16, (32, 32, 16), tall),
        _row(MMAType.F32_16x16x4_F32, (16, 16, 4), (_F32,), _F32, source, cycles=32),
        _row(MMAType.F32_32x32x2_F32, (32, 32, 2), (_F32,), _F32, source, cycles=64),
        of_doubles,
    )


def cdna2() -> tuple[MatrixInstruction, ...]:
    """MI200: half of the rate of CDNA3 in f16 and bf16.

    Source: AMD Instinct MI250X data sheet, 383 TFLOP/s of 220 compute units at 1.7 GHz.
    """
    return (
        *_common(_ISA2, half=32),
        _row(MMAType.I32_16x16x16_I8, (16, 16, 16), (_I8,), _I32, _ISA2, cycles=32),
        _row(MMAType.I32_32x32x8_I8, (32, 32, 8), (_I8,), _I32, _ISA2, cycles=64),
    )


def _bytes(source: str, float8: tuple[DType, ...]) -> tuple[MatrixInstruction, ...]:
    """The 8-bit instructions of CDNA3 and CDNA4."""
    small, large = (16, 16, 32), (32, 32, 16)
    f8 = MMAType.F32_16x16x32_F8, MMAType.F32_32x32x16_F8
    chained = MMAType.F32_16x16x32_K4_F8, MMAType.F32_32x32x16_K4_F8
    permuted = source + _PERMUTED
    return (
        _row(MMAType.I32_16x16x32_I8, small, (_I8,), _I32, source, cycles=16),
        _row(MMAType.I32_32x32x16_I8, large, (_I8,), _I32, source, cycles=32),
        _row(f8[0], small, float8, _F32, source, cycles=16),
        _row(f8[1], large, float8, _F32, source, cycles=32),
        _row(chained[0], small, float8, _F32, permuted, piece=4, cycles=16),
        _row(chained[1], large, float8, _F32, permuted, piece=4, cycles=32),
    )


def cdna3() -> tuple[MatrixInstruction, ...]:
    """MI300."""
    return (*_common(_ISA3), *_bytes(_ISA3, FNUZ))


def _scaled(
    name: MMAType, shape: tuple[int, int, int], issues: int = 1
) -> list[MatrixInstruction]:
    """Operands in small floats; blocks of 32 along K share an exponent.

    Of each instruction a lane has 32 elements, of 8-bit floats two times 16. Those of
    several instructions lie side by side, and so do their scales.
    """
    rows, _, _ = shape
    source = _ISA4 + (_PERMUTED if issues > 1 else "")

    def row(
        takes: tuple[DType, ...], side: Callable[[str], Layout]
    ) -> MatrixInstruction:
        return MatrixInstruction(
            name.value,
            shape,
            takes,
            _F32,
            side("M"),
            side("N"),
            _accumulator(rows),
            source,
            issues,
            scale_block=32,
            scales=layouts.operand("M", LANES, rows, issues),
            unit="scaled_mfma",
        )

    def halved(dim: str) -> Layout:
        return layouts.halved_blocks(dim, LANES, rows, issues)

    def whole(dim: str) -> Layout:
        return layouts.operand(dim, LANES, rows, 32 * issues)

    return [row(OCP, halved), row(NARROW, whole)]


def cdna4() -> tuple[MatrixInstruction, ...]:
    """MI350; f16 and bf16 first by the instruction that does most at once.

    Half of the rate of CDNA3 in f64. Source: AMD Instinct MI355X data sheet, 78.6
    TFLOP/s of 256 compute units at 2.4 GHz.
    """
    wide, tall = (16, 16, 32), (32, 32, 16)
    f16, bf16 = ((dtype,) for dtype in HALF)
    return (
        _row(MMAType.F32_16x16x32_F16, wide, f16, _F32, _ISA4, cycles=16),
        _row(MMAType.F32_32x32x16_F16, tall, f16, _F32, _ISA4, cycles=32),
        _row(MMAType.F32_16x16x32_BF16, wide, bf16, _F32, _ISA4, cycles=16),
        _row(MMAType.F32_32x32x16_BF16, tall, bf16, _F32, _ISA4, cycles=32),
        *_common(_ISA4, double=64),
        *_bytes(_ISA4, OCP),
        *_scaled(MMAType.F32_16x16x256_K64_F8F6F4, (16, 16, 256), 2),
        *_scaled(MMAType.F32_16x16x128_F8F6F4, (16, 16, 128)),
        *_scaled(MMAType.F32_32x32x128_K64_F8F6F4, (32, 32, 128), 2),
        *_scaled(MMAType.F32_32x32x64_F8F6F4, (32, 32, 64)),
    )

"""Matrix instructions of a wave of 32 lanes (`mma.sync`), one row each.

Source of the layouts: PTX ISA, "Matrix Fragments for mma". There a lane holds of each
row of an operand pieces of 32 bits, those of four lanes side by side. Here what a lane
holds of a row lies side by side, so that one access of up to 16 bytes fetches it: K is
permuted alike in both operands, which changes no product. Registers of an operand
count along K first; the code generator gives the instruction those of the pieces that
it wants.
"""

from __future__ import annotations

from dataclasses import dataclass

from wave_core.symbols import Digit, Layout
from wave_core.targets import MatrixInstruction
from wave_core.types import DTYPES, DType

LANES = 32
ROW_LANES = 4
"""Lanes that share a row of an operand."""

HALF = (DTYPES["f16"], DTYPES["bf16"])
OCP = (DTYPES["f8e4m3fn"], DTYPES["f8e5m2"])
_F32, _F64, _I32, _I8 = (DTYPES[n] for n in ("f32", "f64", "i32", "i8"))

SOURCE = "PTX ISA, 'Matrix Fragments for mma'; K permuted alike in both operands"

PLAIN = "mma"
"""The unit that multiplies elements as they are."""

THREE_PARTS = "tf32x3"
"""The unit that makes products of f32 out of three of 19 bits."""

ROUNDED = "tf32"
"""The unit that multiplies f32 of which it takes 19 bits."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What one hardware instruction multiplies.

    Attributes:
        m: Rows.
        k: Elements of the contracted dimension.
        takes: Element types of both operands.
        result: The element type of the accumulator.
        kind: The end of the row's name.
        unit: What the code generator issues.
    """

    m: int
    k: int
    takes: tuple[DType, ...]
    result: DType
    kind: str
    unit: str = PLAIN

    def row(self, issues: int, cycles: int | None) -> MatrixInstruction:
        """The row that issues it so many times, each for a part of K."""
        n, k = 8, self.k * issues
        return MatrixInstruction(
            f"{str(self.result).upper()}_{self.m}x{n}x{k}_{self.kind}",
            (self.m, n, k),
            self.takes,
            self.result,
            operand("M", self.m, k),
            operand("N", n, k),
            accumulator(self.m),
            SOURCE,
            issues,
            unit=self.unit,
            cycles=cycles,
        )


def operand(dim: str, rows: int, k: int) -> Layout:
    """Row ``l // 4 + 8 * (r // own)``, K ``own * (l % 4) + r % own``; own is K / 4."""
    own = k // ROW_LANES
    groups = LANES // ROW_LANES
    along = [Digit(own, "lane", 1, ROW_LANES), Digit(1, "reg", 1, own)]
    down = [Digit(1, "lane", ROW_LANES, groups)]
    if rows > groups:
        down.append(Digit(groups, "reg", own, rows // groups))
    return Layout.make(LANES, own * (rows // groups), {dim: down, "K": along})


def accumulator(rows: int) -> Layout:
    """M ``l // 4 + 8 * (r // 2)``, N ``2 * (l % 4) + r % 2``."""
    groups = LANES // ROW_LANES
    down = [Digit(1, "lane", ROW_LANES, groups)]
    if rows > groups:
        down.append(Digit(groups, "reg", 2, rows // groups))
    along = [Digit(2, "lane", 1, ROW_LANES), Digit(1, "reg", 1, 2)]
    return Layout.make(LANES, 2 * (rows // groups), {"M": down, "N": along})


_HALVES = Shape(16, 16, HALF, _F32, "F16")
_BYTES = Shape(16, 32, (_I8,), _I32, "I8")
_FLOAT8 = Shape(16, 32, OCP, _F32, "F8")
_SINGLES = Shape(16, 8, (_F32,), _F32, "F32", THREE_PARTS)
_ROUNDED = Shape(16, 8, (_F32,), _F32, "TF32", ROUNDED)
_DOUBLES = Shape(8, 4, (_F64,), _F64, "F64")


def rows(cycles: dict[str, int], *, float8: bool) -> tuple[MatrixInstruction, ...]:
    """The rows of a chip, those that fetch 16 bytes of a row at once first.

    Args:
        cycles: Of one instruction, by the kind of its operands; others are not known.
        float8: Whether it multiplies 8-bit floats.
    """
    shapes = [_HALVES, _BYTES, *([_FLOAT8] if float8 else []), _SINGLES, _DOUBLES]
    return tuple(
        shape.row(issues, cycles.get(shape.kind))
        for shape in (*shapes, _ROUNDED)
        for issues in (2, 1)
    )

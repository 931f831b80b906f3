"""Matrix instructions of a wave of 32 lanes (`mma.sync`), one row each.

Source of the layouts: PTX ISA, "Matrix Fragments for mma". A lane holds of each row of
an operand pieces of 32 bits, those of four lanes side by side; `ldmatrix` fetches them
so. Elements of 64 bits are alone in a piece, and what a lane holds of a row lies side
by side: K is permuted alike in both operands, which changes no product.
"""

from __future__ import annotations

from dataclasses import dataclass

from wave_core.symbols import Digit, Layout
from wave_core.targets import MatrixInstruction
from wave_core.types import DTYPES, DType

LANES = 32
ROW_LANES = 4
"""Lanes that share a row of an operand."""

PIECE_BITS = 32
"""What a register of an operand holds of a row."""

HALF = (DTYPES["f16"], DTYPES["bf16"])
OCP = (DTYPES["f8e4m3fn"], DTYPES["f8e5m2"])
_F32, _F64, _I32, _I8 = (DTYPES[n] for n in ("f32", "f64", "i32", "i8"))

SOURCE = "PTX ISA, 'Matrix Fragments for mma'"

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
            self._operand("M", self.m, k),
            self._operand("N", n, k),
            accumulator(self.m),
            SOURCE,
            issues,
            unit=self.unit,
            cycles=cycles,
        )

    def _operand(self, dim: str, rows: int, k: int) -> Layout:
        bits = self.takes[0].bits
        return operand(dim, rows, k, bits) if bits <= PIECE_BITS else neighbours(dim, k)


def operand(dim: str, rows: int, k: int, bits: int) -> Layout:
    """Row ``l // 4``, K ``run * (l % 4) + r % run``, and then further rows and K.

    A run fills 32 bits. The next registers are eight rows further, where there are
    so many, then four runs further along K.
    """
    run = max(1, PIECE_BITS // bits)
    groups = LANES // ROW_LANES
    along = [Digit(run, "lane", 1, ROW_LANES), Digit(1, "reg", 1, run)]
    down = [Digit(1, "lane", ROW_LANES, groups)]
    if rows > groups:
        down.append(Digit(groups, "reg", run, rows // groups))
    taken, own = run * ROW_LANES, run * (rows // groups)
    along.append(Digit(taken, "reg", own, k // taken))
    registers = own * (k // taken)
    return Layout.make(LANES, registers, {dim: down, "K": several(along)})


def neighbours(dim: str, k: int) -> Layout:
    """Row ``l // 4``, K ``own * (l % 4) + r``; own is K / 4."""
    own = k // ROW_LANES
    along = [Digit(own, "lane", 1, ROW_LANES), Digit(1, "reg", 1, own)]
    down = [Digit(1, "lane", ROW_LANES, LANES // ROW_LANES)]
    return Layout.make(LANES, own, {dim: down, "K": several(along)})


def several(digits: list[Digit]) -> list[Digit]:
    """Those that have more than one value."""
    return [digit for digit in digits if digit.mod > 1]


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
    """The rows of a chip: those first of whose columns one `ldmatrix` fetches all.

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

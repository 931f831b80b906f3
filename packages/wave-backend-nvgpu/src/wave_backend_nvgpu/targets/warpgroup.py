"""Matrix instructions of a wave of 128 lanes (`wgmma`), one row for each width.

Source of the layouts: PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16" and
those of its other types; each was run on an H100. The left operand is in registers or
in shared memory, the right one in shared memory, where a descriptor of 64 bits tells
how it lies. Products go on after they are issued.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from wave_backend_nvgpu.targets.matrix import HALF, OCP, PIECE_BITS, ROW_LANES, several
from wave_core.symbols import Digit, Layout
from wave_core.targets import REGISTER, SHARED, MatrixInstruction
from wave_core.types import DTYPES, BufferLayout, DType

LANES = 128
"""Of four warps."""

WARP = 32
ROWS = 64
GROUPS = 8
"""Rows of a warp that lie in its lanes; the next ones are in further registers."""

ROW_BYTES = 32
"""Of each row of an operand, in every type."""

UNIT = "wgmma"
COUNTER = "mma"
MOST_GROUPS = 7
"""That a wait may leave. Source: SASS of ptxas 13.5, which takes more for as many."""

NARROWEST, WIDEST, STEP = 8, 256, 8
"""N. Source: PTX ISA, "Matrix Shape" of wgmma."""

BYTES_FEW, BYTES_STEP = 24, 16
"""N of integers: any multiple of eight up to here, then of 16."""

SWIZZLES = (
    BufferLayout(16, 1, 8, 128),
    BufferLayout(16, 2, 4, 64),
    BufferLayout(16, 4, 2, 32),
)
"""The orders of a buffer that descriptors name, the one without conflicts first.
Source: PTX ISA, "Swizzling Modes"."""

SOURCE = "PTX ISA, 'Register Fragments for wgmma.mma_async'"


@dataclass(frozen=True, slots=True)
class Kind:
    """What products of one name multiply.

    Attributes:
        takes: Element types of both operands.
        result: The element type of the accumulator.
        end: The end of the row's name.
        columns_first: Whether operands in shared memory may have K outermost.
    """

    takes: tuple[DType, ...]
    result: DType
    end: str
    columns_first: bool = False

    @property
    def k(self) -> int:
        """Elements of the contracted dimension."""
        return 8 * ROW_BYTES // self.takes[0].bits

    def takes_width(self, n: int) -> bool:
        """Whether there is an instruction with so many columns."""
        return self.result.is_float or n <= BYTES_FEW or not n % BYTES_STEP

    def row(self, n: int, cycles: int) -> MatrixInstruction:
        """The row of a width; ``cycles`` are those of eight columns."""
        return MatrixInstruction(
            f"{str(self.result).upper()}_{ROWS}x{n}x{self.k}_{self.end}",
            (ROWS, n, self.k),
            self.takes,
            self.result,
            left(self.takes[0].bits),
            right(n, self.k),
            accumulator(n),
            SOURCE,
            unit=UNIT,
            cycles=cycles * n // NARROWEST,
            lhs_in=(REGISTER, SHARED),
            rhs_in=(SHARED,),
            layouts=SWIZZLES,
            columns_first=self.columns_first,
            counter=COUNTER,
        )


_F32, _I32, _I8 = (DTYPES[name] for name in ("f32", "i32", "i8"))

KINDS = (
    Kind(HALF, _F32, "F16", columns_first=True),
    Kind((_I8,), _I32, "I8"),
    Kind(OCP, _F32, "F8"),
)


@cache
def left(bits: int) -> Layout:
    """M ``16 * (l // 32) + l % 32 // 4``, and then eight further; K in pieces.

    Four lanes hold of a row a piece of 32 bits each, side by side.
    """
    run = PIECE_BITS // bits
    down = [Digit(2 * GROUPS, "lane", WARP, LANES // WARP), *_rows(run)]
    along = [Digit(run, "lane", 1, ROW_LANES), Digit(1, "reg", 1, run)]
    along.append(Digit(run * ROW_LANES, "reg", 2 * run, 2))
    return Layout.make(LANES, 4 * run, {"M": down, "K": along})


def _rows(run: int) -> list[Digit]:
    """Rows of a warp: lane by lane, then eight further after a run of registers."""
    return [Digit(1, "lane", ROW_LANES, GROUPS), Digit(GROUPS, "reg", run, 2)]


@cache
def right(n: int, k: int) -> Layout:
    """In which registers it would be gathered: K from lane to lane, then N."""
    beside = LANES // k
    down = [Digit(1, "lane", k, beside), Digit(beside, "reg", 1, n // beside)]
    along = [Digit(1, "lane", 1, k)]
    return Layout.make(LANES, n // beside, {"N": several(down), "K": along})


@cache
def accumulator(n: int) -> Layout:
    """Rows as of the left operand; N ``2 * (l % 4) + r % 2 + 8 * (r // 4)``."""
    down = [Digit(2 * GROUPS, "lane", WARP, LANES // WARP), *_rows(2)]
    along = [Digit(2, "lane", 1, ROW_LANES), Digit(1, "reg", 1, 2)]
    along.append(Digit(GROUPS, "reg", 4, n // GROUPS))
    return Layout.make(LANES, n // 2, {"M": down, "N": several(along)})


def rows(cycles: dict[str, int]) -> tuple[MatrixInstruction, ...]:
    """The rows of a chip, the widest first.

    Args:
        cycles: Of an instruction with eight columns, by the kind of its operands.
    """
    widths = range(WIDEST, 0, -STEP)
    return tuple(
        kind.row(n, cycles[kind.end])
        for kind in KINDS
        for n in widths
        if kind.takes_width(n)
    )

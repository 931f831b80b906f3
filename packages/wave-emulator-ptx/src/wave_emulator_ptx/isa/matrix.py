"""Matrix instructions of a warp: ldmatrix, stmatrix and mma (section 9.7.14)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from wave_emulator_ptx.arrays import every
from wave_emulator_ptx.batch import GROUP, LANES, Batch, Step
from wave_emulator_ptx.errors import UnknownInstructionError
from wave_emulator_ptx.isa.access import Place, load, place, store
from wave_emulator_ptx.isa.warp import present
from wave_emulator_ptx.syntax import Instruction, Operand, Tuple
from wave_emulator_ptx.types import TYPES, Type

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Array, Ints, Selection
    from wave_emulator_ptx.scope import Scope

B32 = TYPES["b32"]
SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
LANE = np.arange(LANES)

ELEMENTS: dict[str, Any] = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "tf32": np.dtype(np.float32),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "s8": np.dtype(np.int8),
    "u8": np.dtype(np.uint8),
    "s32": np.dtype(np.int32),
}


def whole_warps(batch: Batch, at: Instruction, chosen: Selection) -> Ints:
    """The threads by warp, [warps, 32]; a part of a warp is reported and left out."""
    threads = batch.ordinals(chosen)
    full = every(present(batch, threads))
    if not full.all():
        batch.report(at, "EP0511", "lanes of the warp are elsewhere", threads[~full])
    return threads[full].reshape(-1, LANES)


def whole_groups(batch: Batch, at: Instruction, warps: Ints) -> Ints:
    """Threads by warpgroup, [groups, 128]; a part of one is reported and left out."""
    if not len(warps):
        return np.zeros((0, GROUP), np.int64)
    within = batch.within[warps[:, 0]] // LANES
    leaders = warps[:, 0] // LANES - within % 4
    _, inverse, counts = np.unique(leaders, return_inverse=True, return_counts=True)
    full = counts[inverse] == 4
    if not full.all():
        message = "not all four warps of the warpgroup are here"
        batch.report(at, "EP0512", message, warps[~full].ravel())
    return warps[full].reshape(-1, GROUP)


def _registers(operand: Operand) -> tuple[Operand, ...]:
    return operand.parts if isinstance(operand, Tuple) else (operand,)


# ------------------------------------------------------------------ 8x8 matrices


@dataclass(frozen=True)
class Matrices:
    """How an instruction spreads 8x8 matrices of 16 bits: lane l gives row l%8 of l/8.

    Attributes:
        count: of matrices.
        transposed: whether registers hold columns.
    """

    count: int
    transposed: bool

    def halves(self) -> tuple[Ints, Ints]:
        """Row and column of each lane's two elements, both [32, 2]."""
        row = np.repeat(LANE[:, None] // 4, 2, axis=1)
        column = 2 * (LANE[:, None] % 4) + np.arange(2)
        return (column, row) if self.transposed else (row, column)


def _matrices(instruction: Instruction) -> Matrices:
    counts = {"x1": 1, "x2": 2, "x4": 4}
    count = next(counts[each] for each in instruction.modifiers if each in counts)
    return Matrices(count, "trans" in instruction.modifiers)


def bind_load(instruction: Instruction, scope: Scope) -> Step:
    """``ldmatrix``: rows of 16 bytes of shared memory, spread over the warp."""
    shape = _matrices(instruction)
    at = place(instruction, instruction.operands[1], scope, 16, space="shared")
    registers = _registers(instruction.operands[0])
    writers = [scope.write(each, B32, instruction) for each in registers]
    row, column = shape.halves()

    def step(batch: Batch, chosen: Selection) -> None:
        warps = whole_warps(batch, instruction, chosen)
        givers = warps[:, : 8 * shape.count]
        halves = load(batch, at, *_addresses(batch, at, givers)).view(np.uint16)
        tiles = halves.reshape(len(warps), shape.count, 8, 8)
        for number, write in enumerate(writers):
            pairs = np.ascontiguousarray(tiles[:, number, row, column])
            write(batch, warps.ravel(), pairs.view(np.uint32).ravel())

    return step


def bind_store(instruction: Instruction, scope: Scope) -> Step:
    """``stmatrix``: the inverse of ``ldmatrix``."""
    shape = _matrices(instruction)
    at = place(instruction, instruction.operands[0], scope, 16, space="shared")
    registers = _registers(instruction.operands[1])
    readers = [scope.read(each, B32, instruction) for each in registers]
    row, column = shape.halves()

    def step(batch: Batch, chosen: Selection) -> None:
        warps = whole_warps(batch, instruction, chosen)
        tiles = np.zeros((len(warps), shape.count, 8, 8), np.uint16)
        for number, read in enumerate(readers):
            bits = np.broadcast_to(read(batch, warps.ravel()), warps.size)
            pairs = np.ascontiguousarray(bits).view(np.uint16)
            tiles[:, number, row, column] = pairs.reshape(len(warps), LANES, 2)
        givers = warps[:, : 8 * shape.count]
        rows = tiles.reshape(givers.size, 8).view(np.uint8)
        store(batch, at, *_addresses(batch, at, givers), rows)

    return step


def _addresses(batch: Batch, at: Place, threads: Ints) -> tuple[Ints, Ints]:
    return at.addresses(batch, threads.ravel())


# ------------------------------------------------------------------ products


@dataclass(frozen=True)
class Fragment:
    """Which element of a matrix each register element of a lane holds.

    Attributes:
        row: of a lane's elements, [32, elements].
        column: likewise.
        shape: of the matrix.
    """

    row: Ints
    column: Ints
    shape: tuple[int, int]

    def bytes(self, name: str) -> int:
        """Of a lane's elements."""
        return self.row.shape[1] * ELEMENTS[name].itemsize

    def gather(self, elements: Array) -> Array:
        """Matrices from elements, [warps, 32, elements]."""
        found = np.zeros((len(elements), *self.shape), elements.dtype)
        found[:, self.row, self.column] = elements
        return found

    def spread(self, matrices: Array) -> Array:
        """Elements of matrices."""
        return matrices[:, self.row, self.column]


def fragments(
    m: int, n: int, k: int, width: int
) -> tuple[Fragment, Fragment, Fragment]:
    """Those of A [M, K], B [N, K] and the accumulator [M, N].

    A lane holds runs of as many elements along K as fill 32 bits; runs of four lanes
    are side by side; A's registers go on along M first.
    """
    run = max(32 // width, 1)
    tall = m // 8
    a, b = np.arange(m * k // LANES), np.arange(n * k // LANES)
    c = np.arange(m * n // LANES)
    lane = LANE[:, None]
    left = Fragment(
        lane // 4 + 8 * (a // run % tall),
        run * (lane % 4) + a % run + 4 * run * (a // (run * tall)),
        (m, k),
    )
    right = Fragment(
        lane // 4 + 0 * b, run * (lane % 4) + b % run + 4 * run * (b // run), (n, k)
    )
    sums = Fragment(lane // 4 + 8 * (c // 2), 2 * (lane % 4) + c % 2, (m, n))
    return left, right, sums


def bind_product(instruction: Instruction, scope: Scope) -> Step:
    """``mma.sync``: D = A B^T + C; sums in f64, rounded once to the type of D.

    The hardware sums in an order and width of its own; the difference stays within
    the error of any order of rounded sums.
    """
    m, n, k = _shape(instruction)
    kinds = [each for each in instruction.modifiers if each in ELEMENTS]
    to = ELEMENTS[kinds[0]]
    a_of, b_of, c_of = fragments(m, n, k, ELEMENTS[kinds[1]].itemsize * 8)
    spread = (c_of, a_of, b_of, c_of)
    for each, name, of in zip(instruction.operands, kinds, spread, strict=True):
        if len(_registers(each)) * _register_of(name).bytes != of.bytes(name):
            raise ValueError(each)
    given = zip(instruction.operands[1:], kinds[1:], strict=True)
    a, b, c = (_elements(scope, each, name, instruction) for each, name in given)
    write = _writer(scope, instruction.operands[0], kinds[0], instruction)

    def step(batch: Batch, chosen: Selection) -> None:
        warps = whole_warps(batch, instruction, chosen)
        if not warps.size:
            return
        lhs, rhs = a_of.gather(a(batch, warps)), b_of.gather(b(batch, warps))
        sums = c_of.gather(c(batch, warps))
        wide: Any = np.int64 if to.kind == "i" else np.float64
        with np.errstate(all="ignore"):
            found = lhs.astype(wide) @ rhs.astype(wide).transpose(0, 2, 1)
            found = found + sums.astype(wide)
            if "satfinite" in instruction.modifiers:
                found = np.clip(found, -(2**31), 2**31 - 1)
            write(batch, warps, c_of.spread(found.astype(to)))

    return step


def _shape(instruction: Instruction) -> tuple[int, int, int]:
    for each in instruction.modifiers:
        match = SHAPE.fullmatch(each)
        if match:
            m, n, k = map(int, match.groups())
            return m, n, k
    raise UnknownInstructionError(str(instruction), instruction.line)


def _register_of(name: str) -> Type:
    """What holds elements."""
    return TYPES["b64"] if name == "f64" else B32


def _elements(scope: Scope, operand: Operand, name: str, at: Instruction) -> Any:
    """Reads registers as elements, [warps, 32, elements]; tf32 has 19 bits."""
    dtype, kind = ELEMENTS[name], _register_of(name)
    kept = kind.words(0xFFFFE000) if name == "tf32" else ~kind.words(0)
    readers = [scope.read(each, kind, at) for each in _registers(operand)]

    def read(batch: Batch, warps: Ints) -> Array:
        threads = warps.ravel()
        found = [np.broadcast_to(r(batch, threads), threads.shape) for r in readers]
        bits = np.ascontiguousarray(np.stack(found, axis=-1)) & kept
        return bits.view(dtype).reshape(len(warps), LANES, -1)

    return read


def _writer(scope: Scope, operand: Operand, name: str, at: Instruction) -> Any:
    kind = _register_of(name)
    writers = [scope.write(each, kind, at) for each in _registers(operand)]

    def write(batch: Batch, warps: Ints, elements: Array) -> None:
        bits = np.ascontiguousarray(elements).view(kind.words)
        bits = bits.reshape(warps.size, -1)
        for number, each in enumerate(writers):
            each(batch, warps.ravel(), bits[:, number])

    return write

"""Asynchronous products of warpgroups: wgmma (PTX ISA, section 9.7.15).

A product is computed when it is issued and summed in f64, rounded once to the type of
its result; hardware sums in an order and width of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wave_emulator_ptx.batch import LANES, Batch, Step
from wave_emulator_ptx.errors import UnknownInstructionError
from wave_emulator_ptx.isa.access import SHARED, tell
from wave_emulator_ptx.isa.descriptors import (
    CHUNK,
    Descriptor,
    chunk_addresses,
    decode,
)
from wave_emulator_ptx.isa.forms import groups_left
from wave_emulator_ptx.isa.matrix import ELEMENTS, whole_groups, whole_warps
from wave_emulator_ptx.memory import rows as rows_of
from wave_emulator_ptx.products import Reading
from wave_emulator_ptx.scope import PENDING
from wave_emulator_ptx.syntax import Instruction, Name, Number, Operand, Tuple
from wave_emulator_ptx.types import TYPES

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Array, Bools, Bytes, Ints, Selection
    from wave_emulator_ptx.scope import Scope

M = 64
SHAPE = re.compile(r"m64n(\d+)k(\d+)")
DEPTH_BYTES = 32
"""Of each row of an operand, in every type."""
FLOATS = {
    "f16": {("f16", "f16"), ("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e4m3"),
            ("e5m2", "e5m2")},
    "f32": {("f16", "f16"), ("bf16", "bf16"), ("tf32", "tf32"), ("e4m3", "e4m3"),
            ("e4m3", "e5m2"), ("e5m2", "e4m3"), ("e5m2", "e5m2")},
    "s32": {("s8", "s8"), ("s8", "u8"), ("u8", "s8"), ("u8", "u8")},
}  # fmt: skip
"""Types of A and B by that of the result (table of section 9.7.15.3)."""
FEW_COLUMNS = 24
"""Products of integers have any multiple of 8 columns up to here, then of 16."""


@dataclass(frozen=True)
class Product:
    """What an instruction multiplies.

    Attributes:
        columns: N.
        to: type of the result.
        left: of A's elements.
        right: of B's.
        signs: the factors of A and B: 1 or -1.
        across: whether A, and B, lie with M or N innermost.
        limited: whether integers stop at their ends.
    """

    columns: int
    to: str
    left: str
    right: str
    signs: tuple[int, int]
    across: tuple[bool, bool]
    limited: bool


def bind(instruction: Instruction, scope: Scope) -> Step:
    """``wgmma`` and what orders it."""
    word = instruction.modifiers[0]
    if word == "fence":
        return _together(
            instruction, lambda batch, chosen: batch.products.fence(chosen)
        )
    if word == "commit_group":
        return _together(instruction, _commit)
    if word == "wait_group":
        return _together(instruction, _bind_wait(instruction))
    return _bind_product(instruction, scope)


def needs_a_group(instruction: Instruction) -> bool:
    """Whether all warps of a warpgroup have to be at an instruction."""
    if instruction.opcode == "setmaxnreg":
        return True
    return instruction.opcode == "wgmma" and instruction.modifiers[0] == "mma_async"


# ------------------------------------------------------------------ groups


def _together(instruction: Instruction, then: Step) -> Step:
    """Report warps that are there in part, which the instruction is not for."""

    def step(batch: Batch, chosen: Selection) -> None:
        if batch.checks:
            whole_warps(batch, instruction, chosen)
        then(batch, chosen)

    return step


def _commit(batch: Batch, chosen: Selection) -> None:
    batch.products.committed[chosen] += 1


def _bind_wait(instruction: Instruction) -> Step:
    """All groups but the last so many are done."""
    groups = groups_left(instruction)

    def step(batch: Batch, chosen: Selection) -> None:
        products = batch.products
        done = products.committed[chosen] - groups
        products.done[chosen] = np.maximum(products.done[chosen], done)
        products.readings.leave(
            each for each in products.readings.works if _go_on(batch, each)
        )

    return step


def _go_on(batch: Batch, reading: Reading) -> bool:
    """End it for warps that have waited; whether any is left."""
    _end(batch, reading, batch.products.done[reading.warps * LANES] >= reading.due)
    return bool(reading.left.any())


def _end(batch: Batch, reading: Reading, known: Bools) -> None:
    """Warps know that it is over, where they do not yet."""
    over = reading.left & known
    works, places = np.nonzero(over)
    if len(works):
        warps = reading.warps[works, places]
        batch.shared.end_reading(warps, reading.chunks[works], reading.line)
        reading.left &= ~over


# ------------------------------------------------------------------ products


def _bind_product(instruction: Instruction, scope: Scope) -> Step:
    """``d, a, b, scale-d, scale-a, scale-b, trans-a, trans-b``."""
    result, left, right, *options = instruction.operands
    product = _product(instruction)
    sums = _rows(scope, result, instruction)
    wanted = product.columns // (4 if product.to == "f16" else 2)
    if len(sums) != wanted:
        raise ValueError(sums)
    a = _left(instruction, scope, left, product)
    b = _Tile(instruction, scope, right, product.columns, product.right,
              across=product.across[1])  # fmt: skip
    added = _predicate(scope, options[0], instruction)

    def step(batch: Batch, chosen: Selection) -> None:
        groups = whole_groups(
            batch, instruction, whole_warps(batch, instruction, chosen)
        )
        if not len(groups):
            return
        _order(batch, instruction, groups.ravel(), sums, a.registers)
        lhs, rhs = a.read(batch, groups), b.read(batch, groups)
        keep = added(batch, groups)
        before = _gathered(batch, groups, sums, product)
        with np.errstate(all="ignore"):
            found = (lhs @ rhs.transpose(0, 2, 1)) * (
                product.signs[0] * product.signs[1]
            )
            found = np.where(keep[:, None, None], found + before, found)
            _spread(batch, groups, sums, _rounded(found, product))

    return step


def _product(instruction: Instruction) -> Product:
    words = instruction.modifiers[3:]
    match = SHAPE.fullmatch(words[0])
    limited = words[-1] == "satfinite"
    to, left, right = words[1 : len(words) - limited]
    if match is None or (left, right) not in FLOATS[to]:
        raise ValueError(words)
    columns, depth = int(match[1]), int(match[2])
    step = 16 if to == "s32" and columns > FEW_COLUMNS else 8
    if columns % step or not 8 <= columns <= 256:
        raise ValueError(columns)
    if depth * ELEMENTS[left].itemsize != DEPTH_BYTES:
        raise ValueError(depth)
    literals = [_literal(each) for each in instruction.operands[4:]]
    if to == "s32":
        signs, turned = [1, 1], literals
    else:
        signs, turned = literals[:2], literals[2:]
    in_registers = isinstance(instruction.operands[1], Tuple)
    wide = ELEMENTS[left].itemsize == 2
    if not {1, -1}.issuperset(signs) or not {0, 1}.issuperset(turned):
        raise ValueError(literals)
    if len(turned) != wide * (2 - in_registers):
        raise ValueError(literals)
    across = [bool(each) for each in turned] or [False, False]
    return Product(
        columns, to, left, right, (signs[0], signs[1]), (across[0], across[-1]), limited
    )


def _literal(operand: Operand) -> int:
    """Its value; one that nothing takes where it is no literal."""
    return operand.value if isinstance(operand, Number) else -2


def _predicate(scope: Scope, operand: Operand, at: Instruction) -> Any:
    """Whether the old sums are added, by group."""
    if isinstance(operand, Number) and operand.value not in {0, 1}:
        raise ValueError(operand)
    read = scope.read(operand, TYPES["pred"], at)

    def ask(batch: Batch, groups: Ints) -> Bools:
        held = np.broadcast_to(read(batch, groups.ravel()), groups.size)
        return _agreed(batch, at, groups, held.reshape(groups.shape))

    return ask


def _rows(scope: Scope, operand: Operand, at: Instruction) -> Ints:
    """The rows of registers in braces."""
    parts = operand.parts if isinstance(operand, Tuple) else ()
    slots = [scope.slots[each.text] for each in parts if isinstance(each, Name)]
    if len(slots) != len(parts) or any(scope.types[slot].width != 32 for slot in slots):
        raise UnknownInstructionError(f"{at}: its registers have 32 bits", at.line)
    return np.array([scope.watched[slot] for slot in slots], np.int64)


def _agreed(batch: Batch, at: Instruction, groups: Ints, given: Array) -> Array:
    """What all threads of each group give; those that differ are reported."""
    apart = (given != given[:, :1]).any(axis=1)
    if apart.any():
        message = "the threads of a warpgroup give different operands"
        batch.report(at, "EP0512", message, groups[apart].ravel())
    return given[:, 0]


def _order(
    batch: Batch, at: Instruction, threads: Ints, sums: Ints, inputs: Ints
) -> None:
    """Check that a product may use its registers, and note that it does."""
    products = batch.products
    if batch.checks:
        late = products.unordered(np.concatenate([sums, inputs]), threads)
        message = "registers were used before, and no wgmma.fence is between"
        batch.report(at, "EP0513", message, threads[late])
        busy = products.clashing(sums, threads, inputs=False)
        busy |= products.clashing(inputs, threads, inputs=True)
        batch.report(at, "EP0504", PENDING, threads[busy])
    products.issue(sums, threads, inputs=False)
    products.issue(inputs, threads, inputs=True)


# ------------------------------------------------------------------ sums


def _gathered(batch: Batch, groups: Ints, rows: Ints, product: Product) -> Array:
    """Sums as matrices, [groups, 64, N]: section 9.7.15.5.1, figure of D."""
    bits = np.ascontiguousarray(batch.products.values(rows, groups.ravel()))
    values = bits.view(ELEMENTS[product.to]).astype(np.float64)
    # by warp, by four lanes, by lane, by 8 columns, by 8 rows, by column
    apart = values.reshape(len(groups), 4, 8, 4, product.columns // 8, 2, 2)
    return apart.transpose(0, 1, 5, 2, 4, 3, 6).reshape(len(groups), M, -1)


def _spread(batch: Batch, groups: Ints, rows: Ints, matrices: Array) -> None:
    count, _, columns = matrices.shape
    apart = matrices.reshape(count, 4, 2, 8, columns // 8, 4, 2)
    lanes = np.ascontiguousarray(apart.transpose(0, 1, 3, 5, 4, 2, 6))
    bits = lanes.reshape(groups.size, -1).view(np.uint32)
    batch.products.bank[np.ix_(rows, groups.ravel())] = bits.T


def _rounded(found: Array, product: Product) -> Array:
    if product.to != "s32":
        return found.astype(ELEMENTS[product.to])
    if product.limited:
        found = np.clip(found, -(2**31), 2**31 - 1)
    return found.astype(np.int64).astype(np.int32)


# ------------------------------------------------------------------ operands


def _left(
    instruction: Instruction, scope: Scope, operand: Operand, product: Product
) -> _Registers | _Tile:
    if not isinstance(operand, Tuple):
        return _Tile(instruction, scope, operand, M, product.left,
                     across=product.across[0])  # fmt: skip
    rows = _rows(scope, operand, instruction)
    if len(rows) != 4:
        raise ValueError(rows)
    return _Registers(rows, product.left)


def _values(data: Array, name: str) -> Array:
    """Elements of bytes, in f64; tf32 has 19 bits."""
    if name == "tf32":
        data = (data.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.uint8)
    # What nobody wrote may be no number, and is nobody's concern in rows nobody reads.
    with np.errstate(invalid="ignore"):
        return data.view(ELEMENTS[name]).astype(np.float64)


class _Registers:
    """A in four registers of each thread."""

    def __init__(self, registers: Ints, name: str) -> None:
        self.registers, self._name = registers, name

    def read(self, batch: Batch, groups: Ints) -> Array:
        """[groups, 64, K]: of each warp rows 0 and 8 on, then the other 16 bytes."""
        bits = batch.products.values(self.registers, groups.ravel())
        values = _values(np.ascontiguousarray(bits).view(np.uint8), self._name)
        # by warp, by four lanes, by lane, by 16 bytes, by 8 rows, by element
        apart = values.reshape(len(groups), 4, 8, 4, 2, 2, -1)
        return apart.transpose(0, 1, 5, 2, 4, 3, 6).reshape(len(groups), M, -1)


class _Tile:
    """An operand in shared memory, by its descriptor."""

    def __init__(
        self,
        instruction: Instruction,
        scope: Scope,
        operand: Operand,
        rows: int,
        name: str,
        *,
        across: bool,
    ) -> None:
        self.registers = np.zeros(0, np.int64)
        self._at, self._rows, self._name, self._across = instruction, rows, name, across
        self._descriptor = scope.read(operand, TYPES["u64"], instruction)

    def read(self, batch: Batch, groups: Ints) -> Array:
        """[groups, rows, K]; zeros where there is no shared memory."""
        given = np.broadcast_to(self._descriptor(batch, groups.ravel()), groups.size)
        bits = _agreed(batch, self._at, groups, given.reshape(groups.shape))
        addresses = self._addresses(bits)
        inside = (addresses >= SHARED) & (addresses < SHARED + batch.shared.size)
        good = inside.all(axis=1)
        if not good.all():
            first = int(addresses[~inside][0])
            batch.report(
                self._at, "EP0503", "an operand where there is no shared memory",
                groups[~good].ravel(), address=first,
            )  # fmt: skip
        chunks = np.where(inside, addresses - SHARED, 0) // CHUNK
        first = batch.workgroup(groups[:, 0]) * (batch.shared.size // CHUNK)
        chunks = chunks + first[:, None]
        if batch.checks and good.any():
            self._note(batch, groups[good], addresses[good], chunks[good])
        data = rows_of(batch.shared.data, CHUNK)[chunks]
        data[~inside] = 0
        return self._arranged(data)

    def _addresses(self, bits: Array) -> Ints:
        """Of chunks, [groups, chunks]."""
        known = {each: self._chunks(decode(each)) for each in set(bits.tolist())}
        return np.stack([known[each] for each in bits.tolist()])

    def _chunks(self, of: Descriptor) -> Ints:
        if of.base:
            raise UnknownInstructionError(
                f"{self._at}: a descriptor with a base offset", self._at.line
            )
        return chunk_addresses(of, self._rows, across=self._across).ravel()

    def _arranged(self, data: Bytes) -> Array:
        count = len(data)
        if not self._across:
            return _values(data.reshape(count, self._rows, -1), self._name)
        return _values(data.reshape(count, 16, -1), self._name).transpose(0, 2, 1)

    def _note(self, batch: Batch, groups: Ints, addresses: Ints, chunks: Ints) -> None:
        """Check that nothing writes these bytes, until their warps have waited."""
        line = self._at.line
        warps = groups[:, ::LANES] // LANES
        found = batch.shared.begin_reading(warps, chunks, line)
        tell(batch, self._at, groups[:, 0], addresses[:, 0], found)
        due = batch.products.committed[groups[:, ::LANES]] + 1
        left = np.ones(warps.shape, np.bool_)
        new = Reading(warps, due, chunks, left, line)
        for each in batch.products.readings.begin(new):
            _end(batch, each, each.left)

"""MFMA: matrix products of a whole wave of 64 lanes.

Layouts: CDNA3 ISA section "Matrix Arithmetic Instructions". Sums are made in f32 (f64
for f64 and with scales), in an order of numpy's; the order of the hardware is not
documented, so results agree within rounding. MI200 flushes denormals of f16 and bf16
products, of the operands and of the result (PyTorch, "Numerical accuracy").
"""

# Arrays whose type depends on the instruction are Any at this edge.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_amdgcn import floats
from wave_emulator_amdgcn.errors import UnknownInstructionError
from wave_emulator_amdgcn.operands import constant, raw32
from wave_isa_amdgcn.matrix import mfma_of

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Array, Function, Selection
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.isa.vector import Run
    from wave_emulator_amdgcn.machine import Machine
    from wave_isa_amdgcn.matrix import Mfma

BITS = {"F64": 64, "F32": 32, "XF32": 32, "F16": 16, "BF16": 16, "I8": 8, "FP8": 8,
        "BF8": 8, "FP6": 6, "BF6": 6, "FP4": 4, "IU8": 8, "IU4": 4}  # fmt: skip
"""Bits of an element by its type in the name of an instruction."""


def formats_of(ins: Instruction) -> tuple[int, int]:
    """Cbsz and blgp: the types of A and B where the name leaves them open."""
    return ins.get("cbsz"), ins.get("blgp")


def describe(ins: Instruction) -> Mfma:
    """Parse the name of an MFMA."""
    try:
        shape = mfma_of(ins.name, formats_of(ins))
    except IndexError as error:
        message = f"formats of {ins.text}"
        raise UnknownInstructionError("EM0302", message) from error
    if shape is None:
        raise UnknownInstructionError("EM0301", f"{ins.text} at {ins.pc:#x}")
    return shape


def row_of(code: int, *, accumulator: bool = False) -> int:
    """The row of a vector register; negative for what is none."""
    return code - 256 + (256 if accumulator else 0)


def registers(m: Machine, row: int, count: int, g: Selection) -> Array:
    """Registers as [waves, lanes, count].

    Raises:
        UnknownInstructionError: EM0302, they are no vector registers.
    """
    if row < 0:
        raise UnknownInstructionError("EM0302", "a scalar as several registers")
    if row + count > len(m.V):
        raise IndexError(row + count)
    return np.ascontiguousarray(np.moveaxis(m.V[row : row + count, g], 0, -1))


def unpacked(words: Array, bits: int, count: int) -> Array:
    """The codes [..., count] that words hold one after the other."""
    flat = np.unpackbits(words.view(np.uint8), axis=-1, bitorder="little")
    parts = flat[..., : count * bits].reshape(*flat.shape[:-1], count, bits)
    weights = (1 << np.arange(bits)).astype(np.uint8)
    return (parts * weights).sum(axis=-1, dtype=np.uint8)


def power_of_two(exponent: Array) -> Array:
    """A scale of eight bits (E8M0); all ones mean NaN."""
    value = np.ldexp(1.0, exponent.astype(np.int32) - 127)
    return np.where(exponent == 255, np.nan, value)


def _to_xf32(words: Array) -> Array:
    """F32 with ten bits of mantissa, to nearest even: how it rounds is assumed."""
    odd = words >> np.uint32(13) & np.uint32(1)
    rounded = (words + np.uint32(0xFFF) + odd) & ~np.uint32(0x1FFF)
    value = words.view(np.float32)
    return np.where(np.isnan(value), value, rounded.view(np.float32))


_NUMBERS: dict[str, Function] = {
    "F16": lambda words: words.view(np.float16).astype(np.float32),
    "BF16": lambda words: floats.bf16_to_f32(words.view(np.uint16)),
    "F32": lambda words: words.view(np.float32), "XF32": _to_xf32,
    "F64": lambda words: words.view(np.float64),
    "I8": lambda words: words.view(np.int8).astype(np.float32),
}  # fmt: skip


def elements(words: Array, kind: str, count: int, *, fnuz: bool) -> Array:
    """The elements of each lane as numbers to multiply."""
    if kind in _NUMBERS:
        return _NUMBERS[kind](words)
    if kind in ("FP8", "BF8"):
        table = floats.small_table(kind.lower() + ("_fnuz" if fnuz else ""))
        return table[words.view(np.uint8)]
    codes = unpacked(words, BITS[kind], count)
    return floats.small_table(kind.lower())[codes]


def _scales(ins: Instruction) -> Function:
    """Powers of two [waves, lanes] of both operands: a byte of a register (E8M0)."""
    fetches = [raw32(ins.fields[f"scale_src{k}"], 0) for k in range(2)]
    shifts = [
        np.uint32(8 * (ins.get("opsel") >> k & 1 | (ins.get("opsel_hi") >> k & 1) << 1))
        for k in range(2)
    ]

    def scales(m: Machine, g: Selection) -> list[Array]:
        shape = (m.count(g), m.lanes)
        bytes_ = [
            fetch(m, g) >> shift & np.uint32(255)
            for fetch, shift in zip(fetches, shifts, strict=True)
        ]
        return [np.broadcast_to(power_of_two(byte), shape) for byte in bytes_]

    return scales


@dataclass(frozen=True)
class _Swap:
    """Which blocks of A, which lanes of B, and which signs a product takes."""

    blocks: Array | None
    lanes: Array | None
    negate: int


#: BLGP: the 64 lanes of B, as (first lane, lanes) of what is repeated. 3 rotates; the
#: manuals that are public do not say which way, so it is refused.
_LANE_GROUPS = {1: (0, 32), 2: (32, 32), 4: (0, 16), 5: (16, 16), 6: (32, 16),
                7: (48, 16)}  # fmt: skip


def _swaps(ins: Instruction, shape: Mfma) -> _Swap:
    """CBSZ, ABID and BLGP (CDNA3 ISA; AMD's matrix instruction calculator)."""
    size, block, group = (ins.get(name) for name in ("cbsz", "abid", "blgp"))
    if "F8F6F4" in ins.name:
        return _Swap(None, None, 0)
    if shape.out == "F64" and not size and not block:
        return _Swap(None, None, group)
    narrow = shape.a in ("FP8", "BF8") or shape.out == "F64"
    bad = 1 << size > shape.blocks or block >= 1 << size or group == 3
    if bad or (narrow and any((size, block, group))):
        raise UnknownInstructionError("EM0302", f"cbsz, abid, blgp: {ins.text}")
    blocks = np.arange(shape.blocks) >> size << size | block if size else None
    first, count = _LANE_GROUPS.get(group, (0, 64))
    return _Swap(blocks, first + np.arange(64) % count if group else None, 0)


def _flushes(kind: str) -> Callable[[Array], Array]:
    """Flush operands of 16 bits as MI200 does."""
    tiny = {"F16": 2.0**-14, "BF16": 2.0**-126}[kind]
    return lambda v: np.where(np.abs(v) < tiny, np.copysign(np.float32(0), v), v)


def bind(ins: Instruction) -> Run:
    """The closure of an MFMA; operands may have a scale for every 32 elements."""
    shape, scaled = describe(ins), ins.encoding == "VOP3PX2"
    scales = _scales(ins) if scaled else None
    acc, acc_cd = ins.get("acc"), bool(ins.get("acc_cd"))
    rows = [
        row_of(ins.fields[f"src{k}"], accumulator=bool(acc >> k & 1)) for k in range(2)
    ]
    out = row_of(ins.fields["vdst"], accumulator=acc_cd)
    count = shape.m * shape.n * shape.blocks // 64 * (2 if shape.out == "F64" else 1)
    old_values = addend(ins, count, accumulator=acc_cd)
    swap = _swaps(ins, shape)
    load = _loader(shape, rows)
    halves = shape.a in ("F16", "BF16")

    def run(m: Machine, g: Selection) -> None:
        a, b = load(m, g)
        old = old_values(m, g)
        flushing = halves and m.architecture.flushes_halves
        if flushing:
            a, b = _flushes(shape.a)(a), _flushes(shape.b)(b)
            old = floats.flush(old.view(np.float32)).view(np.uint32)
        factors = None if scales is None else scales(m, g)
        with np.errstate(all="ignore"):
            product = _product(a, b, shape, swap, factors)
            if swap.negate & 4:
                # Pairs of registers are an f64.
                signs = np.array([0, 1 << 31] * (len(old) // 2), np.uint32)
                old = old ^ signs[:, None, None]
            total = add(old, _spread(product, shape), shape.out)
        if flushing:
            total = floats.flush(total.view(np.float32)).view(np.uint32)
        m.V[out : out + count, g] = total

    return run


def _loader(
    shape: Mfma, rows: list[int]
) -> Callable[[Machine, Selection], tuple[Array, Array]]:
    """The elements of A and B of each lane."""
    counts = [shape.k * size * shape.blocks // 64 for size in (shape.m, shape.n)]
    sides = list(zip(rows, (shape.a, shape.b), counts, strict=True))

    def load(m: Machine, g: Selection) -> tuple[Array, Array]:
        fnuz = m.architecture.fp8_fnuz
        words = [max(1, count * BITS[kind] // 32) for _, kind, count in sides]
        a, b = (
            elements(registers(m, row, n, g), kind, count, fnuz=fnuz)
            for (row, kind, count), n in zip(sides, words, strict=True)
        )
        return a, b

    return load


def _product(
    a: Array, b: Array, shape: Mfma, swap: _Swap, factors: list[Array] | None
) -> Array:
    """[waves, blocks, m, n]; each operand times its factors, if there are any."""
    if swap.lanes is not None:
        b = b[:, swap.lanes]
    if swap.negate & 1:
        a = -a
    if swap.negate & 2:
        b = -b
    left = _operand(a, shape.m, shape, shape.a)
    if swap.blocks is not None:
        left = left[:, swap.blocks]
    right = _operand(b, shape.n, shape, shape.b)
    if factors is not None:
        left = left * _of_elements(factors[0], shape.m, shape.k)
        right = right * _of_elements(factors[1], shape.n, shape.k)
    return np.matmul(left, np.swapaxes(right, -1, -2))


def _operand(values: Array, rows: int, shape: Mfma, kind: str) -> Array:
    """[waves, lanes, e] to [waves, blocks, rows, k].

    A lane has elements side by side; of the 32 of an 8-bit float two times 16, between
    which those of the other lanes lie (AMD, "Matrix Core Programming on CDNA3 and
    CDNA4").
    """
    waves, _, per_lane = values.shape
    groups = shape.k // per_lane
    pieces = per_lane // 16 if kind in ("FP8", "BF8") and per_lane == 32 else 1
    tile = values.reshape(waves, groups, shape.blocks, rows, pieces, -1)
    ordered = tile.transpose(0, 2, 3, 4, 1, 5)
    return ordered.reshape(waves, shape.blocks, rows, shape.k)


def _of_elements(factors: Array, rows: int, k: int) -> Array:
    """[waves, lanes] to [waves, 1, rows, k]: one for each 32 elements along K."""
    by_block = factors.reshape(len(factors), -1, rows).swapaxes(1, 2)
    return by_block.repeat(k * rows // 64, axis=2)[:, None]


def _spread(product: Array, shape: Mfma) -> Array:
    """[waves, blocks, m, n] to registers [count, waves, lanes]."""
    waves = len(product)
    m, n, blocks = shape.m, shape.n, shape.blocks
    if shape.out == "F64":
        if m == 4:
            # Lane: column, then block, then row.
            return product.transpose(0, 2, 1, 3).reshape(1, waves, 64)
        tile = product.reshape(waves, 4, 4, n)
        return tile.transpose(1, 0, 2, 3).reshape(4, waves, 64)
    if m == 4:
        # Row is the register, lane is block and column.
        return product.transpose(2, 0, 1, 3).reshape(4, waves, 64)
    high = 64 // n
    tile = product.reshape(waves, blocks, m // (4 * high), high, 4, n)
    return tile.transpose(1, 2, 4, 0, 3, 5).reshape(-1, waves, 64)


def addend(ins: Instruction, count: int, *, accumulator: bool) -> Function:
    """C as registers [count, waves, lanes]: registers, or a constant everywhere."""
    code = ins.fields["src2"]
    if code >= 256:
        row = row_of(code, accumulator=accumulator)
        return lambda m, g: m.V[row : row + count, g]
    wide = "F64" in ins.name
    value = constant(code, "f64" if wide else "f32", 0) or 0
    words = [value & 0xFFFFFFFF, value >> 32] if wide else [value]

    def fixed(m: Machine, g: Selection) -> Array:
        column = np.array(words * (count // len(words)), np.uint32)
        return np.broadcast_to(column[:, None, None], (count, m.count(g), m.lanes))

    return fixed


def add(old: Array, product: Array, out: str) -> Array:
    """Registers of old plus product."""
    if out == "F32":
        total = old.view(np.float32) + product
        return total.astype(np.float32).view(np.uint32)
    if out == "I32":
        return (old.view(np.int32) + product.astype(np.int64)).astype(np.uint32)
    pair = np.ascontiguousarray(np.moveaxis(old, 0, -1)).view(np.float64)
    total = np.moveaxis(pair, -1, 0) + product
    words = np.ascontiguousarray(total)[..., None].view(np.uint32)
    return np.moveaxis(words, -1, 1).reshape(old.shape)

"""WMMA: matrix products of a wave of 32 lanes (gfx11, gfx12).

Layouts and modifiers: RDNA3 and RDNA4 ISA, "Wave Matrix Multiply Accumulate". Sums are
made in f32, in an order of numpy's, and a 16-bit result is rounded once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_amdgcn import floats
from wave_emulator_amdgcn.errors import UnknownInstructionError
from wave_emulator_amdgcn.isa.matrix import BITS, elements, registers, row_of
from wave_emulator_amdgcn.operands import constant

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Array, Function, Selection
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.isa.vector import Run
    from wave_emulator_amdgcn.machine import Machine

_NAME = re.compile(
    r"V_WMMA_(F32|F16|BF16|I32)_16X16X(16|32)_([A-Z0-9]+)(?:_([A-Z0-9]+))?"
)
_U = np.uint32


@dataclass(frozen=True)
class _Shape:
    """Types and sizes of one product.

    Attributes:
        out: type of the result.
        kinds: types of A and B.
        per_lane: elements of A and of B in a lane.
        replicated: both halves of the wave hold the same A and B (gfx11).
        count: registers of the result.
    """

    out: str
    kinds: tuple[str, str]
    per_lane: int
    replicated: bool
    count: int


def _describe(ins: Instruction) -> _Shape:
    found = _NAME.fullmatch(ins.name)
    if not found:
        raise UnknownInstructionError("EM0301", f"{ins.text} at {ins.pc:#x}")
    out, k, a = found[1], int(found[2]), found[3]
    replicated = ins.chip.replicated
    count = 8 if replicated or out in ("F32", "I32") else 4
    kinds = (a, found[4] or a)
    return _Shape(out, kinds, k if replicated else k // 2, replicated, count)


def bind_wmma(ins: Instruction) -> Run:
    """The closure of a WMMA of 32 lanes."""
    shape = _describe(ins)
    sources = [_source(ins, shape, i) for i in range(2)]
    vdst = ins.fields["vdst"] - 256
    old_values = _old(ins, shape)
    top, clamp = bool(ins.get("opsel") >> 2 & 1), bool(ins.get("clmp"))

    def run(m: Machine, g: Selection) -> None:
        if m.lanes != 32:
            raise UnknownInstructionError("EM0302", f"64 lanes: {ins.text}")
        with np.errstate(all="ignore"):
            a, b = (source(m, g) for source in sources)
            product = _rows(np.matmul(a, np.swapaxes(b, -1, -2)), shape)
            new = _sum(old_values(m, g), product, shape, top=top, clamp=clamp)
        if shape.replicated and shape.out in ("F16", "BF16"):
            # The half that OPSEL does not pick stays what it was in D.
            other = _U(0xFFFF if top else 0xFFFF0000)
            new = new & ~other | m.V[vdst : vdst + shape.count, g] & other
        m.V[vdst : vdst + shape.count, g] = new

    return run


def _source(ins: Instruction, shape: _Shape, slot: int) -> Function:
    """A or B as [waves, 16, k]."""
    kind, row = shape.kinds[slot], row_of(ins.fields[f"src{slot}"])
    bits = BITS[kind]
    words = shape.per_lane * bits // 32
    signed = bool(ins.get("neg") >> slot & 1)
    signs = _signs(ins, slot, shape.per_lane) if bits == 16 else None

    def load(m: Machine, g: Selection) -> Array:
        data = registers(m, row, words, g)
        if kind.startswith("IU"):
            values = _small_integers(data, bits, signed=signed)
        else:
            values = elements(data, kind, shape.per_lane, fnuz=False)
            values = values if signs is None else values * signs
        return _tile(values, shape)

    return load


def _signs(ins: Instruction, slot: int, count: int) -> Array | None:
    """NEG of the low halves, NEG_HI of the high ones."""
    low, high = (ins.get(name) >> slot & 1 for name in ("neg", "neg_hi"))
    if not low and not high:
        return None
    return np.tile(np.array([1 - 2 * low, 1 - 2 * high], np.float32), count // 2)


def _small_integers(words: Array, bits: int, *, signed: bool) -> Array:
    codes = words.view(np.uint8)
    if bits == 4:
        codes = np.stack([codes & 15, codes >> 4], axis=-1)
        codes = codes.reshape(*codes.shape[:-2], -1)
    value = codes.astype(np.int32)
    half = 1 << (bits - 1)
    return ((value ^ half) - half if signed else value).astype(np.float32)


def _tile(values: Array, shape: _Shape) -> Array:
    if shape.replicated:
        return values[:, :16]
    # Lanes 0 to 15 hold the lower half of k, lanes 16 to 31 the upper one.
    pair = values.reshape(len(values), 2, 16, shape.per_lane)
    return pair.transpose(0, 2, 1, 3).reshape(len(values), 16, 2 * shape.per_lane)


def _rows(product: Array, shape: _Shape) -> Array:
    """Rows of the result: gfx11 row 2r + half in register r, gfx12 row r + 8 half."""
    waves = len(product)
    if shape.replicated:
        tile = product.reshape(waves, 8, 2, 16).transpose(1, 0, 2, 3)
    else:
        tile = product.reshape(waves, 2, 8, 16).transpose(2, 0, 1, 3)
    return tile.reshape(8, waves, 32)


def _old(ins: Instruction, shape: _Shape) -> Function:
    """C, with its signs changed: NEG_HI is the absolute value, NEG negates after."""
    code, count = ins.fields["src2"], shape.count
    sign = _U(1 << 31 if shape.out == "F32" else 0x80008000)
    absolute, negate = ins.get("neg_hi") >> 2 & 1, ins.get("neg") >> 2 & 1
    if shape.out == "I32":
        absolute = negate = 0

    def load(m: Machine, g: Selection) -> Array:
        if code >= 256:
            bits = m.V[code - 256 : code - 256 + count, g]
        else:
            value = _constant(code, shape.out)
            bits = np.full((count, m.count(g), m.lanes), value, np.uint32)
        bits = bits & ~sign if absolute else bits
        return bits ^ sign if negate else bits

    return load


def _constant(code: int, out: str) -> int:
    """Bits of an inline constant in every element."""
    if out in ("F32", "I32"):
        return constant(code, "f32", 0) or 0
    half = constant(code, "f16", 0) if out == "F16" else None
    if half is None:
        half = (constant(code, "f32", 0) or 0) >> (16 if code >= 240 else 0)
    return (half & 0xFFFF) * 0x10001


def _sum(old: Array, rows: Array, shape: _Shape, *, top: bool, clamp: bool) -> Array:
    """Registers of C plus the product; 16 bits of gfx11 stand in one half of each."""
    if shape.out == "I32":
        total = old.view(np.int32) + rows.astype(np.int64)
        if clamp:
            total = np.clip(total, -(1 << 31), (1 << 31) - 1)
        return total.astype(np.uint32)
    if shape.out == "F32":
        return (old.view(np.float32) + rows).view(np.uint32)
    if shape.replicated:
        shift = _U(16 if top else 0)
        total = _half_sum((old >> shift).astype(np.uint16), rows, shape.out)
        return total.astype(np.uint32) << shift
    halves = np.stack([old & _U(0xFFFF), old >> _U(16)], axis=1)
    flat = halves.reshape(rows.shape).astype(np.uint16)
    total = _half_sum(flat, rows, shape.out).reshape(halves.shape).astype(np.uint32)
    return total[:, 0] | total[:, 1] << _U(16)


def _half_sum(old: Array, rows: Array, out: str) -> Array:
    if out == "F16":
        total = old.view(np.float16).astype(np.float32) + rows
        return total.astype(np.float16).view(np.uint16)
    return floats.f32_to_bf16((floats.bf16_to_f32(old) + rows).astype(np.float32))

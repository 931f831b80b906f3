"""Conversions from and to fp8, bf8, fp6, bf6 and fp4.

Source: CDNA3 and CDNA4 ISA, RDNA4 ISA, instructions V_CVT with these types. A result
beyond the largest number becomes infinity, or NaN where there is none, unless MODE bit
23 (FP16_OVFL) clamps it. Scaled conversions always clamp, and a NaN becomes the largest
fp6 or fp4: both are assumptions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_amdgcn import floats
from wave_emulator_amdgcn.errors import UnknownInstructionError
from wave_emulator_amdgcn.isa.matrix import BITS, power_of_two, registers, unpacked
from wave_emulator_amdgcn.isa.vector import Run, lane_filter
from wave_emulator_amdgcn.operands import Fetch, raw32, typed

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Array, Selection
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.machine import Machine

_U = np.uint32
_SMALL = r"(FP8|BF8|FP6|BF6|FP4)"
_WIDEN = re.compile(rf"V_CVT_(SCALEF32_)?(PK32_|PK_)?(F32|F16|BF16)_{_SMALL}")
_NARROW = re.compile(rf"V_CVT_(SCALEF32_)?(2XPK16_|PK32_|PK_){_SMALL}_(F32|F16|BF16)")
_OVERFLOW_CLAMP = 23
"""Bit of MODE that clamps overflow: FP16_OVFL."""


def bind(ins: Instruction) -> Run | None:
    """The closure of a conversion; None for other instructions."""
    if found := _WIDEN.fullmatch(ins.name):
        return (_widen_many if found[2] == "PK32_" else _widen)(ins, found)
    if found := _NARROW.fullmatch(ins.name):
        if ins.get("clmp") or ins.get("omod"):
            raise UnknownInstructionError("EM0302", f"modifiers of {ins.text}")
        return (_narrow if found[2] == "PK_" else _narrow_many)(ins, found)
    return None


def _whole(ins: Instruction, slot: int, kind: str) -> Fetch:
    """An operand whose half OPSEL does not pick."""
    plain = replace(ins, fields={**ins.fields, "opsel": 0})
    return typed(plain, ins.fields[f"src{slot}"], kind, slot)


def _form(ins: Instruction, kind: str) -> str:
    """The name of a type in `floats`, with the form that the machine has of it."""
    fnuz = ins.chip.fp8_fnuz and BITS[kind] == 8
    return kind.lower() + ("_fnuz" if fnuz else "")


def _scale(ins: Instruction, slot: int) -> Fetch:
    """A power of two: the exponent of an f32; all ones mean NaN."""
    fetch = raw32(ins.fields[f"src{slot}"], ins.get("literal"))

    return lambda m, g: power_of_two(fetch(m, g) >> _U(23) & _U(255))


def _chosen(ins: Instruction, kind: str, count: int, *, scaled: bool) -> int:
    """The first bit of the source that OPSEL picks."""
    opsel = ins.get("opsel")
    if ins.chip.sdwa and not scaled:
        return 0  # SDWA selects.
    if count == 2 and kind != "FP4":
        return 16 * (opsel & 1)
    if scaled:
        return 8 * (opsel & 3)
    # RDNA4 ISA, V_CVT_F32_FP8: the two bits are swapped.
    return 8 * ((opsel & 1) << 1 | opsel >> 1 & 1)


def _widen(ins: Instruction, found: re.Match[str]) -> Run:
    """One or two numbers of a byte or word, times a scale."""
    scaled, kind, wide = bool(found[1]), found[4], found[3]
    count = 2 if found[2] else 1
    bits, fetch = BITS[kind], _whole(ins, 0, "b32")
    shift = _chosen(ins, kind, count, scaled=scaled)
    scale = _scale(ins, 1) if scaled else None
    write = _writer(ins, wide, count)
    table = floats.small_table(_form(ins, kind)).astype(np.float64)

    def run(m: Machine, g: Selection) -> None:
        word = fetch(m, g) >> _U(shift)
        codes = [word >> _U(bits * k) & _U((1 << bits) - 1) for k in range(count)]
        values = [table[code] for code in codes]
        if scale is not None:
            factor = scale(m, g)
            values = [value * factor for value in values]
        write(m, g, values)

    return run


def _wide_bits(value: Array, wide: str) -> Array:
    with np.errstate(all="ignore"):
        if wide == "F16":
            return value.astype(np.float16).view(np.uint16).astype(np.uint32)
        single = value.astype(np.float32)
        if wide == "F32":
            return single.view(np.uint32)
        return floats.f32_to_bf16(single).astype(np.uint32)


def _writer(
    ins: Instruction, wide: str, count: int
) -> Callable[[Machine, Selection, list[Array]], None]:
    """Results of one or two numbers; a single f16 keeps the other half."""
    row = ins.fields["vdst"] - 256
    lanes = lane_filter(ins)
    shift = _U(16 * (ins.get("opsel") >> 3 & 1))

    def write(m: Machine, g: Selection, values: list[Array]) -> None:
        words = [_wide_bits(value, wide) for value in values]
        if wide == "F32":
            for k, word in enumerate(words):
                m.write_where(row + k, g, _spread(m, g, word), lanes(m, g))
            return
        if count == 2:
            word = words[0] | words[1] << _U(16)
        else:
            word = m.V[row, g] & ~(_U(0xFFFF) << shift) | words[0] << shift
        m.write_where(row, g, _spread(m, g, word), lanes(m, g))

    return write


def _spread(m: Machine, g: Selection, word: Array) -> Array:
    return np.broadcast_to(word, (m.count(g), m.lanes))


def _wide_values(word: Array, wide: str) -> list[Array]:
    """The numbers of a register, as f64."""
    if wide == "F32":
        return [word.view(np.float32).astype(np.float64)]
    halves = [(word >> _U(16 * k)).astype(np.uint16) for k in range(2)]
    if wide == "F16":
        return [half.view(np.float16).astype(np.float64) for half in halves]
    return [floats.bf16_to_f32(half).astype(np.float64) for half in halves]


def _codes(value: Array, form: str, *, clamp: bool) -> Array:
    return floats.to_small(value, form, clamp=clamp).astype(np.uint32)


def _narrow(ins: Instruction, found: re.Match[str]) -> Run:
    """Two numbers into a byte (fp4) or a word that OPSEL picks; the rest stays."""
    scaled, kind, wide = bool(found[1]), found[3], found[4]
    slots = 2 if wide == "F32" else 1
    fetches = [_whole(ins, k, "f32" if slots == 2 else "b32") for k in range(slots)]
    scale = _scale(ins, slots) if scaled else None
    bits, opsel, form = BITS[kind], ins.get("opsel"), _form(ins, kind)
    shift = 8 * (opsel >> 2 & 3) if kind == "FP4" else 16 * (opsel >> 3 & 1)
    field = _U(((1 << 2 * bits) - 1) << shift)
    row = ins.fields["vdst"] - 256
    lanes = lane_filter(ins)

    def run(m: Machine, g: Selection) -> None:
        words = [fetch(m, g).view(np.uint32) for fetch in fetches]
        values = [v for word in words for v in _wide_values(word, wide)]
        clamp = scaled or bool(m.mode >> _OVERFLOW_CLAMP & 1)
        if scale is not None:
            factor = scale(m, g)
            values = [value / factor for value in values]
        low, high = (_codes(v, form, clamp=clamp) for v in values)
        packed = (low | high << _U(bits)) << _U(shift)
        m.write_where(row, g, m.V[row, g] & ~field | packed, lanes(m, g))

    return run


def _packed(codes: Array, bits: int) -> Array:
    """Codes [waves, lanes, n] as words [waves, lanes, n * bits / 32]."""
    flat = (codes[..., None] >> np.arange(bits, dtype=np.uint32) & _U(1)).astype(
        np.uint8
    )
    data = np.packbits(flat.reshape(*codes.shape[:2], -1), axis=-1, bitorder="little")
    return np.ascontiguousarray(data).view(np.uint32)


def _widen_many(ins: Instruction, found: re.Match[str]) -> Run:
    """Thirty-two numbers of six bits."""
    wide = found[3]
    source, row = ins.fields["src0"] - 256, ins.fields["vdst"] - 256
    scale = _scale(ins, 1)
    table = floats.small_table(found[4].lower()).astype(np.float64)

    def run(m: Machine, g: Selection) -> None:
        codes = unpacked(registers(m, source, 6, g), 6, 32)
        bits = _wide_bits(table[codes] * scale(m, g)[..., None], wide)
        if wide != "F32":
            bits = bits[..., ::2] | bits[..., 1::2] << _U(16)
        m.write_rows(row, g, np.moveaxis(bits, -1, 0), m.mask(g))

    return run


def _narrow_many(ins: Instruction, found: re.Match[str]) -> Run:
    """Thirty-two numbers to six bits; two operands of sixteen f32 alternate."""
    form, wide = _form(ins, found[3]), found[4]
    slots = 2 if found[2] == "2XPK16_" else 1
    sources = [ins.fields[f"src{k}"] - 256 for k in range(slots)]
    row, scale = ins.fields["vdst"] - 256, _scale(ins, slots)

    def run(m: Machine, g: Selection) -> None:
        parts: list[Array] = []
        for source in sources:
            parts += _wide_values(registers(m, source, 16, g), wide)
        values = np.stack(parts, axis=-1).reshape(m.count(g), m.lanes, 32)
        factor = scale(m, g)[..., None]
        codes = _codes(values / factor, form, clamp=True)
        m.write_rows(row, g, np.moveaxis(_packed(codes, 6), -1, 0), m.mask(g))

    return run

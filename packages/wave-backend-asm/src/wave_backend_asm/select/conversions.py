"""Conversions of one element, whose words are its own."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

from wave_backend_asm.machine.operands import Operand, Virtual, is_scalar
from wave_backend_asm.select.basics import basic, lane_test
from wave_backend_asm.select.data import WORD, bits_of_item
from wave_backend_asm.select.long_conversions import (
    double_of,
    integer_of,
    single_of,
)
from wave_backend_asm.select.pairs import low_alone

if TYPE_CHECKING:
    from wave_backend_asm.select.builder import Builder

Words = tuple[Operand, ...]


def extended(b: Builder, word: Operand, bits: int, *, signed: bool) -> Operand:
    """An integer of fewer bits as one of 32."""
    if bits >= WORD:
        return word
    if is_scalar(word):
        up = basic(b, "shli", word, WORD - bits)
        return basic(b, "shrsi" if signed else "shrui", up, WORD - bits)
    if not signed and bits in (8, 16):
        return basic(b, "andi", word, (1 << bits) - 1)
    whole, first = b.part(word)
    return b.valu("v_bfe_i32" if signed else "v_bfe_u32", whole, first, bits)


def chosen(b: Builder, test: Operand, one: Operand, other: Operand) -> Operand:
    """A word where a truth value holds, and another one elsewhere."""
    if one == other or (other == 0 and b.is_zero_without(one, test)):
        return one
    if isinstance(test, int):
        return one if test else other
    if b.is_uniform(test) and is_scalar(one) and is_scalar(other):
        b.say("s_cmp_lg_u64", (), (test, 0))
        return b.salu("s_cselect_b32", one, other)
    return b.valu("v_cndmask_b32_e64", other, one, test)


def truncated_to_truth(b: Builder, word: Operand) -> Operand:
    """The lowest bit."""
    if isinstance(word, int):
        return word & 1
    return lane_test(b, "v_cmp_ne_u32_e64", 0, basic(b, "andi", word, 1))


def converted(
    b: Builder, word: str, source: str, wanted: str, value: Words
) -> Words | None:
    """An element of another item; ``None`` where there is no way here."""
    bits, after = bits_of_item(source), bits_of_item(wanted)
    if word in ("extsi", "extui", "trunci"):
        return _integer(b, word, bits, after, value)
    if word == "bitcast":
        return value
    if word in ("sitofp", "uitofp"):
        return _to_float(b, word, bits, wanted, value)
    if word in ("fptosi", "fptoui"):
        return _to_integer(b, word, source, after, value)
    return _float(b, word, source, wanted, value)


def _to_integer(
    b: Builder, word: str, source: str, after: int, value: Words
) -> Words | None:
    if source not in ("f32", "f64"):
        return None
    signed = word == "fptosi"
    if after <= WORD:
        given = value[0] if source == "f32" else _double(b, value)
        return (b.valu(f"v_cvt_{'i32' if signed else 'u32'}_{source}", given),)
    if source == "f32":
        value = _as_double(b, "v_cvt_f64_f32", value[0])
    return integer_of(b, (value[0], value[1]), signed=signed)


def _integer(b: Builder, word: str, bits: int, after: int, value: Words) -> Words:
    low = value[0]
    if word == "trunci":
        low = low_alone(b, low)
        return (truncated_to_truth(b, low),) if after == 1 else (low,)
    signed = word == "extsi"
    if bits == 1:
        low = chosen(b, low, 0xFFFFFFFF if signed else 1, 0)
    else:
        low = extended(b, low, bits, signed=signed)
    if after <= WORD:
        return (low,)
    return low, basic(b, "shrsi", low, WORD - 1) if signed else 0


def _to_float(
    b: Builder, word: str, bits: int, wanted: str, value: Words
) -> Words | None:
    if wanted not in ("f32", "f64"):
        return None
    signed = word == "sitofp"
    if bits > WORD:
        pair = value[0], value[1]
        if wanted == "f64":
            return double_of(b, pair, signed=signed)
        return (single_of(b, pair, signed=signed),)
    if bits == 1:
        number = chosen(b, value[0], 0x3F800000 if wanted == "f32" else 0x3FF00000, 0)
        return (number,) if wanted == "f32" else (0, number)
    low = extended(b, value[0], bits, signed=signed)
    name = f"v_cvt_{wanted}_{'i32' if signed else 'u32'}"
    return (b.valu(name, low),) if wanted == "f32" else _as_double(b, name, low)


def _float(
    b: Builder, word: str, source: str, wanted: str, value: Words
) -> Words | None:
    low = value[0]
    if wanted == "f64":
        given = value if source == "f32" else _float(b, word, source, "f32", value)
        return given and _as_double(b, "v_cvt_f64_f32", given[0])
    if source == "f64":
        single = (b.valu("v_cvt_f32_f64", _double(b, value)),)
        return single if wanted == "f32" else None
    if (source, wanted) == ("f16", "f32"):
        return (_single(b, low),)
    if (source, wanted) == ("f32", "f16"):
        return (b.valu("v_cvt_f16_f32", low),)
    if (source, wanted) == ("bf16", "f32"):
        return (basic(b, "shli", low, 16),)
    if (source, wanted) == ("f32", "bf16"):
        return (_upper_half(b, low),)
    return None


PAIRS = {
    ("gfx950", "f32", "f16"): "v_cvt_pk_f16_f32",
    ("gfx950", "f32", "bf16"): "v_cvt_pk_bf16_f32",
}
"""Conversions of two elements at once, to nearest, by chip. Source: CDNA4 ISA, VOP3."""


def in_pairs(b: Builder, name: str, parts: Sequence[Words]) -> Words:
    """Elements converted two by two, which are a word; of a last one says half nothing.

    Args:
        b: where code goes.
        name: of the instruction.
        parts: the elements, each a word.
    """
    single = [part[0] for part in parts]
    rows = [single[at : at + 2] for at in range(0, len(single), 2)]
    return tuple([b.valu(name, row[0], row[-1]) for row in rows])


def _single(b: Builder, half: Operand) -> Operand:
    """An f16 as f32; of a number the lower half is one, as an operand all would be."""
    if not isinstance(half, int):
        whole, shift = b.part(half)
        if shift == _HALF and not is_scalar(whole):
            return b.valu("v_cvt_f32_f16_sdwa", whole, modifiers=_UPPER)
        return b.valu("v_cvt_f32_f16", half)
    (value,) = struct.unpack("<e", (half & 0xFFFF).to_bytes(2, "little"))
    return int.from_bytes(struct.pack("<f", value), "little")


_HALF = 16
_UPPER = "dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1"
"""The operand is the upper half of a word. Source: CDNA3 ISA, SDWA."""


def _double(b: Builder, value: Words) -> Operand:
    return b.together([*map(b.in_vector, value)])


def _as_double(b: Builder, name: str, word: Operand) -> Words:
    """A conversion whose result takes two registers."""
    result = Virtual(2)
    b.valu(name, word, result=result.all)
    return result.parts()


def _upper_half(b: Builder, word: Operand) -> Operand:
    """A bf16, to nearest, ties to even; NaN stays NaN."""
    word = b.in_vector(word)
    odd = b.valu("v_bfe_u32", word, 16, 1)
    rounded = b.valu("v_add3_u32", word, odd, 0x7FFF)
    quiet = b.valu("v_or_b32", 0x400000, word)
    test = lane_test(b, "v_cmp_u_f32_e64", word, word)
    found = b.valu("v_cndmask_b32_e64", rounded, quiet, test)
    return basic(b, "shrui", found, 16)

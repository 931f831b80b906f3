"""What VOP3P instructions do, on plain integers.

A row of ``PACKED`` works on each half: type, number of operands, function. The other
tables take whole registers.
"""

from __future__ import annotations

import bitfloats as B
from scalar_reference import extremum, mask, propagating, signed
from vector_reference import dot2, least

M16 = mask(16)


def halves(*, ieee):
    """``name: (type, operands, function)``."""

    def low(a, b):
        return least("f16", a, b, ieee=ieee)

    def high(a, b):
        return least("f16", a, b, ieee=ieee, most=True)

    def lowest(a, b):
        return propagating("f16", a, b)

    def highest(a, b):
        return propagating("f16", a, b, most=True)

    found = {
        "V_PK_ADD_F16": ("f16", 2, lambda a, b: B.add("f16", a, b)),
        "V_PK_MUL_F16": ("f16", 2, lambda a, b: B.mul("f16", a, b)),
        "V_PK_FMA_F16": ("f16", 3, lambda a, b, c: B.fma("f16", a, b, c)),
        "V_PK_MIN_F16": ("f16", 2, low),
        "V_PK_MAX_F16": ("f16", 2, high),
        "V_PK_MIN_NUM_F16": ("f16", 2, lambda a, b: extremum("f16", a, b)),
        "V_PK_MAX_NUM_F16": ("f16", 2, lambda a, b: extremum("f16", a, b, most=True)),
        "V_PK_MINIMUM_F16": ("f16", 2, lowest),
        "V_PK_MAXIMUM_F16": ("f16", 2, highest),
        "V_PK_MINIMUM3_F16": ("f16", 3, lambda a, b, c: lowest(lowest(a, b), c)),
        "V_PK_MAXIMUM3_F16": ("f16", 3, lambda a, b, c: highest(highest(a, b), c)),
        "V_PK_MUL_LO_U16": ("u16", 2, lambda a, b: a * b),
        "V_PK_LSHLREV_B16": ("u16", 2, lambda n, a: a << (n & 15)),
        "V_PK_LSHRREV_B16": ("u16", 2, lambda n, a: a >> (n & 15)),
        "V_PK_ASHRREV_I16": ("i16", 2, lambda n, a: a >> (n & 15)),
    }
    for t in ("u16", "i16"):
        tag = t.upper()
        found |= {
            f"V_PK_ADD_{tag}": (t, 2, lambda a, b: a + b),
            f"V_PK_SUB_{tag}": (t, 2, lambda a, b: a - b),
            f"V_PK_MAD_{tag}": (t, 3, lambda a, b, c: a * b + c),
            f"V_PK_MIN_{tag}": (t, 2, min),
            f"V_PK_MAX_{tag}": (t, 2, max),
        }
    return found


#: Two f32 in register pairs.
PAIRS = {
    "V_PK_ADD_F32": (2, lambda a, b: B.add("f32", a, b)),
    "V_PK_MUL_F32": (2, lambda a, b: B.mul("f32", a, b)),
    "V_PK_FMA_F32": (3, lambda a, b, c: B.fma("f32", a, b, c)),
}


def dot(bits, a, b, c, *, first, second):
    """Products of the parts of two registers, added to a third."""
    for at in range(0, 32, bits):
        x, y = (v >> at & mask(bits) for v in (a, b))
        x = signed(bits, x) if first else x
        y = signed(bits, y) if second else y
        c += x * y
    return c & mask(32)


def _plain(bits, *, sign):
    return lambda a, b, c: dot(bits, a, b, c, first=sign, second=sign)


def dots(*, cdna):
    """``name: (type of the result, function)``."""
    return {
        "V_DOT2_F32_F16": ("f32", lambda a, b, c: dot2("f16", a, b, c)),
        "V_DOT2_F32_BF16": ("f32", lambda a, b, c: dot2("bf16", a, b, c, last=cdna)),
        "V_DOT2_I32_I16": ("u32", _plain(16, sign=True)),
        "V_DOT2_U32_U16": ("u32", _plain(16, sign=False)),
        "V_DOT4_I32_I8": ("u32", _plain(8, sign=True)),
        "V_DOT4_U32_U8": ("u32", _plain(8, sign=False)),
        "V_DOT8_I32_I4": ("u32", _plain(4, sign=True)),
        "V_DOT8_U32_U4": ("u32", _plain(4, sign=False)),
    }


#: Products whose NEG bits say which operands are signed.
SIGNED_BY_NEG = {"V_DOT4_I32_IU8": 8, "V_DOT8_I32_IU4": 4}

#: ``name: result``; operands are f32 or halves as OPSEL says.
MIXED = {
    "V_MAD_MIX_F32": "f32", "V_MAD_MIXLO_F16": "low", "V_MAD_MIXHI_F16": "high",
    "V_FMA_MIX_F32": "f32", "V_FMA_MIXLO_F16": "low", "V_FMA_MIXHI_F16": "high",
}  # fmt: skip


def mix_operand(word, *, half, top, negative, absolute):
    """An operand of a mixed product, as f32."""
    bits = word
    if half:
        bits = B.convert("f16", "f32", word >> (16 if top else 0) & M16)
    bits = B.magnitude("f32", bits) if absolute else bits
    return B.negate("f32", bits) if negative else bits

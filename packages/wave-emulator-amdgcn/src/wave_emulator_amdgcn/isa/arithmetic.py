"""Rows of the vector instructions that work on one lane at a time.

Semantics: CDNA3 ISA (2023) and RDNA4 ISA (2025), chapters "Vector ALU instructions".
Transcendental functions are computed in f64 and rounded once, which is within the one
ulp that the manuals state.
"""

# Arrays whose type depends on the instruction are Any at this edge.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wave_emulator_amdgcn import floats
from wave_emulator_amdgcn.isa import bits as of_bits
from wave_emulator_amdgcn.isa.vector import Row, table

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Array, Function

_U = np.uint32
_L = np.uint64


def rows() -> dict[str, Row]:
    """All rows by name."""
    found = {**_special_floats(), **_integers(), **_bits(), **_three()}
    for bits in ("16", "32", "64"):
        found |= {**_float_rows("f" + bits), **_shifts(bits)}
    return found


def _rounded(function: Function) -> Function:
    """Compute in f64, round once."""

    def call(*values: Array) -> Array:
        wide = [value.astype(np.float64) for value in values]
        return np.asarray(function(*wide)).astype(values[0].dtype)

    return call


def _flushing(function: Function) -> Function:
    """f32 operand and result lose denormals in any mode (ISA: V_EXP, V_LOG, V_RCP)."""

    def call(value: Array) -> Array:
        inner = floats.flush(value)
        result = np.asarray(function(inner.astype(np.float64)))
        return floats.flush(result.astype(value.dtype))

    return call


def _fract(a: Array) -> Array:
    """A - floor(a), below one."""
    below = np.nextafter(a.dtype.type(1), a.dtype.type(0))
    result = np.minimum(a - np.floor(a), below)
    return np.where(np.isinf(a), a.dtype.type(np.nan), result)


def _turn(quarters: int) -> Function:
    """Sin (0) or cos (1) of a number of whole turns; exact at quarters."""

    def call(a: Array) -> Array:
        turns = np.where(np.isinf(a), np.nan, a.astype(np.float64))
        turns = np.fmod(turns, 1.0)
        nearest = np.rint(turns * 4)
        angle = 2 * np.pi * (turns - nearest / 4)
        quarter = np.nan_to_num(nearest).astype(np.int64) + quarters
        value = np.where(quarter & 1, np.cos(angle), np.sin(angle))
        value = np.where(quarter & 2, -value, value)
        value = np.where(value == 0, 0.0, value)
        return np.where((a == 0) & (quarters == 0), a, value.astype(a.dtype))

    return call


def _then(first: Function, second: Function) -> Function:
    """Of three operands, and the IEEE bit where it is given."""
    return lambda a, b, c, *ieee: second(first(a, b, *ieee), c, *ieee)


_ROOTS: dict[str, Function] = {
    "RCP": lambda a: 1.0 / a,
    "RSQ": lambda a: 1.0 / np.sqrt(a),
    "SQRT": np.sqrt,
}


def _float_rows(t: str) -> dict[str, Row]:
    """Rows that floats of all widths have in common."""
    two, three, tag, half = f"{t} {t}", f"{t} {t} {t}", "_" + t.upper(), t == "f16"
    least, most = floats.minimum, floats.maximum
    low, high = floats.propagating_minimum, floats.propagating_maximum
    exponent = "i16" if half else "i32"
    roots = {k: (_flushing if t == "f32" else _rounded)(f) for k, f in _ROOTS.items()}
    return {
        **table(t, t, {
            "TRUNC": np.trunc, "CEIL": np.ceil, "FLOOR": np.floor, "RNDNE": np.rint,
            "FRACT": _fract,
            "FREXP_MANT": lambda a: (
                floats.quiet(np.where(np.isfinite(a), np.frexp(a)[0], a))
            ),
        }, tag),
        **table(t, t, roots, tag, exact=t == "f32"),
        **table(t, two, {
            "ADD": np.add, "SUB": np.subtract, "MUL": np.multiply,
            "SUBREV": of_bits.swapped(np.subtract), "MINIMUM": low, "MAXIMUM": high,
        }, tag),
        **table(t, two + " ieee", {"MIN": least, "MAX": most}, tag),
        **table(t, three + " ieee", {
            "MIN3": _then(least, least), "MAX3": _then(most, most),
            "MINMAX": _then(least, most), "MAXMIN": _then(most, least),
            "MED3": floats.median3,
        }, tag, keeps=half),
        **table(t, three, {
            "FMA": floats.fma, "DIV_FIXUP": floats.div_fixup,
            "MINIMUM3": _then(low, low), "MAXIMUM3": _then(high, high),
            "MINIMUMMAXIMUM": _then(low, high), "MAXIMUMMINIMUM": _then(high, low),
        }, tag, keeps=half),
        **table(t, f"{two} d:{t}", {"FMAC": floats.fma}, tag),
        **table(t, f"{two} k:{t}", {"FMAMK": _factor_last(floats.fma),
                                    "FMAAK": floats.fma}, tag),
        **table(t, f"{t} {exponent}", {"LDEXP": floats.ldexp}, tag),
        **table(exponent, t, {
            f"FREXP_EXP_{exponent.upper()}":
            lambda a: np.where(np.isfinite(a) & (a != 0), np.frexp(a)[1], 0),
        }, tag),
    }  # fmt: skip


def _factor_last(function: Function) -> Function:
    """The third operand is a factor, the second is added."""
    return lambda a, b, k: function(a, k, b)


def _special_floats() -> dict[str, Row]:
    f16, f32, mad = "f16", "f32", "f32 f32 k:f32"
    dots = {"DOT2C_F32_F16": dot2_f16, "DOT2C_F32_BF16": dot2_bf16}
    return {
        **table(f32, f32, {
            "EXP_F32": _flushing(np.exp2), "LOG_F32": _flushing(np.log2),
            "RCP_IFLAG_F32": _flushing(_ROOTS["RCP"]),
        }, exact=True),
        **table(f32, f32, {"SIN_F32": _turn(0), "COS_F32": _turn(1)}),
        **table(f16, f16, {
            "EXP_F16": _rounded(np.exp2), "LOG_F16": _rounded(np.log2),
            "SIN_F16": _turn(0), "COS_F16": _turn(1),
        }),
        # Zero times anything is zero.
        **table(f32, "f32 f32", {
            "MUL_LEGACY_F32":
            lambda a, b: np.where((a == 0) | (b == 0), np.float32(0), a * b),
        }),
        **table(f32, "f32 f32 d:f32", {"MAC_F32": _mad_flushed}, exact=True),
        **table(f32, "f32 f32 f32", {"MAD_F32": _mad_flushed}, exact=True),
        **table(f32, mad, {"MADAK_F32": _mad_flushed,
                           "MADMK_F32": _factor_last(_mad_flushed)}, exact=True),
        **table(f32, "b32 b32 d:f32", dots, exact=True),
    }  # fmt: skip


def _mad_flushed(a: Array, b: Array, c: Array) -> Array:
    """A * b + c, rounded twice, without denormals (MI200 ISA, V_MAD_F32)."""
    product = floats.flush(floats.flush(a) * floats.flush(b))
    return floats.flush(product + floats.flush(c))


def _dot2(convert: Function) -> Function:
    """C and the products of two halves, added one by one in f32."""

    def call(a: Array, b: Array, c: Array) -> Array:
        for shift in (0, 16):
            x, y = (
                convert((v >> _U(shift)).astype(np.uint16)).astype(np.float32)
                for v in (a, b)
            )
            c = c + x * y
        return c

    return call


dot2_f16 = _dot2(lambda bits: bits.view(np.float16))
dot2_bf16 = _dot2(floats.bf16_to_f32)


def _low24(a: Array) -> Array:
    return a & _U(0xFFFFFF)


def _signed24(a: Array) -> Array:
    return (a << np.int32(8) >> np.int32(8)).astype(np.int64)


def _high_word(widen: Function) -> Function:
    """Bits 32 and up of a product."""

    def call(a: Array, b: Array) -> Array:
        product = widen(a) * widen(b)
        return product >> product.dtype.type(32)

    return call


_TWO: dict[str, Function] = {
    "ADD": np.add, "SUB": np.subtract, "MIN": np.minimum, "MAX": np.maximum,
}  # fmt: skip


def _integers_of(t: str) -> dict[str, Row]:
    """Rows that integers of 16 and 32 bits have in common."""
    two, three, tag, half = f"{t} {t}", f"{t} {t} {t}", "_" + t.upper(), "16" in t
    low, high = np.minimum, np.maximum
    ordered = {"MIN3": _then(low, low), "MAX3": _then(high, high), "MED3": _median}
    mixed = {"MINMAX": _then(low, high), "MAXMIN": _then(high, low)}
    product: dict[str, Function] = {"MAD": _then(np.multiply, np.add)}
    found = {
        **table(t, two, _TWO, tag),
        **table(t, three, ordered, tag, keeps=half),
    }
    if not half:
        return {**found, **table(t, three, mixed, tag)}
    if t == "i16":
        found |= table(t, two, {k: _TWO[k] for k in ("ADD", "SUB")}, tag, keeps=True)
    found |= table(t, three, product, tag, keeps=True)
    return {**found, **table(t, three, product, "_LEGACY" + tag)}


def _integers() -> dict[str, Row]:
    found: dict[str, Row] = {}
    for t in ("u16", "i16", "u32", "i32"):
        found |= _integers_of(t)
    return {
        **found,
        **table("u16", "u16 u16", {
            "SUBREV_U16": of_bits.swapped(np.subtract), "MUL_LO_U16": np.multiply,
        }),
        **table("u32", "u32 u32", {
            "SUBREV_U32": of_bits.swapped(np.subtract), "MUL_LO_U32": np.multiply,
            "MUL_HI_U32": _high_word(lambda a: a.astype(_L)),
            "MUL_U32_U24": lambda a, b: _low24(a) * _low24(b),
            "MUL_HI_U32_U24": _high_word(lambda a: _low24(a).astype(_L)),
        }),
        **table("i32", "i32 i32", {
            "MUL_HI_I32": _high_word(lambda a: a.astype(np.int64)),
            "MUL_I32_I24": lambda a, b: _signed24(a) * _signed24(b),
            "MUL_HI_I32_I24": _high_word(_signed24),
        }),
        **table("u64", "u64 u64", {
            "ADD_NC_U64": np.add, "ADD_U64": np.add, "SUB_U64": np.subtract,
        }),
    }  # fmt: skip


def _shifts(bits: str) -> dict[str, Row]:
    left, right = (
        of_bits.swapped(of_bits.shift(f)) for f in (np.left_shift, np.right_shift)
    )
    u, i, count = f"u{bits}", f"i{bits}", "u16" if bits == "16" else "u32"
    logical = {f"LSHLREV_B{bits}": left, f"LSHRREV_B{bits}": right}
    return {
        **table(u, f"{count} {u}", logical),
        **table(i, f"{count} {i}", {f"ASHRREV_I{bits}": right}),
    }


def _permute_bytes(a: Array, b: Array, selector: Array) -> Array:
    both = a.astype(_L) << _L(32) | b.astype(_L)
    both, selector = np.broadcast_arrays(both, selector)
    result = np.zeros(selector.shape, np.uint32)
    for k in range(4):
        pick = selector >> _U(8 * k) & _U(0xFF)
        byte = both >> (_L(8) * (pick & _U(7)).astype(_L)) & _L(0xFF)
        sign = both >> (_L(16) * (pick & _U(3)).astype(_L) + _L(15)) & _L(1)
        byte = np.where(pick >= 8, sign * _L(0xFF), byte)
        byte = np.where(pick == 12, _L(0), np.where(pick >= 13, _L(0xFF), byte))
        result |= byte.astype(np.uint32) << _U(8 * k)
    return result


def _bits() -> dict[str, Row]:
    found: dict[str, Row] = {}
    for t in ("16", "32"):
        b, u, tag = f"b{t}", f"u{t}", f"_B{t}"
        two: dict[str, Function] = {
            "AND": np.bitwise_and, "OR": np.bitwise_or, "XOR": np.bitwise_xor
        }  # fmt: skip
        choose: dict[str, Function] = {"CNDMASK": lambda a, b, m: np.where(m, b, a)}
        found |= table(u, f"{b} {b}", two, tag)
        found |= table(u, b, {"NOT": np.invert, "MOV": np.asarray}, tag)
        found |= table(u, f"{b} {b} mask", choose, tag)
    return {
        **found,
        **table("u32", "b32 b32", {
            "XNOR_B32": lambda a, b: ~(a ^ b), "BFM_B32": of_bits.ones(32),
            "BCNT_U32_B32": lambda a, b: np.bitwise_count(a) + b,
        }),
        **table("u32", "b32", {"BFREV_B32": of_bits.reverse}),
        **table("i32", "u32", {
            "FFBH_U32": of_bits.highest, "FFBL_B32": of_bits.lowest,
        }),
        **table("i32", "i32", {"FFBH_I32": of_bits.sign_run}),
        **table("u64", "b64", {"MOV_B64": np.asarray}),
        **table("u32", "b32 b32 b32", {"PERM_B32": _permute_bytes}),
        **table("u32", "b16 b16", {
            "PACK_B32_F16": lambda a, b: a.astype(_U) | b.astype(_U) << _U(16),
        }),
    }  # fmt: skip


def _bitfield(a: Array, offset: Array, width: Array) -> Array:
    n = width.view(np.uint32) & _U(31)
    shift = (offset.view(np.uint32) & _U(31)).astype(a.dtype)
    if a.dtype == np.uint32:
        return a >> shift & ((_U(1) << n) - _U(1))
    bits = a.astype(np.int64) >> shift.astype(np.int64)
    up = (64 - n.astype(np.int64)) % 64
    return np.where(n == 0, 0, bits << up >> up)


def _align(step: int) -> Function:
    def call(a: Array, b: Array, c: Array) -> Array:
        both = a.astype(_L) << _L(32) | b.astype(_L)
        mask = _L(31 if step == 1 else 3)
        return both >> (c.astype(_L) & mask) * _L(step)

    return call


def _mad(dtype: type[np.generic]) -> Function:
    return lambda a, b, c: a.astype(dtype) * b.astype(dtype) + c.astype(dtype)


def _sad(a: Array, b: Array, c: Array) -> Array:
    total: Any = c
    for k in range(4):
        x = (a >> _U(8 * k) & _U(255)).astype(np.int64)
        y = (b >> _U(8 * k) & _U(255)).astype(np.int64)
        total = total + np.abs(x - y).astype(np.uint32)
    return total


def _median(a: Array, b: Array, c: Array) -> Array:
    return np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))


def _three() -> dict[str, Row]:
    m = _U(31)
    return {
        **table("u32", "u32 u32 u32", {
            "ADD3_U32": lambda a, b, c: a + b + c,
            "LSHL_ADD_U32": lambda a, n, c: (a << (n & m)) + c,
            "ADD_LSHL_U32": lambda a, b, n: a + b << (n & m),
            "LSHL_OR_B32": lambda a, n, c: a << (n & m) | c,
            "AND_OR_B32": lambda a, b, c: a & b | c,
            "OR3_B32": lambda a, b, c: a | b | c,
            "XOR3_B32": lambda a, b, c: a ^ b ^ c,
            "XAD_U32": lambda a, b, c: (a ^ b) + c,
            "BFI_B32": lambda a, b, c: a & b | ~a & c,
            "BFE_U32": _bitfield, "SAD_U8": _sad,
            "ALIGNBIT_B32": _align(1), "ALIGNBYTE_B32": _align(8),
            "MAD_U32_U24": lambda a, b, c: _low24(a) * _low24(b) + c,
        }),
        **table("i32", "i32 i32 i32", {
            "BFE_I32": _bitfield,
            "MAD_I32_I24": lambda a, b, c: _signed24(a) * _signed24(b) + c,
        }),
        **table("u32", "u16 u16 u32", {"MAD_U32_U16": _mad(_U)}),
        **table("i32", "i16 i16 i32", {"MAD_I32_I16": _mad(np.int32)}),
        **table("u64", "u64 u32 u64", {
            "LSHL_ADD_U64": lambda a, n, c: (a << (n & _U(7)).astype(_L)) + c,
        }),
    }  # fmt: skip

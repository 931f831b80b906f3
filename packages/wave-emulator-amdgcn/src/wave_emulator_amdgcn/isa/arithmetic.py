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
from wave_emulator_amdgcn.isa.vector import Row

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Array, Function

_U = np.uint32
_L = np.uint64


def rows() -> dict[str, Row]:
    """All rows by name."""
    return {
        **_float_rows("32"), **_float_rows("16"), **_float_rows("64"), **_integers(),
        **_shifts(), **_bits(), **_three(), **_halves(), **_special_floats(),
    }  # fmt: skip


def _reverse(function: Function) -> Function:
    return lambda a, b: function(b, a)


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


def _mantissa(a: Array) -> Array:
    return floats.quiet(np.where(np.isfinite(a), np.frexp(a)[0], a))


def _exponent(a: Array) -> Array:
    return np.where(np.isfinite(a) & (a != 0), np.frexp(a)[1], 0)


def _then(first: Function, second: Function) -> Function:
    """Of three operands, with the IEEE bit."""
    return lambda a, b, c, ieee: second(first(a, b, ieee), c, ieee)


_ROOTS: dict[str, Function] = {
    "RCP": lambda a: 1.0 / a,
    "RSQ": lambda a: 1.0 / np.sqrt(a),
    "SQRT": np.sqrt,
}


def _float_rows(bits: str) -> dict[str, Row]:
    t = "f" + bits
    two, three = f"{t} {t}", f"{t} {t} {t}"
    half, single = bits == "16", bits == "32"
    names: dict[str, tuple[str, Function]] = {
        "ADD": (two, np.add), "SUB": (two, np.subtract),
        "SUBREV": (two, _reverse(np.subtract)), "MUL": (two, np.multiply),
        "MIN": (two + " ieee", floats.minimum), "MAX": (two + " ieee", floats.maximum),
        "MINIMUM": (two, floats.propagating_minimum),
        "MAXIMUM": (two, floats.propagating_maximum), "TRUNC": (t, np.trunc),
        "CEIL": (t, np.ceil), "FLOOR": (t, np.floor), "RNDNE": (t, np.rint),
        "FRACT": (t, _fract), "FREXP_MANT": (t, _mantissa),
    }  # fmt: skip
    found = {f"V_{name}_F{bits}": Row(t, ins, fn) for name, (ins, fn) in names.items()}
    low, high = floats.propagating_minimum, floats.propagating_maximum
    keep = {
        "FMA": (three, floats.fma),
        "MIN3": (three + " ieee", _then(floats.minimum, floats.minimum)),
        "MAX3": (three + " ieee", _then(floats.maximum, floats.maximum)),
        "MED3": (three + " ieee", floats.median3),
        "MINMAX": (three + " ieee", _then(floats.minimum, floats.maximum)),
        "MAXMIN": (three + " ieee", _then(floats.maximum, floats.minimum)),
        "MINIMUM3": (three, lambda a, b, c: low(low(a, b), c)),
        "MAXIMUM3": (three, lambda a, b, c: high(high(a, b), c)),
        "MINIMUMMAXIMUM": (three, lambda a, b, c: high(low(a, b), c)),
        "MAXIMUMMINIMUM": (three, lambda a, b, c: low(high(a, b), c)),
        "DIV_FIXUP": (three, floats.div_fixup),
    }
    found |= {
        f"V_{name}_F{bits}": Row(t, ins, fn, keeps=half)
        for name, (ins, fn) in keep.items()
    }
    wrap = _flushing if single else _rounded
    found |= {
        f"V_{name}_F{bits}": Row(t, t, wrap(function), exact=single)
        for name, function in _ROOTS.items()
    }
    found[f"V_FMAC_F{bits}"] = Row(t, f"{two} d:{t}", floats.fma)
    found[f"V_FMAMK_F{bits}"] = Row(
        t, f"{two} k:{t}", lambda a, b, k: floats.fma(a, k, b)
    )
    found[f"V_FMAAK_F{bits}"] = Row(t, f"{two} k:{t}", floats.fma)
    exponent = "i16" if half else "i32"
    found[f"V_LDEXP_F{bits}"] = Row(t, f"{t} {exponent}", floats.ldexp)
    name = f"V_FREXP_EXP_I{exponent[1:]}_F{bits}"
    found[name] = Row(exponent, t, _exponent)
    return found


def _special_floats() -> dict[str, Row]:
    return {
        "V_EXP_F32": Row("f32", "f32", _flushing(np.exp2), exact=True),
        "V_LOG_F32": Row("f32", "f32", _flushing(np.log2), exact=True),
        "V_EXP_F16": Row("f16", "f16", _rounded(np.exp2)),
        "V_LOG_F16": Row("f16", "f16", _rounded(np.log2)),
        "V_SIN_F32": Row("f32", "f32", _turn(0)),
        "V_COS_F32": Row("f32", "f32", _turn(1)),
        "V_SIN_F16": Row("f16", "f16", _turn(0)),
        "V_COS_F16": Row("f16", "f16", _turn(1)),
        "V_RCP_IFLAG_F32": Row("f32", "f32", _flushing(_ROOTS["RCP"]), exact=True),
        "V_MUL_LEGACY_F32": Row(
            "f32",
            "f32 f32",
            lambda a, b: np.where((a == 0) | (b == 0), np.float32(0), a * b),
        ),
        "V_MAC_F32": Row("f32", "f32 f32 d:f32", _mad_flushed, exact=True),
        "V_MAD_F32": Row("f32", "f32 f32 f32", _mad_flushed, exact=True),
        "V_MADAK_F32": Row("f32", "f32 f32 k:f32", _mad_flushed, exact=True),
        "V_MADMK_F32": Row(
            "f32", "f32 f32 k:f32", lambda a, b, k: _mad_flushed(a, k, b), exact=True
        ),
        "V_DOT2C_F32_F16": Row("f32", "b32 b32 d:f32", dot2_f16, exact=True),
        "V_DOT2C_F32_BF16": Row("f32", "b32 b32 d:f32", dot2_bf16, exact=True),
    }


def _mad_flushed(a: Array, b: Array, c: Array) -> Array:
    """A * b + c, rounded twice, without denormals (MI200 ISA, V_MAD_F32)."""
    product = floats.flush(floats.flush(a) * floats.flush(b))
    return floats.flush(product + floats.flush(c))


def _products(a: Array, b: Array, convert: Function) -> list[Array]:
    """The products of the two halves, in f32."""
    found: list[Array] = []
    for shift in (0, 16):
        x, y = (
            convert((v >> _U(shift)).astype(np.uint16)).astype(np.float32)
            for v in (a, b)
        )
        found.append(x * y)
    return found


def dot2_f16(a: Array, b: Array, c: Array) -> Array:
    """C and two products of f16, added one by one in f32."""
    low, high = _products(a, b, lambda bits: bits.view(np.float16))
    return c + low + high


def dot2_bf16(a: Array, b: Array, c: Array) -> Array:
    """C and two products of bf16, added one by one in f32."""
    low, high = _products(a, b, floats.bf16_to_f32)
    return c + low + high


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


def _twice(first: Function, second: Function) -> Function:
    return lambda a, b, c: second(first(a, b), c)


_TWO: dict[str, Function] = {
    "ADD": np.add, "SUB": np.subtract, "MIN": np.minimum, "MAX": np.maximum,
}  # fmt: skip


def _integers_of(t: str) -> dict[str, Row]:
    """What integers of 16 and 32 bits have in common."""
    two, three, half = f"{t} {t}", f"{t} {t} {t}", t[1:] == "16"
    low, high = np.minimum, np.maximum
    ordered = {"MIN3": _twice(low, low), "MAX3": _twice(high, high), "MED3": _median}
    return {
        f"V_{name}_{t.upper()}": row
        for name, row in (
            *((k, Row(t, two, f, keeps=t == "i16" and k in ("ADD", "SUB")))
              for k, f in _TWO.items()),
            *((k, Row(t, three, f, keeps=half)) for k, f in ordered.items()),
        )
    }  # fmt: skip


def _integers() -> dict[str, Row]:
    u2, i2, u64 = "u32 u32", "i32 i32", "u64 u64"
    return {
        **_integers_of("u32"),
        **_integers_of("i32"),
        "V_SUBREV_U32": Row("u32", u2, _reverse(np.subtract)),
        "V_MUL_LO_U32": Row("u32", u2, np.multiply),
        "V_MUL_HI_U32": Row("u32", u2, _high_word(lambda a: a.astype(_L))),
        "V_MUL_HI_I32": Row("i32", i2, _high_word(lambda a: a.astype(np.int64))),
        "V_MUL_U32_U24": Row("u32", u2, lambda a, b: _low24(a) * _low24(b)),
        "V_MUL_HI_U32_U24": Row("u32", u2, _high_word(lambda a: _low24(a).astype(_L))),
        "V_MUL_I32_I24": Row("i32", i2, lambda a, b: _signed24(a) * _signed24(b)),
        "V_MUL_HI_I32_I24": Row("i32", i2, _high_word(_signed24)),
        "V_ADD_NC_U64": Row("u64", u64, np.add),
        "V_ADD_U64": Row("u64", u64, np.add),
        "V_SUB_U64": Row("u64", u64, np.subtract),
    }


def _shifts() -> dict[str, Row]:
    def shift(function: Function, bits: int) -> Function:
        return lambda n, a: function(a, n.astype(a.dtype) & a.dtype.type(bits - 1))

    found: dict[str, Row] = {}
    for bits in (16, 32, 64):
        count = "u16" if bits == 16 else "u32"
        for name, sign, function in (
            ("LSHLREV_B", "u", np.left_shift),
            ("LSHRREV_B", "u", np.right_shift),
            ("ASHRREV_I", "i", np.right_shift),
        ):
            t = f"{sign}{bits}"
            found[f"V_{name}{bits}"] = Row(t, f"{count} {t}", shift(function, bits))
    return found


def _reverse_bits(a: Array) -> Array:
    for mask, n in ((0x55555555, 1), (0x33333333, 2), (0x0F0F0F0F, 4)):
        a = (a >> _U(n) & _U(mask)) | (a & _U(mask)) << _U(n)
    return a.byteswap()


def _highest(a: Array) -> Array:
    """Zeros above the highest one; -1 for zero."""
    log = np.frexp(a.astype(np.float64))[1]
    return np.where(a == 0, -1, 32 - log)


def _lowest(a: Array) -> Array:
    return np.where(a == 0, -1, np.frexp((a & -a.astype(_U)).astype(np.float64))[1] - 1)


def _sign_run(a: Array) -> Array:
    folded = np.where(a < 0, ~a, a).view(np.uint32)
    return np.where(folded == 0, -1, 32 - np.frexp(folded.astype(np.float64))[1])


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
    two = "b32 b32"
    return {
        **{
            f"V_{name}_B{bits}": Row(f"u{bits}", " ".join([f"b{bits}"] * count), fn)
            for bits in (16, 32)
            for name, count, fn in (
                ("AND", 2, np.bitwise_and),
                ("OR", 2, np.bitwise_or),
                ("XOR", 2, np.bitwise_xor),
                ("NOT", 1, np.invert),
                ("MOV", 1, np.asarray),
            )
        },
        "V_XNOR_B32": Row("u32", two, lambda a, b: ~(a ^ b)),
        "V_MOV_B64": Row("u64", "b64", np.asarray),
        "V_BFREV_B32": Row("u32", "b32", _reverse_bits),
        "V_FFBH_U32": Row("i32", "u32", _highest),
        "V_FFBL_B32": Row("i32", "u32", _lowest),
        "V_FFBH_I32": Row("i32", "i32", _sign_run),
        "V_BCNT_U32_B32": Row("u32", two, lambda a, b: np.bitwise_count(a) + b),
        "V_BFM_B32": Row(
            "u32", two, lambda a, b: ((_U(1) << (a & _U(31))) - _U(1)) << (b & _U(31))
        ),
        "V_CNDMASK_B32": Row("u32", "b32 b32 mask", lambda a, b, m: np.where(m, b, a)),
        "V_CNDMASK_B16": Row("u16", "b16 b16 mask", lambda a, b, m: np.where(m, b, a)),
        "V_PERM_B32": Row("u32", "b32 b32 b32", _permute_bytes),
        "V_PACK_B32_F16": Row(
            "u32", "b16 b16", lambda a, b: a.astype(_U) | b.astype(_U) << _U(16)
        ),
    }


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


def _mad(dtype: type[np.generic], narrow: Function) -> Function:
    return lambda a, b, c: (
        narrow(a).astype(dtype) * narrow(b).astype(dtype) + c.astype(dtype)
    )


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
    u3, i3 = "u32 u32 u32", "i32 i32 i32"
    m = _U(31)
    return {
        "V_ADD3_U32": Row("u32", u3, lambda a, b, c: a + b + c),
        "V_LSHL_ADD_U32": Row("u32", u3, lambda a, n, c: (a << (n & m)) + c),
        "V_ADD_LSHL_U32": Row("u32", u3, lambda a, b, n: a + b << (n & m)),
        "V_LSHL_OR_B32": Row("u32", u3, lambda a, n, c: a << (n & m) | c),
        "V_AND_OR_B32": Row("u32", u3, lambda a, b, c: a & b | c),
        "V_OR3_B32": Row("u32", u3, lambda a, b, c: a | b | c),
        "V_XOR3_B32": Row("u32", u3, lambda a, b, c: a ^ b ^ c),
        "V_XAD_U32": Row("u32", u3, lambda a, b, c: (a ^ b) + c),
        "V_BFI_B32": Row("u32", u3, lambda a, b, c: a & b | ~a & c),
        "V_BFE_U32": Row("u32", u3, _bitfield),
        "V_BFE_I32": Row("i32", i3, _bitfield),
        "V_ALIGNBIT_B32": Row("u32", u3, _align(1)),
        "V_ALIGNBYTE_B32": Row("u32", u3, _align(8)),
        **{
            f"V_{name}_{t.upper()}": Row(t, f"{t} {t} {t}", function)
            for t in ("u32", "i32")
            for name, function in (
                ("MINMAX", _twice(np.minimum, np.maximum)),
                ("MAXMIN", _twice(np.maximum, np.minimum)),
            )
        },
        "V_MAD_U32_U24": Row("u32", u3, lambda a, b, c: _low24(a) * _low24(b) + c),
        "V_MAD_I32_I24": Row(
            "i32", i3, lambda a, b, c: _signed24(a) * _signed24(b) + c
        ),
        "V_MAD_U32_U16": Row("u32", "u16 u16 u32", _mad(_U, np.asarray)),
        "V_MAD_I32_I16": Row("i32", "i16 i16 i32", _mad(np.int32, np.asarray)),
        "V_LSHL_ADD_U64": Row(
            "u64", "u64 u32 u64", lambda a, n, c: (a << (n & _U(7)).astype(_L)) + c
        ),
        "V_SAD_U8": Row("u32", u3, _sad),
    }


def _halves() -> dict[str, Row]:
    found = {
        "V_SUBREV_U16": Row("u16", "u16 u16", _reverse(np.subtract)),
        "V_MUL_LO_U16": Row("u16", "u16 u16", np.multiply),
    }
    for t in ("u16", "i16"):
        found |= _integers_of(t)
        three, product = f"{t} {t} {t}", _twice(np.multiply, np.add)
        found[f"V_MAD_{t.upper()}"] = Row(t, three, product, keeps=True)
        found[f"V_MAD_LEGACY_{t.upper()}"] = Row(t, three, product)
    return found

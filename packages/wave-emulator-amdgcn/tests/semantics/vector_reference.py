"""What vector instructions do to one lane, on plain integers.

Written from the CDNA3, CDNA4, RDNA3.5 and RDNA4 ISA manuals. Operands named ``u``,
``b`` and ``f`` come as bits, ``i`` as signed integers, ``m`` is a lane's bit of a mask,
``d:T`` the destination's old value, ``k:T`` the literal.
"""

from __future__ import annotations

import math
from functools import cache

import bitfloats as B
from conversion_reference import conversions
from reference_row import Ref
from scalar_reference import (
    FLOAT_COMPARE,
    extremum,
    leading_zeros,
    mask,
    propagating,
    reverse,
    sign_run,
    signed,
    trailing_zeros,
)

M16, M32, M64 = mask(16), mask(32), mask(64)


def least(kind, a, b, *, ieee, most=False):
    """V_MIN and V_MAX; with IEEE set a signalling NaN wins, made quiet."""
    for value in (a, b):
        if ieee and B.is_signalling(kind, value):
            return B.quiet(kind, value)
    return extremum(kind, a, b, most=most)


def median(kind, a, b, c, *, low, high):
    if any(B.is_nan(kind, v) for v in (a, b, c)):
        return low(kind, low(kind, a, b), c)
    top = high(kind, high(kind, a, b), c)
    if FLOAT_COMPARE["EQ"](kind, top, a):
        return high(kind, b, c)
    if FLOAT_COMPARE["EQ"](kind, top, b):
        return high(kind, a, c)
    return high(kind, a, b)


def fract(kind, a):
    """A - floor(a), below one."""
    if B.is_inf(kind, a) or B.is_nan(kind, a):
        return B.quiet_nan(kind)
    result = B.sub(kind, a, B.round_to_integer(kind, a, "floor"))
    one = B.from_int(kind, 1)
    return one - 1 if result == one else result


def frexp(kind, a):
    """Significand in [0.5, 1) and exponent."""
    if B.is_nan(kind, a):
        return B.quiet(kind, a), 0
    if B.is_inf(kind, a) or B.is_zero(kind, a):
        return a, 0
    sign, m, e = B.unpack(kind, a)
    return B.pack(kind, sign, m, -m.bit_length()), e + m.bit_length()


def div_fixup(kind, quotient, denominator, numerator):
    """Signs and special values; a NaN quotient of f32 and f64 is an overflow."""
    for value in (numerator, denominator):
        if B.is_nan(kind, value):
            return B.quiet(kind, value)
    sign = B.sign_of(kind, denominator) ^ B.sign_of(kind, numerator)
    zeros = [B.is_zero(kind, v) for v in (denominator, numerator)]
    infinite = [B.is_inf(kind, v) for v in (denominator, numerator)]
    if all(zeros) or all(infinite):
        return B.quiet_nan(kind)
    if zeros[0] or infinite[1]:
        return B.infinity(kind, sign)
    if zeros[1] or infinite[0]:
        return B.zero(kind, sign)
    apart = B.exponent_field(kind, numerator) - B.exponent_field(kind, denominator)
    if kind != "f16" and apart < {"f32": -150, "f64": -1075}[kind]:
        return B.zero(kind, sign)
    if B.is_nan(kind, quotient):
        return B.quiet_nan(kind) if kind == "f16" else B.infinity(kind, sign)
    return B.magnitude(kind, quotient) | B.zero(kind, sign)


def div_scale(kind, value, denominator, numerator):
    """Scale an operand of a division; see the emulator's page for what differs."""
    spread, steps, low = {"f32": (96, 64, 23), "f64": (768, 128, 53)}[kind]
    if B.is_zero(kind, numerator) or B.is_zero(kind, denominator):
        return B.quiet_nan(kind), 0
    top, bottom = (B.exponent_field(kind, v) for v in (numerator, denominator))

    def times(power):
        return B.scale(kind, value, power)

    def tiny(v):
        return B.magnitude(kind, v) < B.smallest_normal(kind)

    finite = not B.is_nan(kind, denominator) and not B.is_inf(kind, denominator)
    quotient = tiny(B.divide(kind, numerator, denominator))
    inverse = finite and tiny(B.divide(kind, B.from_int(kind, 1), denominator))
    if top - bottom >= spread:
        return (times(steps) if value == denominator else value), 1
    if B.is_denormal(kind, denominator):
        return times(steps), 0
    if inverse and quotient:
        return (times(-steps) if value == denominator else value), 1
    if inverse:
        return times(-steps), 0
    if quotient:
        return (times(steps) if value == numerator else value), 1
    return (times(steps) if top <= low else value), 0


def div_fmas(kind, a, b, c, vcc):
    bias, steps = {"f32": (127, 64), "f64": (1023, 128)}[kind]
    power = steps if B.exponent_field(kind, c) > bias else -steps
    return B.fma(kind, a, b, c, power if vcc else 0)


def _floats(kind, *, ieee):
    t, two, three = kind, f"{kind} {kind}", f"{kind} {kind} {kind}"

    def low(k, a, b):
        return least(k, a, b, ieee=ieee)

    def high(k, a, b):
        return least(k, a, b, ieee=ieee, most=True)

    def lowest(k, a, b):
        return propagating(k, a, b)

    def highest(k, a, b):
        return propagating(k, a, b, most=True)

    table = {
        "ADD": (two, B.add),
        "SUB": (two, B.sub),
        "SUBREV": (two, lambda k, a, b: B.sub(k, b, a)),
        "MUL": (two, B.mul),
        "MIN": (two, low),
        "MAX": (two, high),
        "MINIMUM": (two, lowest),
        "MAXIMUM": (two, highest),
        "TRUNC": (t, lambda k, a: B.round_to_integer(k, a, "trunc")),
        "CEIL": (t, lambda k, a: B.round_to_integer(k, a, "ceil")),
        "FLOOR": (t, lambda k, a: B.round_to_integer(k, a, "floor")),
        "RNDNE": (t, lambda k, a: B.round_to_integer(k, a, "even")),
        "FRACT": (t, fract),
        "FREXP_MANT": (t, lambda k, a: frexp(k, a)[0]),
        "FMAC": (f"{two} d:{t}", B.fma),
        "FMAMK": (f"{two} k:{t}", lambda k, a, b, c: B.fma(k, a, c, b)),
        "FMAAK": (f"{two} k:{t}", B.fma),
        "LDEXP": (f"{t} {'i16' if t == 'f16' else 'i32'}", B.scale),
    }
    keeping = {
        "FMA": (three, B.fma),
        "MIN3": (three, lambda k, a, b, c: low(k, low(k, a, b), c)),
        "MAX3": (three, lambda k, a, b, c: high(k, high(k, a, b), c)),
        "MED3": (three, lambda k, a, b, c: median(k, a, b, c, low=low, high=high)),
        "MINMAX": (three, lambda k, a, b, c: high(k, low(k, a, b), c)),
        "MAXMIN": (three, lambda k, a, b, c: low(k, high(k, a, b), c)),
        "MINIMUM3": (three, lambda k, a, b, c: lowest(k, lowest(k, a, b), c)),
        "MAXIMUM3": (three, lambda k, a, b, c: highest(k, highest(k, a, b), c)),
        "MINIMUMMAXIMUM": (three, lambda k, a, b, c: highest(k, lowest(k, a, b), c)),
        "MAXIMUMMINIMUM": (three, lambda k, a, b, c: lowest(k, highest(k, a, b), c)),
        "DIV_FIXUP": (three, div_fixup),
    }
    rows = {}
    for source, keeps in ((table, False), (keeping, True)):
        for name, (ins, function) in source.items():
            rows[f"V_{name}_{t.upper()}"] = Ref(
                t, ins, lambda *v, f=function: f(kind, *v), keeps=keeps
            )
    exponent = "i16" if t == "f16" else "i32"
    rows[f"V_FREXP_EXP_{exponent.upper()}_{t.upper()}"] = Ref(
        exponent, t, lambda a: frexp(kind, a)[1]
    )
    return rows


def _angle(kind, a, function):
    """A function of whole turns."""
    if B.is_nan(kind, a) or B.is_inf(kind, a):
        return B.quiet_nan(kind)
    if function == "sin" and B.is_zero(kind, a):
        return a
    turns = math.fmod(B.as_double(kind, a), 1.0)
    quarter = round(turns * 4)
    rest = 2 * math.pi * (turns - quarter / 4)
    shift = quarter + (function == "cos")
    value = math.cos(rest) if shift & 1 else math.sin(rest)
    value = -value if shift & 2 else value
    return B.from_double(kind, value or 0.0)


def _power(kind, a):
    if B.is_nan(kind, a):
        return B.quiet_nan(kind)
    x = B.as_double(kind, a)
    if x > 1000:
        return B.infinity(kind)
    return B.zero(kind) if x < -1000 else B.from_double(kind, 2.0**x)


def _logarithm(kind, a):
    if B.is_zero(kind, a):
        return B.infinity(kind, 1)
    if B.is_nan(kind, a) or B.sign_of(kind, a):
        return B.quiet_nan(kind)
    if B.is_inf(kind, a):
        return a
    return B.from_double(kind, math.log2(B.as_double(kind, a)))


def _approximations():
    rows = {}
    table = {
        "RCP": ("f16 f32 f64", lambda k, a: B.divide(k, B.from_int(k, 1), a)),
        "RSQ": ("f16 f32 f64", B.reciprocal_root),
        "SQRT": ("f16 f32 f64", B.square_root),
        "EXP": ("f16 f32", _power),
        "LOG": ("f16 f32", _logarithm),
        "SIN": ("f16 f32", lambda k, a: _angle(k, a, "sin")),
        "COS": ("f16 f32", lambda k, a: _angle(k, a, "cos")),
    }
    for name, (kinds, function) in table.items():
        for kind in kinds.split():
            flushed = kind == "f32" and name not in ("SIN", "COS")
            rows[f"V_{name}_{kind.upper()}"] = Ref(
                kind, kind, lambda a, f=function, k=kind: f(k, a),
                flush="always" if flushed else "mode", ulp=1,
            )  # fmt: skip
    rows["V_RCP_IFLAG_F32"] = rows["V_RCP_F32"]
    return rows


def dot2(kind, first, second, start, *, last=False):
    """Two products onto a sum in f32; ``last`` adds the sum at the end."""
    total = None if last else start
    for shift in (0, 16):
        x, y = (B.convert(kind, "f32", v >> shift & M16) for v in (first, second))
        product = B.mul("f32", x, y)
        total = product if total is None else B.add("f32", total, product)
    return B.add("f32", total, start) if last else total


@cache
def _two_over_pi():
    """2 / pi in 3000 bits, by Euler's formula; the machine has 1201 of them."""
    one = 1 << 3100

    def inverse_tangent(n, d):
        return sum((2 - k % 4) * (one * n**k // (k * d**k)) for k in range(1, 1400, 2))

    pi = 20 * inverse_tangent(1, 7) + 8 * inverse_tangent(3, 79)
    return (2 * one << 1201) // pi << 3000


def trig_preop(value, segment):
    """53 bits of 2 / pi from a place on; none behind the last bit."""
    exponent = B.exponent_field("f64", value)
    shift = (segment & 31) * 53 + max(0, exponent - 1077)
    window = _two_over_pi() >> 4201 - 53 - shift & mask(53)
    return B.pack("f64", 0, window, -53 - shift + 128 * (exponent >= 1968))


def _special_floats():
    def legacy(a, b):
        if B.is_zero("f32", a) or B.is_zero("f32", b):
            return 0
        return B.mul("f32", a, b)

    return {
        "V_MUL_LEGACY_F32": Ref("f32", "f32 f32", legacy),
        "V_DOT2C_F32_F16": Ref(
            "f32", "b32 b32 d:f32", lambda a, b, c: dot2("f16", a, b, c), flush="never"
        ),
        "V_DOT2C_F32_BF16": Ref(
            "f32", "b32 b32 d:f32", lambda a, b, c: dot2("bf16", a, b, c), flush="never"
        ),
        "V_DIV_SCALE_F32": Ref(
            "f32 carry", "f32 f32 f32", lambda *v: div_scale("f32", *v)
        ),
        "V_DIV_SCALE_F64": Ref(
            "f64 carry", "f64 f64 f64", lambda *v: div_scale("f64", *v)
        ),
        "V_TRIG_PREOP_F64": Ref("f64", "f64 u32", trig_preop, flush="never"),
        "V_DIV_FMAS_F32": Ref("f32", "f32 f32 f32 vcc", lambda *v: div_fmas("f32", *v)),
        "V_DIV_FMAS_F64": Ref("f64", "f64 f64 f64 vcc", lambda *v: div_fmas("f64", *v)),
    }


def _med3(a, b, c):
    return sorted((a, b, c))[1]


def _integers():
    rows = {}
    for t in ("u32", "i32", "u16", "i16"):
        two, three, tag, half = f"{t} {t}", f"{t} {t} {t}", t.upper(), t[1:] == "16"
        rows |= {
            f"V_ADD_{tag}": Ref(t, two, lambda a, b: a + b, keeps=t == "i16"),
            f"V_SUB_{tag}": Ref(t, two, lambda a, b: a - b, keeps=t == "i16"),
            f"V_SUBREV_{tag}": Ref(t, two, lambda a, b: b - a),
            f"V_MIN_{tag}": Ref(t, two, min),
            f"V_MAX_{tag}": Ref(t, two, max),
            f"V_MED3_{tag}": Ref(t, three, _med3, keeps=half),
            f"V_MIN3_{tag}": Ref(t, three, min, keeps=half),
            f"V_MAX3_{tag}": Ref(t, three, max, keeps=half),
            f"V_MINMAX_{tag}": Ref(t, three, lambda a, b, c: max(min(a, b), c)),
            f"V_MAXMIN_{tag}": Ref(t, three, lambda a, b, c: min(max(a, b), c)),
            f"V_MAD_{tag}": Ref(t, three, lambda a, b, c: a * b + c, keeps=half),
            f"V_MAD_LEGACY_{tag}": Ref(t, three, lambda a, b, c: a * b + c),
        }
    return rows | {
        "V_MUL_LO_U16": Ref("u16", "u16 u16", lambda a, b: a * b),
        "V_MUL_LO_U32": Ref("u32", "u32 u32", lambda a, b: a * b),
        "V_MUL_HI_U32": Ref("u32", "u32 u32", lambda a, b: a * b >> 32),
        "V_MUL_HI_I32": Ref("u32", "i32 i32", lambda a, b: a * b >> 32),
        "V_MUL_U32_U24": Ref("u32", "u32 u32", lambda a, b: _u24(a) * _u24(b)),
        "V_MUL_HI_U32_U24": Ref("u32", "u32 u32", lambda a, b: _u24(a) * _u24(b) >> 32),
        "V_MUL_I32_I24": Ref("u32", "u32 u32", lambda a, b: _i24(a) * _i24(b)),
        "V_MUL_HI_I32_I24": Ref("u32", "u32 u32", lambda a, b: _i24(a) * _i24(b) >> 32),
        "V_MAD_U32_U24": Ref(
            "u32", "u32 u32 u32", lambda a, b, c: _u24(a) * _u24(b) + c
        ),
        "V_MAD_I32_I24": Ref(
            "u32", "u32 u32 u32", lambda a, b, c: _i24(a) * _i24(b) + c
        ),
        "V_MAD_U32_U16": Ref("u32", "u16 u16 u32", lambda a, b, c: a * b + c),
        "V_MAD_I32_I16": Ref("u32", "i16 i16 u32", lambda a, b, c: a * b + c),
        "V_LSHL_ADD_U64": Ref("u64", "u64 u32 u64", lambda a, n, c: (a << (n & 7)) + c),
        "V_SAD_U8": Ref("u32", "u32 u32 u32", _sad),
        **_carries(),
    }


def _u24(a):
    return a & mask(24)


def _i24(a):
    return signed(24, a)


def _sad(a, b, c):
    return c + sum(abs((a >> s & 255) - (b >> s & 255)) for s in (0, 8, 16, 24))


def _carries():
    out, two, three = "u32 carry", "u32 u32", "u32 u32 m"
    return {
        "V_ADD_CO_U32": Ref(out, two, lambda a, b: (a + b, a + b > M32)),
        "V_SUB_CO_U32": Ref(out, two, lambda a, b: (a - b, b > a)),
        "V_SUBREV_CO_U32": Ref(out, two, lambda a, b: (b - a, a > b)),
        "V_ADDC_CO_U32": Ref(out, three, lambda a, b, c: (a + b + c, a + b + c > M32)),
        "V_SUBB_CO_U32": Ref(out, three, lambda a, b, c: (a - b - c, b + c > a)),
        "V_SUBBREV_CO_U32": Ref(out, three, lambda a, b, c: (b - a - c, a + c > b)),
        "V_MAD_U64_U32": Ref(
            "u64 carry", "u32 u32 u64", lambda a, b, c: (a * b + c, a * b + c > M64)
        ),
        "V_MAD_I64_I32": Ref(
            "u64 carry", "i32 i32 i64", lambda a, b, c: (a * b + c, a * b + c < 0)
        ),
    }


def _permute(a, b, selector):
    """V_PERM: each byte of the selector picks a byte, a sign, 0 or 255."""
    data, result = a << 32 | b, 0
    for k in range(4):
        pick = selector >> 8 * k & 255
        if pick < 8:
            byte = data >> 8 * pick & 255
        elif pick < 12:
            byte = 255 * (data >> (16 * (pick - 8) + 15) & 1)
        else:
            byte = 0 if pick == 12 else 255
        result |= byte << 8 * k
    return result


def _field(a, offset, width, *, sign):
    offset, width = offset & 31, width & 31
    field = a >> offset & mask(width)
    return signed(width, field) if sign and width else field


def _bits():
    u2, u3 = "b32 b32", "b32 b32 b32"
    rows = {
        "V_NOT_B32": Ref("u32", "u32", lambda a: ~a),
        "V_NOT_B16": Ref("u16", "u16", lambda a: ~a),
        "V_MOV_B32": Ref("b32", "b32", lambda a: a),
        "V_MOV_B16": Ref("b16", "b16", lambda a: a),
        "V_MOV_B64": Ref("b64", "b64", lambda a: a),
        "V_BFREV_B32": Ref("u32", "u32", lambda a: reverse(32, a)),
        "V_FFBH_U32": Ref("u32", "u32", lambda a: leading_zeros(32, a)),
        "V_FFBL_B32": Ref("u32", "u32", trailing_zeros),
        "V_FFBH_I32": Ref("u32", "u32", lambda a: sign_run(32, a)),
        "V_BCNT_U32_B32": Ref("u32", u2, lambda a, b: a.bit_count() + b),
        "V_BFM_B32": Ref("u32", u2, lambda a, b: mask(a & 31) << (b & 31)),
        "V_CNDMASK_B32": Ref("b32", "b32 b32 m", lambda a, b, c: b if c else a),
        "V_CNDMASK_B16": Ref("b16", "b16 b16 m", lambda a, b, c: b if c else a),
        "V_PERM_B32": Ref("u32", u3, _permute),
        "V_PACK_B32_F16": Ref(
            "u32", "f16 f16", lambda a, b: a | b << 16, flush="never"
        ),
        "V_XNOR_B32": Ref("u32", u2, lambda a, b: ~(a ^ b)),
        "V_ALIGNBIT_B32": Ref("u32", u3, lambda a, b, c: (a << 32 | b) >> (c & 31)),
        "V_ALIGNBYTE_B32": Ref("u32", u3, lambda a, b, c: (a << 32 | b) >> 8 * (c & 3)),
        "V_BFE_U32": Ref("u32", u3, lambda a, o, w: _field(a, o, w, sign=False)),
        "V_BFE_I32": Ref(
            "u32", "i32 u32 u32", lambda a, o, w: _field(a, o, w, sign=True)
        ),
        "V_BFI_B32": Ref("u32", u3, lambda a, b, c: a & b | ~a & c),
        "V_ADD3_U32": Ref("u32", u3, lambda a, b, c: a + b + c),
        "V_LSHL_ADD_U32": Ref("u32", u3, lambda a, n, c: (a << (n & 31)) + c),
        "V_ADD_LSHL_U32": Ref("u32", u3, lambda a, b, n: (a + b) << (n & 31)),
        "V_LSHL_OR_B32": Ref("u32", u3, lambda a, n, c: a << (n & 31) | c),
        "V_AND_OR_B32": Ref("u32", u3, lambda a, b, c: a & b | c),
        "V_OR3_B32": Ref("u32", u3, lambda a, b, c: a | b | c),
        "V_XOR3_B32": Ref("u32", u3, lambda a, b, c: a ^ b ^ c),
        "V_XAD_U32": Ref("u32", u3, lambda a, b, c: (a ^ b) + c),
    }
    for n in (16, 32):
        u, two = f"u{n}", f"u{n} u{n}"
        rows[f"V_AND_B{n}"] = Ref(u, two, lambda a, b: a & b)
        rows[f"V_OR_B{n}"] = Ref(u, two, lambda a, b: a | b)
        rows[f"V_XOR_B{n}"] = Ref(u, two, lambda a, b: a ^ b)
    for n in (16, 32, 64):
        amount = "u16" if n == 16 else "u32"
        rows[f"V_LSHLREV_B{n}"] = Ref(
            f"u{n}", f"{amount} u{n}", lambda s, a, m=n - 1: a << (s & m)
        )
        rows[f"V_LSHRREV_B{n}"] = Ref(
            f"u{n}", f"{amount} u{n}", lambda s, a, m=n - 1: a >> (s & m)
        )
        rows[f"V_ASHRREV_I{n}"] = Ref(
            f"u{n}", f"{amount} i{n}", lambda s, a, m=n - 1: a >> (s & m)
        )
    return rows


def classify(kind, a, wanted):
    """V_CMP_CLASS: the bit of a number's class."""
    sign = B.sign_of(kind, a)
    if B.is_nan(kind, a):
        bit = 0 if B.is_signalling(kind, a) else 1
    elif B.is_inf(kind, a):
        bit = 2 if sign else 9
    elif B.is_zero(kind, a):
        bit = 5 if sign else 6
    elif B.is_denormal(kind, a):
        bit = 4 if sign else 7
    else:
        bit = 3 if sign else 8
    return wanted >> bit & 1


INTEGER_COMPARE = {
    "F": lambda a, b: False, "LT": lambda a, b: a < b, "EQ": lambda a, b: a == b,
    "LE": lambda a, b: a <= b, "GT": lambda a, b: a > b, "NE": lambda a, b: a != b,
    "GE": lambda a, b: a >= b, "T": lambda a, b: True,
}  # fmt: skip


def _compares():
    rows = {}
    for prefix in ("V_CMP", "V_CMPX"):
        for t in ("f16", "f32", "f64"):
            for name, function in FLOAT_COMPARE.items():
                rows[f"{prefix}_{name}_{t.upper()}"] = Ref(
                    "mask", f"{t} {t}", lambda a, b, f=function, k=t: f(k, a, b)
                )
            second = "u16" if t == "f16" else "u32"
            rows[f"{prefix}_CLASS_{t.upper()}"] = Ref(
                "mask", f"{t} {second}", lambda a, b, k=t: classify(k, a, b),
                flush="never",
            )  # fmt: skip
        for t in ("i16", "u16", "i32", "u32", "i64", "u64"):
            for name, function in INTEGER_COMPARE.items():
                rows[f"{prefix}_{name}_{t.upper()}"] = Ref("mask", f"{t} {t}", function)
    return rows


#: Names of gfx11 and gfx12 for what gfx9 has under another one.
ALIASES = {
    "V_CVT_FLOOR_I32_F32": "V_CVT_FLR_I32_F32",
    "V_CVT_NEAREST_I32_F32": "V_CVT_RPI_I32_F32",
    "V_CVT_PK_RTZ_F16_F32": "V_CVT_PKRTZ_F16_F32",
    "V_CLZ_I32_U32": "V_FFBH_U32", "V_CTZ_I32_B32": "V_FFBL_B32",
    "V_CLS_I32": "V_FFBH_I32", "V_MUL_DX9_ZERO_F32": "V_MUL_LEGACY_F32",
    "V_ADD_CO_CI_U32": "V_ADDC_CO_U32", "V_SUB_CO_CI_U32": "V_SUBB_CO_U32",
    "V_SUBREV_CO_CI_U32": "V_SUBBREV_CO_U32",
    "V_MAD_CO_U64_U32": "V_MAD_U64_U32", "V_MAD_CO_I64_I32": "V_MAD_I64_I32",
    "V_DOT2ACC_F32_F16": "V_DOT2C_F32_F16", "V_DOT2ACC_F32_BF16": "V_DOT2C_F32_BF16",
    "V_ADD_NC_U32": "V_ADD_U32", "V_SUB_NC_U32": "V_SUB_U32",
    "V_SUBREV_NC_U32": "V_SUBREV_U32", "V_ADD_NC_I32": "V_ADD_I32",
    "V_SUB_NC_I32": "V_SUB_I32", "V_ADD_NC_U16": "V_ADD_U16",
    "V_SUB_NC_U16": "V_SUB_U16", "V_ADD_NC_I16": "V_ADD_I16",
    "V_SUB_NC_I16": "V_SUB_I16",
}  # fmt: skip


def rows(*, ieee):
    found = {
        **_approximations(), **_special_floats(), **_integers(), **_bits(),
        **_compares(), **conversions(),
    }  # fmt: skip
    for kind in ("f16", "f32", "f64"):
        found |= _floats(kind, ieee=ieee)
        for name in ("MIN", "MAX", "MIN3", "MAX3", "MED3", "MINMAX", "MAXMIN"):
            tag = kind.upper()
            found[f"V_{name}_NUM_{tag}"] = found[f"V_{name}_{tag}"]
    return found | {new: found[old] for new, old in ALIASES.items()}

"""What scalar instructions do, on plain integers (CDNA3, RDNA3.5 and RDNA4 ISA).

A row is ``(out, ins, function)``. Operands named ``u`` and ``f`` come as bits, ``i``
as signed integers; ``k`` is the 16-bit immediate, ``k:T`` the
literal, ``d:T`` the old destination. A
function returns the result and the condition; None keeps what was there.
"""

from __future__ import annotations

import bitfloats as B

M32 = (1 << 32) - 1


def mask(bits):
    return (1 << bits) - 1


def signed(bits, a):
    a &= mask(bits)
    return a - (1 << bits) if a >> (bits - 1) else a


def _overflows(value):
    return not -(1 << 31) <= value < 1 << 31


def extract(bits, a, control, *, sign):
    """A field: offset in the low bits of the control, width above bit 16."""
    offset, width = control & (bits - 1), min(control >> 16 & 127, bits)
    field = (signed(bits, a) if sign else a) >> offset & mask(width)
    return signed(width, field) & mask(bits) if sign and width else field


def leading_zeros(bits, a):
    return bits - a.bit_length() if a else -1


def trailing_zeros(a):
    return (a & -a).bit_length() - 1 if a else -1


def sign_run(bits, a):
    folded = ~a & mask(bits) if a >> (bits - 1) else a
    return bits - folded.bit_length() if folded else -1


def reverse(bits, a):
    return int(f"{a:0{bits}b}"[::-1], 2)


def _arithmetic():
    def checked(function):
        return lambda a, b: (function(a, b), _overflows(function(a, b)))

    rows = {
        "S_ADD_U32": ("u32", "u32 u32", lambda a, b: (a + b, a + b > M32)),
        "S_SUB_U32": ("u32", "u32 u32", lambda a, b: (a - b, b > a)),
        "S_ADD_I32": ("u32", "i32 i32", checked(lambda a, b: a + b)),
        "S_SUB_I32": ("u32", "i32 i32", checked(lambda a, b: a - b)),
        "S_ADDC_U32": (
            "u32", "u32 u32 scc", lambda a, b, c: (a + b + c, a + b + c > M32),
        ),
        "S_SUBB_U32": ("u32", "u32 u32 scc", lambda a, b, c: (a - b - c, b + c > a)),
        "S_MIN_I32": ("u32", "i32 i32", lambda a, b: (min(a, b), a < b)),
        "S_MIN_U32": ("u32", "u32 u32", lambda a, b: (min(a, b), a < b)),
        "S_MAX_I32": ("u32", "i32 i32", lambda a, b: (max(a, b), a >= b)),
        "S_MAX_U32": ("u32", "u32 u32", lambda a, b: (max(a, b), a >= b)),
        "S_MUL_I32": ("u32", "u32 u32", lambda a, b: (a * b, None)),
        "S_MUL_HI_U32": ("u32", "u32 u32", lambda a, b: (a * b >> 32, None)),
        "S_MUL_HI_I32": ("u32", "i32 i32", lambda a, b: (a * b >> 32, None)),
        "S_ABSDIFF_I32": (
            "u32", "i32 i32", lambda a, b: (abs(signed(32, a - b)), a != b),
        ),
        "S_ABS_I32": ("u32", "i32", lambda a: (abs(a), a != 0)),
        "S_ADDK_I32": ("u32", "k d:i32", checked(lambda k, d: d + k)),
        "S_MULK_I32": ("u32", "k d:i32", lambda k, d: (d * k, None)),
        "S_ADD_NC_U64": ("u64", "u64 u64", lambda a, b: (a + b, None)),
        "S_SUB_NC_U64": ("u64", "u64 u64", lambda a, b: (a - b, None)),
        "S_MUL_U64": ("u64", "u64 u64", lambda a, b: (a * b, None)),
    }  # fmt: skip
    for n in range(1, 5):
        rows[f"S_LSHL{n}_ADD_U32"] = (
            "u32", "u32 u32",
            lambda a, b, n=n: ((a << n) + b, (a << n) + b > M32),
        )  # fmt: skip
    return rows


def _moves():
    rows = {
        "S_MOVK_I32": ("u32", "k", lambda k: (k, None)),
        "S_CMOVK_I32": ("u32", "k d:u32 scc", lambda k, d, c: (k if c else d, None)),
        "S_SEXT_I32_I8": ("u32", "u32", lambda a: (signed(8, a), None)),
        "S_SEXT_I32_I16": ("u32", "u32", lambda a: (signed(16, a), None)),
    }
    for name, (low, high) in {
        "LL": (0, 0), "LH": (0, 16), "HH": (16, 16), "HL": (16, 0),
    }.items():  # fmt: skip
        rows[f"S_PACK_{name}_B32_B16"] = (
            "u32", "u32 u32",
            lambda a, b, x=low, y=high: (
                a >> x & 0xFFFF | (b >> y & 0xFFFF) << 16, None,
            ),
        )  # fmt: skip
    for n in (32, 64):
        u = f"u{n}"
        rows[f"S_MOV_B{n}"] = (u, u, lambda a: (a, None))
        rows[f"S_CMOV_B{n}"] = (
            u, f"{u} d:{u} scc", lambda a, d, c: (a if c else d, None),
        )  # fmt: skip
        rows[f"S_CSELECT_B{n}"] = (
            u, f"{u} {u} scc", lambda a, b, c: (a if c else b, None),
        )  # fmt: skip
    return rows


LOGIC = {
    "AND": lambda a, b: a & b, "OR": lambda a, b: a | b, "XOR": lambda a, b: a ^ b,
    "NAND": lambda a, b: ~(a & b), "NOR": lambda a, b: ~(a | b),
    "XNOR": lambda a, b: ~(a ^ b),
    "ANDN1": lambda a, b: ~a & b, "ORN1": lambda a, b: ~a | b,
    "ANDN2": lambda a, b: a & ~b, "ORN2": lambda a, b: a | ~b,
}  # fmt: skip


def _nonzero(bits, function):
    def call(*values):
        result = function(*values) & mask(bits)
        return result, result != 0

    return call


def _saving(function):
    """The old EXEC, the new one, and whether that is not zero."""
    return lambda a, e: ((e, function(a, e)[0]), function(a, e)[1])


def _writing(function):
    """The new EXEC twice."""
    return lambda a, e: ((function(a, e)[0],) * 2, function(a, e)[1])


def _logic():
    rows = {}
    for n in (32, 64):
        u = f"u{n}"
        for name, function in LOGIC.items():
            rows[f"S_{name}_B{n}"] = (u, f"{u} {u}", _nonzero(n, function))
        rows[f"S_NOT_B{n}"] = (u, u, _nonzero(n, lambda a: ~a))
        for name, function in LOGIC.items():
            new = _nonzero(n, function)
            ins = f"{u} exec"
            rows[f"S_{name}_SAVEEXEC_B{n}"] = (ins, ins, _saving(new))
            rows[f"S_{name}_WREXEC_B{n}"] = (ins, ins, _writing(new))
    return rows


def _bits_of(n):
    u, m = f"u{n}", n - 1
    return {
        f"S_LSHL_B{n}": (u, f"{u} u32", _nonzero(n, lambda a, s: a << (s & m))),
        f"S_LSHR_B{n}": (u, f"{u} u32", _nonzero(n, lambda a, s: a >> (s & m))),
        f"S_ASHR_I{n}": (u, f"i{n} u32", _nonzero(n, lambda a, s: a >> (s & m))),
        f"S_BFE_U{n}": (
            u, f"{u} u32", _nonzero(n, lambda a, c: extract(n, a, c, sign=False)),
        ),
        f"S_BFE_I{n}": (
            u, f"{u} u32", _nonzero(n, lambda a, c: extract(n, a, c, sign=True)),
        ),
        f"S_BFM_B{n}": (u, "u32 u32", lambda a, b: (mask(a & m) << (b & m), None)),
        f"S_BCNT1_I32_B{n}": ("u32", u, _nonzero(32, int.bit_count)),
        f"S_BCNT0_I32_B{n}": ("u32", u, _nonzero(32, lambda a: n - a.bit_count())),
        f"S_FF1_I32_B{n}": ("u32", u, lambda a: (trailing_zeros(a), None)),
        f"S_FF0_I32_B{n}": ("u32", u, lambda a: (trailing_zeros(~a & mask(n)), None)),
        f"S_FLBIT_I32_B{n}": ("u32", u, lambda a: (leading_zeros(n, a), None)),
        f"S_BREV_B{n}": (u, u, lambda a: (reverse(n, a), None)),
        f"S_BITSET0_B{n}": (u, f"u32 d:{u}", lambda s, d: (d & ~(1 << (s & m)), None)),
        f"S_BITSET1_B{n}": (u, f"u32 d:{u}", lambda s, d: (d | 1 << (s & m), None)),
        f"S_BITCMP0_B{n}": ("-", f"{u} u32", lambda a, s: (None, not a >> (s & m) & 1)),
        f"S_BITCMP1_B{n}": ("-", f"{u} u32", lambda a, s: (None, a >> (s & m) & 1)),
    }  # fmt: skip


COMPARE = {
    "EQ": lambda a, b: a == b, "LG": lambda a, b: a != b, "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b, "LT": lambda a, b: a < b, "LE": lambda a, b: a <= b,
}  # fmt: skip


def _compares():
    rows = {}
    for name, function in COMPARE.items():
        for t in ("i32", "u32", "u64"):
            rows[f"S_CMP_{name}_{t.upper()}"] = (
                "-", f"{t} {t}", lambda a, b, f=function: (None, f(a, b)),
            )  # fmt: skip
        for t, k in (("i32", "k"), ("u32", "ku")):
            rows[f"S_CMPK_{name}_{t.upper()}"] = (
                "-", f"d:{t} {k}", lambda d, k, f=function: (None, f(d, k)),
            )  # fmt: skip
    return rows


def less(kind, a, b):
    """Ordered less than; zeros are equal."""
    if B.is_nan(kind, a) or B.is_nan(kind, b):
        return False
    return B.as_double(kind, a) < B.as_double(kind, b)


def equal(kind, a, b):
    if B.is_nan(kind, a) or B.is_nan(kind, b):
        return False
    return B.as_double(kind, a) == B.as_double(kind, b)


def unordered(kind, a, b):
    return B.is_nan(kind, a) or B.is_nan(kind, b)


FLOAT_COMPARE = {
    "F": lambda t, a, b: False,
    "LT": less,
    "EQ": equal,
    "LE": lambda t, a, b: less(t, a, b) or equal(t, a, b),
    "GT": lambda t, a, b: less(t, b, a),
    "LG": lambda t, a, b: less(t, a, b) or less(t, b, a),
    "GE": lambda t, a, b: less(t, b, a) or equal(t, a, b),
    "O": lambda t, a, b: not unordered(t, a, b),
    "U": unordered,
    "NGE": lambda t, a, b: not (less(t, b, a) or equal(t, a, b)),
    "NLG": lambda t, a, b: not (less(t, a, b) or less(t, b, a)),
    "NGT": lambda t, a, b: not less(t, b, a),
    "NLE": lambda t, a, b: not (less(t, a, b) or equal(t, a, b)),
    "NEQ": lambda t, a, b: not equal(t, a, b),
    "NLT": lambda t, a, b: not less(t, a, b),
    "TRU": lambda t, a, b: True,
    "T": lambda t, a, b: True,
}


def extremum(kind, a, b, *, most=False):
    """minNum and maxNum of IEEE 754-2008, with -0 below +0; no signalling NaNs."""
    if B.is_nan(kind, a):
        return B.quiet(kind, b) if B.is_nan(kind, b) else b
    if B.is_nan(kind, b):
        return a
    pick = max if most else min
    return pick((a, b), key=lambda v: B.order(kind, v))


def propagating(kind, a, b, *, most=False):
    """minimum and maximum of IEEE 754-2019: a NaN wins."""
    if unordered(kind, a, b):
        return B.quiet_nan(kind)
    return extremum(kind, a, b, most=most)


def _packed_toward_zero(a, b):
    low, high = (B.convert("f32", "f16", v, "zero") for v in (a, b))
    return low | high << 16, None


def _floats_of(t):
    two = f"{t} {t}"
    table = {
        "ADD": (two, B.add), "SUB": (two, B.sub), "MUL": (two, B.mul),
        "MIN_NUM": (two, extremum),
        "MAX_NUM": (two, lambda k, a, b: extremum(k, a, b, most=True)),
        "MINIMUM": (two, propagating),
        "MAXIMUM": (two, lambda k, a, b: propagating(k, a, b, most=True)),
        "FMAC": (f"{t} {t} d:{t}", B.fma),
        "CEIL": (t, lambda k, a: B.round_to_integer(k, a, "ceil")),
        "FLOOR": (t, lambda k, a: B.round_to_integer(k, a, "floor")),
        "TRUNC": (t, lambda k, a: B.round_to_integer(k, a, "trunc")),
        "RNDNE": (t, lambda k, a: B.round_to_integer(k, a, "even")),
    }  # fmt: skip
    rows = {
        f"S_{name}_{t.upper()}": (t, ins, lambda *v, f=function: (f(t, *v), None))
        for name, (ins, function) in table.items()
    }
    return rows | {
        f"S_CMP_{name}_{t.upper()}": ("-", two, lambda a, b, f=f: (None, f(t, a, b)))
        for name, f in FLOAT_COMPARE.items()
    }


def _floats():
    t, three = "f32", "f32 f32 k:f32"
    high, low = (1 << 31) - 1, -(1 << 31)
    return {
        **_floats_of("f32"),
        **_floats_of("f16"),
        "S_FMAAK_F32": (t, three, lambda a, b, k: (B.fma(t, a, b, k), None)),
        "S_FMAMK_F32": (t, three, lambda a, b, k: (B.fma(t, a, k, b), None)),
        "S_CVT_HI_F32_F16": (t, "u32", lambda a: (B.convert("f16", t, a >> 16), None)),
        "S_CVT_PK_RTZ_F16_F32": ("2f16", "f32 f32", _packed_toward_zero),
        "S_CVT_F32_I32": (t, "i32", lambda a: (B.from_int(t, a), None)),
        "S_CVT_F32_U32": (t, "u32", lambda a: (B.from_int(t, a), None)),
        "S_CVT_I32_F32": ("u32", t, lambda a: (B.to_integer(t, a, low, high), None)),
        "S_CVT_U32_F32": ("u32", t, lambda a: (B.to_integer(t, a, 0, M32), None)),
        "S_CVT_F32_F16": (t, "u32", lambda a: (B.convert("f16", t, a & 0xFFFF), None)),
        "S_CVT_F16_F32": ("f16", t, lambda a: (B.convert(t, "f16", a), None)),
    }


#: gfx11 and gfx12 names of the same operations.
ALIASES = {
    "S_CLZ_I32_U32": "S_FLBIT_I32_B32", "S_CLZ_I32_U64": "S_FLBIT_I32_B64",
    "S_CTZ_I32_B32": "S_FF1_I32_B32", "S_CTZ_I32_B64": "S_FF1_I32_B64",
    "S_CLS_I32": "S_FLBIT_I32", "S_ADD_CO_U32": "S_ADD_U32",
    "S_SUB_CO_U32": "S_SUB_U32", "S_ADD_CO_I32": "S_ADD_I32",
    "S_SUB_CO_I32": "S_SUB_I32", "S_ADD_CO_CI_U32": "S_ADDC_U32",
    "S_SUB_CO_CI_U32": "S_SUBB_U32", "S_ADDK_CO_I32": "S_ADDK_I32",
    "S_AND_NOT1_B32": "S_ANDN2_B32", "S_AND_NOT1_B64": "S_ANDN2_B64",
    "S_OR_NOT1_B32": "S_ORN2_B32", "S_OR_NOT1_B64": "S_ORN2_B64",
}  # fmt: skip


def _saveexec_aliases():
    new = {"AND_NOT0": "ANDN1", "OR_NOT0": "ORN1", "AND_NOT1": "ANDN2",
           "OR_NOT1": "ORN2"}  # fmt: skip
    return {
        f"S_{long}_{what}_B{n}": f"S_{short}_{what}_B{n}"
        for long, short in new.items()
        for what in ("SAVEEXEC", "WREXEC")
        for n in (32, 64)
    }


def rows():
    found = {
        **_arithmetic(), **_moves(), **_logic(), **_bits_of(32), **_bits_of(64),
        **_compares(), **_floats(),
        "S_FLBIT_I32": ("u32", "u32", lambda a: (sign_run(32, a), None)),
    }  # fmt: skip
    aliases = {**ALIASES, **_saveexec_aliases()}
    return found | {new: found[old] for new, old in aliases.items()}

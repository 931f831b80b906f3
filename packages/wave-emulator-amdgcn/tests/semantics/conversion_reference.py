"""Conversions between numbers of 16 bits and more, on plain integers."""

from __future__ import annotations

import bitfloats as B
from reference_row import Ref
from scalar_reference import mask, signed

M16, M32 = mask(16), mask(32)


def _nearest(kind, a, low, high):
    """Floor(a + 1/2), saturated."""
    if B.is_nan(kind, a) or B.is_inf(kind, a):
        return B.to_integer(kind, a, low, high)
    sign, m, e = B.unpack(kind, a)
    m = -m if sign else m
    value = m << e if e >= 0 else ((m << 1) + (1 << -e)) >> (1 - e)
    return max(low, min(high, value))


def _normalised(a, low, limit):
    """Clamp to [low, 1], times the limit, to nearest even."""
    if B.is_nan("f32", a):
        return 0
    one = B.from_int("f32", 1)
    if B.order("f32", a) >= one:
        return limit
    if B.order("f32", a) <= B.order("f32", B.from_int("f32", low)):
        return low * limit & M16
    sign, m, e = B.unpack("f32", a)
    value = m * limit
    whole, rest = value >> -e, value & mask(-e)
    half = 1 << (-e - 1)
    whole += rest > half or (rest == half and whole & 1)
    return (-whole if sign else whole) & M16


def _clip(low, high):
    return lambda a, b: (
        max(low, min(high, a)) & M16 | (max(low, min(high, b)) & M16) << 16
    )


def _pair(function):
    return lambda a, b: function(a) | function(b) << 16


def conversions():
    low, high = -(1 << 31), (1 << 31) - 1
    rows = {}
    for t in ("f32", "f64"):
        tag = t.upper()
        rows |= {
            f"V_CVT_{tag}_I32": Ref(t, "i32", lambda a, k=t: B.from_int(k, a)),
            f"V_CVT_{tag}_U32": Ref(t, "u32", lambda a, k=t: B.from_int(k, a)),
            f"V_CVT_I32_{tag}": Ref(
                "u32", t, lambda a, k=t: B.to_integer(k, a, low, high)
            ),
            f"V_CVT_U32_{tag}": Ref(
                "u32", t, lambda a, k=t: B.to_integer(k, a, 0, M32)
            ),
        }
    for s, d in (("f32", "f16"), ("f16", "f32"), ("f32", "f64"), ("f64", "f32")):
        rows[f"V_CVT_{d.upper()}_{s.upper()}"] = Ref(
            d, s, lambda a, s=s, d=d: B.convert(s, d, a)
        )
    for k in range(4):
        rows[f"V_CVT_F32_UBYTE{k}"] = Ref(
            "f32", "u32", lambda a, s=8 * k: B.from_int("f32", a >> s & 255)
        )
    rows |= {
        "V_CVT_F16_U16": Ref("f16", "u16", lambda a: B.from_int("f16", a)),
        "V_CVT_F16_I16": Ref("f16", "i16", lambda a: B.from_int("f16", a)),
        "V_CVT_U16_F16": Ref("u16", "f16", lambda a: B.to_integer("f16", a, 0, M16)),
        "V_CVT_I16_F16": Ref(
            "u16", "f16", lambda a: B.to_integer("f16", a, -32768, 32767)
        ),
        "V_CVT_I32_I16": Ref("u32", "i16", lambda a: a),
        "V_CVT_U32_U16": Ref("u32", "u16", lambda a: a),
        "V_CVT_RPI_I32_F32": Ref("u32", "f32", lambda a: _nearest("f32", a, low, high)),
        "V_CVT_FLR_I32_F32": Ref(
            "u32", "f32",
            lambda a: B.to_integer(
                "f32", B.round_to_integer("f32", a, "floor"), low, high
            ),
        ),
        "V_CVT_OFF_F32_I4": Ref(
            "f32", "u32", lambda a: B.scale("f32", B.from_int("f32", signed(4, a)), -4)
        ),
        "V_CVT_F32_BF16": Ref("f32", "b16", lambda a: B.convert("bf16", "f32", a)),
        "V_CVT_PK_F16_F32": Ref(
            "2f16", "f32 f32", _pair(lambda a: B.convert("f32", "f16", a))
        ),
        "V_CVT_PK_BF16_F32": Ref(
            "2bf16", "f32 f32", _pair(lambda a: B.convert("f32", "bf16", a))
        ),
        "V_CVT_PKRTZ_F16_F32": Ref(
            "2f16", "f32 f32", _pair(lambda a: B.convert("f32", "f16", a, "zero"))
        ),
        "V_CVT_PK_U16_U32": Ref("u32", "u32 u32", _clip(0, 65535)),
        "V_CVT_PK_I16_I32": Ref("u32", "i32 i32", _clip(-32768, 32767)),
        "V_CVT_PK_I16_F32": Ref(
            "u32", "f32 f32",
            _pair(lambda a: B.to_integer("f32", a, -32768, 32767) & M16),
        ),
        "V_CVT_PK_U16_F32": Ref(
            "u32", "f32 f32", _pair(lambda a: B.to_integer("f32", a, 0, M16))
        ),
        "V_CVT_PKNORM_I16_F32": Ref(
            "u32", "f32 f32", _pair(lambda a: _normalised(a, -1, 32767))
        ),
        "V_CVT_PKNORM_U16_F32": Ref(
            "u32", "f32 f32", _pair(lambda a: _normalised(a, 0, 65535))
        ),
    }  # fmt: skip
    later = {k.replace("PKNORM", "PK_NORM"): row for k, row in rows.items()}
    return rows | later

"""Operands for vector instructions, and what their references make of them."""

from __future__ import annotations

from functools import cache

import bitfloats as B
import numpy as np
import vector_reference
from scalar_reference import mask, signed

#: Lanes of a test: 12 waves of 64, or 24 of 32.
LANES = 768

SPECIAL_INT = {
    16: [0, 1, 2, 15, 16, 0x7FFF, 0x8000, 0xFFFF, 0xFFFE, 0x8001, 0x00FF, 0x0100],
    32: [
        0, 1, 2, 31, 32, 0xFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80000001,
        0x00FFFFFF, 0x00800000, 0xFF800000, 0x0C0D0B0A, 0x08090706, 0x00010000,
        0xFFFF8000, 0x7FFF,
    ],
    64: [0, 1, mask(63), 1 << 63, mask(64), 0xFFFFFFFF, 1 << 32, mask(63) << 1],
}  # fmt: skip


def special_floats(kind):
    """Every class of number, both signs: NaNs, infinities, denormals, extremes."""
    one = B.from_int(kind, 1)
    positive = [
        0, 1, 2, B.smallest_normal(kind) - 1, B.smallest_normal(kind),
        B.smallest_normal(kind) + 1, one - 1, one, one + 1, B.from_int(kind, 2),
        B.scale(kind, one, -1), B.scale(kind, one, -2), B.scale(kind, one, -1) - 1,
        B.scale(kind, B.from_int(kind, 3), -1), B.scale(kind, B.from_int(kind, 5), -1),
        B.from_int(kind, 255), B.from_int(kind, 32767), B.from_int(kind, 65535),
        B.from_int(kind, 1 << 31), B.from_int(kind, (1 << 32) - 1),
        B.scale(kind, one, B.FORMATS[kind][1]) | 1, B.largest(kind) - 1,
        B.largest(kind), B.infinity(kind), B.infinity(kind) | 1, B.quiet_nan(kind),
        B.quiet_nan(kind) | 5,
    ]  # fmt: skip
    return positive + [B.negate(kind, a) for a in positive]


def bits_of(kind):
    return int(kind.lstrip("bfiu"))


@cache
def operand(kind, slot):
    """Bits of one operand in all lanes: two thirds special, the rest random."""
    width = bits_of(kind)
    rng = np.random.default_rng([slot, width, ord(kind[0])])
    table = special_floats(kind) if kind[0] == "f" else SPECIAL_INT[width]
    words = rng.integers(0, 1 << 32, (2, LANES), dtype=np.uint64).astype(object)
    values = (words[0] | words[1] << 32) & mask(width)
    pick = rng.integers(0, len(table), LANES)
    for lane in range(512):
        values[lane] = table[pick[lane]]
    if kind[0] == "f":
        _moderate(kind, values, rng)
    elif slot:
        values[512:560] = operand(kind, 0)[512:560]
    return tuple(int(v) for v in values)


def _moderate(kind, values, rng):
    """Numbers near one and near each other, where rounding and cancelling show."""
    exponent, mantissa = B.FORMATS[kind]
    bias = (1 << (exponent - 1)) - 1
    for lane in range(512, 640):
        field = bias + int(rng.integers(-2, 3))
        low = mask(mantissa + 1 + exponent)
        values[lane] &= ~(mask(exponent) << mantissa) & low
        values[lane] |= field << mantissa


@cache
def flags(seed):
    """One bit for each lane."""
    return tuple(int(b) for b in np.random.default_rng(seed).integers(0, 2, LANES))


LITERAL = {"f16": 0xC0DE3E01, "f32": 0xBF9E0611}
MASK_SEED, VCC_SEED = 3, 4


def sources(ref):
    """``(kind, bits of all lanes)`` of a reference's operands."""
    found, slot = [], 0
    for kind in ref.ins.split():
        if kind == "m":
            found.append((kind, flags(MASK_SEED)))
        elif kind == "vcc":
            found.append((kind, flags(VCC_SEED)))
        elif kind.startswith("k:"):
            width = bits_of(kind[2:])
            found.append((kind, (LITERAL[kind[2:]] & mask(width),) * LANES))
        elif kind.startswith("d:"):
            found.append((kind, operand(kind[2:], 3)))
        else:
            found.append((kind, operand(kind, slot)))
            slot += 1
    return found


def argument(kind, bits, *, flush):
    """What a reference function takes for the bits of an operand."""
    kind = kind.rpartition(":")[2]
    if kind[0] == "f" and flush:
        return B.flush(kind, bits)
    return signed(int(kind[1:]), bits) if kind[0] == "i" else bits


def finish(out, bits, *, flush, scale=0, clamp=False):
    """Output modifiers: scale, denormals, clamp."""
    if out[0] == "2":
        kind = out[1:]
        halves = (finish(kind, bits >> s & 0xFFFF, flush=flush) for s in (0, 16))
        return sum(h << s for h, s in zip(halves, (0, 16), strict=True))
    if out not in B.FORMATS:
        width = int(out[1:])
        if clamp:
            low, high = (0, mask(width)) if out[0] == "u" else (
                -(1 << width - 1), mask(width - 1))  # fmt: skip
            bits = max(low, min(high, bits))
        return bits & mask(width)
    if scale:
        bits = B.scale(out, bits, scale)
        bits = B.flush(out, bits)
        bits = 0 if B.is_zero(out, bits) else bits
    if flush:
        bits = B.flush(out, bits)
    if clamp:
        one = B.from_int(out, 1)
        low = B.is_nan(out, bits) or B.order(out, bits) <= 0
        return 0 if low else min(bits, one)
    return bits


def apply(ref, cases, *, flush=False, scale=0, clamp=False):
    """Results, and carries or masks, of the lanes of ``cases``."""
    flush = (flush and ref.flush == "mode") or ref.flush == "always"
    kinds = ref.ins.split()
    out, *second = ref.out.split()
    results, carries = [], []
    for case in cases:
        values = [argument(k, b, flush=flush) for k, b in zip(kinds, case, strict=True)]
        result = ref.function(*values)
        if second:
            result, carry = result
            carries.append(bool(carry))
        if out == "mask":
            carries.append(bool(result))
        else:
            results.append(
                finish(out, int(result), flush=flush, scale=scale, clamp=clamp)
            )
    return results, carries


@cache
def table(*, ieee):
    return vector_reference.rows(ieee=ieee)


def rows(arch):
    """The references of an architecture; gfx12 has no IEEE mode."""
    return table(ieee=arch != "gfx1201")


@cache
def applied(name, columns, *, ieee, flush, scale=0, clamp=False):
    """`apply` for columns of operands; architectures share results."""
    ref = table(ieee=ieee)[name]
    return apply(ref, zip(*columns, strict=True), flush=flush, scale=scale, clamp=clamp)


@cache
def expected(name, *, ieee, flush=False):
    """Results of a reference on its own operands."""
    ref = table(ieee=ieee)[name]
    columns = [bits for _, bits in sources(ref)]
    return apply(ref, zip(*columns, strict=True), flush=flush)


def differences(kind, got, want, ulp=0):
    """Ordinals of results that differ; any quiet NaN stands for a NaN."""
    bad = []
    for at, (g, w) in enumerate(zip(got, want, strict=True)):
        if g != w and not _equal(kind, g, w, ulp):
            bad.append(at)
    return bad


def _equal(kind, got, want, ulp):
    if kind[0] == "2":
        kind = kind[1:]
        halves = ((got >> s & 0xFFFF, want >> s & 0xFFFF) for s in (0, 16))
        return all(g == w or _equal(kind, g, w, ulp) for g, w in halves)
    if kind not in B.FORMATS:
        return False
    if B.is_nan(kind, want):
        return B.is_nan(kind, got) and not B.is_signalling(kind, got)
    return B.ulps(kind, got, want) <= ulp

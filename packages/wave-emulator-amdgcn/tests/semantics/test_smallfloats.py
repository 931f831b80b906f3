"""Conversions from and to fp8, bf8, fp6, bf6, fp4: every code, and special floats."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from itertools import pairwise

import codec
import numpy as np
import pytest
import rig
from families import ARCHES, mnemonics

A, B, SCALE, RESULT = 2, 34, 50, 66
WIDE = {"F32": codec.F32, "F16": codec.F16, "BF16": codec.BF16}
UNSCALED = {
    "V_CVT_F32_FP8", "V_CVT_F32_BF8", "V_CVT_PK_F32_FP8", "V_CVT_PK_F32_BF8",
    "V_CVT_PK_FP8_F32", "V_CVT_PK_BF8_F32",
}  # fmt: skip
HALVES = ("F32", "F16", "BF16")
MANY = ("PK32_", "2XPK16_")
WIDENING = (
    {f"V_CVT_SCALEF32_PK_{w}_{s}" for w in HALVES for s in ("FP8", "BF8", "FP4")}
    | {f"V_CVT_SCALEF32_{w}_{s}" for w in ("F32", "F16") for s in ("FP8", "BF8")}
    | {f"V_CVT_SCALEF32_PK32_{w}_{s}" for w in HALVES for s in ("FP6", "BF6")}
)
NARROWING = (
    {f"V_CVT_SCALEF32_PK_{s}_{w}" for w in HALVES for s in ("FP8", "BF8", "FP4")}
    | {f"V_CVT_SCALEF32_PK32_{s}_{w}" for w in HALVES[1:] for s in ("FP6", "BF6")}
    | {f"V_CVT_SCALEF32_2XPK16_{s}_F32" for s in ("FP6", "BF6")}
)
SCALED = WIDENING | NARROWING


def small(arch, tag):
    fnuz = arch == "gfx942" and tag in ("FP8", "BF8")
    return codec.FORMATS[tag.lower() + ("_fnuz" if fnuz else "")]


def encode(arch, name, cls="VOP3", **more):
    fields = {"vdst": rig.VGPR + RESULT, "src0": rig.VGPR + A}
    if cls == "VOP3":
        fields |= {"src1": rig.VGPR + B, "src2": rig.VGPR + SCALE}
    return rig.encode(arch, cls, name, **{**fields, **more})


def start(arch, rng, waves=4):
    m = rig.machine(arch, rng, waves=waves, groups=1)
    m.V[64:128] = rig.words(rng, 64, *m.V.shape[1:])
    return m, rig.random_exec(m, rng, density=0.9)


def having(names):
    return [
        pytest.param(arch, name, id=f"{arch}-{name}")
        for arch in ARCHES
        for name in sorted({n for _, n in mnemonics(arch, "smallfloat")} & names)
    ]


def set_codes(m, rng, count=1):
    """Every byte, in each place of a register."""
    shape = (count, *m.V.shape[1:], 4)
    data = rng.integers(0, 256, shape).astype(np.uint8)
    data[0].reshape(-1, 4)[:] = (np.arange(data[0].size // 4) % 256)[:, None]
    for k in range(4):
        data[0, ..., k] += 64 * k
    m.V[A : A + count] = data.view(np.uint32)[..., 0]


def compare(form, m, want, got, results):
    """Words of active lanes are results; everything else is as it was."""
    for (row, wave, lane), (first, parts) in results.items():
        mine, word = int(got[row, wave, lane]), first
        for part, shift in parts:
            mask = (1 << form.bits) - 1
            assert codec.same(form, mine >> shift & mask, part), (row, wave, lane)
            word = word & ~(mask << shift) | mine & mask << shift
        want[row, wave, lane] = word
    assert (got == want).all()


def widen_bytes(arch, m, active, name, shift, count):
    """Results of one or two f32 from the bits at a place of the operand."""
    form = small(arch, name[-3:])
    results = {}
    for wave, lane in zip(*np.nonzero(active), strict=True):
        word = int(m.V[A, wave, lane]) >> shift
        for k in range(count):
            value = codec.decode(form, word >> 8 * k & 255)
            bits = codec.encode(codec.F32, value)
            results[RESULT + k, wave, lane] = 0, [(bits, 0)]
    return results


def variants(arch, count):
    """Ways to name the byte or word: (class, fields, shift)."""
    if arch == "gfx1201":
        yield "VOP1", {}, 0
        for opsel in range(4 if count == 1 else 2):
            # RDNA4 swaps the bits that select a byte.
            byte = (opsel & 1) << 1 | opsel >> 1
            shift = 16 * opsel if count == 2 else 8 * byte
            yield "VOP3", {"opsel": opsel}, shift
        return
    yield "VOP1", {}, 0
    for k in range(4 if count == 1 else 2):
        select = k if count == 1 else 4 + k
        fields = {"src0": 249, "vsrc0": rig.VGPR + A, "src0_sel": select, "dst_sel": 6}
        yield "VOP1_SDWA", fields, k * (8 if count == 1 else 16)


@pytest.mark.parametrize(
    ("arch", "name"), having({n for n in UNSCALED if n[-4:] in ("_FP8", "_BF8")})
)
def test_widening(arch, name):
    rng = rig.seeded(arch, name)
    count = 2 if "_PK_" in name else 1
    for cls, fields, shift in variants(arch, count):
        m, active = start(arch, rng)
        set_codes(m, rng)
        results = widen_bytes(arch, m, active, name, shift, count)
        want = m.V.copy()
        rig.run(m, encode(arch, name, cls, **fields))
        compare(codec.F32, m, want, m.V, results)


def boundaries(form):
    """f32 at, between and just beside the numbers of a small format, and beyond it."""
    found = codec.special(codec.F32)
    values = sorted({codec.decode(form, c) for c in range(form.sign)} - {math.inf})
    values = [v for v in values if math.isfinite(v)]
    edge = values[-1] + (values[-1] - values[-2]) / 2
    values += [edge, values[-1] * 1.125, values[-1] * 1.25, 1e6]
    middles = [(a + b) / 2 for a, b in pairwise(values)]
    for value in values + middles:
        bits = codec.encode(codec.F32, value)
        near = [max(bits - 1, 0), bits, bits + 1]
        found += near + [code | 0x80000000 for code in near]
    return found


def set_floats(m, rng, form, wide, rows, scales=None):
    """Registers of one or two floats that matter, times a scale of each lane."""
    table = [codec.decode(codec.F32, code) for code in boundaries(form)]
    picks = rng.integers(0, len(table), (len(rows), 2, *m.V.shape[1:]))
    for n, row in enumerate(rows):
        for wave, lane in np.ndindex(*m.V.shape[1:]):
            factor = 1.0 if scales is None else scales[wave, lane]
            parts = [
                codec.encode(wide, table[i] * factor) for i in picks[n, :, wave, lane]
            ]
            word = parts[0] | parts[1] << 16 if wide.bits == 16 else parts[0]
            m.V[row, wave, lane] = word


def narrow(form, value, factor, *, clamp):
    """A small code of a float divided by a power of two."""
    if not math.isfinite(value) or math.isnan(factor):
        return codec.encode(form, value / factor if factor else value, clamp=clamp)
    negative = math.copysign(1, value) < 0
    exact = Fraction(value) / Fraction(factor)
    return codec.encode(form, exact, negative=negative, clamp=clamp)


@pytest.mark.parametrize(
    ("arch", "name"), having({n for n in UNSCALED if n[-4:] == "_F32"})
)
@pytest.mark.parametrize("clamp", [False, True])
def test_narrowing(arch, name, clamp):
    rng = rig.seeded(arch, name)
    form = small(arch, name[9:12])
    for half in range(2):
        m, active = start(arch, rng)
        m.set_mode(0xF0 | clamp << 23)
        set_floats(m, rng, form, codec.F32, [A, B])
        want, results = m.V.copy(), {}
        for wave, lane in zip(*np.nonzero(active), strict=True):
            pair = [
                narrow(
                    form, codec.decode(codec.F32, want[r, wave, lane]), 1.0, clamp=clamp
                )
                for r in (A, B)
            ]
            parts = [(code, 16 * half + 8 * k) for k, code in enumerate(pair)]
            word = int(want[RESULT, wave, lane])
            results[RESULT, wave, lane] = word, parts
        rig.run(m, encode(arch, name, opsel=8 * half, src2=128))
        compare(form, m, want, m.V, results)


def scales(m, rng):
    """Scales of each lane: f32 of which the exponent counts; some are 0 or NaN."""
    exponent = rng.integers(100, 150, m.V.shape[1:])
    odd = rng.random(exponent.shape)
    exponent = np.where(odd < 0.05, 0, np.where(odd > 0.95, 255, exponent))
    mantissa = rng.integers(0, 1 << 23, exponent.shape)
    bits = exponent << 23 | mantissa | rng.integers(0, 2, exponent.shape) << 31
    factor = np.where(exponent == 255, np.nan, np.ldexp(1.0, exponent - 127))
    return bits.astype(np.uint32), factor


def parse(name):
    found = re.fullmatch(r"V_CVT_SCALEF32_(2XPK16_|PK32_|PK_)?(\w+?)_(\w+)", name)
    return found[1] or "", found[2], found[3]


@pytest.mark.parametrize(("arch", "name"), having(WIDENING))
def test_scaled_widening(arch, name):
    rng = rig.seeded(arch, name)
    many, wide, tag = parse(name)
    form, out = small(arch, tag), WIDE[wide]
    count = {"PK32_": 32, "PK_": 2, "": 1}[many]
    for opsel in range(1 if count == 32 else 2 if count == 2 and tag != "FP4" else 4):
        m, active = start(arch, rng, waves=1 if many in MANY else 2)
        set_codes(m, rng, 6)
        m.V[B], factor = scales(m, rng)
        step = 16 if count == 2 and tag != "FP4" else 8
        shift = 0 if count == 32 else step * opsel
        high = 8 if name == "V_CVT_SCALEF32_F16_" + tag and opsel & 1 else 0
        want, results = m.V.copy(), {}
        for wave, lane in zip(*np.nonzero(active), strict=True):
            raw = int(rig.join(want[A : A + 6, wave, lane])) >> shift
            for k in range(count):
                code = raw >> form.bits * k & ((1 << form.bits) - 1)
                value = codec.decode(form, code) * factor[wave, lane]
                bit = out.bits * k + (16 if high else 0)
                key = RESULT + bit // 32, wave, lane
                word, parts = results.get(key, (int(want[key]), []))
                parts.append((codec.encode(out, value), bit % 32))
                results[key] = word, parts
        rig.run(m, encode(arch, name, opsel=opsel | high))
        compare(out, m, want, m.V, results)


@pytest.mark.parametrize(("arch", "name"), having(NARROWING))
def test_scaled_narrowing(arch, name):
    rng = rig.seeded(arch, name)
    many, tag, wide = parse(name)
    form, source = small(arch, tag), WIDE[wide]
    for place in range({"FP4": 4, "FP8": 2, "BF8": 2}.get(tag, 1)):
        m, active = start(arch, rng, waves=1 if many in MANY else 2)
        row = SCALE if wide == "F32" else B
        bits, factor = scales(m, rng)
        sources = sources_of(many, wide)
        set_floats(m, rng, form, source, sources, np.nan_to_num(factor, nan=1.0))
        m.V[row] = bits
        want, results = m.V.copy(), {}
        for wave, lane in zip(*np.nonzero(active), strict=True):
            values = floats_of(want, sources, source, many, (wave, lane))
            packed = 0
            for k, value in enumerate(values):
                code = narrow(form, value, factor[wave, lane], clamp=True)
                packed |= code << form.bits * k
            put_packed(results, want, form, (packed, len(values), place), (wave, lane))
        opsel = place << 2 if tag == "FP4" else place << 3
        rig.run(m, encode(arch, name, opsel=opsel, src2=rig.VGPR + SCALE))
        compare_packed(form, m, want, results)


def sources_of(many, wide):
    if many == "2XPK16_":
        return [*range(A, A + 16), *range(B, B + 16)]
    if many == "PK32_":
        return list(range(A, A + 16))
    return [A, B] if wide == "F32" else [A]


def floats_of(registers, sources, form, many, where):
    words = [int(registers[(row, *where)]) for row in sources]
    if many == "2XPK16_":
        words = [words[i // 2 + 16 * (i % 2)] for i in range(32)]
    parts = [w >> s & 0xFFFF for w in words for s in (0, 16)]
    return [codec.decode(form, code) for code in (parts if form.bits == 16 else words)]


def put_packed(results, want, form, packed, where):
    code, count, place = packed
    bits = form.bits * count
    first = RESULT
    if bits <= 16:
        old = int(want[(first, *where)])
        shift = bits * place
        mask = ((1 << bits) - 1) << shift
        results[(first, *where)] = old & ~mask | code << shift, mask, shift
        return
    for k in range(bits // 32):
        results[(first + k, *where)] = code >> 32 * k & 0xFFFFFFFF, 0, 0


def compare_packed(form, m, want, results):
    for key, (first, mask, shift) in results.items():
        mine, word = int(m.V[key]), first
        if mask and form.top != "finite":
            for k in range(2):
                low = shift + form.bits * k
                part = (1 << form.bits) - 1
                assert codec.same(form, mine >> low & part, word >> low & part), key
            word = word & ~mask | mine & mask
        want[key] = word
    assert (want == m.V).all()


def test_every_implemented_instruction_has_a_reference():
    for arch in ARCHES:
        names = {n for _, n in mnemonics(arch, "smallfloat")}
        assert not names - UNSCALED - SCALED

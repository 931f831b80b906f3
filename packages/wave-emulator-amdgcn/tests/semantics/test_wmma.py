"""WMMA of gfx11 and gfx12 against dot products, with every modifier."""

from __future__ import annotations

import codec
import matrix_tiles
import numpy as np
import pytest
import rig
from families import ARCHES, mnemonics
from sums import ULP, close, product, random_codes

from wave_emulator_amdgcn.errors import UnknownInstructionError

A, B, D = 0, 8, 32
CASES = [
    pytest.param(arch, name, id=f"{arch}-{name}")
    for arch in ARCHES
    for name in sorted(
        {n for _, n in mnemonics(arch, "matrix") if n.startswith("V_WMMA")}
    )
]


def source_codes(rng, shape, mode):
    return [
        random_codes(rng, kind, (1, 16, shape.k), mode, codec.FORMATS.get(kind.lower()))
        for kind in (shape.a, shape.b)
    ]


def result_layout(shape, *, gfx12, opsel):
    """Lanes, places and bits of D: gfx11 has 16 bits in one half of a register."""
    lanes, rows = matrix_tiles.wmma_result(gfx12=gfx12)
    bits = matrix_tiles.BITS[shape.out]
    if bits == 32 or gfx12:
        return lanes, rows, bits
    return lanes, 2 * rows + (opsel >> 2), bits


def load(m, shape, codes, *, gfx12):
    for first, kind, matrix in ((A, shape.a, codes[0]), (B, shape.b, codes[1])):
        words = sum(
            matrix_tiles.pack(matrix, *place, matrix_tiles.BITS[kind], 32)
            for place in matrix_tiles.wmma_source(shape, gfx12=gfx12)
        )
        m.V[first : first + len(words), 0] = words


def execute(arch, name, shape, rng, codes, old, **modifiers):
    gfx12 = arch == "gfx1201"
    m = rig.machine(arch, rng, waves=1, groups=1)
    rig.random_exec(m, rng, density=0.5)
    load(m, shape, codes, gfx12=gfx12)
    lanes, places, bits = result_layout(shape, gfx12=gfx12, opsel=modifiers["opsel"])
    count = 8 if bits == 32 or not gfx12 else 4
    words = matrix_tiles.pack(old, lanes, places, bits, 32)
    keep = matrix_tiles.pack(
        np.full(old.shape, (1 << bits) - 1), lanes, places, bits, 32
    )
    rows = slice(D, D + count)
    m.V[rows, 0] = m.V[rows, 0] & ~keep | words
    before = m.V.copy()
    rig.run(m, rig.encode(
        arch, "VOP3P", name, vdst=rig.VGPR + D, src0=rig.VGPR + A, src1=rig.VGPR + B,
        src2=rig.VGPR + D, **modifiers,
    ))  # fmt: skip
    assert (m.V[rows, 0] & ~keep == before[rows, 0] & ~keep).all()
    got = matrix_tiles.unpack(m.V[rows, 0], lanes, places, bits)
    before[rows] = m.V[rows]
    assert (before == m.V).all()
    return got


def random_modifiers(rng, shape):
    """NEG and NEG_HI; of A and B only for halves, signedness for integers."""
    neg, high, clamp = (int(v) for v in rng.integers(0, (8, 8, 2)))
    if shape.out == "I32":
        return {"neg": neg & 3, "neg_hi": 0, "clmp": clamp, "opsel": 0}
    if shape.a in ("FP8", "BF8"):
        neg, high = neg & 4, high & 4
    opsel = 4 * int(rng.integers(0, 2)) if matrix_tiles.BITS[shape.out] == 16 else 0
    return {"neg": neg, "neg_hi": high, "clmp": 0, "opsel": opsel}


def values_of(codes, shape, modifiers):
    """A and B as numbers, negated where NEG says so of low or high halves."""
    found = []
    for side, kind in enumerate((shape.a, shape.b)):
        signed = bool(modifiers["neg"] >> side & 1)
        values = matrix_tiles.decoder(kind, signed=signed)(codes[side])
        if matrix_tiles.BITS[kind] == 16:
            bits = [modifiers[n] >> side & 1 for n in ("neg", "neg_hi")]
            values = values * np.tile(1 - 2 * np.array(bits), shape.k // 2)
        found.append(values)
    return found


def addend(old, shape, modifiers):
    c = matrix_tiles.decoder(shape.out)(old)
    c = np.abs(c) if modifiers["neg_hi"] & 4 else c
    return -c if modifiers["neg"] & 4 else c


@pytest.mark.parametrize("mode", ["small", "normal", "any"])
@pytest.mark.parametrize(("arch", "name"), CASES)
def test_wmma(arch, name, mode):
    rng = rig.seeded(arch, name, mode)
    shape = matrix_tiles.parse(name)
    for _ in range(4):
        codes = source_codes(rng, shape, mode)
        form = codec.FORMATS.get(shape.out.lower())
        old = random_codes(rng, shape.out, (1, 16, 16), mode, form)
        if shape.out == "I32":
            old[0, 0] = 0x7FFFFFFF - np.arange(16)
            old[0, 1] = 0x80000000 + np.arange(16)
        modifiers = random_modifiers(rng, shape)
        if arch == "gfx1201":
            modifiers["opsel"] = 0
        got = execute(arch, name, shape, rng, codes, old, **modifiers)
        a, b = values_of(codes, shape, modifiers)
        check(shape, (a, b), (old, got), modifiers, mode)


def check(shape, operands, results, modifiers, mode):
    old, got = results
    if shape.out == "I32":
        c = matrix_tiles.decoder("I32")(old)
        want = np.einsum("bik,bjk->bij", *operands) + c
        if modifiers["clmp"]:
            want = np.clip(want, -(1 << 31), (1 << 31) - 1)
        assert (got.astype(np.int64) == want % (1 << 32)).all()
        return
    want, size = product(*operands, addend(old, shape, modifiers))
    mine = matrix_tiles.decoder(shape.out)(got)
    if mode == "small" and shape.out != "BF16":
        assert (mine == want).all()
        return
    if shape.out == "F32":
        close(mine, want, size, shape.k, "F32", 2.0**-149)
        return
    half_precision(shape, mine, want, size)


def half_precision(shape, mine, want, size):
    """One rounding to 16 bits, of a sum that may be off by the roundings of f32."""
    form = codec.FORMATS[shape.out.lower()]
    sure = size < codec.decode(form, codec.largest(form)) / 2
    assert sure.mean() > 0.5
    mine, want, size = mine[sure], want[sure].astype(float), size[sure].astype(float)
    finite = np.isfinite(want)
    assert np.array_equal(mine[~finite], want[~finite], equal_nan=True)
    slack = (shape.k + 2) * ULP["F32"] * size[finite]
    step = 2.0 ** -(form.mantissa + 1) * (np.abs(want[finite]) + slack)
    tiny = 2.0 ** (-form.bias - form.mantissa)
    assert (np.abs(mine[finite] - want[finite]) <= slack + step + tiny).all()


@pytest.mark.parametrize(("arch", "name"), CASES)
def test_a_constant_addend(arch, name):
    rng = rig.seeded(arch, name)
    shape = matrix_tiles.parse(name)
    m = rig.machine(arch, rng, waves=1, groups=1)
    m.V[:16] = 0
    m.V[D : D + 8] = 0
    code, value = (130, 2) if shape.out == "I32" else (244, 2.0)
    rig.run(m, rig.encode(arch, "VOP3P", name, vdst=rig.VGPR + D, src0=rig.VGPR + A,
                          src1=rig.VGPR + B, src2=code, opsel=0))  # fmt: skip
    layout = result_layout(shape, gfx12=arch == "gfx1201", opsel=0)
    count = 8 if layout[2] == 32 or arch == "gfx1100" else 4
    got = matrix_tiles.unpack(m.V[D : D + count, 0], *layout)
    assert (matrix_tiles.decoder(shape.out)(got) == value).all()


def test_a_wave_of_64_lanes_is_refused():
    name = "V_WMMA_F32_16X16X16_F16"
    m = rig.machine("gfx1100", rig.seeded(name), waves=1, groups=1)
    m.lanes = 64
    code = rig.encode("gfx1100", "VOP3P", name, src0=256, src1=264, src2=272)
    with pytest.raises(UnknownInstructionError, match="EM0302"):
        rig.run(m, code)


@pytest.mark.parametrize(("arch", "name"), [("gfx1201", "V_SWMMAC_F32_16X16X32_F16")])
def test_sparse_products_are_refused(arch, name):
    m = rig.machine(arch, rig.seeded(name), waves=1, groups=1)
    with pytest.raises(UnknownInstructionError, match="EM0301"):
        rig.run(m, rig.encode(arch, "VOP3P", name, src0=256, src1=264, src2=272))


def test_every_implemented_instruction_has_a_reference():
    for arch in ARCHES:
        known = tuple({n for _, n in mnemonics(arch, "matrix")})
        assert all(n.startswith(("V_MFMA_", "V_WMMA_")) for n in known)
        assert known


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201"])
def test_signs_of_signalling_nans_raise_no_warning(arch):
    m = rig.machine(arch, rig.seeded(arch), waves=1, groups=1)
    m.V[A : A + 8] = 0x7C017C01
    rig.run(m, rig.encode(
        arch, "VOP3P", "V_WMMA_F32_16X16X16_F16", vdst=rig.VGPR + D,
        src0=rig.VGPR + A, src1=rig.VGPR + B, src2=rig.VGPR + D, neg=1, neg_hi=0,
    ))  # fmt: skip
    assert np.isnan(m.V[D, 0].view(np.float32)).all()

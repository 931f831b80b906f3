"""MFMA and WMMA against dot products in exact or wider arithmetic.

Sums of the hardware have an order that is not public, so float results are compared
within a bound of rounding; integers, and floats whose sums are exact, bit by bit.
"""

from __future__ import annotations

import codec
import matrix_tiles
import numpy as np
import pytest
import rig
from families import ARCHES, mnemonics
from sums import close, product, random_codes

from wave_emulator_amdgcn.errors import UnknownInstructionError

A, B, C, D, SCALE = 0, 8, 16, 32, 56
CDNA = ("gfx90a", "gfx942", "gfx950")
#: What opcodes of gfx950 mean on gfx90a (MI200 ISA).
GFX90A = {
    "V_MFMA_F32_16X16X32_F16": "V_MFMA_I32_32X32X8_I8",
    "V_MFMA_F32_32X32X16_F16": "V_MFMA_I32_16X16X16_I8",
}
NARROW = ("FP8", "BF8", "FP6", "BF6", "FP4")


def names(arch, prefix):
    return sorted({n for _, n in mnemonics(arch, "matrix") if n.startswith(prefix)})


def cases(prefix, arches=ARCHES):
    found = [(arch, name) for arch in arches for name in names(arch, prefix)]
    return [pytest.param(*row, id="-".join(row)) for row in found]


def form_of(kind, arch):
    fnuz = arch == "gfx942" and kind in ("FP8", "BF8")
    name = kind.lower().removeprefix("x") + ("_fnuz" if fnuz else "")
    return codec.FORMATS.get(name)


def flush(values, kind):
    tiny = {"F16": 2.0**-14, "BF16": 2.0**-126, "F32": 2.0**-126}[kind]
    return np.where(np.abs(values) < tiny, np.copysign(0.0, values), values)


def set_rows(m, first, words):
    m.V[first : first + len(words), 0] = words


def machine(arch, rng):
    m = rig.machine(arch, rng, waves=1, groups=1)
    rig.random_exec(m, rng, density=0.5)
    return m


def matrix_codes(rng, arch, shape, mode):
    sizes = {
        "a": (shape.blocks, shape.m, shape.k),
        "b": (shape.blocks, shape.n, shape.k),
    }
    return [
        random_codes(rng, kind, sizes[side], mode, form_of(kind, arch))
        for side, kind in (("a", shape.a), ("b", shape.b))
    ]


def run_mfma(arch, cls, name, shape, m, codes, old, **modifiers):
    """Fill registers, run, and return the codes of D [blocks, m, n]."""
    acc = modifiers.get("acc", 0)
    high = 256 if modifiers.get("acc_cd") else 0
    for slot, (first, rows, kind) in enumerate(
        ((A, shape.m, shape.a), (B, shape.n, shape.b))
    ):
        place = matrix_tiles.mfma_source(rows, shape.k, shape.blocks, kind)
        words = matrix_tiles.pack(codes[slot], *place, matrix_tiles.BITS[kind], 64)
        set_rows(m, first + 256 * (acc >> slot & 1), words)
    where = matrix_tiles.mfma_result(shape)
    bits = matrix_tiles.BITS[shape.out]
    if old is not None:
        set_rows(m, D + high, matrix_tiles.pack(old, *where, bits, 64))
    before = m.V.copy()
    source = rig.VGPR + D if old is not None else 128
    if cls == "VOP3P":
        # XF32 stands in the decoder's table of packed arithmetic.
        modifiers = {"opsel_hi": acc, "clmp": modifiers["acc_cd"]}
    rig.run(m, rig.encode(
        arch, cls, name, vdst=rig.VGPR + D, src0=rig.VGPR + A, src1=rig.VGPR + B,
        src2=source, **modifiers,
    ))  # fmt: skip
    count = bits * (int(where[1].max()) + 1) // 32
    rows = slice(D + high, D + high + count)
    got = matrix_tiles.unpack(m.V[rows, 0], *where, bits)
    before[rows] = m.V[rows]
    assert (before == m.V).all()
    return got


def old_codes(rng, shape, mode):
    kind = shape.out
    size = (shape.blocks, shape.m, shape.n)
    return random_codes(rng, kind, size, mode, codec.FORMATS.get(kind.lower()))


def check(arch, shape, codes, old, got, *, mode, signs=(1, 1, 1)):
    """Compare D with A B + C."""
    fnuz = arch == "gfx942"
    a = matrix_tiles.decoder(shape.a, fnuz=fnuz)(codes[0])
    b = matrix_tiles.decoder(shape.b, fnuz=fnuz)(codes[1])
    c = matrix_tiles.decoder(shape.out)(old)
    if shape.out == "I32":
        want = np.einsum("bik,bjk->bij", a, b) + c
        assert (got.astype(np.int64) == want % (1 << 32)).all()
        return
    flushing = arch == "gfx90a" and shape.a in ("F16", "BF16")
    if flushing:
        a, b, c = flush(a, shape.a), flush(b, shape.b), flush(c, "F32")
    want, size = product(a * signs[0], b * signs[1], c * signs[2])
    mine = matrix_tiles.decoder(shape.out)(got)
    if mode == "small":
        assert (mine == want).all()
        return
    tiny = 2.0**-126 if flushing else 2.0**-149
    close(mine, want, size, shape.k, shape.out, tiny if shape.out == "F32" else 0)


@pytest.mark.parametrize("mode", ["small", "normal", "any"])
@pytest.mark.parametrize(("arch", "name"), cases("V_MFMA_", CDNA))
def test_mfma(arch, name, mode):
    rng = rig.seeded(arch, name, mode)
    scaled = "SCALE" in name
    for formats in formats_of(name, rng):
        shape = matrix_tiles.parse(real_name(arch, name), formats)
        m = machine(arch, rng)
        codes = matrix_codes(rng, arch, shape, mode)
        old = old_codes(rng, shape, mode)
        modifiers = {"acc": int(rng.integers(0, 4)), "acc_cd": int(rng.integers(0, 2))}
        if formats[0]:
            numbers = [NARROW.index(kind) for kind in formats]
            modifiers |= {"cbsz": numbers[0], "blgp": numbers[1]}
        if scaled:
            continue
        cls = class_of(arch, name)
        got = run_mfma(arch, cls, name, shape, m, codes, old, **modifiers)
        check(arch, shape, codes, old, got, mode=mode)


def real_name(arch, name):
    return GFX90A.get(name, name) if arch == "gfx90a" else name


def class_of(arch, name):
    return next(cls for cls, n in mnemonics(arch, "matrix") if n == name)


def formats_of(name, rng):
    """All types of A and B of F8F6F4, in pairs; nothing elsewhere."""
    if "F8F6F4" not in name:
        return [("", "")]
    others = rng.permutation(NARROW)
    return list(zip(NARROW, others, strict=True))


@pytest.mark.parametrize("mode", ["small", "normal", "any"])
@pytest.mark.parametrize(("arch", "name"), cases("V_MFMA_SCALE_", CDNA))
def test_scales(arch, name, mode):
    rng = rig.seeded(arch, name, mode)
    for formats in formats_of(name, rng):
        shape = matrix_tiles.parse(name, formats)
        m = machine(arch, rng)
        codes = matrix_codes(rng, arch, shape, mode)
        old = old_codes(rng, shape, mode)
        picks = rng.integers(0, 4, 2)
        exponents = rng.integers(120, 135, (2, 64)) if mode != "any" else scales(rng)
        for side in range(2):
            word = rng.integers(0, 1 << 32, 64) & ~(255 << 8 * int(picks[side]))
            m.V[SCALE + side, 0] = word | exponents[side] << 8 * int(picks[side])
        numbers = [NARROW.index(kind) for kind in formats]
        got = run_mfma(
            arch, "VOP3PX2", name, shape, m, codes, old, cbsz=numbers[0],
            blgp=numbers[1], x2encoding=0xD3AC, scale_src0=rig.VGPR + SCALE,
            scale_src1=rig.VGPR + SCALE + 1,
            opsel=int(picks[0] & 1 | (picks[1] & 1) << 1),
            opsel_hi=int(picks[0] >> 1 | picks[1] >> 1 << 1),
        )  # fmt: skip
        check_scaled(arch, shape, codes, old, got, exponents)


def scales(rng):
    """Any exponent: 2**-127 to 2**127, and 255, which is NaN."""
    near = rng.integers(100, 150, (2, 64))
    return np.where(
        rng.random((2, 64)) < 0.04, rng.choice([0, 254, 255], (2, 64)), near
    )


def check_scaled(arch, shape, codes, old, got, exponents):
    values = []
    for side, (rows, kind) in enumerate(((shape.m, shape.a), (shape.n, shape.b))):
        # The scale of block b of 32 elements lies in lane group b.
        _, row, x = np.indices((shape.blocks, rows, shape.k))
        lanes = row + rows * (x // 32)
        power = exponents[side][lanes]
        factor = np.where(power == 255, np.nan, np.ldexp(1.0, power - 127))
        values.append(matrix_tiles.decoder(kind)(codes[side]) * factor)
    want, size = product(*values, matrix_tiles.decoder("F32")(old))
    close(matrix_tiles.decoder("F32")(got), want, size, shape.k, "F32", 2.0**-149)


BLOCKS = [
    c
    for c in cases("V_MFMA_", CDNA)
    if "B_" in c.values[1] and "F64" not in c.values[1]
]
GROUPS = {0: (0, 64), 1: (0, 32), 2: (32, 32), 4: (0, 16), 5: (16, 16), 6: (32, 16),
          7: (48, 16)}  # fmt: skip


@pytest.mark.parametrize(("arch", "name"), BLOCKS)
def test_broadcasts_of_blocks_and_lane_groups(arch, name):
    """CBSZ and ABID repeat one block of A; BLGP repeats lanes of B."""
    rng = rig.seeded(arch, name)
    shape = matrix_tiles.parse(name)
    for group, (first, count) in GROUPS.items():
        cbsz = int(rng.integers(0, shape.blocks.bit_length()))
        abid = int(rng.integers(0, 1 << cbsz))
        m = machine(arch, rng)
        codes = matrix_codes(rng, arch, shape, "small")
        old = old_codes(rng, shape, "small")
        cls = class_of(arch, name)
        got = run_mfma(
            arch, cls, name, shape, m, codes, old, cbsz=cbsz, abid=abid, blgp=group
        )
        block = np.arange(shape.blocks) // (1 << cbsz) * (1 << cbsz) + abid
        lanes, places = matrix_tiles.mfma_source(shape.n, shape.k, shape.blocks)
        of_lane = {
            (lane, place): code
            for lane, place, code in zip(
                lanes.flat, places.flat, codes[1].flat, strict=True
            )
        }
        moved = [
            of_lane[first + lane % count, place]
            for lane, place in zip(lanes.flat, places.flat, strict=True)
        ]
        other = np.array(moved, object).reshape(codes[1].shape)
        check(arch, shape, [codes[0][block], other], old, got, mode="small")


def test_modifiers_that_mean_nothing_are_refused():
    wrong = [
        ("gfx942", "V_MFMA_F32_32X32X8_F16", {"cbsz": 1}),
        ("gfx942", "V_MFMA_F32_4X4X4_16B_F16", {"cbsz": 1, "abid": 2}),
        ("gfx942", "V_MFMA_F32_4X4X4_16B_F16", {"blgp": 3}),
        ("gfx942", "V_MFMA_F32_16X16X32_FP8_FP8", {"blgp": 1}),
        ("gfx950", "V_MFMA_F32_16X16X128_F8F6F4", {"cbsz": 5}),
    ]
    for arch, name, fields in wrong:
        code = rig.encode(arch, "VOP3P_MFMA", name, src0=256, src1=258, **fields)
        with pytest.raises(UnknownInstructionError, match="EM0302"):
            rig.run(machine(arch, rig.seeded(name)), code)


@pytest.mark.parametrize(("arch", "name"), cases("V_MFMA_F64", CDNA))
def test_f64_negates(arch, name):
    rng = rig.seeded(arch, name)
    shape = matrix_tiles.parse(name)
    for neg in range(8):
        m = machine(arch, rng)
        codes = matrix_codes(rng, arch, shape, "small")
        old = old_codes(rng, shape, "small")
        got = run_mfma(arch, "VOP3P_MFMA", name, shape, m, codes, old, blgp=neg)
        signs = [1 - 2 * (neg >> k & 1) for k in range(3)]
        check(arch, shape, codes, old, got, mode="small", signs=signs)


@pytest.mark.parametrize("arch", CDNA)
def test_a_constant_addend(arch):
    rng = rig.seeded(arch)
    shape = matrix_tiles.parse("V_MFMA_F32_32X32X8_F16")
    codes = matrix_codes(rng, arch, shape, "small")
    got = run_mfma(arch, "VOP3P_MFMA", "V_MFMA_F32_32X32X8_F16", shape,
                   machine(arch, rng), codes, None)  # fmt: skip
    zero = np.zeros((1, 32, 32), object)
    check(arch, shape, codes, zero, got, mode="small")


LACKING = [
    ("gfx90a", "V_MFMA_F32_16X16X32_FP8_FP8"),
    ("gfx942", "V_MFMA_F32_16X16X32_F16"),
    ("gfx942", "V_MFMA_F32_16X16X128_F8F6F4"),
    ("gfx950", "V_MFMA_F32_16X16X8_XF32"),
    ("gfx942", "V_SMFMAC_F32_16X16X32_F16"),
]


@pytest.mark.parametrize(("arch", "name"), LACKING)
def test_what_an_architecture_lacks_is_refused(arch, name):
    cls = "VOP3P" if "XF32" in name else "VOP3P_MFMA"
    code = rig.encode(arch, cls, name, src0=256, src1=258)
    with pytest.raises(UnknownInstructionError, match="EM0301"):
        rig.run(machine(arch, rig.seeded(name)), code)


#: As LLVM 14 assembles them for gfx90a: v_mfma ... a[0:n], v[2:3], v[4:5], a[0:n].
MI200 = {
    "f32_32x32x4bf16_1k": (0xD3E38000, "V_MFMA_F32_32X32X4_2B_BF16"),
    "f32_16x16x4bf16_1k": (0xD3E48000, "V_MFMA_F32_16X16X4_4B_BF16"),
    "f32_4x4x4bf16_1k": (0xD3E58000, "V_MFMA_F32_4X4X4_16B_BF16"),
    "f32_32x32x8bf16_1k": (0xD3E68000, "V_MFMA_F32_32X32X8_BF16"),
    "f32_16x16x16bf16_1k": (0xD3E78000, "V_MFMA_F32_16X16X16_BF16"),
}


@pytest.mark.parametrize("mnemonic", MI200)
def test_numbers_of_gfx90a(mnemonic):
    """The opcodes of MI200 do what those of CDNA3 do under other numbers."""
    word, name = MI200[mnemonic]
    results = []
    for arch in ("gfx90a", "gfx90a"):
        m = machine(arch, rig.seeded(mnemonic))
        if results:
            code = word.to_bytes(4, "little") + 0x04020902.to_bytes(4, "little")
        else:
            code = rig.encode(arch, "VOP3P_MFMA", name, vdst=256, src0=258, src1=260,
                              src2=256, acc_cd=1)  # fmt: skip
        rig.run(m, code)
        results.append(m.V.copy())
    assert np.array_equal(*results)

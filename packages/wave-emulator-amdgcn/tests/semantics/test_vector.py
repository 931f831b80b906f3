"""Every vector instruction against its reference, in all lanes."""

from __future__ import annotations

import families
import lanes_of
import numpy as np
import pytest
from assemble import VGPR, encode, execute, machine

VCC, EXEC = 106, 126
#: Registers of the operands, the destination, and of masks in scalar registers.
SOURCES, OLD = (2, 4, 6), 10
MASK_IN, CARRY_OUT, COMPARE_OUT = 20, 24, 30
ENCODINGS = ("VOP1", "VOP2", "VOP3", "VOP3SD", "VOPC")


def instructions(arch, encoding):
    """``(class, operation, reference's name)`` of an encoding and its variants."""
    for cls, op in families.implemented(arch):
        name = families.plain(op.name)
        if families.family(cls, name) == "vector" and cls.partition("_")[0] == encoding:
            yield families.encoding_class(arch, cls), op, name


def as_words(values, width, noise):
    """Registers of an operand; what 16-bit operands leave unused is noise."""
    array = np.array(values, dtype=object)
    low = (array & 0xFFFFFFFF).astype(np.uint32)
    if width == 16:
        return [low | noise.astype(np.uint32) & np.uint32(0xFFFF0000)]
    return [low] if width == 32 else [low, (array >> 32).astype(np.uint32)]


def load(m, row, kind, values):
    """Put an operand into vector registers."""
    shape = m.V[0].shape
    words = as_words(values, lanes_of.bits_of(kind), m.V[row].ravel())
    for k, word in enumerate(words):
        m.V[row + k] = word.reshape(shape)


def lanes_to_mask(m, row, bits):
    m.write_lane_mask(row, slice(None), np.array(bits, bool).reshape(m.V[0].shape))


def prepare(m, ref):
    """All operands of a reference in their registers."""
    slot = 0
    for kind, values in lanes_of.sources(ref):
        if kind == "m":
            lanes_to_mask(m, MASK_IN, values)
            lanes_to_mask(m, VCC, values)
        elif kind == "vcc":
            lanes_to_mask(m, VCC, values)
        elif kind.startswith("d:"):
            load(m, OLD, kind[2:], values)
        elif not kind.startswith("k:"):
            load(m, SOURCES[slot], kind, values)
            slot += 1


def fields_of(cls, ref, **more):
    """Fields that name the registers of `prepare`."""
    known = {name for name, _ in cls._fields}
    compare = ref.out == "mask" and cls.__name__.startswith("VOP3")
    fields = {
        "vdst": OLD + VGPR, "sdst": CARRY_OUT, "src0": SOURCES[0] + VGPR,
        "vsrc1": SOURCES[1] + VGPR, "src1": SOURCES[1] + VGPR,
        "src2": SOURCES[2] + VGPR,
    }  # fmt: skip
    if compare:
        scalar = "SDST" in cls.__name__
        fields["vdst"] = COMPARE_OUT if scalar else COMPARE_OUT + VGPR
    if "m" in ref.ins.split():
        fields["src2"] = MASK_IN
    for kind in ref.ins.split():
        if kind.startswith("k:"):
            fields["literal"] = lanes_of.LITERAL[kind[2:]]
    fields |= more
    return {k: v for k, v in fields.items() if k in known}


def carry_row(cls, ref):
    if ref.out == "mask":
        return COMPARE_OUT if cls.__name__.startswith("VOP3") else VCC
    return CARRY_OUT if "sdst" in dict(cls._fields) else VCC


def stored(arch, ref, old, results, *, high=False):
    """The words that a 16-bit or 32-bit result leaves in its register."""
    width = (
        lanes_of.bits_of(ref.out.split()[0].lstrip("2")) if ref.out[0] != "2" else 32
    )
    if width != 16:
        return results
    keeps = ref.keeps or high or arch.startswith("gfx1")
    if high:
        return [o & 0xFFFF | r << 16 for o, r in zip(old, results, strict=True)]
    return [
        o & 0xFFFF0000 | r if keeps else r for o, r in zip(old, results, strict=True)
    ]


def outputs(m, ref):
    """The destination as integers."""
    values = m.V[OLD].ravel().astype(object)
    if ref.out.split()[0].endswith("64"):
        values = values + (m.V[OLD + 1].ravel().astype(object) << 32)
    return [int(v) for v in values]


def half(kind, words, *, high):
    """The half that holds a 16-bit result, and the rest."""
    shift = 16 if high else 0
    return [w >> shift & 0xFFFF for w in words], [
        w >> 16 - shift & 0xFFFF for w in words
    ]


def check_result(arch, ref, m, before, results, active, *, high=False):
    """Ordinals of lanes whose destination is wrong."""
    out = ref.out.split()[0]
    old = [int(v) for v in before[OLD].ravel()]
    if out.endswith("64"):
        upper = before[OLD + 1].ravel().astype(object) << 32
        old = [int(o + u) for o, u in zip(old, upper, strict=True)]
    want = stored(arch, ref, old, results, high=high)
    want = [w if a else o for w, o, a in zip(want, old, active, strict=True)]
    got = outputs(m, ref)
    if out[0] != "2" and lanes_of.bits_of(out) == 16:
        (g, g_rest), (w, w_rest) = half(out, got, high=high), half(out, want, high=high)
        rest = [k for k in range(len(g)) if g_rest[k] != w_rest[k]]
        bad = lanes_of.differences(out, g, w, ref.ulp)
        return sorted({*rest, *(k for k in bad if active[k] or g[k] != w[k])})
    bad = lanes_of.differences(out, got, want, ref.ulp)
    return bad + [k for k in range(len(got)) if not active[k] and got[k] != old[k]]


def mask_bits(m, row):
    return m.lane_mask(row, slice(None)).ravel().tolist()


def run(arch, cls, op, name, *, flush=False):
    """Plain operands in all lanes; differences as text."""
    ref = lanes_of.rows(arch)[name]
    m = machine(arch, lanes_of.LANES // families.ARCHITECTURES[arch].lanes)
    m.set_mode(0 if flush else 0xF0)
    prepare(m, ref)
    values, scalars = m.V.copy(), m.S.copy()
    execute(m, encode(cls, op, **fields_of(cls, ref)))
    results, carries = lanes_of.expected(name, ieee=arch != "gfx1201", flush=flush)
    active = [True] * lanes_of.LANES
    bad = []
    if results:
        bad = check_result(arch, ref, m, values, results, active)
        wide = ref.out.split()[0].endswith("64")
        values[OLD : OLD + 1 + wide] = m.V[OLD : OLD + 1 + wide]
    places = set()
    if carries:
        places = {carry_row(cls, ref)}
        if "CMPX" in name:
            places = {EXEC} | (places if arch.startswith("gfx9") else set())
        for row in places:
            found = mask_bits(m, row)
            bad += [k for k in range(len(found)) if found[k] != carries[k]]
    for row in places:
        scalars[row : row + m.lanes // 32] = m.S[row : row + m.lanes // 32]
    assert (values == m.V).all(), (name, "another vector register changed")
    assert (scalars == m.S).all(), (name, "another scalar register changed")
    got = outputs(m, ref)
    columns = lanes_of.sources(ref)
    return [
        (name, cls.__name__, k, [hex(bits[k]) for _, bits in columns],
         hex(got[k]), hex(results[k]) if results else carries[k])
        for k in bad[:3]
    ]  # fmt: skip


@families.EXTENT
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("arch", families.ARCHES)
def test_vector_instructions(arch, encoding, every):
    rows = lanes_of.rows(arch)
    bad = []
    found = instructions(arch, encoding)
    for cls, op, name in families.share(arch, found, every=every):
        if name in rows:
            bad += run(arch, cls, op, name)
    assert bad == []


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("arch", families.ARCHES)
def test_denormals_are_flushed_where_the_mode_says(arch, encoding):
    rows = lanes_of.rows(arch)
    bad = []
    for cls, op, name in instructions(arch, encoding):
        if name in rows and "f" in rows[name].ins + rows[name].out:
            bad += run(arch, cls, op, name, flush=True)
    assert bad == []

"""Every scalar instruction against its reference, on special and random values."""

from __future__ import annotations

import bitfloats as B
import families
import numpy as np
import pytest
import scalar_reference
from assemble import encode, execute, machine

ROWS = scalar_reference.rows()
WAVES = 512
SPECIAL = [
    0, 1, 2, 31, 32, 33, 63, 64, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFE,
    0x100005, 0x200000, 0x210003, 0x7F0000, 0x400020, 0x00800000, 0x3F800000,
    0xBF000000, 0x3F000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0x4B000001,
    0x80000001, 0x40200000, 0xC0200000, 0x7C00, 0x477FF000, 0x33000001,
]  # fmt: skip
LITERAL = 0xC0490FDB
#: Where operands stand: two sources, the destination.
PLACES = (4, 8, 12)


def operand_words():
    """Rows of scalar registers: pairs of specials, random bits, equal values."""
    rng = np.random.default_rng(5)
    found = rng.integers(0, 1 << 32, (16, WAVES), dtype=np.uint64).astype(np.uint32)
    table = np.array(SPECIAL, np.uint32)
    pick = rng.integers(0, len(table), (16, 320))
    found[:, :320] = table[pick]
    found[8, 320:352] = found[4, 320:352]
    found[9, 320:352] = found[5, 320:352]
    return found


def value(m, row, kind):
    """A register, or pair, as the integers that a reference takes."""
    words = m.S[row].astype(object)
    bits = 64 if kind.endswith("64") else 32
    if bits == 64:
        words = words + (m.S[row + 1].astype(object) << 32)
    if kind[0] == "i":
        return [scalar_reference.signed(bits, int(w)) for w in words]
    return [int(w) & 0xFFFF if kind == "f16" else int(w) for w in words]


def prepared(arch):
    m = machine(arch, WAVES, registers=1)
    m.S[0:16] = operand_words()
    m.S[126:128] = m.S[20:22]
    m.refresh_exec(slice(None))
    return m


def operands(m, ins, immediate):
    found, slot = [], 0
    for kind in ins.split():
        if kind in ("k", "ku"):
            found.append(
                [scalar_reference.signed(16, immediate) if kind == "k" else immediate]
                * WAVES
            )
        elif kind == "k:f32":
            found.append([LITERAL] * WAVES)
        elif kind == "scc":
            found.append([int(c) for c in m.scc])
        elif kind == "exec":
            found.append(value(m, 126, ins.split()[0]))
        elif kind.startswith("d:"):
            found.append(value(m, PLACES[2], kind[2:]))
        else:
            found.append(value(m, PLACES[slot], kind))
            slot += 1
    return found


def place(m, out, row, results):
    """Write what a reference gives into the registers that are expected."""
    for wave, result in enumerate(results):
        m[row, wave] = result & 0xFFFFFFFF
        if out.endswith("64"):
            m[row + 1, wave] = result >> 32 & 0xFFFFFFFF


def same(kind, got, want):
    """Bits that differ; any quiet NaN stands for a NaN."""
    if kind == "2f16":
        low = same("f16", got & 0xFFFF, want & 0xFFFF)
        return low | same("f16", got >> 16, want >> 16)
    different = got != want
    if kind not in B.FORMATS:
        return different
    for at in np.argwhere(different):
        pair = int(got[tuple(at)]), int(want[tuple(at)])
        nans = all(B.is_nan(kind, v) for v in pair)
        if nans and not B.is_signalling(kind, pair[0]):
            different[tuple(at)] = False
    return different


def run(arch, cls, op, immediate):
    m = prepared(arch)
    out, ins, function = ROWS[families.plain(op.name)]
    cases = list(zip(*operands(m, ins, immediate), strict=True))
    results = [function(*case) for case in cases]
    want, scc = m.S.copy(), m.scc.copy()
    kinds = out.split()
    if out != "-":
        first = [r[0][0] if "exec" in out else r[0] for r in results]
        place(want, kinds[0], PLACES[2], first)
    if "exec" in out:
        place(want, kinds[0], 126, [r[0][1] for r in results])
    for wave, result in enumerate(results):
        scc[wave] = scc[wave] if result[1] is None else bool(result[1])
    known = {name for name, _ in cls._fields}
    fields = {"sdst": PLACES[2], "ssrc0": PLACES[0], "ssrc1": PLACES[1],
              "simm16": immediate, "literal": LITERAL}  # fmt: skip
    execute(m, encode(cls, op, **{k: v for k, v in fields.items() if k in known}))
    bad = same(kinds[0], m.S, want)
    at = [(r, hex(m.S[r, w]), hex(want[r, w]), cases[w]) for r, w in np.argwhere(bad)]
    wrong = [("scc", cases[w]) for w in np.flatnonzero(m.scc != scc)]
    return [(op.name, *difference) for difference in [*at, *wrong][:3]]


def instructions(arch, name):
    """``(class, operation)`` of all scalar instructions of an encoding."""
    for cls, op in families.implemented(arch):
        if families.family(cls, families.plain(op.name)) == "scalar" and cls == name:
            yield families.encoding_class(arch, cls), op


@pytest.mark.parametrize("encoding", ["SOP1", "SOP2", "SOP2_LIT", "SOPC", "SOPK"])
@pytest.mark.parametrize("arch", families.ARCHES)
def test_scalar_instructions(arch, encoding):
    immediates = [0x7FFF, 0x8000, 0xFFF5] if encoding == "SOPK" else [0]
    bad = []
    for cls, op in instructions(arch, encoding):
        for immediate in immediates:
            bad += run(arch, cls, op, immediate)
    assert bad == []

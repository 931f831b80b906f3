"""VOPD: two operations that read before either writes; and V_BITOP3."""

from __future__ import annotations

from itertools import product

import families
import lanes_of
import numpy as np
import pytest
from assemble import VGPR, encode, execute, machine
from lanes_of import MASK_SEED as MASK_SEED_ROW
from test_vector import VCC, lanes_to_mask

from wave_emulator_amdgcn.hazards.checks import Checks

COUNT = 128
PICK = range(0, 6 * COUNT, 6)
X, Y = 10, 13
"""Destinations: their numbers must differ in the lowest bit."""


def reference(arch, op):
    name = op.name.replace("V_DUAL_", "V_")
    return lanes_of.rows(arch)[name]


def words(kind, slot):
    values = lanes_of.operand(kind, slot)
    return [values[k] for k in PICK]


def prepared(arch):
    m = machine(arch, COUNT // 32)
    for row, (kind, slot) in enumerate(
        (("f32", 0), ("f32", 1), ("b32", 4), ("f32", 5)), start=2
    ):
        m.V[row] = np.array(words(kind, slot), np.uint32).reshape(m.V[0].shape)
    lanes_to_mask(m, VCC, lanes_of.flags(MASK_SEED_ROW)[:COUNT])
    active = np.random.default_rng(3).integers(0, 4, COUNT) > 0
    m.write_lane_mask(126, slice(None), active.reshape(m.V[0].shape))
    return m, active


def half(m, ref, first, second, target, literal):
    """What one operation gives for the registers as they are."""
    columns, sources = [], [first, second]
    for kind in ref.ins.split():
        if kind == "m":
            columns.append(lanes_of.flags(MASK_SEED_ROW)[:COUNT])
        elif kind.startswith("k:"):
            columns.append([literal] * COUNT)
        else:
            row = target if kind.startswith("d:") else sources.pop(0)
            columns.append([int(w) for w in m.V[row].ravel()])
    return lanes_of.apply(ref, zip(*columns, strict=True))[0]


def run(arch, opx, opy, literal=0x40490FDB):
    """Y reads the register that X writes, and the other way round."""
    m, active = prepared(arch)
    long = any(n in op.name for op in (opx, opy) for n in ("FMAAK", "FMAMK"))
    cls = families.any_class(arch, "VOPD_LIT" if long else "VOPD")
    refs = reference(arch, opx), reference(arch, opy)
    want = [half(m, refs[0], 2, Y, X, literal), half(m, refs[1], X, 5, Y, literal)]
    olds = [m.V[row].ravel().copy() for row in (X, Y)]
    fields = {
        "opx": opx, "opy": opy, "vdstx": X + VGPR, "vdsty": Y + VGPR,
        "srcx0": 2 + VGPR, "vsrcx1": Y + VGPR, "srcy0": X + VGPR, "vsrcy1": 5 + VGPR,
    }  # fmt: skip
    execute(m, encode(cls, None, **fields, **({"literal": literal} if long else {})))
    bad = []
    for row, ref, result, old in zip((X, Y), refs, want, olds, strict=True):
        got = [int(w) for w in m.V[row].ravel()]
        kept = [r if a else int(o) for r, a, o in zip(result, active, old, strict=True)]
        bad += [
            (opx.name, opy.name, k, hex(got[k]), hex(kept[k]))
            for k in lanes_of.differences(ref.out, got, kept)[:2]
        ]
    return bad


def operations(arch):
    """Operations of each half that a reference knows."""
    names = dict(families.any_class(arch, "VOPD")._fields)
    known = [op for op in names["opx"]._enum if op.value < 16]
    both = list(names["opy"]._enum)
    return known, both


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201"])
def test_dual_instructions(arch):
    first, second = operations(arch)
    bad = []
    for at, (opx, opy) in enumerate(product(first, second)):
        if at % 3 == 0 or opx is opy:
            bad += run(arch, opx, opy)
    assert bad == []


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201"])
def test_each_half_passes_on_its_own_poison(arch):
    """A select takes what it takes, and a move no bit of the other half."""
    m, _ = prepared(arch)
    m.checks = Checks(m.architecture, m.memory, frozenset())
    m.checks.start(m)
    taint = m.checks.poison.taint
    taint.words(5)[:] = 0xFF00
    taint.bits = 1 << 5
    names = {op.name: op for ops in operations(arch) for op in ops}
    fields = {
        "opx": names["V_DUAL_MOV_B32"], "opy": names["V_DUAL_CNDMASK_B32"],
        "vdstx": X + VGPR, "vdsty": Y + VGPR, "srcx0": 2 + VGPR, "vsrcx1": 5 + VGPR,
        "srcy0": 4 + VGPR, "vsrcy1": 5 + VGPR,
    }  # fmt: skip
    m.write_lane_mask(126, slice(None), np.ones(m.V[0].shape, bool))
    chosen = m.lane_mask(VCC, slice(None))
    execute(m, encode(families.any_class(arch, "VOPD"), None, **fields))
    assert not taint.words(X).any()
    assert np.array_equal(taint.words(Y), np.where(chosen, 0xFF00, 0))


def bitwise(table, a, b, c, bits):
    """Each bit of the result is the bit of the table that three bits name."""
    return sum(
        (table >> (4 * (a >> k & 1) + 2 * (b >> k & 1) + (c >> k & 1)) & 1) << k
        for k in range(bits)
    )


@pytest.mark.parametrize(("name", "bits"), [("V_BITOP3_B32", 32), ("V_BITOP3_B16", 16)])
@pytest.mark.parametrize("table", [0, 1, 0x80, 0xCA, 0xE8, 0x96, 0x5A, 0xFF])
def test_bitop3(name, bits, table):
    op = next(o for _, o in families.implemented("gfx950") if o.name == name)
    m, _ = machine("gfx950", 2), None
    columns = [words(f"b{bits}", k) for k in range(3)]
    for k, column in enumerate(columns):
        m.V[2 + k] = np.array(column, np.uint32).reshape(m.V[0].shape)
    old = [int(w) for w in m.V[X].ravel()]
    fields = {f"src{k}": 2 + k + VGPR for k in range(3)}
    execute(m, encode(
        families.any_class("gfx950", "VOP3"), op, vdst=X + VGPR, omod=table >> 6,
        abs=table >> 3 & 7, neg=table & 7, **fields))  # fmt: skip
    want = [bitwise(table, *case, bits) for case in zip(*columns, strict=True)]
    if bits == 16:
        want = [o & 0xFFFF0000 | w for o, w in zip(old, want, strict=True)]
    assert [int(w) for w in m.V[X].ravel()] == want

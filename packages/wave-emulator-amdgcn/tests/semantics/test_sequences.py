"""Sequences that compilers emit: their results are exact where the parts fit."""

from __future__ import annotations

import bitfloats as B
import families
import lanes_of
import numpy as np
import pytest
from assemble import VGPR, encode, execute, machine

VCC, NUMERATOR, DENOMINATOR = 106, 2, 4
#: Registers of the steps; f64 takes two each.
SCALED_D, SCALED_N, INVERSE, ERROR, QUOTIENT, REST, OUT = range(10, 24, 2)


def vgpr(row):
    return row + VGPR


def named(arch, *names):
    found = (
        (c, o) for c, o in families.implemented(arch)
        if families.plain(o.name) in names and c.startswith("VOP3")
    )  # fmt: skip
    cls, op = next(found)
    return families.any_class(arch, cls), op


def step(arch, name, to, *operands, neg=0, **more):
    """One VOP3 instruction; operands are numbers of the unified space."""
    cls, op = named(arch, name)
    fields = {f"src{k}": value for k, value in enumerate(operands)}
    known = {n for n, _ in cls._fields}
    fields |= {"vdst": vgpr(to), "neg": neg, **more}
    return encode(cls, op, **{k: v for k, v in fields.items() if k in known})


def division(arch, kind):
    """What LLVM emits for a / b (AMDGPULegalizerInfo, LowerFDIV)."""
    tag = kind.upper()
    n, d, one = vgpr(NUMERATOR), vgpr(DENOMINATOR), 242
    sd, sn, inverse, error, quotient, rest = (
        vgpr(r) for r in (SCALED_D, SCALED_N, INVERSE, ERROR, QUOTIENT, REST)
    )
    fma, scale = f"V_FMA_{tag}", f"V_DIV_SCALE_{tag}"
    refine = [
        step(arch, fma, ERROR, sd, inverse, one, neg=1),
        step(arch, fma, INVERSE, error, inverse, inverse),
    ]
    return [
        step(arch, scale, SCALED_D, d, d, n, sdst=30),
        step(arch, f"V_RCP_{tag}", INVERSE, sd),
        *refine * (2 if kind == "f64" else 1),
        step(arch, scale, SCALED_N, n, d, n, sdst=VCC),
        step(arch, f"V_MUL_{tag}", QUOTIENT, sn, inverse),
        step(arch, fma, REST, sd, quotient, sn, neg=1),
        *([] if kind == "f64" else [
            step(arch, fma, QUOTIENT, rest, inverse, quotient),
            step(arch, fma, REST, sd, quotient, sn, neg=1),
        ]),
        step(arch, f"V_DIV_FMAS_{tag}", OUT, rest, inverse, quotient),
        step(arch, f"V_DIV_FIXUP_{tag}", OUT, vgpr(OUT), d, n),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("arch", families.ARCHES)
def test_division_is_correctly_rounded(arch, kind):
    lanes = families.ARCHITECTURES[arch].lanes
    m = machine(arch, lanes_of.LANES // lanes)
    a, b = lanes_of.operand(kind, 0), lanes_of.operand(kind, 1)
    for row, column in ((NUMERATOR, a), (DENOMINATOR, b)):
        for k in range(2):
            words = [v >> 32 * k & 0xFFFFFFFF for v in column]
            m.V[row + k] = np.array(words, np.uint32).reshape(m.V[0].shape)
    execute(m, *division(arch, kind))
    got = m.V[OUT].ravel().astype(object)
    if kind == "f64":
        got = got | m.V[OUT + 1].ravel().astype(object) << 32
    want = [B.divide(kind, *case) for case in zip(a, b, strict=True)]
    bad = lanes_of.differences(kind, [int(g) for g in got], want)
    assert [(hex(a[k]), hex(b[k]), hex(got[k]), hex(want[k])) for k in bad] == []


@pytest.mark.parametrize("arch", families.ARCHES)
def test_carries_chain_into_64_bits(arch):
    """Two additions, the second with the carry of the first."""
    m = machine(arch, 4)
    a, b = (
        m.V[row].astype(object) + (m.V[row + 1].astype(object) << 32) for row in (2, 4)
    )
    first = named(arch, "V_ADD_CO_U32")
    second = named(arch, "V_ADDC_CO_U32", "V_ADD_CO_CI_U32")
    execute(
        m,
        encode(*first, vdst=vgpr(10), sdst=20, src0=vgpr(2), src1=vgpr(4)),
        encode(*second, vdst=vgpr(11), sdst=22, src0=vgpr(3), src1=vgpr(5), src2=20),
    )
    got = m.V[10].astype(object) + (m.V[11].astype(object) << 32)
    assert (got == (a + b) % (1 << 64)).all()
    assert (m.lane_mask(22, slice(None)) == (a + b >= 1 << 64)).all()

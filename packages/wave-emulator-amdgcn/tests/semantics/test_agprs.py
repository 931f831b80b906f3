"""Moves between vector registers and accumulation registers (gfx9)."""

from __future__ import annotations

import numpy as np
import pytest
import rig

ACC = 256
CDNA = ("gfx90a", "gfx942", "gfx950")
MINUS_FOUR = np.float32(-4.0).view(np.uint32)


def begin(arch):
    m = rig.machine(arch, rig.seeded(arch))
    return m, rig.random_exec(m, rig.seeded(arch, 1)), m.V.copy()


@pytest.mark.parametrize("arch", CDNA)
@pytest.mark.parametrize(
    ("source", "value"),
    [(256 + 5, None), (130, 2), (193, 0xFFFFFFFF), (247, int(MINUS_FOUR))],
)
def test_write(arch, source, value):
    m, active, want = begin(arch)
    word = want[5] if value is None else value
    want[ACC + 9] = np.where(active, word, want[ACC + 9])
    code = rig.encode(arch, "VOP3P", "V_ACCVGPR_WRITE", vdst=256 + 9, src0=source)
    rig.run(m, code)
    assert (want == m.V).all()


@pytest.mark.parametrize("arch", CDNA)
def test_read(arch):
    m, active, want = begin(arch)
    want[9] = np.where(active, want[ACC + 5], want[9])
    code = rig.encode(arch, "VOP3P", "V_ACCVGPR_READ", vdst=256 + 9, src0=256 + 5)
    rig.run(m, code)
    assert (want == m.V).all()


@pytest.mark.parametrize("arch", CDNA)
def test_move(arch):
    m, active, want = begin(arch)
    want[ACC + 9] = np.where(active, want[ACC + 5], want[ACC + 9])
    code = rig.encode(arch, "VOP1", "V_ACCVGPR_MOV_B32", vdst=256 + 9, src0=256 + 5)
    rig.run(m, code)
    assert (want == m.V).all()

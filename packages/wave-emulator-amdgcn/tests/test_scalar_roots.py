"""Approximate functions of scalars (gfx12): what their vector forms give."""

from __future__ import annotations

import numpy as np
import pytest
from tinygrad.renderer.amd.dsl import s, v
from tinygrad.runtime.autogen.amd.rdna4 import ins as rdna4

VALUES = (0.0, -0.0, 3.0, 0.25, -2.0, np.inf, -np.inf, np.nan, 1e-30, 65504.0)


@pytest.mark.parametrize("bits", [16, 32])
@pytest.mark.parametrize("name", ["exp", "log", "rcp", "rsq", "sqrt"])
def test_scalar_forms_equal_vector_forms(machine, execute, name, bits):
    m = machine("gfx1201", waves=len(VALUES))
    dtype = {16: np.float16, 32: np.float32}[bits]
    with np.errstate(over="ignore"):
        words = np.array(VALUES, dtype).view(f"u{bits // 8}").astype(np.uint32)
    m.S[4], m.V[1] = words, words[:, None]
    m.V[2] = 0
    vector = getattr(rdna4, f"v_{name}_f{bits}_e32")
    source = (v[2].l, v[1].l) if bits == 16 and hasattr(v[1], "l") else (v[2], v[1])
    execute(m, getattr(rdna4, f"v_s_{name}_f{bits}")(s[8], s[4]), vector(*source))
    low = np.uint32((1 << bits) - 1)
    assert (m.S[8] == m.V[2, :, 0] & low).all()

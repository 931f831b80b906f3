"""Opcodes of gfx90a that later chips, and the decoder's tables, do not have."""

from __future__ import annotations

import bitfloats as B
import lanes_of
import numpy as np
import pytest
from assemble import VGPR, execute, machine

A, X, OLD, OUT = 2, 4, 10, 10
LITERAL = 0xBF9E0611
K = 255

#: The words of an instruction, and the places of what it multiplies and adds.
FORMS = {
    "v_mac_f32": ([A + VGPR | X << 9 | OUT << 17 | 0x16 << 25], (A, X, OLD)),
    "v_mac_f32_e64": ([0xD1160000 | OUT, A + VGPR | X + VGPR << 9], (A, X, OLD)),
    "v_mad_f32": (
        [0xD1C10000 | OUT, A + VGPR | X + VGPR << 9 | OLD + VGPR << 18], (A, X, OLD)
    ),
    "v_madmk_f32": (
        [A + VGPR | X << 9 | OUT << 17 | 0x17 << 25, LITERAL], (A, K, X)
    ),
    "v_madak_f32": (
        [A + VGPR | X << 9 | OUT << 17 | 0x18 << 25, LITERAL], (A, X, K)
    ),
}  # fmt: skip


def rounded_twice(a, b, c):
    """What the manual says: no denormals, and a rounding after each step."""
    product = B.mul("f32", B.flush("f32", a), B.flush("f32", b))
    total = B.add("f32", B.flush("f32", product), B.flush("f32", c))
    return B.flush("f32", total)


@pytest.mark.parametrize("name", FORMS)
def test_multiply_and_add(name):
    words, places = FORMS[name]
    m = machine("gfx90a", lanes_of.LANES // 64)
    columns = {K: (LITERAL,) * lanes_of.LANES}
    for slot, row in enumerate((A, X, OLD)):
        columns[row] = lanes_of.operand("f32", slot)
        m.V[row] = np.array(columns[row], np.uint32).reshape(m.V[0].shape)
    execute(m, b"".join(word.to_bytes(4, "little") for word in words))
    cases = zip(*(columns[place] for place in places), strict=True)
    want = [rounded_twice(*case) for case in cases]
    got = [int(word) for word in m.V[OUT].ravel()]
    assert lanes_of.differences("f32", got, want) == []

"""V_BITOP3: any function of three bits, by its truth table (gfx950)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_amdgcn.isa.vector import Row, Run, bind as bind_row

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Array
    from wave_emulator_amdgcn.decode import Instruction

NAMES = {"V_BITOP3_B32": "u32", "V_BITOP3_B16": "u16"}


def bind(ins: Instruction) -> Run:
    """The table stands in OMOD, ABS and NEG (CDNA4 ISA, V_BITOP3)."""
    table = ins.get("omod") << 6 | ins.get("abs") << 3 | ins.get("neg")
    kind = NAMES[ins.name]

    def function(a: Array, b: Array, c: Array) -> Array:
        result = np.zeros(np.broadcast_shapes(a.shape, b.shape, c.shape), a.dtype)
        for bit in range(8):
            if table >> bit & 1:
                x = a if bit & 4 else ~a
                y = b if bit & 2 else ~b
                z = c if bit & 1 else ~c
                result |= x & y & z
        return result

    fields = {**ins.fields, "omod": 0, "abs": 0, "neg": 0}
    return bind_row(
        replace(ins, fields=fields),
        Row(kind, f"{kind} {kind} {kind}", function, keeps=True),
    )

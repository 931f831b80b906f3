"""How long matrix instructions take, those of RDNA as well.

Those of CDNA: `wave_isa_amdgcn.matrix`, which has the sources.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wave_emulator_amdgcn.isa.matrix import describe, formats_of
from wave_isa_amdgcn import matrix

if TYPE_CHECKING:
    from wave_emulator_amdgcn.decode import Instruction
    from wave_isa_amdgcn.costs import Cost

_SPARSE = re.compile(r"V_SMFMAC_[FI]32_(\d+)X(\d+)X(\d+)_([A-Z0-9]+)")
_WMMA = re.compile(r"V_S?WMMAC?_\w+?_(\d+)X(\d+)X(\d+)_([A-Z0-9]+)")


def matrix_flops(ins: Instruction) -> int:
    """Multiplications and additions of a wave; zeros of sparse forms do not count."""
    sparse = _SPARSE.match(ins.name) or _WMMA.match(ins.name)
    if sparse:
        m, n, k = (int(sparse[slot]) for slot in (1, 2, 3))
        dense = 1 if ins.name.startswith("V_WMMA") else 2
        return m * n * k * 2 // dense
    return describe(ins).flops


def matrix_cycles(ins: Instruction, cost: Cost) -> int:
    """Cycles that a matrix instruction keeps the matrix unit of its SIMD."""
    found = _WMMA.match(ins.name)
    if found:
        rate = cost.matrix_flops.get(found[4], 256)
        return max(1 if cost.valu == 1 else 8, matrix_flops(ins) // rate)
    return matrix.matrix_cycles(ins.name, cost.matrix_flops, formats_of(ins))

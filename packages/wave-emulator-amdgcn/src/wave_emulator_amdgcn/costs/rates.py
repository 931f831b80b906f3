"""How long matrix instructions take.

Source of the passes (4 cycles each): AMD's matrix instruction calculator and the peak
rates of the white papers. Forms of several blocks take as long as those of f32 of the
same size. LLVM's scheduling model has the same passes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wave_emulator_amdgcn.errors import UnknownInstructionError
from wave_emulator_amdgcn.isa.matrix import describe

if TYPE_CHECKING:
    from wave_emulator_amdgcn.costs.tables import Cost
    from wave_emulator_amdgcn.decode import Instruction

_SPARSE = re.compile(r"V_SMFMAC_[FI]32_(\d+)X(\d+)X(\d+)_([A-Z0-9]+)")
_WMMA = re.compile(r"V_S?WMMAC?_\w+?_(\d+)X(\d+)X(\d+)_([A-Z0-9]+)")
_BLOCKS = {4: 8, 16: 32, 32: 64}
"""Cycles of forms with several blocks, by rows."""

_LEAST = {4: 8, 16: 16, 32: 32}
"""Cycles by rows that no form goes below: gfx950 runs the forms of gfx942 as long."""

_SLOW_BF16 = re.compile(r"V_MFMA_F32_(32X32X4|16X16X8|32X32X2_2B|16X16X2_4B)_BF16")
"""gfx90a keeps the bf16 forms of gfx908, at half the rate of the ``_1K`` ones."""


def matrix_flops(ins: Instruction) -> int:
    """Multiplications and additions of a wave; zeros of sparse forms do not count."""
    sparse = _SPARSE.match(ins.name) or _WMMA.match(ins.name)
    if sparse:
        m, n, k = (int(sparse[slot]) for slot in (1, 2, 3))
        dense = 1 if ins.name.startswith("V_WMMA") else 2
        return m * n * k * 2 // dense
    shape = describe(ins)
    return shape.m * shape.n * shape.k * shape.blocks * 2


def matrix_cycles(ins: Instruction, cost: Cost) -> int:
    """Cycles that a matrix instruction keeps the matrix unit of its SIMD."""
    found = _SPARSE.match(ins.name) or _WMMA.match(ins.name)
    if found:
        rate = cost.matrix_flops.get(found[4], 256)
        return max(1 if cost.valu == 1 else 8, matrix_flops(ins) // rate)
    try:
        shape = describe(ins)
    except UnknownInstructionError:
        return 8
    if shape.blocks > 1:
        return 16 if shape.a == "F64" else _BLOCKS[shape.m]
    rate = min(cost.matrix_flops.get(kind, 64) for kind in (shape.a, shape.b))
    slow = 2 if _SLOW_BF16.fullmatch(ins.name) else 1
    return max(_LEAST[shape.m], slow * matrix_flops(ins) // rate)

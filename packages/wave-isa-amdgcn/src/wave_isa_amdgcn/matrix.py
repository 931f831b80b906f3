"""Matrix instructions by their names: shape, types of elements, and how long they take.

Source of the passes (4 cycles each): AMD's matrix instruction calculator and the peak
rates of the white papers. Forms of several blocks take as long as those of f32 of the
same size. LLVM's scheduling model has the same passes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_NAME = re.compile(
    r"V_MFMA_(?:SCALE_)?(F32|I32|F64)_(\d+)X(\d+)X(\d+)(?:_(\d+)B)?_([A-Z0-9]+(?:_(?:BF8|FP8))?)"
)
_SPARSE = re.compile(r"V_SMFMAC_[FI]32_(\d+)X(\d+)X(\d+)_([A-Z0-9]+)")

_F8F6F4 = ("FP8", "BF8", "FP6", "BF6", "FP4")
"""Values of cbsz and blgp for F8F6F4 (CDNA4 ISA)."""

_GFX90A = {"F16": 256, "BF16": 256, "I8": 256, "F32": 64, "F64": 64}
_GFX942 = {
    "F16": 512, "BF16": 512, "I8": 1024, "FP8": 1024, "BF8": 1024, "F32": 64,
    "XF32": 256, "F64": 64,
}  # fmt: skip
_GFX950 = {
    "F16": 1024, "BF16": 1024, "I8": 2048, "FP8": 2048, "BF8": 2048, "FP6": 4096,
    "BF6": 4096, "FP4": 4096, "F32": 64, "F64": 32,
}  # fmt: skip

MATRIX_FLOPS = {"gfx90a": _GFX90A, "gfx942": _GFX942, "gfx950": _GFX950}
"""FLOPs of a SIMD in a cycle by element type: the peak, by compute units and clock."""

_BLOCKS = {4: 8, 16: 32, 32: 64}
"""Cycles of forms with several blocks, by rows."""

_LEAST = {4: 8, 16: 16, 32: 32}
"""Cycles by rows that no form goes below: gfx950 runs the forms of gfx942 as long."""

_SLOW_BF16 = re.compile(r"V_MFMA_F32_(32X32X4|16X16X8|32X32X2_2B|16X16X2_4B)_BF16")
"""gfx90a keeps the bf16 forms of gfx908, at half the rate of the ``_1K`` ones."""


@dataclass(frozen=True)
class Mfma:
    """The shape of one matrix instruction: blocks of [m, k] x [k, n]."""

    m: int
    n: int
    k: int
    blocks: int
    a: str
    b: str
    out: str

    @property
    def flops(self) -> int:
        """Multiplications and additions of a wave."""
        return self.m * self.n * self.k * self.blocks * 2


def mfma_of(name: str, formats: tuple[int, int] = (0, 0)) -> Mfma | None:
    """What the name of an MFMA says; ``None`` where it is none.

    Args:
        name: in capitals.
        formats: cbsz and blgp, the types of A and B of F8F6F4.

    Raises:
        IndexError: there is no such format.
    """
    found = _NAME.fullmatch(name)
    if not found:
        return None
    if found[6] == "F8F6F4":
        a, b = (_F8F6F4[number] for number in formats)
    else:
        a, _, b = found[6].partition("_")
        b = b or a
    m, n, k = (int(found[slot]) for slot in (2, 3, 4))
    return Mfma(m, n, k, int(found[5] or 1), a, b, found[1])


def matrix_cycles(
    name: str, flops: Mapping[str, int], formats: tuple[int, int] = (0, 0)
) -> int:
    """Cycles that a matrix instruction keeps the matrix unit of its SIMD.

    Args:
        name: in capitals.
        flops: of a SIMD in a cycle, by element type (`MATRIX_FLOPS`).
        formats: cbsz and blgp, the types of A and B of F8F6F4.
    """
    found = _SPARSE.match(name)
    if found:
        m, n, k = (int(found[slot]) for slot in (1, 2, 3))
        return max(8, m * n * k // flops.get(found[4], 256))
    shape = mfma_of(name, formats) if max(formats) < len(_F8F6F4) else None
    if shape is None:
        return 8
    if shape.blocks > 1:
        return 16 if shape.a == "F64" else _BLOCKS[shape.m]
    rate = min(flops.get(kind, 64) for kind in (shape.a, shape.b))
    slow = 2 if _SLOW_BF16.fullmatch(name) else 1
    return max(_LEAST[shape.m], slow * shape.flops // rate)

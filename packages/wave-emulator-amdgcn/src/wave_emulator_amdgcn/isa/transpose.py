"""Transposing reads from LDS (gfx950): lanes exchange the elements that they loaded.

DS_READ_B64_TR_B16: sixteen lanes load 16 x 64 bits, that is a 16 x 4 tile of 16-bit
elements seen as 4 rows of 16 (four consecutive lanes hold one row); lane i then holds
column i. B8 does the same with 8 rows of 16 (two lanes a row), B4 with 16 rows of 16
(one lane a row), B6 with 16 rows of 16 in 96 bits.
Source: CDNA4 ISA, "LDS transpose load"; the rules agree with LLVM's tests of
``llvm.amdgcn.ds.read.tr``; not checked against hardware.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Words

#: Bits of an element and bytes of a lane.
TRANSPOSES = {
    "DS_READ_B64_TR_B16": (16, 8), "DS_READ_B64_TR_B8": (8, 8),
    "DS_READ_B64_TR_B4": (4, 8), "DS_READ_B96_TR_B6": (6, 12),
}  # fmt: skip


def transpose(words: list[Words], bits: int) -> list[Words]:
    """The words each lane holds after the exchange among its sixteen lanes."""
    data = np.ascontiguousarray(np.stack(words, axis=-1)).view(np.uint8)
    flat = np.unpackbits(data, axis=-1, bitorder="little")
    waves, lanes, count = *flat.shape[:2], flat.shape[2] // bits
    tile = flat.reshape(waves, lanes // 16, count, 16, bits)
    swapped = np.swapaxes(tile, 2, 3).reshape(waves, lanes, count * bits)
    packed = np.ascontiguousarray(np.packbits(swapped, axis=-1, bitorder="little"))
    result = packed.view(np.uint32)
    return [result[..., k] for k in range(len(words))]

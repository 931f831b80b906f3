"""Operands of products that lie in shared memory (PTX ISA, section 9.7.15.5).

A descriptor of 64 bits says where 16-byte chunks of a tile lie. ``leading`` and
``stride`` are the two distances that it gives, in bytes; a swizzle of W bytes permutes
the chunks of an address by the number of its 128-byte line.

Source: "Asynchronous Warpgroup Level Matrix Shared Memory Layout" of the PTX ISA; each
row was compared with an H100.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Array, Ints

CHUNK = 16
"""Bytes that always lie together."""
LINE = 128
"""Bytes after which a swizzle changes."""
SWIZZLES = {0: 0, 1: 128, 2: 64, 3: 32}
"""Bytes of a row, by the last two bits of a descriptor; 0 for none."""


@dataclass(frozen=True, slots=True)
class Descriptor:
    """Where a tile lies.

    Attributes:
        start: address in shared memory, in bytes.
        leading: the leading dimension's distance, in bytes.
        stride: that of the other one.
        base: the offset of the swizzle's pattern.
        swizzle: bytes of a row: 0, 32, 64 or 128.
    """

    start: int
    leading: int
    stride: int
    base: int
    swizzle: int


def decode(bits: int) -> Descriptor:
    """The fields of a descriptor."""
    return Descriptor(
        start=(bits & 0x3FFF) << 4,
        leading=(bits >> 16 & 0x3FFF) << 4,
        stride=(bits >> 32 & 0x3FFF) << 4,
        base=bits >> 49 & 7,
        swizzle=SWIZZLES[bits >> 62],
    )


def swizzled(addresses: Ints, swizzle: int) -> Ints:
    """Where chunks lie whose addresses without a swizzle these are."""
    if not swizzle:
        return addresses
    return addresses ^ (addresses // LINE & swizzle // CHUNK - 1) * CHUNK


def chunk_addresses(of: Descriptor, rows: int, *, across: bool) -> Ints:
    """Addresses of a tile's chunks.

    Args:
        of: where it lies.
        rows: of the operand: M or N.
        across: whether M or N is innermost, which 16-bit types may be.

    Returns:
        [rows, 2], the second axis along K; of tiles across [16, rows / 8], the first
        axis along K.
    """
    shape = of.leading, of.stride, of.swizzle
    offsets = _across(rows, *shape) if across else _along(rows, *shape)
    return swizzled(of.start + offsets, of.swizzle)


@lru_cache(maxsize=256)
def _along(rows: int, leading: int, stride: int, swizzle: int) -> Array:
    """K innermost: 32 bytes of each row."""
    row, chunk = np.arange(rows)[:, None], np.arange(2)
    far = row // 8 * stride
    if swizzle:
        return far + row % 8 * swizzle + chunk * CHUNK
    return far + row % 8 * CHUNK + chunk * leading


@lru_cache(maxsize=256)
def _across(rows: int, leading: int, stride: int, swizzle: int) -> Array:
    """M or N innermost: 8 elements of it a chunk, 16 rows along K."""
    k, start = np.arange(16)[:, None], np.arange(rows // 8) * CHUNK
    if swizzle:
        inside = k // 8 * stride + k % 8 * swizzle
        return start // swizzle * leading + inside + start % swizzle
    return start // CHUNK * stride + k // 8 * leading + k % 8 * CHUNK

"""Tiles of shared memory as products of warpgroups read them, element by element.

Written from the figures of the PTX ISA, section 9.7.15.5, apart from the emulator.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MODES = {0: 0, 128: 1, 64: 2, 32: 3}
"""The last two bits of a descriptor by the bytes of a swizzled row."""


@dataclass(frozen=True)
class Tile:
    """How an operand [rows, K] of a product lies.

    Attributes:
        swizzle: bytes of a row, or 0 for core matrices.
        across: whether M or N is innermost.
    """

    swizzle: int = 128
    across: bool = False

    def distances(self, rows: int, depth: int, size: int) -> tuple[int, int]:
        """The leading and the stride distance in bytes, of an operand of its own."""
        if self.swizzle and self.across:
            return depth * self.swizzle, 8 * self.swizzle
        if self.swizzle:
            return 16, 8 * self.swizzle
        if self.across:
            return 128, 128 * (depth // 8)
        return 128 * (rows // 8), 128

    def place(self, row: int, k: int, rows: int, depth: int, size: int) -> int:
        """The byte of an element, without the swizzle."""
        leading, stride = self.distances(rows, depth, size)
        inner, outer = (row, k) if self.across else (k, row)
        if self.swizzle:
            panel, within = divmod(inner * size, self.swizzle)
            far = leading if self.across else rows * self.swizzle
            return panel * far + outer // 8 * stride + outer % 8 * self.swizzle + within
        chunk, within = divmod(inner * size, 16)
        by_row, by_k = (chunk, k // 8) if self.across else (row // 8, chunk)
        return by_row * stride + by_k * leading + outer % 8 * 16 + within

    def step(self, number: int, rows: int, depth: int, size: int) -> int:
        """Bytes from the descriptor's start to that of the n-th product along K."""
        first = number * 32 // size
        return self.place(0, first, rows, depth, size)

    def extent(self, rows: int, depth: int, size: int) -> int:
        """Bytes of all of it; rows that are not full leave holes."""
        inner, outer = (rows, depth) if self.across else (depth, rows)
        if not self.swizzle:
            return rows * depth * size
        return -(-inner * size // self.swizzle) * self.swizzle * outer

    def image(self, matrix: np.ndarray, start: int) -> np.ndarray:
        """The bytes of a tile that begins at an address."""
        rows, depth = matrix.shape
        size = matrix.dtype.itemsize
        found = np.zeros(self.extent(rows, depth, size), np.uint8)
        data = np.ascontiguousarray(matrix).view(np.uint8).reshape(rows, depth, size)
        for row in range(rows):
            for k in range(depth):
                at = start + self.place(row, k, rows, depth, size)
                at = swizzled(at, self.swizzle) - start
                found[at : at + size] = data[row, k]
        return found

    def descriptor(self, start: int, rows: int, depth: int, size: int) -> int:
        """The 64 bits of a tile that begins at an address."""
        leading, stride = self.distances(rows, depth, size)
        fields = (start >> 4 & 0x3FFF), leading >> 4 << 16, stride >> 4 << 32
        return sum(fields) | MODES[self.swizzle] << 62


def swizzled(address: int, swizzle: int) -> int:
    """Exclusive or of bits 4 to 6 with those of the 128-byte line."""
    mask = {0: 0, 32: 1, 64: 3, 128: 7}[swizzle]
    return address ^ ((address >> 7 & mask) << 4)


def sums_place(thread: int, register: int) -> tuple[int, int]:
    """Row and column of an element of the result: the figure of D."""
    row = 16 * (thread // 32 % 4) + thread // 4 % 8 + 8 * (register // 2 % 2)
    return row, 2 * (thread % 4) + register % 2 + 8 * (register // 4)


def left_place(thread: int, element: int, size: int) -> tuple[int, int]:
    """Row and K of an element of A in registers: the figures of A."""
    run = 4 // size
    part, within = divmod(element, run)
    row = 16 * (thread // 32 % 4) + thread // 4 % 8 + 8 * (part % 2)
    return row, run * (thread % 4) + within + 4 * run * (part // 2)

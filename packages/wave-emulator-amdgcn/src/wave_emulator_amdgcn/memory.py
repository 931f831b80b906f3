"""Bytes that instructions load from and store to: LDS, and buffers at addresses.

All buffers lie in one array with unmapped gaps between them, so that an access of all
lanes is one gather. Addresses start at `BASE`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Bools, Bytes, Ints, Words

BASE = 0x7F0000000000
"""First address of the mapped memory."""

_GAP = 1 << 20
_PAGE = 4096


class Cells:
    """Bytes with gathers and scatters of whole lanes.

    Attributes:
        data: the bytes; their number is a multiple of 16.
    """

    def __init__(self, size: int) -> None:
        """``size`` bytes of zeros, and a little more."""
        self.data: Bytes = np.zeros((size + 31) // 16 * 16, np.uint8)
        self._words = self.data.view(np.uint32)
        self._halves = self.data.view(np.uint16)
        self._quads = self._words.reshape(-1, 4)
        self._pairs = self.data.view(np.uint64)

    def load(self, at: Ints, size: int) -> list[Words]:
        """Words at byte positions; a byte or a half is zero-extended."""
        if size == 1:
            return [self.data[at].astype(np.uint32)]
        if size == 2:
            return [self._half(at)]
        if size == 16 and not np.bitwise_or.reduce(at, axis=None) & 15:
            rows = self._quads.take(at >> 4, axis=0)
            return [rows[..., k] for k in range(4)]
        if not np.bitwise_or.reduce(at, axis=None) & 3:
            index = at >> 2
            return [self._words.take(index + k) for k in range(size // 4)]
        return [self._unaligned(at + 4 * k) for k in range(size // 4)]

    def _half(self, at: Ints) -> Words:
        if not np.bitwise_or.reduce(at, axis=None) & 1:
            return self._halves[at >> 1].astype(np.uint32)
        low = self.data[at].astype(np.uint32)
        return low | self.data[at + 1].astype(np.uint32) << np.uint32(8)

    def _unaligned(self, at: Ints) -> Words:
        word = self.data[at].astype(np.uint32)
        for k in range(1, 4):
            word |= self.data[at + k].astype(np.uint32) << np.uint32(8 * k)
        return word

    def store(self, at: Ints, words: list[Words], size: int) -> None:
        """Store words at byte positions (flat); of equal positions the last wins."""
        if size == 1:
            self.data[at] = words[0].astype(np.uint8)
        elif size == 2 and not np.bitwise_or.reduce(at, axis=None) & 1:
            self._halves[at >> 1] = words[0].astype(np.uint16)
        elif size >= 4 and not np.bitwise_or.reduce(at, axis=None) & 3:
            for k, word in enumerate(words):
                self._words[(at >> 2) + k] = word
        else:
            for k in range(size):
                byte = words[k // 4] >> np.uint32(8 * (k % 4))
                self.data[at + k] = byte.astype(np.uint8)


@dataclass(frozen=True)
class Region:
    """A mapped range.

    Attributes:
        name: for messages.
        start: position in the array of `Regions`.
        size: bytes.
    """

    name: str
    start: int
    size: int

    @property
    def address(self) -> int:
        """Where the device sees it."""
        return BASE + self.start


class Regions:
    """Buffers at addresses.

    Attributes:
        cells: all bytes, gaps included.
        regions: by address.
    """

    def __init__(self, sizes: list[tuple[str, int]]) -> None:
        """Map a region for each (name, bytes), in order."""
        regions: list[Region] = []
        at = _GAP
        for name, size in sizes:
            regions.append(Region(name, at, size))
            gap = max(_GAP, size)
            at += (size + gap + _PAGE - 1) // _PAGE * _PAGE
        self.regions = tuple(regions)
        self.cells = Cells(at)
        self._last = self.regions[0] if regions else Region("", 0, 0)

    def fill(self, index: int, data: Bytes) -> None:
        """Copy bytes into a region."""
        region = self.regions[index]
        self.cells.data[region.start : region.start + data.size] = data

    def bytes_of(self, index: int) -> Bytes:
        """The bytes of a region, not copied."""
        region = self.regions[index]
        return self.cells.data[region.start : region.start + region.size]

    def outside(
        self, at: Ints, size: int, *, words: bool = False, blocks: bool = False
    ) -> Bools | None:
        """Which accesses leave every region; None when none does.

        ``words`` lets them end in the word that holds a region's last byte: the
        hardware has whole words, and LLVM widens a load of less that is aligned.
        ``blocks`` lets those begin in a region and end behind it that begin at a
        multiple of their size: no page ends within, and LLVM widens scalar loads so.
        """
        if not at.size:
            return None
        low, high = int(at.min()), int(at.max()) + size
        last = self._last
        if last.start <= low and high <= last.start + last.size:
            return None
        step = 4 if words and size >= 4 else 1
        bad = np.ones(at.shape, np.bool_)
        for region in self.regions:
            end = region.start + -(-region.size // step) * step
            inside = (at >= region.start) & (at + size <= end)
            if blocks:
                within = (at >= region.start) & (at < region.start + region.size)
                inside |= within & (at % size == 0)
            if inside.all():
                self._last = region
                return None
            bad &= ~inside
        return bad if bad.any() else None

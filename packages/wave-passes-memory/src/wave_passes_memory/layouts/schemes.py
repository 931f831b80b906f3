"""The layouts that a buffer may have: each a bijection of its elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wave_core.constraints.machine import REGISTER
from wave_core.ir import Access
from wave_core.symbols import constant, xor
from wave_passes_memory.layouts.patterns import PERIOD, row_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_core.symbols import Expr, Facts
    from wave_core.types import MemoryType
    from wave_passes_memory.copies.lane_points import Array


LINE_BYTES = 256
"""Bytes of all banks, of the targets with most."""

STEPS = (1, 2, 4, 8)
"""Rows that share a permutation."""


PADDED = (1, 2, 4)
"""By how many of the widest accesses rows may be longer."""


@dataclass(frozen=True)
class Scheme:
    """Where element (row, column) of a buffer lies.

    Rows are cut into chunks of ``chunk`` bytes. Chunk number ``c`` of row ``r`` is
    stored at ``c ^ (r // step % ways)``; ``ways`` is a power of two that divides the
    number of chunks, so the chunks of a row are permuted among themselves. Each row
    is ``padding`` bytes longer than its elements.

    With ``also`` the key is ``(r // step ^ r // also) % ways``. With ``fold`` that
    many rows make a line, whose chunks are counted through and permuted among
    themselves: chunks in a row and ``fold`` are powers of two then, and ``step`` and
    ``also`` are more than 1 where a row is one chunk, so that what is added to the
    number of a chunk comes from bits above those that it changes.

    Units: bytes.
    """

    chunk: int
    step: int = 1
    ways: int = 1
    padding: int = 0
    also: int = 0
    fold: int = 1

    @property
    def is_plain(self) -> bool:
        """Whether elements lie row by row, as they come."""
        return self.ways == 1 and self.padding == 0

    def __str__(self) -> str:
        if self.ways > 1:
            more = f" ^ row // {self.also}" if self.also else ""
            key = f"(row // {self.step}{more} % {self.ways})"
            lines = f", lines of {self.fold} rows" if self.fold > 1 else ""
            return f"chunks of {self.chunk} bytes ^ {key}{lines}"
        return f"rows padded by {self.padding} bytes" if self.padding else "rows"

    def places(self, rows: Array, columns: Array, row_bytes: int) -> Array:
        """Byte offsets of elements."""
        if self.ways > 1:
            rows, columns = self._moved(rows, columns, rows, row_bytes)
        return rows * (row_bytes + self.padding) + columns

    def _moved(
        self, rows: Array, columns: Array, by: Array, row_bytes: int
    ) -> tuple[Array, Array]:
        """Row and byte of where chunks go that the rows ``by`` permute."""
        key = by // self.step
        if self.also:
            key = key ^ by // self.also
        line, chunks = rows % self.fold, row_bytes // self.chunk
        moved = (line * chunks + columns // self.chunk) ^ key % self.ways
        rows = rows - line + moved // chunks if self.fold > 1 else rows
        moved = moved % chunks if self.fold > 1 else moved
        return rows, moved * self.chunk + columns % self.chunk

    def can_undo(self, count: int, row_bytes: int) -> bool:
        """Whether `undo` finds every element again of ``count`` rows."""
        if self.ways == 1:
            return not self.padding
        first = np.arange(row_bytes // self.chunk) * self.chunk
        rows, columns = np.broadcast_arrays(np.arange(count)[:, None], first)
        there = self._moved(rows, columns, rows, row_bytes)
        by, _ = self._moved(*there, there[0], row_bytes)
        back = self._moved(*there, by, row_bytes)
        return bool((back[0] == rows).all() and (back[1] == columns).all())

    def apply(self, access: Access, kind: MemoryType, facts: Facts) -> Access:
        """An access of a buffer with this layout; ``padding`` is the buffer's.

        The access starts at a multiple of its width, which divides a chunk.
        """
        return access if self.ways == 1 else self._permuted(access, access, kind, facts)

    def undo(self, access: Access, kind: MemoryType, facts: Facts) -> Access:
        """The elements that lie at the places of ``access``; see `can_undo`.

        The rows of these places tell the rows of the elements, which permuted them.
        """
        if self.ways == 1:
            return access
        first = self._permuted(access, access, kind, facts)
        return self._permuted(access, first, kind, facts) if self.fold > 1 else first

    def _permuted(
        self, access: Access, by: Access, kind: MemoryType, facts: Facts
    ) -> Access:
        """Chunks permuted as the rows of ``by`` say."""
        size = self.chunk // kind.dtype.bytes
        *outer, inner = access.coordinates
        start = facts.simplify(inner.subs({REGISTER: constant(0)}))
        key = self._key(by, kind, facts)
        moved = xor(self._number(access, kind, facts), key)
        if self.fold > 1:
            chunks = kind.storage_shape[-1].constant_value // size
            above = facts.simplify(outer[-1] // self.fold) * self.fold
            outer[-1] = above + facts.simplify(moved // chunks)
            moved = facts.simplify(moved % chunks)
        place = moved * size + facts.simplify(start % size)
        if access.registers > 1:
            place = place + REGISTER
        return Access((*outer, place), access.registers, access.mask)

    def _number(self, access: Access, kind: MemoryType, facts: Facts) -> Expr:
        """The number of the chunk in its line."""
        size = self.chunk // kind.dtype.bytes
        *outer, inner = access.coordinates
        start = inner.subs({REGISTER: constant(0)})
        number = facts.simplify(start // size)
        if self.fold == 1:
            return number
        chunks = kind.storage_shape[-1].constant_value // size
        return number + facts.simplify(outer[-1] % self.fold) * chunks

    def _key(self, access: Access, kind: MemoryType, facts: Facts) -> Expr:
        row = row_of(access, kind)
        key = facts.simplify(row // self.step % self.ways)
        if self.also:
            key = xor(key, facts.simplify(row // self.also % self.ways))
        return key


def schemes(row_bytes: int, widest: int, rows: int = 1) -> Iterator[Scheme]:
    """Layouts for rows of ``row_bytes``, the simplest first.

    ``widest`` is the widest access: chunks are no smaller. Rows of all but the first
    layout start at multiples of it. ``rows`` is how many of them the innermost two
    dimensions have.
    """
    yield Scheme(widest)
    chunks, odd = divmod(row_bytes, widest)
    if odd:
        for count in (0, *PADDED):
            yield Scheme(widest, padding=widest - odd + widest * count)
        return
    ways = chunks & -chunks if chunks else 1
    while ways > 1:
        step = 1
        while step * ways <= PERIOD and ways <= PERIOD:
            yield Scheme(widest, step, ways)
            step *= 2
        ways //= 2
    yield from _with_two_steps(row_bytes, widest, rows)
    for count in PADDED:
        yield Scheme(widest, padding=widest * count)


def _with_two_steps(row_bytes: int, widest: int, rows: int) -> Iterator[Scheme]:
    """Permutations by two parts of the row's number, in lines of all banks."""
    for chunk in (widest, 2 * widest):
        chunks, odd = divmod(row_bytes, chunk)
        if odd or not chunks or chunks & (chunks - 1):
            continue
        fold = max(1, LINE_BYTES // row_bytes)
        ways = min(chunks * fold, LINE_BYTES // chunk)
        if rows % fold or ways < 2:
            continue
        for step in STEPS[chunks == 1 :]:
            for also in (0, 2 * step, 4 * step, 8 * step):
                if also or fold > 1 or chunk > widest:
                    yield Scheme(chunk, step, ways, also=also, fold=fold)

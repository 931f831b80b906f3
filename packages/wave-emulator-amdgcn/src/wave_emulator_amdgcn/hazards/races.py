"""Who touched which cell of a memory, and whether a barrier lies between.

A cell remembers its last writer and two readers with the time of their instruction. An
access of another wave is ordered after them if a barrier came in between and that wave
had waited for them before the barrier. Detection needs no lucky timing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Array, Bools, Ints
    from wave_emulator_amdgcn.hazards.locks import Locks

PLAIN, ATOMIC, DMA = 0, 1, 2
"""Kinds of writers; the low two bits of a writer's number."""


@dataclass
class Order:
    """The accesses that barriers ordered.

    Attributes:
        first: number of the first wave of the batch; numbers start at 1.
        per_group: waves of a workgroup.
        reads: time up to which reads of each wave are ordered, for all others.
        writes: the same for writes.
        copies: the same for copies straight to LDS.
        locks: what waves know of other workgroups, in code that acquires.
    """

    first: int
    per_group: int
    reads: Ints
    writes: Ints
    copies: Ints
    locks: Locks | None = None

    def same_group(self, a: Array, b: Array) -> Bools:
        """Whether waves are of one workgroup."""
        return (a - 1) // self.per_group == (b - 1) // self.per_group

    def ordered(self, waves: Array, stamps: Array, marks: Ints, me: Ints) -> Bools:
        """Whether accesses of waves at times come before what ``me`` does now."""
        local = np.clip(waves - self.first, 0, len(marks) - 1)
        ordered = self.same_group(waves, me) & (stamps <= marks[local])
        if self.locks is None:
            return ordered
        kind = 0 if marks is self.reads else 1
        known = self.locks.known[kind, me - self.first, np.maximum(waves - 1, 0)]
        return np.asarray(ordered | (stamps <= known))


@dataclass(frozen=True)
class Access:
    """One instruction's access.

    Attributes:
        at: cells [lanes that access, cells of each].
        me: number of the wave of each lane.
        kind: ``read``, ``write``, ``atomic`` or ``dma``.
        stamp: the time.
    """

    at: Ints
    me: Ints
    kind: str
    stamp: int


@dataclass(frozen=True)
class Conflict:
    """An access that nothing orders with earlier ones.

    Attributes:
        bad: whether that is so [lanes, cells of each].
        waves: numbers of the waves of the earlier ones, of the same shape.
        stamps: their times.
        what: what they did.
        reads: whether either side of it reads.
    """

    bad: Bools
    waves: Array
    stamps: Array
    what: str
    reads: bool

    @property
    def first(self) -> tuple[int, int]:
        """The first lane that it concerns, and the cell there."""
        lane, cell = (int(v[0]) for v in np.nonzero(self.bad))
        return lane, cell

    @property
    def other(self) -> int:
        """Ordinal in the launch of the other wave there."""
        return int(self.waves[self.first]) - 1

    @property
    def count(self) -> int:
        """How many lanes it concerns."""
        return int(self.bad.any(axis=1).sum())


class Shadow:
    """The history of one memory, in cells of 4, 2 or 1 bytes.

    Cells start at four bytes and become finer when an instruction touches less, so that
    neighbours in one word do not look like a race. Wave 0 is nobody: numbers start at
    1, so that a history of zeros, which costs nothing to make, is an empty one.
    """

    def __init__(self, size: int) -> None:
        """A memory of ``size`` bytes that nobody touched."""
        self.bytes_of_cell = 4
        count = (size + 3) // 4
        self.writer = np.zeros(count, np.int32)
        self.written = np.zeros(count, np.int32)
        self.reader = np.zeros(count, np.int32)
        self.read = np.zeros(count, np.int32)
        self.reader2 = np.zeros(count, np.int32)
        self.read2 = np.zeros(count, np.int32)

    def cells(self, at: Ints, size: int) -> Ints:
        """Cells [lanes, n] of accesses at byte positions."""
        need = min(4, size)
        if int(np.bitwise_or.reduce(at, axis=None)) & (need - 1):
            need = 1
        while self.bytes_of_cell > need:
            self.bytes_of_cell //= 2
            for name in ("writer", "written", "reader", "read", "reader2", "read2"):
                setattr(self, name, _halved(getattr(self, name)))
        step = self.bytes_of_cell
        return at[:, None] // step + np.arange(max(1, size // step))

    def were_atomic(self, at: Ints) -> None:
        """Whoever wrote words at these bytes last wrote a lock."""
        cells = self.cells(at, 4)
        writer = self.writer[cells]
        self.writer[cells] = np.where(writer & 3 == PLAIN, writer | ATOMIC, writer)

    def touch(self, access: Access, order: Order) -> list[Conflict]:
        """Check an access against the history, then add it."""
        at, me = access.at, access.me[:, None]
        found = [self._against_writer(access, order, at, me)]
        if access.kind == "read":
            self._add_reader(access, order, at, me)
        else:
            for reader, read in ((self.reader, self.read), (self.reader2, self.read2)):
                found.append(_against_reader(order, reader[at], read[at], me))
            found.append(self._add_writer(access, at, me))
        return [conflict for conflict in found if conflict is not None]

    def _add_writer(self, access: Access, at: Ints, me: Ints) -> Conflict | None:
        kind = {"atomic": ATOMIC, "dma": DMA}.get(access.kind, PLAIN)
        mine = np.broadcast_to(me * 4 + kind, at.shape)
        self.writer[at] = mine
        self.written[at] = access.stamp
        self.reader[at] = 0
        self.reader2[at] = 0
        if kind == ATOMIC:
            return None
        wave = self.writer[at] >> 2
        what = "writes in the same instruction"
        return _found(wave != me, wave, self.written[at], what, reads=False)

    def _against_writer(
        self, access: Access, order: Order, at: Ints, me: Ints
    ) -> Conflict | None:
        writer = self.writer[at]
        wave = writer >> 2
        candidates = (writer > 0) & (wave != me)
        if access.kind == "atomic":
            candidates &= writer & 3 != ATOMIC
        if not candidates.any():
            return None
        stamps = self.written[at]
        done = order.ordered(wave, stamps, order.writes, me)
        copied = writer & 3 == DMA
        if copied.any():
            done = np.where(copied, order.ordered(wave, stamps, order.copies, me), done)
        bad = candidates & ~done
        return _found(bad, wave, stamps, "wrote", reads=access.kind == "read")

    def _add_reader(self, access: Access, order: Order, at: Ints, me: Ints) -> None:
        old = self.reader[at]
        free = (old == 0) | (old == me)
        if not free.all():
            free |= order.ordered(old, self.read[at], order.reads, me)
        mine = np.broadcast_to(me, at.shape)
        if free.all():
            self.reader[at] = mine
            self.read[at] = access.stamp
        else:
            self.reader[at[free]] = mine[free]
            self.read[at[free]] = access.stamp
        second = self.reader[at] != mine
        if second.any():
            self.reader2[at[second]] = mine[second]
            self.read2[at[second]] = access.stamp


def _halved(cells: Array) -> Array:
    """Each cell twice; most of a memory is untouched, and its pages stay unmade."""
    finer = np.zeros(2 * len(cells), cells.dtype)
    touched = np.flatnonzero(cells)
    finer[2 * touched] = finer[2 * touched + 1] = cells[touched]
    return finer


def _against_reader(
    order: Order, wave: Array, stamps: Array, me: Ints
) -> Conflict | None:
    candidates = (wave > 0) & (wave != me)
    if not candidates.any():
        return None
    bad = candidates & ~order.ordered(wave, stamps, order.reads, me)
    return _found(bad, wave, stamps, "read", reads=True)


def _found(
    bad: Bools, waves: Array, stamps: Array, what: str, *, reads: bool
) -> Conflict | None:
    return Conflict(bad, waves, stamps, what, reads) if bad.any() else None

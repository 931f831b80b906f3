"""What waves know of other workgroups: releases, locks and acquires.

For each wave there is, for every wave of the launch, the number below which that one's
accesses come before what it does now. A release says so of the wave's own accesses. A
write of a lock leaves what its wave knows there, who reads the lock finds it, and knows
it after an acquire. Waves that meet at a barrier share what they know. Where not all
lanes of a wave run in step, each group of those that do is on its own, until a fence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_sim_cpu.races import Kind

if TYPE_CHECKING:
    from wave_sim_cpu.arrays import Array, Bits, Index
    from wave_sim_cpu.launch import Units
    from wave_sim_cpu.memory import Buffer

Locks = dict[tuple[str, int], "Index"]
"""What those who wrote a lock knew, by the name of its memory and its cell."""


class Clocks:
    """What the waves of one chunk know.

    Shapes: ``known`` and ``found`` ``[groups of the chunk, groups of the launch]``,
    ``width`` of them in a wave.
    """

    def __init__(self, units: Units, width: int, total: int, locks: Locks) -> None:
        """Nobody knows anything; ``locks`` are those of the launch."""
        self._width = width
        self._strands = units.waves_per_workgroup * width
        count = units.count * width
        self._own = units.first * self._strands + np.arange(count)
        self._locks = locks
        self.known = np.zeros((count, total), np.int64)
        self._found = np.zeros_like(self.known)

    def release(self, active: Bits, number: int) -> None:
        """The waves' accesses below ``number`` come before what they do to locks."""
        here = np.flatnonzero(active.repeat(self._width))
        self.known[here, self._own[here]] = number

    def acquire(self, active: Bits) -> None:
        """The waves know what they found in locks."""
        here = np.flatnonzero(active.repeat(self._width))
        self.known[here] = np.maximum(self.known[here], self._found[here])

    def meet(self, active: Bits) -> None:
        """The waves of each workgroup share what they know."""
        self._share(active, self._strands)

    def fence(self, active: Bits) -> None:
        """The lanes of each wave share what they know."""
        self._share(active, self._width)

    def _share(self, active: Bits, count: int) -> None:
        """So many neighbours do, as far as they are active."""
        here = active.repeat(self._width)[:, None]
        shape = (-1, count, self.known.shape[1])
        mine = np.where(here, self.known, 0).reshape(shape)
        shared = np.repeat(mine.max(axis=1), count, axis=0)
        self.known = np.where(here, shared, self.known)

    def touch(self, kind: Kind, buffer: Buffer, cells: Index, who: Array) -> None:
        """Groups touch cells; those of volatile accesses and atomics are locks.

        A write replaces what others left there, an update adds to it.
        """
        if kind in (Kind.READ, Kind.WRITE):
            return
        for me, cell in _pairs(cells, who):
            key = buffer.label, cell
            left = self._locks.get(key)
            if left is not None and kind is not Kind.WRITE_LOCK:
                self._found[me] = np.maximum(self._found[me], left)
            if kind is Kind.ATOMIC and left is not None:
                self._locks[key] = np.maximum(left, self.known[me])
            elif kind is not Kind.READ_LOCK:
                self._locks[key] = self.known[me].copy()


def _pairs(cells: Index, who: Array) -> list[tuple[int, int]]:
    """Which group touches which cell, groups in order."""
    whose = np.broadcast_to(who, cells.shape)
    rows = np.stack([whose.ravel(), cells.ravel()], axis=1)
    return [(int(me), int(cell)) for me, cell in np.unique(rows, axis=0)]

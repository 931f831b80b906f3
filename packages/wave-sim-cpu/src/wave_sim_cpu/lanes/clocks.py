"""What waves know of other workgroups: releases, locks and acquires.

For each wave there is, for every wave of the launch, the number below which that one's
accesses come before what it does now. A release says so of the wave's own accesses. A
write of a lock leaves what its wave knows there, who reads the lock finds it, and knows
it after an acquire. Waves that meet at a barrier share what they know.
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

    Shapes: ``known`` and ``found`` ``[units, waves of the launch]``.
    """

    def __init__(self, units: Units, total: int, locks: Locks) -> None:
        """Nobody knows anything; ``locks`` are those of the launch."""
        self._waves = units.waves_per_workgroup
        self._own = units.first * self._waves + np.arange(units.count)
        self._locks = locks
        self.known = np.zeros((units.count, total), np.int64)
        self._found = np.zeros_like(self.known)

    def release(self, active: Bits, number: int) -> None:
        """The waves' accesses below ``number`` come before what they do to locks."""
        units = np.flatnonzero(active)
        self.known[units, self._own[units]] = number

    def acquire(self, active: Bits) -> None:
        """The waves know what they found in locks."""
        units = np.flatnonzero(active)
        self.known[units] = np.maximum(self.known[units], self._found[units])

    def meet(self, active: Bits) -> None:
        """The waves of each workgroup share what they know."""
        shape = (-1, self._waves, self.known.shape[1])
        mine = np.where(active[:, None], self.known, 0).reshape(shape)
        shared = np.repeat(mine.max(axis=1), self._waves, axis=0)
        self.known = np.where(active[:, None], shared, self.known)

    def touch(self, kind: Kind, buffer: Buffer, cells: Index, unit: Array) -> None:
        """Waves touch cells; those of volatile accesses and atomics are locks.

        A write replaces what others left there, an update adds to it.
        """
        if kind in (Kind.READ, Kind.WRITE):
            return
        for me, cell in _pairs(cells, unit):
            key = buffer.label, cell
            left = self._locks.get(key)
            if left is not None and kind is not Kind.WRITE_LOCK:
                self._found[me] = np.maximum(self._found[me], left)
            if kind is Kind.ATOMIC and left is not None:
                self._locks[key] = np.maximum(left, self.known[me])
            elif kind is not Kind.READ_LOCK:
                self._locks[key] = self.known[me].copy()


def _pairs(cells: Index, unit: Array) -> list[tuple[int, int]]:
    """Which wave touches which cell, waves in order."""
    units = np.broadcast_to(unit, cells.shape)
    rows = np.stack([units.ravel(), cells.ravel()], axis=1)
    return [(int(me), int(cell)) for me, cell in np.unique(rows, axis=0)]

"""Barriers as clocks: which earlier accesses of a workgroup are ordered before now.

Every memory access has a number, in program order. For each workgroup ``mark`` is the
number below which the accesses of all its waves come before what its waves do now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from wave_sim_cpu.arrays import Array
    from wave_sim_cpu.arrays import Bits
    from wave_sim_cpu.arrays import Index
    from wave_sim_cpu.units import Units


class _Clock:
    """One named barrier: what each wave had done at each of its signals.

    ``done[t]`` holds, for each unit, the number below which its accesses were done
    at its signal ``t``.
    """

    def __init__(self, units: int) -> None:
        self.signals = np.zeros(units, np.int64)
        self.waits = np.zeros(units, np.int64)
        self.done: dict[int, Index] = {}

    def signal(self, active: Bits, done: Index) -> None:
        """Waves signal once more."""
        for turn in np.unique(self.signals[active]).tolist():
            here = active & (self.signals == turn)
            before = self.done.get(turn, np.zeros_like(self.signals))
            self.done[turn] = np.where(here, done, before)
        self.signals += active

    def forget(self) -> None:
        """Drop the signals that all waves have waited for."""
        for turn in [t for t in self.done if t < int(self.waits.min())]:
            del self.done[turn]


class Epochs:
    """The marks of the workgroups of one chunk.

    Shapes: ``mark`` is ``[units, 1, 1]``, equal for the waves of a workgroup.
    """

    def __init__(self, units: Units) -> None:
        self._units = units
        self._waves = units.waves_per_workgroup
        self._mark = np.zeros(units.workgroups, np.int64)
        self._done = np.zeros(units.count, np.int64)
        self._clocks: dict[int, _Clock] = {}
        self._spread()

    def _spread(self) -> None:
        self.mark = np.repeat(self._mark, self._waves).reshape(-1, 1, 1)
        self.lowest = int(self._mark.min()) if self._mark.size else 0

    def by_workgroup(self, values: Array) -> Array:
        """A value for each unit as ``[workgroups, waves]``."""
        return values.reshape(-1, self._waves)

    def barrier(self, active: Bits, number: int) -> Bits:
        """All waves meet; accesses below ``number`` are ordered before what follows.

        Returns the workgroups of which only a part of the waves arrived.
        """
        self._done = np.where(active, number, self._done)
        return self._advance(active, np.full(self._units.count, number))

    def meet(self, active: Bits) -> Bits:
        """All waves meet, but accesses not waited for stay unordered."""
        return self._advance(active, self._done)

    def drain(self, active: Bits, number: int) -> None:
        """The waves wait for their own LDS accesses."""
        self._done = np.where(active, number, self._done)

    def _advance(self, active: Bits, numbers: Index) -> Bits:
        arrived = self.by_workgroup(active)
        everyone = arrived.all(axis=1)
        least = numbers.reshape(-1, self._waves).min(axis=1)
        self._mark = np.where(everyone, np.maximum(self._mark, least), self._mark)
        self._spread()
        return np.asarray(arrived.any(axis=1) & ~everyone)

    def signal(self, active: Bits, bar_id: int, number: int, *, drained: bool) -> None:
        """The waves announce barrier ``bar_id`` and go on."""
        if drained:
            self.drain(active, number)
        self._clock(bar_id).signal(active, self._done)

    def wait(self, active: Bits, bar_id: int) -> Bits:
        """The waves wait until all have signalled ``bar_id``.

        Returns the workgroups that would wait for ever.
        """
        clock = self._clock(bar_id)
        waiting = self.by_workgroup(active).any(axis=1)
        turns = self.by_workgroup(clock.waits).max(axis=1)
        signalled = self.by_workgroup(clock.signals).min(axis=1)
        ready = waiting & (signalled > turns)
        for turn in np.unique(turns[ready]).tolist():
            least = self.by_workgroup(clock.done[turn]).min(axis=1)
            raised = np.maximum(self._mark, least)
            self._mark = np.where(ready & (turns == turn), raised, self._mark)
        clock.waits += active
        clock.forget()
        self._spread()
        return waiting & ~ready

    def _clock(self, bar_id: int) -> _Clock:
        return self._clocks.setdefault(bar_id, _Clock(self._units.count))

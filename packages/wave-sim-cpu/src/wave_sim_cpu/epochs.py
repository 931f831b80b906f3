"""Barriers as clocks: which earlier accesses of a workgroup are ordered before now.

Every memory access has a number, in program order. For each wave ``mark`` is the
number below which the accesses of all waves of its workgroup come before what it does
now. Barriers of the workgroup are counted, as hardware counts them: a wave's n-th
barrier is passed when all waves have come to theirs, wherever these stand. So waves
may be a barrier apart for a while, as long as each has passed as many in the end.

Lanes of one wave that do not run in step are ordered by its fences and by all barriers:
``fenced`` is the number below which accesses of its other lanes come before now.

A copy to LDS is done later than it is issued: its wave has to wait for it, and the
others have to meet that wave after that. So there is a mark of its own for copies, and
likewise one for matrix products that go on after they are issued.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_core.ops.sync import MOST_GROUPS

if TYPE_CHECKING:
    from wave_sim_cpu.arrays import Array, Bits, Index
    from wave_sim_cpu.launch import Units


ACCESSES, COPIES, PRODUCTS = range(3)
"""What there is a mark for, in the order of rows."""


class Flights:
    """The copies of the waves of one chunk; those of one wave land in order."""

    def __init__(self) -> None:
        self._issued: list[tuple[int, Bits]] = []
        self._closed: list[Index] = []

    def close(self, active: Bits, number: int) -> None:
        """What the waves issued below ``number``, and no barrier closed, is a group."""
        new = np.where(active, number, 0)
        for place, old in enumerate(self._closed):
            self._closed[place] = np.where(active, new, old)
            new = np.where(active, old, new)
        if len(self._closed) <= MOST_GROUPS:
            self._closed.append(new)

    def before(self, groups: int) -> Index:
        """For each wave the number where the latest ``groups`` groups begin."""
        last = min(groups, MOST_GROUPS)
        if last < len(self._closed):
            return self._closed[last]
        return np.zeros_like(self._closed[0])

    def issue(self, active: Bits, number: int) -> None:
        """The waves start copy ``number``."""
        self._issued.append((number, active))

    def landed(self, active: Bits, done: Index, number: int, left: int) -> Index:
        """``done`` after the waves waited until at most ``left`` of theirs fly.

        Accesses of global memory count on hardware as well, so that waiting for the
        same number of operations there waits for these copies, or for more.
        """
        if left == 0:
            done = np.where(active, number, done)
        after = np.zeros(done.shape, np.int64)
        for copy, waves in reversed(self._issued if left else []):
            here = active & waves & (after >= left)
            done = np.where(here, np.maximum(done, copy + 1), done)
            after += waves
        self.forget(done)
        return done

    def forget(self, done: Index) -> None:
        """Drop the copies that are done for the waves that issued them."""
        lowest = int(done.min())
        self._issued = [row for row in self._issued if row[0] >= lowest]


class _Clock:
    """One named barrier: what each wave had done at each of its signals.

    ``done[t]`` holds, for each unit, the number below which its accesses were done
    at its signal ``t``, and in a second row the same for its copies.
    """

    def __init__(self, units: int) -> None:
        self.signals = np.zeros(units, np.int64)
        self.waits = np.zeros(units, np.int64)
        self.done: dict[int, Index] = {}

    def signal(self, active: Bits, done: Index) -> None:
        """Waves signal once more."""
        for count in np.unique(self.signals[active]).tolist():
            here = active & (self.signals == count)
            before = self.done.get(count, np.zeros_like(done))
            self.done[count] = np.where(here, done, before)
        self.signals += active

    def forget(self) -> None:
        """Drop the signals that all waves have waited for."""
        for count in [t for t in self.done if t < int(self.waits.min())]:
            del self.done[count]


class Epochs:
    """The marks of the workgroups of one chunk.

    Shapes: ``mark`` is ``[units, 1, 1]``; the waves of a workgroup differ in it while
    they are barriers apart. What is kept has three rows, for accesses, copies and
    products: ``[3, units]``.
    """

    def __init__(self, units: Units, width: int = 1) -> None:
        """Nobody has met; ``width`` groups of a wave run in step."""
        self._units = units
        self._width = width
        self._waves = units.waves_per_workgroup
        self._mark = np.zeros((3, units.count), np.int64)
        self._done = np.zeros((3, units.count), np.int64)
        self._fenced = np.zeros((3, units.count), np.int64)
        self._passed = np.zeros(units.count, np.int64)
        self._last = np.zeros((3, units.count), np.int64)
        self._earlier: dict[int, Index] = {}
        self._clocks: dict[int, _Clock] = {}
        self.copies = Flights()
        self.products = Flights()
        self._spread()

    def _spread(self) -> None:
        self.mark = self._mark[0].reshape(-1, 1, 1)
        self.lowest = int(self._mark[0].min()) if self._mark.size else 0

    def own(self, kind: int) -> Index:
        """For each unit the number below which its own copies or products are done."""
        return self._done[kind]

    def seen(self, kind: int) -> Index:
        """For each unit the number below which those of all waves are."""
        return self._mark[kind]

    @property
    def fenced(self) -> Index:
        """For each unit the number below which its lanes know of each other."""
        return self._fenced[ACCESSES]

    def shared(self, kind: int) -> Index:
        """For each unit the number below which its lanes' copies are known to all."""
        return self._fenced[kind]

    def lowest_done(self, kind: int) -> int:
        """All copies, or products, below this number are done for everyone."""
        own = self._done[kind]
        alone = self._waves * self._width == 1
        rows = (own,) if alone else (own, self._mark[kind])
        return int(np.min(rows)) if self._done.size else 0

    def _least(self, values: Index) -> Index:
        """For each unit the least value of the waves of its workgroup, by row."""
        least = values.reshape(len(values), -1, self._waves).min(axis=2)
        return np.repeat(least, self._waves, axis=1)

    def by_workgroup(self, values: Array) -> Array:
        """A value for each unit as ``[workgroups, waves]``."""
        return values.reshape(-1, self._waves)

    def fence(self, active: Bits, number: int) -> None:
        """The lanes of each wave meet; their accesses below ``number`` are done."""
        rows = np.stack([np.full_like(self._done[0], number), *self._done[1:]])
        self._fenced = np.where(active, rows, self._fenced)
        if self._waves == 1:
            # There is nobody else to meet.
            self._raise(self._fenced)
            self._spread()

    def barrier(self, active: Bits, number: int) -> None:
        """Waves pass a barrier; their accesses below ``number`` are done by then."""
        self.drain(active, number)
        self.meet(active)

    def meet(self, active: Bits) -> None:
        """Waves pass a barrier, but accesses not waited for stay unordered."""
        self._last = np.where(active, self._done, self._last)
        self._passed = self._passed + active
        if self._apart():
            self._remember(active)
            self._raise_apart()
        else:
            self._earlier.clear()
            self._raise(self._least(self._last))
        self._spread()

    def _apart(self) -> bool:
        """Whether waves of a workgroup have not passed equally many barriers."""
        passed = self.by_workgroup(self._passed)
        return bool((passed != passed[:, :1]).any())

    def _remember(self, active: Bits) -> None:
        """Keep what was done at a barrier until every wave has passed it."""
        for count in np.unique(self._passed[active]).tolist():
            here = active & (self._passed == count)
            before = self._earlier.get(count, np.zeros_like(self._done))
            self._earlier[count] = np.where(here, self._done, before)

    def _raise_apart(self) -> None:
        """A wave knows what others did before the barriers that it has passed.

        Of one that is behind, only what it had done at its own last barrier.
        """
        for count in np.unique(self._passed).tolist():
            known = self._last
            if count in self._earlier:
                known = np.where(self._passed > count, self._earlier[count], known)
            self._raise(np.where(self._passed == count, self._least(known), 0))
        for count in [t for t in self._earlier if t < int(self._passed.min())]:
            del self._earlier[count]

    def _raise(self, least: Index) -> None:
        self._mark = np.maximum(self._mark, least)

    def drain(self, active: Bits, number: int) -> None:
        """The waves wait for their own LDS accesses."""
        self._done[0] = np.where(active, number, self._done[0])

    def land(self, active: Bits, number: int, left: int = 0) -> None:
        """The waves wait until at most ``left`` of their copies are on their way."""
        self._done[1] = self.copies.landed(active, self._done[1], number, left)

    def finish(self, active: Bits, number: int, left: int) -> None:
        """The waves wait until at most ``left`` of their products are under way."""
        done = self.products.landed(active, self._done[PRODUCTS], number, left)
        self._done[PRODUCTS] = done

    def close_group(self, active: Bits, number: int) -> None:
        """The waves end a group of copies."""
        self.copies.close(active, number)

    def land_groups(self, active: Bits, left: int) -> None:
        """The waves wait for copies of all but the latest ``left`` groups."""
        done = np.maximum(self._done[1], self.copies.before(left))
        self._done[1] = np.where(active, done, self._done[1])
        self.copies.forget(self._done[1])

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
        counts = self.by_workgroup(clock.waits).max(axis=1)
        signalled = self.by_workgroup(clock.signals).min(axis=1)
        ready = waiting & (signalled > counts)
        for count in np.unique(counts[ready]).tolist():
            here = np.repeat(ready & (counts == count), self._waves)
            self._raise(self._least(clock.done[count]) * here)
        clock.waits += active
        clock.forget()
        self._spread()
        return waiting & ~ready

    def _clock(self, bar_id: int) -> _Clock:
        return self._clocks.setdefault(bar_id, _Clock(self._units.count))

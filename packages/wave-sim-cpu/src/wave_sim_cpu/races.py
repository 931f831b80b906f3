"""Races: accesses to one cell by two waves that nothing orders, one of them a write.

Accesses are numbered in program order. A barrier sets, for each workgroup, the number
below which all accesses of its waves are ordered before what follows (the epoch). So
two accesses by waves of one workgroup are unordered if the earlier one has a number at
or above that mark; accesses by two workgroups are never ordered.

Accesses are only noted at first. They are entered in tables of cells when a later
access could conflict with them: in a kernel whose barriers separate its writes from
its reads that never happens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from wave_core.ops.base import Op
    from wave_sim_cpu.arrays import Array, Bits, Index

_GROUP_SHIFT = 40
"""Bits of an entry below the workgroup: access number and wave."""

_LOW = (1 << _GROUP_SHIFT) - 1


@dataclass(slots=True)
class Touch:
    """One access by many waves.

    Shapes: ``cells`` has one entry for each element touched; the others broadcast
    with it: ``wave`` is the wave's position in its workgroup, ``group`` the
    workgroup's linear position in the grid, ``mark`` the number below which the
    accesses of the workgroup's waves are ordered before this one.
    """

    number: int
    op: Op
    writes: bool
    cells: Index
    wave: Index
    group: Index
    mark: Index


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two unordered accesses to one cell."""

    first: Op
    first_writes: bool
    first_wave: int
    first_group: int
    second: Op
    second_writes: bool
    second_wave: int
    second_group: int
    cell: int


class RaceTracker:
    """Who touched the cells of one memory, as far as it may still matter.

    ``waves`` is the number of waves of a workgroup. In memory that workgroups
    ``share``, accesses of different workgroups are never ordered.
    """

    def __init__(self, cells: int, waves: int, *, shared: bool) -> None:
        self._cells = cells
        self._waves = waves
        self._shared = shared
        self._waiting: list[Touch] = []
        self._last_write: Index | None = None
        self._last_read: Array | None = None
        self._read_group: Array | None = None
        self._read_groups_differ: Bits | None = None
        self._ops: dict[int, Op] = {}
        self._latest_write = -1
        self._latest_read = -1

    def access(
        self, touch: Touch, lowest_mark: int, *, keep: bool = True
    ) -> Conflict | None:
        """Note an access; the conflict with an earlier one, if there is any.

        Without ``keep`` it is only looked at: others see to what follows it.
        ``lowest_mark`` is the least mark of any workgroup: accesses below it are
        ordered before this one, unless workgroups share the memory.
        """
        if touch.cells.size == 0:
            return None
        self._forget(lowest_mark)
        self._enter(reads=touch.writes)
        conflict = self._conflict(touch, lowest_mark)
        if keep:
            self._waiting.append(touch)
        return conflict

    def _forget(self, lowest_mark: int) -> None:
        """Drop noted accesses that are ordered before everything to come."""
        if not self._shared:
            self._waiting = [t for t in self._waiting if t.number >= lowest_mark]

    def _enter(self, *, reads: bool) -> None:
        """Move noted accesses into the tables: writes, and reads if wanted."""
        kept: list[Touch] = []
        for touch in self._waiting:
            if not touch.writes and not reads:
                kept.append(touch)
                continue
            self._ops[touch.number] = touch.op
            if touch.writes:
                self._enter_write(touch)
            else:
                self._enter_read(touch)
        self._waiting = kept

    def _enter_write(self, touch: Touch) -> None:
        if self._last_write is None:
            self._last_write = np.full(self._cells, -1, np.int64)
        code = touch.number * self._waves + touch.wave
        if self._shared:
            code = code | (touch.group << _GROUP_SHIFT)
        self._last_write[touch.cells] = code
        self._latest_write = max(self._latest_write, touch.number)

    def _enter_read(self, touch: Touch) -> None:
        if self._last_read is None:
            self._last_read = np.full((self._waves, self._cells), -1, np.int64)
        self._last_read[touch.wave, touch.cells] = touch.number
        self._latest_read = max(self._latest_read, touch.number)
        if self._shared:
            self._enter_read_group(touch)

    def _enter_read_group(self, touch: Touch) -> None:
        if self._read_group is None or self._read_groups_differ is None:
            self._read_group = np.full(self._cells, -1, np.int64)
            self._read_groups_differ = np.zeros(self._cells, np.bool_)
        group = np.broadcast_to(touch.group, touch.cells.shape)
        fresh = self._read_group[touch.cells] < 0
        self._read_group[touch.cells[fresh]] = group[fresh]
        differs = self._read_group[touch.cells] != group
        self._read_groups_differ[touch.cells[differs]] = True

    def _conflict(self, touch: Touch, lowest_mark: int) -> Conflict | None:
        if self._shared or self._latest_write >= lowest_mark:
            found = self._with_write(touch)
            if found is not None:
                return found
        if touch.writes and (self._shared or self._latest_read >= lowest_mark):
            return self._with_read(touch)
        return None

    def _with_write(self, touch: Touch) -> Conflict | None:
        if self._last_write is None:
            return None
        code = self._last_write[touch.cells]
        group = code >> _GROUP_SHIFT if self._shared else touch.group
        low = code & _LOW if self._shared else code
        number, wave = low // self._waves, low % self._waves
        bad = (number >= touch.mark) & (wave != touch.wave)
        if self._shared:
            bad |= group != touch.group
        bad &= code >= 0
        if not bad.any():
            return None
        at = int(np.flatnonzero(bad)[0])
        where = (_at(number, touch, at), _at(wave, touch, at), _at(group, touch, at))
        return self._describe(touch, at, where, writes=True)

    def _with_read(self, touch: Touch) -> Conflict | None:
        if self._last_read is None:
            return None
        numbers = self._last_read[:, touch.cells]
        if self._shared and self._read_group is not None:
            foreign = np.flatnonzero(self._foreign_readers(touch))
            if foreign.size:
                at = int(foreign[0])
                own = numbers.reshape(self._waves, -1)[:, at]
                wave = int(own.argmax())
                group = int(self._read_group[touch.cells.flat[at]])
                return self._describe(touch, at, (own[wave], wave, group), writes=False)
        waves = np.arange(self._waves).reshape(-1, *(1,) * touch.cells.ndim)
        bad = (numbers >= np.maximum(touch.mark, 0)) & (waves != touch.wave)
        if not bad.any():
            return None
        wave, at = (int(i[0]) for i in np.nonzero(bad.reshape(self._waves, -1)))
        number = numbers.reshape(self._waves, -1)[wave, at]
        where = (number, wave, _at(touch.group, touch, at))
        return self._describe(touch, at, where, writes=False)

    def _foreign_readers(self, touch: Touch) -> Bits:
        assert self._read_group is not None, "reads were entered"
        assert self._read_groups_differ is not None, "reads were entered"
        group = self._read_group[touch.cells]
        differs = self._read_groups_differ[touch.cells]
        return differs | ((group >= 0) & (group != touch.group))

    def _describe(
        self, touch: Touch, at: int, where: tuple[int, int, int], *, writes: bool
    ) -> Conflict:
        number, wave, group = map(int, where)
        return Conflict(
            first=self._ops[number],
            first_writes=writes,
            first_wave=wave,
            first_group=group,
            second=touch.op,
            second_writes=touch.writes,
            second_wave=_at(touch.wave, touch, at),
            second_group=_at(touch.group, touch, at),
            cell=int(touch.cells.flat[at]),
        )


def _at(values: Index, touch: Touch, at: int) -> int:
    """The entry of an array that broadcasts with the touched cells."""
    return int(np.broadcast_to(values, touch.cells.shape).flat[at])

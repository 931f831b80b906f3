"""Races: accesses to one cell by two groups that nothing orders, one of them a write.

A group is the lanes of a wave that run in step: usually all of them.

Atomics do not race with each other; with reads and writes they do. A volatile write is
like an atomic, and a volatile read races with plain writes alone.

Accesses are numbered in program order. A barrier sets, for each workgroup, the number
below which all accesses of its waves are ordered before what follows (the epoch). So
two accesses by groups of one workgroup are unordered if the earlier one has a number at
or above that mark; of one wave, also at or above that of its last fence. Accesses by
two workgroups are ordered only by what one released and the other acquired
(`lanes.clocks`).

Accesses are only noted at first. They are entered in tables of cells when a later
access could conflict with them: in a kernel whose barriers separate its writes from
its reads that never happens.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from wave_core.ops.base import Op
    from wave_sim_cpu.arrays import Array, Bits, Index

_GROUP_SHIFT = 40
"""Bits of an entry below the workgroup: access number and group in step."""

_LOW = (1 << _GROUP_SHIFT) - 1

_Where = tuple[int, int, int]
"""An access: its number, the group in step of its workgroup, the workgroup."""


class Kind(Enum):
    """How cells are touched; the value is what a wave does, for messages."""

    READ = "reads"
    WRITE = "writes"
    ATOMIC = "updates"
    WRITE_LOCK = "writes (volatile)"
    READ_LOCK = "reads (volatile)"


_RACES = {
    Kind.READ: frozenset({Kind.WRITE, Kind.ATOMIC, Kind.WRITE_LOCK}),
    Kind.WRITE: frozenset(Kind),
    Kind.ATOMIC: frozenset({Kind.READ, Kind.WRITE}),
    Kind.WRITE_LOCK: frozenset({Kind.READ, Kind.WRITE}),
    Kind.READ_LOCK: frozenset({Kind.WRITE}),
}
"""By kind of an access, the kinds that it races with."""


@dataclass(slots=True)
class Touch:
    """One access by many waves.

    Shapes: ``cells`` has one entry for each element touched; the others broadcast
    with it: ``strand`` is the position in its workgroup of the group in step,
    ``group`` the workgroup's linear position in the grid, ``mark`` the number below
    which the accesses of the workgroup's waves are ordered before this one, and
    ``fenced`` those of its own wave, which is ``width`` groups. ``known`` has for
    each ``unit`` such a number for every group of the launch, where fences say any.
    """

    number: int
    op: Op
    kind: Kind
    cells: Index
    strand: Index
    group: Index
    mark: Index
    unit: Index | None = None
    known: Index | None = None
    fenced: Index | None = None
    width: int = 1

    def unordered(
        self, number: Index, strand: Index, group: Index, strands: int
    ) -> Bits:
        """Whether earlier accesses by others are not ordered before this one."""
        bad = (number >= self.mark) & (strand != self.strand)
        if self.fenced is not None:
            same = strand // self.width == self.strand // self.width
            bad = bad & ~(same & (number < self.fenced))
        if group is not self.group:
            bad = bad | (group != self.group)
        if self.known is not None:
            whose = np.maximum(group, 0) * strands + strand
            bad = bad & (number >= self.known[self.unit, whose])
        return np.asarray(bad)


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two unordered accesses to one cell."""

    first: Op
    first_kind: Kind
    first_strand: int
    first_group: int
    second: Op
    second_kind: Kind
    second_strand: int
    second_group: int
    cell: int


class RaceTracker:
    """Who touched the cells of one memory, as far as it may still matter.

    ``strands`` is the number of groups in step of a workgroup. In memory that
    workgroups ``share``, accesses of different workgroups are never ordered.
    """

    def __init__(self, cells: int, strands: int, *, shared: bool) -> None:
        self._cells = cells
        self._strands = strands
        self._shared = shared
        self._waiting: list[Touch] = []
        self._last_write: Index | None = None
        self._latest_write = -1
        self._others = {
            kind: _Threads(cells, strands, shared=shared)
            for kind in Kind
            if kind is not Kind.WRITE
        }
        self._ops: dict[int, Op] = {}

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
        if not self._shared:
            # What is ordered before everything to come cannot conflict.
            self._waiting = [t for t in self._waiting if t.number >= lowest_mark]
        self._enter(_RACES[touch.kind])
        conflict = self._conflict(touch, lowest_mark)
        if keep:
            self._waiting.append(touch)
        return conflict

    def _enter(self, kinds: frozenset[Kind]) -> None:
        """Move noted accesses of these kinds into the tables."""
        kept: list[Touch] = []
        for touch in self._waiting:
            if touch.kind not in kinds:
                kept.append(touch)
                continue
            self._ops[touch.number] = touch.op
            if touch.kind is Kind.WRITE:
                self._enter_write(touch)
            else:
                self._others[touch.kind].enter(touch)
        self._waiting = kept

    def _enter_write(self, touch: Touch) -> None:
        if self._last_write is None:
            self._last_write = np.full(self._cells, -1, np.int64)
        code = touch.number * self._strands + touch.strand
        if self._shared:
            code = code | (touch.group << _GROUP_SHIFT)
        self._last_write[touch.cells] = code
        self._latest_write = max(self._latest_write, touch.number)

    def _conflict(self, touch: Touch, lowest_mark: int) -> Conflict | None:
        if self._shared or self._latest_write >= lowest_mark:
            found = self._with_write(touch)
            if found is not None:
                return found
        for kind, threads in self._others.items():
            if kind in _RACES[touch.kind]:
                where = threads.unordered(touch, lowest_mark)
                if where is not None:
                    return self._describe(touch, *where, kind)
        return None

    def _with_write(self, touch: Touch) -> Conflict | None:
        if self._last_write is None:
            return None
        code = self._last_write[touch.cells]
        group = code >> _GROUP_SHIFT if self._shared else touch.group
        low = code & _LOW if self._shared else code
        number, strand = low // self._strands, low % self._strands
        bad = touch.unordered(number, strand, group, self._strands) & (code >= 0)
        if not bad.any():
            return None
        at = int(np.flatnonzero(bad)[0])
        who = _at(strand, touch, at), _at(group, touch, at)
        where = _at(number, touch, at), *who
        return self._describe(touch, at, where, Kind.WRITE)

    def _describe(self, touch: Touch, at: int, where: _Where, kind: Kind) -> Conflict:
        number, strand, group = map(int, where)
        return Conflict(
            first=self._ops[number],
            first_kind=kind,
            first_strand=strand,
            first_group=group,
            second=touch.op,
            second_kind=touch.kind,
            second_strand=_at(touch.strand, touch, at),
            second_group=_at(touch.group, touch, at),
            cell=int(touch.cells.flat[at]),
        )


class _Threads:
    """For each cell and group the last access of one kind that may be several groups'.

    Where workgroups share the memory, also the last one by another workgroup than that.
    """

    def __init__(self, cells: int, strands: int, *, shared: bool) -> None:
        self._cells, self._strands, self._shared = cells, strands, shared
        self._last: Array | None = None
        self._before: Array | None = None
        self._latest = -1

    def enter(self, touch: Touch) -> None:
        """Note an access."""
        if self._last is None:
            self._last = np.full((self._strands, self._cells), -1, np.int64)
        self._latest = max(self._latest, touch.number)
        if not self._shared:
            self._last[touch.strand, touch.cells] = touch.number
            return
        code = touch.number | (touch.group << _GROUP_SHIFT)
        full = np.broadcast_shapes(touch.cells.shape, touch.strand.shape)
        rows = [np.broadcast_to(a, full) for a in (touch.strand, touch.cells, code)]
        strand, cells, code = rows
        self._keep(strand, cells, self._last[strand, cells], code)
        self._last[strand, cells] = code
        self._keep(strand, cells, code, self._last[strand, cells])

    def _keep(self, strand: Index, cells: Index, codes: Index, others: Index) -> None:
        """Keep those ``codes`` that give way to ``others`` of other workgroups."""
        lost = (codes >= 0) & (codes >> _GROUP_SHIFT != others >> _GROUP_SHIFT)
        if not lost.any():
            return
        if self._before is None:
            self._before = np.full((self._strands, self._cells), -1, np.int64)
        self._before[strand[lost], cells[lost]] = codes[lost]

    def unordered(self, touch: Touch, lowest_mark: int) -> tuple[int, _Where] | None:
        """A place in ``touch``, and the access before that nothing orders it after."""
        if not (self._shared or self._latest >= lowest_mark):
            return None
        for table in (self._last, self._before):
            found = None if table is None else self._among(table, touch)
            if found is not None:
                return found
        return None

    def _among(self, table: Array, touch: Touch) -> tuple[int, _Where] | None:
        code = table[:, touch.cells]
        number, group = code, touch.group
        if self._shared:
            number, group = code & _LOW, code >> _GROUP_SHIFT
        strands = np.arange(self._strands).reshape(-1, *(1,) * touch.cells.ndim)
        bad = touch.unordered(number, strands, group, self._strands) & (code >= 0)
        if not bad.any():
            return None
        strand, at = (int(i[0]) for i in np.nonzero(bad.reshape(self._strands, -1)))
        number = number.reshape(self._strands, -1)[strand, at]
        group = np.broadcast_to(group, code.shape).reshape(self._strands, -1)
        return at, (number, strand, int(group[strand, at]))


def _at(values: Index, touch: Touch, at: int) -> int:
    """The entry of an array that broadcasts with the touched cells."""
    return int(np.broadcast_to(values, touch.cells.shape).flat[at])

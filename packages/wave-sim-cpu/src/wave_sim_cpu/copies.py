"""Copies to LDS on their way: what they read and write is nobody's until they land.

A copy is done for the lanes that issued it once they waited, for others of their wave
which do not run in step after a fence, and for other waves once they met it after that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wave_sim_cpu.epochs import COPIES, PRODUCTS

if TYPE_CHECKING:
    from wave_core.ops.base import Op
    from wave_sim_cpu.arrays import Bits, Index
    from wave_sim_cpu.lanes.machine import Machine


@dataclass(frozen=True, slots=True)
class Flight:
    """The cells of one memory that one copy, or product, reads or writes.

    Shapes: ``cells`` and ``who`` ``[cells]``; ``who`` are the lanes in step
    that issued it. ``kind`` is one of the rows of `Epochs`.
    """

    number: int
    op: Op
    writes: bool
    cells: Index
    who: Index
    kind: int = COPIES


@dataclass(frozen=True, slots=True)
class Early:
    """An access of ``who`` to a cell of a copy of ``owner`` that is on its way."""

    copy: Op
    what: str
    who: int
    owner: int
    cell: int
    kind: int = COPIES


class Copies:
    """The copies on their way from or to one memory of so many ``cells``.

    What a copy writes is kept cell by cell; what it reads, of memories that the kernel
    also writes, copy by copy, since several may read one cell.
    """

    def __init__(self, cells: int) -> None:
        self._cells = cells
        self._number: Index | None = None
        self._owner: Index | None = None
        self._ops: dict[int, Op] = {}
        self._readers: list[Flight] = []

    @property
    def is_empty(self) -> bool:
        """Whether none is on its way."""
        return not self._ops and not self._readers

    def issue(self, flight: Flight) -> None:
        """Note a copy."""
        if not flight.writes:
            self._readers.append(flight)
            return
        if self._number is None or self._owner is None:
            self._number = np.full(self._cells, -1, np.int64)
            self._owner = np.zeros(self._cells, np.int64)
        self._number[flight.cells] = flight.number
        self._owner[flight.cells] = flight.who
        self._ops[flight.number] = flight.op

    def clear(self) -> None:
        """The waves ended: all has landed."""
        self._readers.clear()
        self._ops.clear()
        self._number = self._owner = None

    def early(
        self, cells: Index, who: Index, machine: Machine, *, writes: bool
    ) -> Early | None:
        """The first conflict of an access with a copy that is not done for its lanes.

        Shapes: ``who`` broadcasts with ``cells``.
        """
        lowest = {k: machine.epochs.lowest_done(k) for k in (COPIES, PRODUCTS)}
        self._readers = [f for f in self._readers if f.number >= lowest[f.kind]]
        self._ops = {n: op for n, op in self._ops.items() if n >= lowest[COPIES]}
        found = self._early_write(cells, who, machine) if self._ops else None
        for flight in self._readers if writes else ():
            found = found or _meeting(flight, cells, who, machine)
        return found

    def _early_write(self, cells: Index, who: Index, machine: Machine) -> Early | None:
        assert self._number is not None, "a copy was noted"
        assert self._owner is not None, "a copy was noted"
        number, owner = self._number[cells], self._owner[cells]
        bad = (number >= 0) & ~_done(number, owner, who, machine, COPIES)
        if not bad.any():
            return None
        at = int(np.flatnonzero(bad)[0])
        me = int(np.broadcast_to(who, cells.shape).flat[at])
        copy = self._ops[int(number.flat[at])]
        return Early(copy, "writes it", me, int(owner.flat[at]), int(cells.flat[at]))


def _meeting(
    flight: Flight, cells: Index, who: Index, machine: Machine
) -> Early | None:
    """The first write to a cell that a copy is still to read."""
    order = np.argsort(flight.cells, kind="stable")
    ordered, owners = flight.cells[order], flight.who[order]
    at = np.minimum(np.searchsorted(ordered, cells), ordered.size - 1)
    number = np.int64(flight.number)
    done = _done(number, owners[at], who, machine, flight.kind)
    bad = (ordered[at] == cells) & ~done
    if not bad.any():
        return None
    first = int(np.flatnonzero(bad)[0])
    me = int(np.broadcast_to(who, cells.shape).flat[first])
    owner = int(owners[at].flat[first])
    cell = int(cells.flat[first])
    return Early(flight.op, "reads it", me, owner, cell, flight.kind)


def _done(
    number: Index | np.int64, owner: Index, me: Index, machine: Machine, kind: int
) -> Bits:
    """Whether each owner's copy, or product, is done for the lanes that ask."""
    epochs = machine.epochs
    group = machine.group.reshape(-1)
    whose, mine = owner // machine.width, me // machine.width
    known = (epochs.seen(kind)[mine] > number) & (group[whose] == group[mine])
    fenced = known | ((whose == mine) & (epochs.shared(kind)[mine] > number))
    return np.asarray(np.where(owner == me, epochs.own(kind)[mine] > number, fenced))

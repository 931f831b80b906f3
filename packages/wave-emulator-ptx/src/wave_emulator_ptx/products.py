"""Products that warpgroups began and have not waited for: registers and groups.

A product is computed when it is issued. Until its warp waits for its group, which is
the latest time that the ISA permits, every other use of its registers is reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_ptx.under_way import UnderWay

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Array, Bools, Ints, Selection


WATCHED_BYTES = 8 + 1 + 1
"""Of a thread for each register that products may use, besides its bits."""


@dataclass
class Reading:
    """Shared memory that a product of warpgroups reads.

    Attributes:
        warps: of each warpgroup, [groups, 4].
        due: what each warp has to have waited for, [groups, 4].
        chunks: which 16 bytes, [groups, chunks].
        left: warps that have not waited, [groups, 4].
        line: of the product.
    """

    warps: Ints
    due: Ints
    chunks: Ints
    left: Bools
    line: int

    @property
    def kept_bytes(self) -> int:
        """Of the host."""
        return self.chunks.nbytes


class Products:
    """Registers that products use, each a row, and what is under way.

    Attributes:
        bank: their bits, uint32[rows, threads]; the batch's registers are its rows.
        committed: groups that each thread has closed.
        done: groups of which each thread knows that they are done.
        readings: shared memory in use.
    """

    def __init__(self, rows: int, threads: int) -> None:
        """Nothing is under way, and no fence has ordered anything."""
        self.bank = np.zeros((rows, threads), np.uint32)
        self.committed = np.zeros(threads, np.int64)
        self.done = np.zeros(threads, np.int64)
        self.readings = UnderWay[Reading]()
        self._due = np.zeros((rows, threads), np.int64)
        self._input = np.zeros((rows, threads), np.bool_)
        self._touched = np.ones((rows, threads), np.bool_)

    def pending(self, row: int, chosen: Selection) -> Bools:
        """Threads whose register a product under way uses."""
        return self._due[row, chosen] > self.done[chosen]

    def touch(self, row: int, chosen: Selection) -> None:
        """An ordinary instruction uses a register."""
        self._touched[row, chosen] = True

    def carry(self, source: int, to: int, chosen: Selection) -> None:
        """A register becomes a copy of another one, pending where that is."""
        waits = self.pending(source, chosen)
        self._due[to, chosen] = np.where(waits, self._due[source, chosen], 0)
        self._input[to, chosen] = self._input[source, chosen]
        self._touched[source, chosen] |= ~waits
        self._touched[to, chosen] |= ~waits

    def fence(self, chosen: Selection) -> None:
        """What threads did to registers comes before the products that follow."""
        self._touched[:, chosen] = False

    def unordered(self, rows: Ints, threads: Ints) -> Bools:
        """Threads of which an ordinary instruction used one of these since a fence."""
        return np.logical_or.reduce(self._touched[np.ix_(rows, threads)], axis=0)

    def clashing(self, rows: Ints, threads: Ints, *, inputs: bool) -> Bools:
        """Threads with registers that a product under way uses in the other role."""
        here = np.ix_(rows, threads)
        busy = self._due[here] > self.done[threads]
        return np.logical_or.reduce(busy & (self._input[here] != inputs), axis=0)

    def issue(self, rows: Ints, threads: Ints, *, inputs: bool) -> None:
        """A product of the group that is open uses these registers."""
        here = np.ix_(rows, threads)
        self._due[here] = self.committed[threads] + 1
        self._input[here] = inputs

    def values(self, rows: Ints, threads: Ints) -> Array:
        """Bits by thread, [threads, rows]."""
        return self.bank[np.ix_(rows, threads)].T

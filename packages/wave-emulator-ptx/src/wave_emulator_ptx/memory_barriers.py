"""Barriers in shared memory (PTX ISA, section 9.7.13.15): mbarrier objects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Bools, Ints
    from wave_emulator_ptx.clocks import Clocks

Key: TypeAlias = "tuple[int, int]"
"""The ordinal in the batch of a workgroup, and the address."""
MOST_ARRIVALS = MOST_BYTES = (1 << 20) - 1
"""That a barrier may count, and that a phase may expect (section 9.7.13.15.2)."""
MOST_PLACES = 512
"""Of barriers of a workgroup. Each has a column of the clocks, and keeps all columns of
those who arrived: the host's memory goes with the square."""


@dataclass
class MemoryBarrier:
    """One barrier.

    Attributes:
        number: among all of the batch.
        key: where it is.
        column: of the clocks, for what copies write that it counts.
        count: arrivals of a phase.
        owner: the thread that initialised it.
        clock: of that thread's warp, then.
        published: whether a fence or a barrier of that thread came after.
        pending: arrivals that this phase lacks.
        expected: bytes that this phase lacks.
        phase: how many are complete.
        told: what those who arrived in this phase did and had seen, once any did.
        heard: what is known when the last complete phase is, once one is.
    """

    number: int
    key: Key
    column: int
    count: int
    owner: int
    clock: int
    published: bool = False
    pending: int = 0
    expected: int = 0
    phase: int = 0
    told: list[Ints] = field(default_factory=list["Ints"])
    heard: list[Ints] = field(default_factory=list["Ints"])

    def state(self) -> str:
        """What it lacks, in words."""
        here = self.count - self.pending
        return (
            f"the barrier at {self.key[1]:#x} has {here} of {self.count} arrivals and"
            f" lacks {self.expected} bytes, in phase {self.phase}"
        )


class MemoryBarriers:
    """Those of a batch of workgroups.

    Attributes:
        begun: how many ever were.
        version: changes with every change of one.
    """

    def __init__(self, clocks: Clocks) -> None:
        """None is initialised."""
        self.begun = 0
        self.version = 0
        self._clocks = clocks
        self._live: dict[Key, MemoryBarrier] = {}
        self._columns: dict[Key, int] = {}
        self._stamps: dict[Key, int] = {}
        self._known: dict[int, int] = {}

    def find(self, key: Key) -> MemoryBarrier | None:
        """The barrier that is there."""
        return self._live.get(key)

    def numbered(self, number: int) -> MemoryBarrier | None:
        """That of a number, unless it was invalidated, or another is in its place."""
        live = self._live.values()
        return next((each for each in live if each.number == number), None)

    def of(self, workgroup: int) -> list[MemoryBarrier]:
        """Those of a workgroup."""
        return [each for key, each in self._live.items() if key[0] == workgroup]

    def has_room(self, key: Key) -> bool:
        """Whether a barrier may be here."""
        return key in self._columns or self._known.get(key[0], 0) < MOST_PLACES

    def begin(self, key: Key, count: int, owner: int) -> None:
        """Initialise one."""
        if key not in self._columns:
            ordinal = self._known.get(key[0], 0)
            self._known[key[0]] = ordinal + 1
            self._columns[key] = self._clocks.warps + ordinal
            self._clocks.widen(self._columns[key])
        clock = int(self._clocks.clock[owner // 32])
        made = MemoryBarrier(
            self.begun, key, self._columns[key], count, owner, clock, pending=count
        )
        self._live[key] = made
        self.begun += 1
        self.version += 1

    def end(self, key: Key) -> None:
        """Invalidate one."""
        self._live.pop(key, None)
        self.version += 1

    def expect(self, at: MemoryBarrier, size: int) -> None:
        """A phase expects more bytes."""
        at.expected += size
        self.version += 1

    def arrive(self, at: MemoryBarrier, count: int, told: Ints) -> bool:
        """Threads arrive; whether that ends the phase."""
        at.told = [self._clocks.joined([*at.told, told])]
        at.pending -= count
        return self._settled(at)

    def complete(self, at: MemoryBarrier, size: int) -> bool:
        """Bytes have arrived; whether that ends the phase."""
        at.expected -= size
        return self._settled(at)

    def stamp(self, at: MemoryBarrier) -> int:
        """The clock of its column when the phase under way will be complete."""
        return self._stamps.get(at.key, 0) + 1

    def _settled(self, at: MemoryBarrier) -> bool:
        self.version += 1
        if at.pending or at.expected:
            return False
        told = self._clocks.joined([*at.heard, *at.told])
        self._stamps[at.key] = self.stamp(at)
        told[0, at.column] = self._stamps[at.key]
        at.heard, at.told = [told], []
        at.pending = at.count
        at.phase += 1
        return True

    def is_seen(self, at: MemoryBarrier, threads: Ints) -> Bools:
        """Threads that know of the last complete phase, where there is one."""
        if not at.phase:
            return np.ones(len(threads), np.bool_)
        return self._clocks.seen[threads // 32, at.column] >= self._stamps[at.key]

    def sees_beginning(self, at: MemoryBarrier, thread: int) -> bool:
        """Whether a thread comes after the barrier's initialisation."""
        if thread == at.owner:
            return True
        column = at.owner // 32 % self._clocks.warps
        return bool(self._clocks.seen[thread // 32, column] >= at.clock)

    def publish(self, threads: Ints) -> None:
        """Threads fence what they initialised, or meet others at a barrier."""
        new = [each for each in self._live.values() if not each.published]
        if new:
            here = np.isin([each.owner for each in new], threads)
            for each, found in zip(new, here.tolist(), strict=True):
                each.published = found

"""What waves know of other workgroups: releases, locks and acquires.

For each wave there is, for every wave of the launch, the time up to which that one's
loads and stores come before what it does now. A wave releases its own stores by having
them completed, and on some chips written back. What it knows it leaves in a lock that
it writes; who reads the lock finds it, and knows it after it has dropped what its cache
holds. Waves that meet at a barrier share what they know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_amdgcn.hazards.counters import waits_of

if TYPE_CHECKING:
    from wave_emulator_amdgcn.architectures import Architecture
    from wave_emulator_amdgcn.arrays import Bytes, Ints
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.program import Bound

_ACQUIRES = {"BUFFER_WBINVL1_VOL", "BUFFER_INV", "BUFFER_GL1_INV", "GLOBAL_INV"}
_WITHOUT_SCOPE = {"BUFFER_WBINVL1_VOL", "BUFFER_GL1_INV"}
_WRITES_BACK = "BUFFER_WBL2"


def acquires(code: Bytes, chip: Architecture) -> bool:
    """Whether code may drop what caches hold; no wave learns of others without."""
    mark, mask = chip.invalidate
    words = code[: len(code) // 4 * 4].view(np.uint32)
    return bool(((words & mask) == mark).any())


def is_wide(ins: Instruction) -> bool:
    """Whether an access passes the caches that workgroups do not share."""
    field, least, other = ins.chip.wide
    return ins.get(field) >= least and not ins.get(other)


class Locks:
    """What the waves of a batch know, and what they left in locks.

    Attributes:
        known: times by kind (loads, stores), wave of the batch and wave of the launch.
    """

    def __init__(self, chip: Architecture, total: int) -> None:
        """For a launch of so many waves."""
        self._chip, self._total = chip, total
        self._left: dict[int, Ints] = {}
        self._read: set[int] = set()

    def start(self, first: int, waves: int, per_group: int) -> None:
        """Begin a batch of workgroups, of which nobody knows anything."""
        self._per_group = per_group
        self._own = first + np.arange(waves)
        self.known: Ints = np.zeros((2, waves, self._total), np.int64)
        self._found = np.zeros_like(self.known)
        self._when = np.zeros(waves, np.int64)
        self._issued = np.zeros(waves, np.int64)
        self._written_back = np.zeros(waves, np.int64)

    def orders(self, bound: Bound) -> bool:
        """Whether an instruction orders accesses."""
        name = bound.instruction.name
        return bound.kind == "wait" or name == _WRITES_BACK or name in _ACQUIRES

    def after(self, bound: Bound, waves: Ints, stamp: int, loads: Ints) -> None:
        """An instruction that orders accesses; loads up to ``loads`` have completed."""
        ins = bound.instruction
        if bound.kind == "wait":
            if waits_of(ins).get(self._chip.store_counter) == 0:
                self._written_back[waves] = self._issued[waves]
        elif ins.name in _ACQUIRES:
            if ins.name in _WITHOUT_SCOPE or is_wide(ins):
                mine = waves[self._when[waves] <= loads]
                found = np.maximum(self.known[:, mine], self._found[:, mine])
                self.known[:, mine] = found
        elif is_wide(ins):
            self._issued[waves] = stamp

    def release(self, waves: Ints, loads: Ints, stores: Ints) -> None:
        """What waves did up to these times is what they let others know."""
        if self._chip.writes_back:
            stores = np.minimum(stores, self._written_back[waves])
        own = self._own[waves]
        self.known[0, waves, own], self.known[1, waves, own] = loads, stores

    def meet(self, groups: Ints) -> None:
        """The waves of workgroups share what they know."""
        waves = groups[:, None] * self._per_group + np.arange(self._per_group)
        self.known[:, waves] = self.known[:, waves].max(axis=2, keepdims=True)

    def are_locks(self, at: Ints) -> bool:
        """Whether all of these bytes were read or updated as locks."""
        return self._read.issuperset(at.tolist())

    def touch(self, kind: str, at: Ints, wave: Ints, stamp: int) -> list[int]:
        """Waves read, write or update locks at these bytes, one after the other.

        Returns:
            Bytes that turn out to be locks: written before anybody read them as such.
        """
        found: list[int] = []
        for me, place in dict.fromkeys(zip(wave.tolist(), at.tolist(), strict=True)):
            left = self._left.get(place)
            if left is not None and kind != "write":
                self._found[:, me] = np.maximum(self._found[:, me], left)
                self._when[me] = stamp
            if kind != "write":
                if left is not None and place not in self._read:
                    found.append(place)
                self._read.add(place)
            if kind == "read":
                continue
            mine = self.known[:, me].copy()
            if left is not None and kind == "atomic":
                mine = np.maximum(left, mine)
            self._left[place] = mine
        return found

"""Operations in flight: what the wait counters of a wave say is done.

Each counter numbers the operations of a wave. A wait says below which number all are
done; a register that an operation fills is pending until then. Values are there at
once, so the latest legal moment of completion is modelled by refusing early use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from wave_isa_amdgcn.registers import SCALAR, rows_of

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Bools, Ints, Selection
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.usage import Usage

COUNTERS = ("vm", "vs", "lgkm", "load", "store", "ds", "km")

#: Where a number stands in a word: first bit and bits of each part, low part first.
Parts: TypeAlias = tuple[tuple[int, int], ...]

#: The counters of S_WAITCNT by family.
WAIT_FIELDS: dict[str, dict[str, Parts]] = {
    "cdna": {"vmcnt": ((0, 4), (14, 2)), "lgkmcnt": ((8, 4),), "expcnt": ((4, 3),)},
    "rdna3": {"vmcnt": ((10, 6),), "lgkmcnt": ((4, 6),), "expcnt": ((0, 3),)},
}
WAIT_FIELDS["rdna4"] = WAIT_FIELDS["rdna3"]

#: Counters in the lower and in the upper byte of other waits.
_WAITS = {
    "S_WAITCNT_VSCNT": ("vs", ""),
    "S_WAITCNT_VMCNT": ("vm", ""),
    "S_WAITCNT_LGKMCNT": ("lgkm", ""),
    "S_WAIT_LOADCNT_DSCNT": ("ds", "load"),
    "S_WAIT_STORECNT_DSCNT": ("ds", "store"),
    **{f"S_WAIT_{name.upper()}CNT": (name, "") for name in COUNTERS},
}

_RING = 128
_MOST = 64
"""Operations of a wave that a counter of six bits can follow; more stall the wave."""


def register_name(row: int) -> str:
    """How assembly writes a register of `Usage`."""
    if row >= SCALAR:
        return f"s{row - SCALAR}"
    return f"a{row - 256}" if row >= 256 else f"v{row}"


def waits_of(ins: Instruction) -> dict[str, int]:
    """Operations that each counter may have in flight after a wait.

    Source: CDNA3, RDNA3 and RDNA4 ISA, S_WAITCNT and S_WAIT_*.
    """
    bits = ins.fields.get("simm16", 0)
    if ins.name == "S_WAITCNT":
        fields = WAIT_FIELDS[ins.chip.family]
        return {name: joined(bits, fields[f"{name}cnt"]) for name in ("vm", "lgkm")}
    first, second = _WAITS.get(ins.name, ("", ""))
    found = {first: bits & 63} if first else {}
    return {second: bits >> 8 & 63, **found} if second else found


def joined(word: int, parts: Parts) -> int:
    """The number whose bits are spread over parts of a word."""
    value = shift = 0
    for first, bits in parts:
        value |= (word >> first & (1 << bits) - 1) << shift
        shift += bits
    return value


class InFlight:
    """The counters of all waves of a batch.

    Attributes:
        issued: operations issued, by counter.
        done: operations known to be done, by counter.
        pending: bits of registers that some wave may wait for.
    """

    def __init__(self, waves: int) -> None:
        """Nothing in flight."""
        self.waves = waves
        self.issued = {c: np.zeros(waves, np.int64) for c in COUNTERS}
        self.done = {c: np.zeros(waves, np.int64) for c in COUNTERS}
        self.scalar_last = np.zeros(waves, np.int64)
        self.stamps = {c: np.zeros((waves, _RING), np.int64) for c in COUNTERS}
        self.pending = 0
        self._due: dict[tuple[str, int, int], Ints] = {}
        """Number of the operation that fills a half of a register, by counter."""

    def early(self, usage: Usage, g: Selection) -> list[tuple[int, Bools]]:
        """Registers an instruction touches too early, with the waves that do."""
        found: list[tuple[int, Bools]] = []
        for row in rows_of((usage.reads | usage.writes) & self.pending):
            refilled = usage.pending >> row & 1 and row < SCALAR
            for counter in COUNTERS:
                if counter == usage.counter and refilled:
                    continue
                due = self._last(counter, row, usage, g)
                if due is not None:
                    late = due > self.done[counter][g]
                    if late.any():
                        found.append((row, late))
        return found

    def _last(self, counter: str, row: int, usage: Usage, g: Selection) -> Ints | None:
        """The last operation of a counter that fills what is touched of a register."""
        keys = [(counter, row, n) for n in (0, 1) if usage.halves[n] >> row & 1]
        due = [self._due[key][g] for key in keys if key in self._due]
        return np.max(due, axis=0) if due else None

    def issue(self, usage: Usage, g: Selection, stamp: int, *, scalar: bool) -> None:
        """Count an operation; its registers are pending from here on."""
        counter = usage.counter
        number = self.issued[counter][g] + 1
        self.issued[counter][g] = number
        self.done[counter][g] = np.maximum(self.done[counter][g], number - _MOST)
        waves = np.arange(self.waves) if isinstance(g, slice) else g
        self.stamps[counter][waves, number % _RING] = stamp
        if scalar:
            self.scalar_last[g] = number
        self.pending |= usage.pending
        for half, touched in enumerate(usage.filled):
            for row in rows_of(usage.pending & touched):
                key = (counter, row, half)
                if key not in self._due:
                    self._due[key] = np.zeros(self.waves, np.int64)
                self._due[key][g] = number

    def wait(self, allowed: dict[str, int], g: Selection) -> None:
        """Take note of a wait."""
        for counter, count in allowed.items():
            issued, done = self.issued[counter][g], self.done[counter][g]
            target = np.maximum(issued - count, done)
            if counter == "lgkm" and count:
                # Scalar loads return in any order: only 0 says anything with one about.
                target = np.where(self.scalar_last[g] > done, done, target)
            elif counter == "km" and count:
                target = done
            self.done[counter][g] = target
        self._forget()

    def _forget(self) -> None:
        """Drop registers that no wave waits for."""
        left = 0
        for key in list(self._due):
            counter, row, _ = key
            if (self._due[key] > self.done[counter]).any():
                left |= 1 << row
            else:
                del self._due[key]
        self.pending = left

    def completed(self, counter: str, waves: Ints) -> Ints:
        """The time of issue up to which operations of a counter are done."""
        done = self.done[counter][waves]
        stamps = self.stamps[counter][waves, done % _RING]
        return np.where(done == 0, 0, stamps)

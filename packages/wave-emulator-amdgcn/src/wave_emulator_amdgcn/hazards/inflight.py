"""Operations of waves that complete late: what random orders of completion need.

An operation takes its operands when it issues. Some time before a wait covers it, it
reads or writes memory (it is *performed*), and at that time or later its registers
change (it is *delivered*). Vector memory of a wave is performed in order, LDS likewise,
scalar loads in any order; one counter delivers in order, but for scalar loads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_amdgcn.hazards.counters import waits_of
from wave_isa_amdgcn.registers import EXEC, SCALAR, VECTOR, rows_of

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Bools, Ints, Words
    from wave_emulator_amdgcn.machine import Machine
    from wave_emulator_amdgcn.program import Bound

_MOST = {"lgkm": 15}
"""Operations that a counter holds before a wave stalls: 4 bits; others have 6."""


@dataclass(eq=False)
class _Operation:
    """One operation of one wave, with the operands of its issue."""

    wave: Ints
    bound: Bound
    path: str
    vectors: dict[int, Words]
    scalars: Words
    active: Bools
    results: dict[int, Words] | None = None


class Late:
    """The operations in flight of all waves."""

    def __init__(self, machine: Machine, rng: np.random.Generator) -> None:
        """None at first; ``rng`` decides when each completes."""
        self.machine = machine
        self.rng = rng
        self.flying: dict[int, list[_Operation]] = {}

    def issue(self, bound: Bound, waves: Ints, *, junk: bool) -> None:
        """Start an operation; with ``junk`` its registers hold anything meanwhile."""
        usage, m = bound.usage, self.machine
        for number in waves.tolist():
            wave = np.array([number])
            vectors = {
                r: m.V[r, wave].copy()
                for r in rows_of(usage.reads & VECTOR & ~_kept(bound))
            }
            flights = self.flying.setdefault(number, [])
            self._complete(flights, usage.counter, _MOST.get(usage.counter, 63) - 1)
            path = usage.unit if usage.unit in ("lds", "smem") else "vmem"
            scalars, active = m.S[:, wave].copy(), m.active[wave].copy()
            flights.append(_Operation(wave, bound, path, vectors, scalars, active))
            if junk:
                self._spoil(flights[-1])

    def _spoil(self, op: _Operation) -> None:
        m = self.machine
        for row in rows_of(op.bound.usage.pending & ~_kept(op.bound)):
            size = m.lanes if row < SCALAR else 1
            junk = self.rng.integers(0, 1 << 32, size, np.uint32)
            if row >= SCALAR:
                m.S[row - SCALAR, op.wave] = junk
            else:
                m.V[row, op.wave] = np.where(op.active, junk, m.V[row, op.wave])

    def tick(self) -> None:
        """Something happens to some operation of some wave."""
        numbers = [number for number, flights in self.flying.items() if flights]
        if not numbers:
            return
        flights = self.flying[numbers[int(self.rng.integers(len(numbers)))]]
        op = flights[int(self.rng.integers(len(flights)))]
        if self.rng.random() < 0.5:
            self._perform(flights, op)
        else:
            self._deliver(flights, op)

    def wait(self, bound: Bound, waves: Ints) -> None:
        """Complete what a wait demands, and no more."""
        for counter, allowed in waits_of(bound.instruction).items():
            for number in waves.tolist():
                self._complete(self.flying.get(number, []), counter, allowed)

    def _complete(self, flights: list[_Operation], counter: str, most: int) -> None:
        """Deliver operations until a counter holds no more than ``most``."""
        while sum(o.bound.usage.counter == counter for o in flights) > most:
            self._deliver(flights, self._oldest(flights, counter))

    def finish(self) -> None:
        """Complete everything, in a random order."""
        while any(self.flying.values()):
            self.tick()

    def _oldest(self, flights: list[_Operation], counter: str) -> _Operation:
        """One that may complete next: the first of each path, any scalar load."""
        mine = [o for o in flights if o.bound.usage.counter == counter]
        scalar = [o for o in mine if o.path == "smem"]
        others = [o for o in mine if o.path != "smem"]
        choices = scalar + others[:1]
        return choices[int(self.rng.integers(len(choices)))]

    def _perform(self, flights: list[_Operation], op: _Operation) -> None:
        if op.path == "smem":
            self._execute(op)
            return
        for other in list(flights):
            if other.path == op.path:
                self._execute(other)
            if other is op:
                return

    def _deliver(self, flights: list[_Operation], op: _Operation) -> None:
        self._perform(flights, op)
        counter = op.bound.usage.counter
        for other in list(flights):
            same = other.path == op.path and other.bound.usage.counter == counter
            if other is op or (same and op.path != "smem"):
                self._write(other)
                flights.remove(other)
            if other is op:
                return

    def _execute(self, op: _Operation) -> None:
        """Run the instruction on the operands of its issue; keep what it loads."""
        if op.results is not None:
            return
        m, wave = self.machine, op.wave
        pending = rows_of(op.bound.usage.pending)
        touched = {*op.vectors, *(r for r in pending if r < SCALAR)}
        vectors = {r: m.V[r, wave].copy() for r in touched}
        scalars, active = m.S[:, wave].copy(), m.active[wave].copy()
        for row, value in op.vectors.items():
            m.V[row, wave] = value
        self._set(wave, op.scalars, op.active)
        op.bound.execute(m, wave)
        op.results = {
            r: (m.V[r, wave] if r < SCALAR else m.S[r - SCALAR, wave]).copy()
            for r in pending
        }
        for row, value in vectors.items():
            m.V[row, wave] = value
        self._set(wave, scalars, active)

    def _set(self, wave: Ints, scalars: Words, active: Bools) -> None:
        m = self.machine
        m.S[:, wave] = scalars
        m.active[wave] = active
        m.full = bool(m.active.all())

    def _write(self, op: _Operation) -> None:
        m, wave = self.machine, op.wave
        half = _half(op.bound)
        for row, value in (op.results or {}).items():
            if row >= SCALAR:
                m.S[row - SCALAR, wave] = value
                if row - SCALAR in (EXEC, EXEC + 1):
                    m.refresh_exec(wave)
                continue
            old = m.V[row, wave]
            new = old & ~half | value & half
            m.V[row, wave] = np.where(op.active, new, old)


def _kept(bound: Bound) -> int:
    """Registers of which a half is kept, so that they are no operand."""
    return bound.usage.writes if "D16" in bound.instruction.name else 0


def _half(bound: Bound) -> np.uint32:
    name = bound.instruction.name
    if "D16" not in name:
        return np.uint32(0xFFFFFFFF)
    return np.uint32(0xFFFF0000 if "HI" in name else 0xFFFF)

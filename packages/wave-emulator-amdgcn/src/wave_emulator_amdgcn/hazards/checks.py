"""All checks of one launch, behind the hooks that the loop and the accesses call."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_amdgcn.hazards.counters import InFlight, register_name, waits_of
from wave_emulator_amdgcn.hazards.doubts import Doubts, Lanes
from wave_emulator_amdgcn.hazards.following import Following
from wave_emulator_amdgcn.hazards.locks import Locks, is_wide
from wave_emulator_amdgcn.hazards.poison import Written, registers
from wave_emulator_amdgcn.hazards.races import DMA, Access, Conflict, Order, Shadow
from wave_emulator_amdgcn.memory import BASE, Regions
from wave_isa_amdgcn.registers import rows_of

if TYPE_CHECKING:
    from wave_emulator_amdgcn.architectures import Architecture
    from wave_emulator_amdgcn.arrays import Bools, Ints, Selection, Words
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.machine import Machine, Shape
    from wave_emulator_amdgcn.program import Bound

_SWAPS = re.compile(r"_WRXCHG_|_ATOMIC_SWAP")

_NEAR = 1 << 20
"""Bytes behind a resource within which an access counts as just past its end."""


def _order(first: int, shape: Shape) -> Order:
    """Nothing is ordered yet."""
    reads, writes, copies = (np.zeros(shape.waves, np.int64) for _ in range(3))
    return Order(first, shape.waves_per_group, reads, writes, copies)


class Checks:
    """Follows a launch; what it finds goes to the machine's reports."""

    def __init__(
        self, architecture: Architecture, memory: Regions, poison: frozenset[int],
        *, strict: bool = False, locks: Locks | None = None,
        doubts: Doubts | None = None,
    ) -> None:  # fmt: skip
        """``poison`` names buffers whose bytes count as unwritten.

        ``doubts`` are those that an earlier run of the same launch found.
        """
        self.strict = strict
        self.locks = locks
        self.architecture = architecture
        size = len(memory.cells.data)
        self.global_shadow = Shadow(size)
        self.global_written = Written(size, initially=True)
        for index in sorted(poison):
            region = memory.regions[index]
            self.global_written.forget(region.start, region.size, size)
        self.stamp = 0
        self.doubts = doubts or Doubts()

    def start(self, machine: Machine) -> None:
        """Begin a batch of workgroups."""
        self.machine = machine
        shape = machine.shape
        waves = shape.waves
        self.flight = InFlight(waves)
        first = shape.first_group * shape.waves_per_group + 1
        self.lds_order = _order(first, shape)
        self.global_order = _order(first, shape)
        self.global_order.locks = self.locks
        if self.locks is not None:
            self.locks.start(first - 1, waves, shape.waves_per_group)
        self.lds_shadow = Shadow(len(machine.lds.data))
        self.lds_written = Written(len(machine.lds.data), initially=False)
        self.poison = Following(machine, self._report_poison, everywhere=False)
        self.doubts.start(machine, self.lds_order)
        self._before_load: dict[int, Words] | None = None
        self._exchanged: list[Words] | None = None
        self.signalled: Bools = np.zeros(waves, np.bool_)
        self.marks: Ints = np.zeros((3, waves), np.int64)

    def before(self, bound: Bound, g: Selection) -> None:
        """An instruction is about to execute."""
        self.stamp += 1
        self._before_load, self._exchanged = None, None
        self._bound = bound
        if (bound.usage.reads | bound.usage.writes) & self.flight.pending:
            self._early(bound, g)
        self.poison.before(bound, g)
        self.doubts.before(bound, g)

    def _early(self, bound: Bound, g: Selection) -> None:
        waves = self.machine.waves(g)
        for row, late in self.flight.early(bound.usage, g):
            self.machine.report(
                "EM0504",
                f"{register_name(row)} is still being filled",
                bound.instruction,
                wave=int(waves[np.argmax(late)]),
                count=int(late.sum()),
            )

    def after(self, bound: Bound, g: Selection) -> None:
        """An instruction has executed."""
        usage = bound.usage
        if usage.counter:
            scalar = bound.instruction.encoding == "SMEM"
            self.flight.issue(usage, g, self.stamp, scalar=scalar)
        elif bound.kind == "wait":
            self.flight.wait(waits_of(bound.instruction), g)
        if self.locks is not None and self.locks.orders(bound):
            waves = self.machine.waves(g)
            self.locks.after(bound, waves, self.stamp, self._completed(waves)[1])
        self._spread_poison(bound, g)
        self.doubts.after(bound, g)

    def _report_poison(
        self, ins: Instruction, g: Selection, found: Bools, what: str,
        _origins: frozenset[int],
    ) -> None:  # fmt: skip
        message = f"a value from memory that nobody wrote {what}"
        self.machine.report_lanes("EM0505", message, ins, g, found)

    def _spread_poison(self, bound: Bound, g: Selection) -> None:
        found: dict[int, Words] | None = None
        if self._exchanged is not None:
            written = rows_of(bound.usage.writes)
            found = dict(zip(written, self._exchanged, strict=False))
        elif self._before_load is not None:
            memories = [self.lds_written.unknown, self.global_written.unknown]
            taint = self.poison.taint
            found = taint.loaded(bound, g, memories, self._before_load)
        self.poison.after(bound, g, found)

    def _completed(self, waves: Ints) -> tuple[Ints, Ints, Ints]:
        """Times up to which LDS, loads and stores of waves are done."""
        chip = self.architecture
        lds, loads, stores = (
            self.flight.completed(counter, waves)
            for counter in (chip.lds_counter, chip.load_counter, chip.store_counter)
        )
        return lds, loads, stores

    def signal(self, waves: Ints) -> None:
        """Waves arrived at a split barrier, which orders what they did before."""
        for k, done in enumerate(self._completed(waves)):
            self.marks[k, waves] = done
        self.signalled[waves] = True

    def barrier(self, groups: Ints) -> None:
        """Workgroups passed a barrier: what their waves waited for is ordered."""
        per_group = self.machine.shape.waves_per_group
        waves = (groups[:, None] * per_group + np.arange(per_group)).ravel()
        lds, loads, stores = (
            np.where(self.signalled[waves], self.marks[k, waves], done)
            for k, done in enumerate(self._completed(waves))
        )
        self.signalled[waves] = False
        self.lds_order.reads[waves] = lds
        self.lds_order.writes[waves] = lds
        self.lds_order.copies[waves] = loads
        self.global_order.reads[waves] = loads
        self.global_order.writes[waves] = stores
        if self.locks is not None:
            self.locks.release(waves, loads, stores)
            self.locks.meet(groups)

    def access(
        self, ins: Instruction, g: Selection, access: tuple[str, str, int], at: Ints,
        mask: Bools | None,
    ) -> None:  # fmt: skip
        """Lanes access bytes: space, kind and size, and positions."""
        space, kind, size = access
        if kind in ("write", "atomic"):
            self.poison.stores(ins, g, size, mask)
            self.doubts.stores(ins, g, size, mask)
        if space == "private":
            return
        m = self.machine
        shape = at.shape
        lanes = np.arange(at.size) if mask is None else np.flatnonzero(mask)
        if not len(lanes):
            return
        flat = at.ravel()[lanes]
        wave = m.waves(g)[lanes // shape[1]]
        local = space == "lds"
        if not local:
            kind = self._lock(ins, kind, flat, wave)
        if ins.encoding != "SMEM" and kind != "lock":
            where = Lanes(ins, flat, wave, lanes % shape[1], size)
            self._touch(where, kind, local=local)
        self._poison(access, flat, lanes, shape)

    def _touch(self, where: Lanes, kind: str, *, local: bool) -> None:
        """Report what races with an access, but for loads from LDS that are unused."""
        order = self.lds_order if local else self.global_order
        shadow = self.lds_shadow if local else self.global_shadow
        cells = shadow.cells(where.flat, where.size)
        self._copy_in_flight(shadow, cells, where.ins, where.wave)
        access = Access(cells, where.wave + order.first, kind, self.stamp)
        races = shadow.touch(access, order)
        if local:
            loads = [conflict for conflict in races if conflict.reads]
            if self.doubts.access(where, access, shadow.bytes_of_cell, loads):
                races = [conflict for conflict in races if not conflict.reads]
        if races:
            self._race(where, races[0], local=local)

    def _lock(self, ins: Instruction, kind: str, flat: Ints, wave: Ints) -> str:
        """How an access counts for races: one that passes caches may be of a lock.

        A read of that kind races with nothing, a write is like an atomic. Where no
        store says so, those of bytes that are read as locks are meant.
        """
        if kind not in ("read", "write", "atomic"):
            return kind
        plain = kind == "read" or not self.architecture.wide_stores
        if kind != "atomic" and plain and not is_wide(ins):
            return kind
        if self.locks is not None:
            waves = np.unique(wave)
            _, loads, stores = self._completed(waves)
            if kind != "read":
                self.locks.release(waves, loads, stores)
            late = self.locks.touch(kind, flat, wave, self.stamp)
            if late and self.architecture.wide_stores:
                self.global_shadow.were_atomic(np.array(late))
        silent = self.locks is not None and self.locks.are_locks(flat)
        if not (is_wide(ins) or silent):
            return kind
        return "lock" if kind == "read" else "atomic"

    def _copy_in_flight(
        self, shadow: Shadow, cells: Ints, ins: Instruction, wave: Ints
    ) -> None:
        """The wave's own copy to LDS must have been waited for."""
        if shadow is not self.lds_shadow:
            return
        writer = shadow.writer[cells]
        copied = (writer > 0) & (writer & 3 == DMA)
        if not copied.any():
            return
        completed = self.flight.completed(self.architecture.load_counter, wave)[:, None]
        mine = writer >> 2 == (wave + self.lds_order.first)[:, None]
        bad = copied & mine & (shadow.written[cells] > completed)
        if bad.any():
            lane = int(np.nonzero(bad)[0][0])
            self.machine.report(
                "EM0506",
                "bytes of a copy that is not waited for",
                ins,
                wave=int(wave[lane]),
                address=int(cells[lane, 0]) * shadow.bytes_of_cell,
                count=int(bad.any(axis=1).sum()),
            )

    def clipped(
        self, ins: Instruction, g: Selection, beyond: Ints, mask: Bools | None
    ) -> None:
        """Lanes start so far beyond a buffer resource; a little is suspicious.

        Masked lanes are commonly sent far away (2 GiB), and a limit that is one too
        large shows as an access right behind the last row.
        """
        bad = (beyond >= 0) & (beyond < _NEAR)
        bad = bad if mask is None else bad & mask
        if bad.any():
            behind = int(beyond[bad][0])
            message = f"{behind} bytes behind the buffer resource"
            self.machine.report_lanes("EM0510", message, ins, g, bad)

    def _race(self, where: Lanes, conflict: Conflict, *, local: bool) -> None:
        first, _ = conflict.first
        at = int(where.flat[first])
        address = at % max(1, self.machine.lds_stride) if local else at + BASE
        space = "LDS" if local else "memory"
        self.machine.report(
            "EM0501",
            f"wave {conflict.other} {conflict.what} this {space}, unordered",
            where.ins,
            wave=int(where.wave[first]),
            lane=int(where.lane[first]),
            address=address,
            count=conflict.count,
        )

    def _poison(
        self, access: tuple[str, str, int], flat: Ints, lanes: Ints,
        shape: tuple[int, ...],
    ) -> None:  # fmt: skip
        """Note the unwritten bytes that an access finds, and those that it writes."""
        space, kind, size = access
        written = self.lds_written if space == "lds" else self.global_written
        bad = written.missing(flat, size) if kind in ("read", "atomic") else None
        if bad is not None and kind == "atomic":
            assert written.unknown is not None, "some bytes are missing"
            found = np.zeros((size // 4, shape[0] * shape[1]), np.uint32)
            found[:, lanes] = written.unknown.load(flat, size)
            self._exchanged = list(found.reshape(-1, *shape))
        elif bad is not None and self._before_load is None:
            touched = self._bound.usage.reads | self._bound.usage.writes
            self._before_load = registers(self.machine, touched)
        # What atomics but exchanges make of unwritten bytes is as unknown.
        if kind in ("write", "dma") or _SWAPS.search(self._bound.instruction.name):
            written.mark(flat, size)

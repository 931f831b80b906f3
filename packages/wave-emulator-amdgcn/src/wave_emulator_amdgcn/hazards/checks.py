"""All checks of one launch, behind the hooks that the loop and the accesses call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_amdgcn.hazards.counters import InFlight, register_name, waits_of
from wave_emulator_amdgcn.hazards.poison import (
    Taint,
    Written,
    everything,
    registers,
    stored_bits,
)
from wave_emulator_amdgcn.hazards.races import DMA, Access, Conflict, Order, Shadow
from wave_emulator_amdgcn.isa.vmem import is_store
from wave_emulator_amdgcn.memory import BASE
from wave_emulator_amdgcn.usage import DATA, operand_bits

if TYPE_CHECKING:
    from wave_emulator_amdgcn.architectures import Architecture
    from wave_emulator_amdgcn.arrays import Bools, Ints, Selection, Words
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.machine import Machine
    from wave_emulator_amdgcn.memory import Regions
    from wave_emulator_amdgcn.program import Bound

_NEAR = 1 << 20
"""Bytes behind a resource within which an access counts as just past its end."""


class Checks:
    """Follows a launch; what it finds goes to the machine's reports."""

    def __init__(
        self, architecture: Architecture, memory: Regions, poison: frozenset[int],
        *, strict: bool = False,
    ) -> None:  # fmt: skip
        """``poison`` names buffers whose bytes count as unwritten."""
        self.strict = strict
        self.architecture = architecture
        size = len(memory.cells.data)
        self.global_shadow = Shadow(size)
        self.global_written = Written(size, initially=True)
        for index in sorted(poison):
            region = memory.regions[index]
            self.global_written.forget(region.start, region.size, size)
        self.stamp = 0

    def start(self, machine: Machine) -> None:
        """Begin a batch of workgroups."""
        self.machine = machine
        shape = machine.shape
        waves = shape.waves
        self.flight = InFlight(waves)
        first = shape.first_group * shape.waves_per_group + 1
        zeros = [np.zeros(waves, np.int64) for _ in range(6)]
        self.lds_order = Order(first, shape.waves_per_group, *zeros[:3])
        self.global_order = Order(first, shape.waves_per_group, *zeros[3:])
        self.lds_shadow = Shadow(len(machine.lds.data))
        self.lds_written = Written(len(machine.lds.data), initially=False)
        self.taint = Taint(machine)
        self._passed: dict[int, Words] = {}
        self._before_load: dict[int, Words] | None = None
        self._exchanged: Bools | None = None
        self.signalled: Bools = np.zeros(waves, np.bool_)
        self.marks: Ints = np.zeros((3, waves), np.int64)

    def before(self, bound: Bound, g: Selection) -> None:
        """An instruction is about to execute."""
        self.stamp += 1
        self._passed, self._before_load, self._exchanged = {}, None, None
        self._bound = bound
        usage = bound.usage
        if (usage.reads | usage.writes) & self.flight.pending:
            self._early(bound, g)
        if (usage.reads | usage.writes) & self.taint.bits:
            self._uses_poison(bound, g)
            for part in bound.parts or (bound,):
                self._passed |= self.taint.through(part, g)

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

    def _uses_poison(self, bound: Bound, g: Selection) -> None:
        """Report where unwritten memory begins to matter."""
        ins, m, usage = bound.instruction, self.machine, bound.usage
        found: Bools | None = None
        what = ""
        if usage.unit == "vmem" or ins.encoding == "SMEM":
            what, moved = "is stored or is an address", 0
            for name in DATA if is_store(ins.name) else ():
                moved |= operand_bits(ins, name)
            data = self.taint.of(moved, g, stored_bits(ins.name))
            found = self.taint.of(usage.reads & ~moved, g)
            found = data if found is None else found if data is None else found | data
        elif usage.unit == "lds" and "PERMUTE" not in ins.name:
            what = "is an address"
            bits = operand_bits(ins, "addr") if "SWIZZLE" not in ins.name else 0
            found = self.taint.of(bits, g)
        elif usage.unit == "branch":
            what, found = "decides a branch", self.taint.of(usage.reads, g)
        if found is None:
            return
        if not m.full and usage.unit != "branch":
            found = found & m.active[g]
        if found.any():
            message = f"a value from memory that nobody wrote {what}"
            m.report_lanes("EM0505", message, ins, g, found)

    def after(self, bound: Bound, g: Selection) -> None:
        """An instruction has executed."""
        usage = bound.usage
        if usage.counter:
            scalar = bound.instruction.encoding == "SMEM"
            self.flight.issue(usage, g, self.stamp, scalar=scalar)
        elif bound.kind == "wait":
            self.flight.wait(waits_of(bound.instruction), g)
        loads = self._before_load is not None or self._exchanged is not None
        if self.taint.bits or loads:
            self._spread(bound, g)

    def _spread(self, bound: Bound, g: Selection) -> None:
        usage, m, ins = bound.usage, self.machine, bound.instruction
        crosses = "PERMUTE" in ins.name or "SWIZZLE" in ins.name
        if usage.unit in ("vmem", "smem", "lds") and not crosses:
            found: dict[int, Words] = {}
            if self._exchanged is not None:
                found = everything(usage.writes, self._exchanged)
            elif self._before_load is not None:
                memories = [self.lds_written.unknown, self.global_written.unknown]
                found = self.taint.loaded(bound, g, memories, self._before_load)
        else:
            found = self._passed
        active = None if usage.unit == "mfma" or m.full else m.active[g]
        self.taint.assign(usage.writes, g, found, active)

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

    def access(
        self, ins: Instruction, g: Selection, access: tuple[str, str, int], at: Ints,
        mask: Bools | None,
    ) -> None:  # fmt: skip
        """Lanes access bytes: space, kind and size, and positions."""
        space, kind, size = access
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
        order = self.lds_order if local else self.global_order
        shadow = self.lds_shadow if local else self.global_shadow
        if ins.encoding != "SMEM":
            cells = shadow.cells(flat, size)
            self._copy_in_flight(shadow, cells, ins, wave)
            conflict = shadow.touch(
                Access(cells, wave + order.first, kind, self.stamp), order
            )
            if conflict is not None:
                where = flat[conflict.lane]
                lane = int(lanes[conflict.lane] % shape[1])
                self._race(
                    ins, conflict, (int(wave[conflict.lane]), lane, int(where), local)
                )
        self._poison(access, flat, lanes, shape)

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

    def _race(
        self, ins: Instruction, conflict: Conflict, place: tuple[int, int, int, bool]
    ) -> None:
        wave, lane, at, local = place
        address = at % max(1, self.machine.lds_stride) if local else at + BASE
        space = "LDS" if local else "memory"
        self.machine.report(
            "EM0501",
            f"wave {conflict.other} {conflict.what} this {space}, unordered",
            ins,
            wave=wave,
            lane=lane,
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
            found = np.zeros(shape[0] * shape[1], np.bool_)
            found[lanes[bad]] = True
            self._exchanged = found.reshape(shape)
        elif bad is not None and self._before_load is None:
            touched = self._bound.usage.reads | self._bound.usage.writes
            self._before_load = registers(self.machine, touched)
        if kind != "read":
            written.mark(flat, size)

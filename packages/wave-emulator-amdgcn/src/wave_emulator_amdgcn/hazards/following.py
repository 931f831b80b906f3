"""Follows values that must not matter, from their loads to where they matter."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from wave_emulator_amdgcn.hazards.poison import Taint, stored_bits
from wave_emulator_amdgcn.isa.vmem import is_store
from wave_emulator_amdgcn.usage import DATA, operand_bits, writes_condition
from wave_isa_amdgcn.registers import EXEC_BITS, rows_of

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Bools, Selection, Words
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.machine import Machine
    from wave_emulator_amdgcn.program import Bound

#: What is told of a use: instruction, waves, lanes, what it does with the value, and
#: the addresses of the loads that it may come from.
Tell: TypeAlias = "Callable[[Instruction, Selection, Bools, str, frozenset[int]], None]"

_MEMORY = ("vmem", "smem", "lds")


class Following:
    """Values of one kind in the registers of all waves.

    A value matters as an address, where it decides a branch, and where it is stored to
    a buffer. With ``everywhere`` it also does where it is stored to LDS, and where it
    decides which lanes go on.
    """

    def __init__(self, machine: Machine, tell: Tell, *, everywhere: bool) -> None:
        """There are no such values."""
        self.m = machine
        self.tell = tell
        self.everywhere = everywhere
        self.taint = Taint(machine)
        self._passed: dict[int, Words] = {}
        self._origins: frozenset[int] = frozenset()
        self._to_store = 0

    def before(self, bound: Bound, g: Selection) -> None:
        """An instruction is about to execute: tell what it uses."""
        self._to_store = 0
        if not self.taint.touches(bound):
            self._passed, self._origins = {}, frozenset()
            return
        self._origins = self.taint.origins_of(bound)
        self._uses(bound, g)
        self._passed = {}
        for part in bound.parts or (bound,):
            self._passed |= self.taint.through(part, g)
        if self.everywhere:
            self._chooses_lanes(bound, g)

    def _uses(self, bound: Bound, g: Selection) -> None:
        """Tell where a value begins to matter, other than in a store."""
        ins, usage = bound.instruction, bound.usage
        if usage.unit == "branch":
            self._branches(bound, g)
            return
        bits = self._address(bound)
        found = self.taint.of(bits, g) if bits else None
        if found is not None:
            live = found if self.m.full else found & self.m.active[g]
            self._tell(ins, g, live, "is an address")

    def _branches(self, bound: Bound, g: Selection) -> None:
        found = self.taint.of(bound.usage.reads, g)
        waves = self.taint.of_condition(bound.instruction, g)
        if waves is not None:
            lanes = np.broadcast_to(waves[:, None], (len(waves), self.m.lanes))
            found = lanes if found is None else found | lanes
        if found is not None:
            self._tell(bound.instruction, g, found, "decides a branch")

    def _address(self, bound: Bound) -> int:
        """Registers that are an address; what is stored is told of by the access."""
        ins, usage = bound.instruction, bound.usage
        if usage.unit == "vmem" or ins.encoding == "SMEM":
            if is_store(ins.name) or "_ATOMIC_" in ins.name:
                self._to_store = _operands(ins, DATA) & usage.reads
            return usage.reads & ~self._to_store
        if usage.unit != "lds" or "PERMUTE" in ins.name or "SWIZZLE" in ins.name:
            return 0
        if self.everywhere:
            self._to_store = _operands(ins, ("data0", "data1")) & usage.reads
        return operand_bits(ins, "addr")

    def _chooses_lanes(self, bound: Bound, g: Selection) -> None:
        rows = [
            self._passed.get(row) for row in rows_of(bound.usage.writes & EXEC_BITS)
        ]
        for words in rows:
            if words is not None and words.any():
                waves = (words != 0).any(axis=1, keepdims=True)
                lanes = np.broadcast_to(waves, (len(waves), self.m.lanes))
                self._tell(bound.instruction, g, lanes, "decides which lanes go on")

    def stores(
        self, ins: Instruction, g: Selection, size: int, mask: Bools | None
    ) -> None:
        """Tell of the next bytes of a store, in the lanes where there is memory."""
        if not self._to_store:
            return
        part = self._to_store
        if is_store(ins.name) or "_WRITE" in ins.name or not self.everywhere:
            part &= (part & -part) * ((1 << max(1, size // 4)) - 1)
        self._to_store ^= part
        found = self.taint.of(part, g, stored_bits(ins.name))
        if found is not None:
            found = found if mask is None else found & mask
            self._tell(ins, g, found, "is stored")

    def _tell(self, ins: Instruction, g: Selection, found: Bools, what: str) -> None:
        if found.any():
            self.tell(ins, g, found, what, self._origins)

    def after(
        self, bound: Bound, g: Selection, loaded: dict[int, Words] | None = None,
        origin: frozenset[int] = frozenset(),
    ) -> None:  # fmt: skip
        """It has executed; ``loaded`` are such bits of what it loaded, if any."""
        taint = self.taint
        if not (taint.bits or loaded or taint.scc is not None):
            return
        usage, m, ins = bound.usage, self.m, bound.instruction
        crosses = "PERMUTE" in ins.name or "SWIZZLE" in ins.name
        found = self._passed
        if usage.unit in _MEMORY and not crosses:
            found = loaded or {}
        origins = self._origins | origin
        active = None if usage.unit == "mfma" or m.full else m.active[g]
        decides = writes_condition(ins)
        condition = taint.decides(bound, found, g) if decides else None
        taint.assign(usage.writes, g, found, active, origins)
        if condition is not None:
            taint.assign_condition(g, condition, origins)
        if "_CMPST_RTN_" in ins.name:
            taint.exchanges(ins)


def _operands(ins: Instruction, names: tuple[str, ...]) -> int:
    bits = 0
    for name in names:
        bits |= operand_bits(ins, name)
    return bits

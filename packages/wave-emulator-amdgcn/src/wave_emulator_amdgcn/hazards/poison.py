"""Memory that nobody wrote, and the registers that hold what was read from it.

Reading such memory is allowed. It matters when the value is stored to a buffer, is an
address, or decides a branch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_amdgcn.isa.dpp import permutation
from wave_emulator_amdgcn.usage import SCALAR, rows_of

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Bools, Bytes, Ints, Selection
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.machine import Machine
    from wave_emulator_amdgcn.program import Bound

__all__ = ["Taint", "Written"]


class Written:
    """Which bytes of a memory have a value."""

    def __init__(self, size: int, *, initially: bool) -> None:
        """All bytes alike at first."""
        self.everything = initially
        count = 0 if initially else (size + 31) // 16 * 16
        self.bytes: Bytes = np.zeros(count, np.uint8)

    def forget(self, start: int, size: int, total: int) -> None:
        """Bytes of a range count as unwritten."""
        if self.everything:
            self.everything = False
            self.bytes = np.ones((total + 31) // 16 * 16, np.uint8)
        self.bytes[start : start + size] = 0

    def mark(self, at: Ints, size: int) -> None:
        """Bytes are written."""
        if self.everything:
            return
        if size >= 4 and not int(np.bitwise_or.reduce(at, axis=None)) & 3:
            words = self.bytes.view(np.uint32)
            for k in range(size // 4):
                words[(at >> 2) + k] = 0x01010101
            return
        for k in range(size):
            self.bytes[at + k] = 1

    def missing(self, at: Ints, size: int) -> Bools | None:
        """Which accesses read unwritten bytes; None when none does."""
        if self.everything:
            return None
        if size >= 4 and not int(np.bitwise_or.reduce(at, axis=None)) & 3:
            words = self.bytes.view(np.uint32)
            bad = words[at >> 2] != 0x01010101
            for k in range(1, size // 4):
                bad |= words[(at >> 2) + k] != 0x01010101
        else:
            bad = self.bytes[at] == 0
            for k in range(1, size):
                bad |= self.bytes[at + k] == 0
        return bad if bad.any() else None


#: Instructions whose result in a lane comes from other lanes of the wave.
_CROSSING = (
    "READLANE",
    "READFIRSTLANE",
    "PERMUTE",
    "PERMLANE",
    "SWIZZLE",
    "_TR_",
    "MFMA",
    "WMMA",
    "WRITELANE",
)


class Taint:
    """Registers whose value comes from unwritten memory, lane by lane."""

    def __init__(self, waves: int, lanes: int) -> None:
        """No register is tainted."""
        self.waves = waves
        self.lanes = lanes
        self.bits = 0
        self.rows: dict[int, Bools] = {}
        self.loaded: Bools | None = None

    def of(self, bits: int, g: Selection) -> Bools | None:
        """Lanes [waves, lanes] that some register of a set taints."""
        found: Bools | None = None
        for row in rows_of(bits & self.bits):
            lanes = self.rows[row][g]
            found = lanes.copy() if found is None else found | lanes
        return found if found is not None and found.any() else None

    def sources(self, m: Machine, bound: Bound, g: Selection) -> Bools | None:
        """Lanes of the result that are tainted by the operands."""
        ins = bound.instruction
        if "CNDMASK_B32" in ins.name:
            return self._selected(m, ins, g)
        found = self.of(bound.usage.reads, g)
        if found is None:
            return None
        if any(tag in ins.name for tag in _CROSSING) or bound.usage.unit == "salu":
            return np.broadcast_to(found.any(axis=1, keepdims=True), found.shape)
        if ins.variant in ("DPP16", "DPP8"):
            source, _ = permutation(ins, m.lanes)
            return found | found[:, source]
        return found

    def _selected(self, m: Machine, ins: Instruction, g: Selection) -> Bools | None:
        """A select takes the taint of what it takes."""
        from wave_emulator_amdgcn.isa.vector import source_code  # noqa: PLC0415 - cycle

        taints: list[Bools] = []
        for slot in range(2):
            code = source_code(ins, slot)
            row = code - 256 if code >= 256 else SCALAR + code
            known = self.bits >> row & 1 if code >= 256 or code < 128 else 0
            empty = np.zeros((m.count(g), m.lanes), np.bool_)
            taints.append(self.rows[row][g] if known else empty)
        code = ins.fields.get("src2", 106) if ins.encoding == "VOP3" else 106
        chosen = np.where(m.lane_mask(min(code, 126), g), taints[1], taints[0])
        return chosen if chosen.any() else None

    def assign(
        self, writes: int, g: Selection, taint: Bools | None, active: Bools | None
    ) -> None:
        """Registers take a taint, in active lanes."""
        if taint is None:
            writes &= self.bits
        for row in rows_of(writes):
            self._assign_row(row, g, taint, active if row < SCALAR else None)

    def _assign_row(
        self, row: int, g: Selection, taint: Bools | None, active: Bools | None
    ) -> None:
        lanes = self.rows.get(row)
        if lanes is None:
            lanes = self.rows[row] = np.zeros((self.waves, self.lanes), np.bool_)
        new = np.zeros_like(lanes[g]) if taint is None else taint
        if row >= SCALAR and taint is not None:
            new = np.broadcast_to(taint.any(axis=1, keepdims=True), taint.shape)
        lanes[g] = new if active is None else np.where(active, new, lanes[g])
        if lanes.any():
            self.bits |= 1 << row
        else:
            self.bits &= ~(1 << row)

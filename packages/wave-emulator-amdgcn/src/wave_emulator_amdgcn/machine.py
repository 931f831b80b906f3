"""The state of all waves of a launch, in arrays.

Every row of ``V`` is one vector register of all waves; an instruction works on one row
for the waves that execute it. ``F`` and ``I`` are the same bytes as other types.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_amdgcn.errors import Report
from wave_emulator_amdgcn.memory import Cells, Regions
from wave_isa_amdgcn.registers import EXEC

if TYPE_CHECKING:
    from wave_emulator_amdgcn.architectures import Architecture
    from wave_emulator_amdgcn.arrays import Array, Bools, Ints, Selection, Words
    from wave_emulator_amdgcn.costs.meter import Meter
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.hazards.checks import Checks


@dataclass(frozen=True)
class Shape:
    """How much there is of everything.

    Attributes:
        waves: waves of this batch.
        lanes: lanes of a wave.
        waves_per_group: waves of a workgroup.
        lds_bytes: LDS of a workgroup.
        first_group: ordinal in the launch of the first workgroup of the batch.
        registers: rows of vector registers; AGPR 0 is row 256.
        private_bytes: scratch of one lane.
    """

    waves: int
    lanes: int
    waves_per_group: int
    lds_bytes: int
    first_group: int = 0
    registers: int = 512
    private_bytes: int = 0


class Machine:
    """Registers, LDS and modes of all waves of one batch."""

    def __init__(
        self, architecture: Architecture, shape: Shape, memory: Regions
    ) -> None:
        """All registers zero, all lanes active."""
        waves, lanes = shape.waves, shape.lanes
        self.architecture = architecture
        self.shape = shape
        self.memory = memory
        self.lanes = lanes
        self.V: Words = np.zeros((shape.registers, waves, lanes), np.uint32)
        self.S: Words = np.zeros((128, waves), np.uint32)
        self.scc: Bools = np.zeros(waves, np.bool_)
        self.active: Bools = np.ones((waves, lanes), np.bool_)
        self.full = True
        self.S[EXEC] = 0xFFFFFFFF
        if lanes == 64:
            self.S[EXEC + 1] = 0xFFFFFFFF
        self.lds_stride = (shape.lds_bytes + 15) // 16 * 16
        groups = -(-waves // shape.waves_per_group)
        self.lds = Cells(self.lds_stride * groups)
        self.group: Ints = np.arange(waves) // shape.waves_per_group
        self.lds_base: Ints = self.group * self.lds_stride
        self.private = Cells(waves * lanes * shape.private_bytes)
        self.flush32 = False
        self.flush16 = False
        self.flush32_results = False
        self.flush16_results = False
        self.ieee = architecture.ieee_mode
        self.dx10_clamp = True
        self.mode = 0xF0
        self.reports: dict[tuple[str, int], Report] = {}
        self.checks: Checks | None = None
        self.meter: Meter | None = None
        self.clock = 0

    def set_mode(self, mode: int) -> None:
        """Take the FP_DENORM bits of MODE: f32 in bits 4 and 5, the rest in 6 and 7.

        The lower bit of each keeps denormal operands, the upper denormal results.
        """
        self.mode = mode
        self.flush32, self.flush32_results = not mode & 0x10, not mode & 0x20
        self.flush16, self.flush16_results = not mode & 0x40, not mode & 0x80

    def count(self, g: Selection) -> int:
        """How many waves a selection holds."""
        return self.shape.waves if isinstance(g, slice) else len(g)

    def waves(self, g: Selection) -> Ints:
        """Ordinals of the waves of a selection."""
        return np.arange(self.shape.waves) if isinstance(g, slice) else g

    def mask(self, g: Selection) -> Bools | None:
        """Active lanes [waves, lanes]; None when all are."""
        if self.full:
            return None
        mask = self.active[g]
        return None if mask.all() else mask

    def write(self, row: int, g: Selection, value: Array) -> None:
        """Set a vector register in active lanes."""
        if self.full:
            self.V[row, g] = value
            return
        self.write_where(row, g, value, self.active[g])

    def write_where(
        self, row: int, g: Selection, value: Array, mask: Bools | None
    ) -> None:
        """Set a vector register in the lanes of a mask."""
        if mask is None:
            self.V[row, g] = value
        elif isinstance(g, slice):
            np.copyto(self.V[row], value, where=mask)
        else:
            self.V[row, g] = np.where(mask, value, self.V[row, g])

    def write_rows(
        self, row: int, g: Selection, values: Iterable[Array], mask: Bools | None
    ) -> None:
        """Set vector registers from ``row`` on, in the lanes of a mask."""
        for k, value in enumerate(values):
            self.write_where(row + k, g, value, mask)

    def write_scalar(self, row: int, g: Selection, value: Array) -> None:
        """Set a scalar register; writing EXEC changes the active lanes."""
        if row == self.architecture.null:
            return
        self.S[row, g] = value
        if row in (EXEC, EXEC + 1):
            self.refresh_exec(g)

    def write_scalar_pair(self, row: int, g: Selection, value: Array) -> None:
        """Set two scalar registers to 64 bits; NULL takes both."""
        if row == self.architecture.null:
            return
        self.S[row, g] = value.astype(np.uint32)
        self.S[row + 1, g] = (value >> np.uint64(32)).astype(np.uint32)
        if row == EXEC:
            self.refresh_exec(g)

    def refresh_exec(self, g: Selection) -> None:
        """Unpack EXEC after it was written."""
        self.active[g] = self.lane_mask(EXEC, g)
        self.full = bool(self.active.all())

    def lane_mask(self, row: int, g: Selection) -> Bools:
        """A lane mask in scalar registers as booleans [waves, lanes]."""
        words = self.S[row : row + self.lanes // 32, g].T
        data = np.ascontiguousarray(words).view(np.uint8)
        return np.unpackbits(data, axis=1, bitorder="little").view(np.bool_)

    def write_lane_mask(self, row: int, g: Selection, bits: Bools) -> None:
        """Pack booleans [waves, lanes] into scalar registers."""
        words = np.packbits(bits, axis=1, bitorder="little").view(np.uint32)
        for k in range(self.lanes // 32):
            self.write_scalar(row + k, g, words[:, k])

    def report_lanes(
        self, code: str, message: str, instruction: Instruction, g: Selection,
        lanes: Bools, address: Ints | None = None,
    ) -> None:  # fmt: skip
        """Keep a hazard of the first of some lanes [waves, lanes], with their count."""
        wave, lane = (int(v[0]) for v in np.nonzero(lanes))
        self.report(
            code, message, instruction, wave=int(self.waves(g)[wave]), lane=lane,
            address=None if address is None else int(address[wave, lane]),
            count=int(lanes.sum()),
        )  # fmt: skip

    def report(
        self,
        code: str,
        message: str,
        instruction: Instruction,
        *,
        wave: int | None = None,
        lane: int | None = None,
        address: int | None = None,
        count: int = 1,
        other: Instruction | None = None,
    ) -> None:
        """Keep a hazard; later ones of the same instruction only count."""
        key = (code, instruction.pc)
        old = self.reports.get(key)
        if old is not None:
            self.reports[key] = replace(old, count=old.count + count)
            return
        first = self.shape.first_group * self.shape.waves_per_group
        self.reports[key] = Report(
            code, message, instruction.text, instruction.pc, lane=lane, address=address,
            wave=None if wave is None else wave + first, count=count,
            other_text=None if other is None else other.text,
            other_pc=None if other is None else other.pc,
        )  # fmt: skip

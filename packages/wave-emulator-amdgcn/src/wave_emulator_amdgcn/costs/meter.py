"""Measures accesses while a kernel runs, and keeps the path of the first workgroup.

Of each execution of an instruction one wave is measured and stands for the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_amdgcn.costs.phases import lds_phases

if TYPE_CHECKING:
    from wave_emulator_amdgcn.architectures import Architecture
    from wave_emulator_amdgcn.arrays import Bools, Ints
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.memory import Region
    from wave_emulator_amdgcn.program import Bound

LINE_BYTES = 128
"""A cache line of L2 (CDNA3 ISA; RDNA has 128 as well)."""

_LONGEST_TRACE = 100_000
"""Accesses that stand for all those of a workgroup in the count of misses."""


@dataclass
class Sample:
    """Sums over the measured executions of one instruction.

    Of a copy to LDS, bytes are those that L1 gives; its landing has ``lds_cycles``.
    """

    executions: int = 0
    bytes: int = 0
    lines: int = 0
    l1_cycles: int = 0
    lds_cycles: int = 0
    lds_ideal: int = 0
    missed: float = 0.0


class Meter:
    """Measurements of one launch.

    Attributes:
        samples: by address of the instruction.
        paths: the instructions that each wave of the first workgroup executed.
        trace: addresses of instructions with the cache lines that a wave of the first
            workgroup touched, in the order of execution.
        touched: which lines of memory any wave touched.
        buffers: the first line of each buffer and the one behind its last.
    """

    def __init__(
        self,
        architecture: Architecture,
        waves_per_group: int,
        regions: tuple[Region, ...] = (),
    ) -> None:
        """Nothing measured, of accesses to ``regions``."""
        self.architecture = architecture
        self.buffers = [
            (each.start // LINE_BYTES, -(-(each.start + each.size) // LINE_BYTES))
            for each in regions
        ]
        self.samples: dict[int, Sample] = {}
        self.paths: list[list[Bound]] = [[] for _ in range(waves_per_group)]
        self.trace: list[tuple[int, tuple[int, ...]]] = []
        self.touched: Bools = np.zeros(0, np.bool_)
        self.following = True
        self._early = 0

    def step(self, bound: Bound, waves: Ints) -> None:
        """Some waves execute an instruction."""
        if bound.usage.counter:
            self.samples.setdefault(bound.instruction.pc, Sample()).executions += 1
        self._early = 0
        if not self.following:
            return
        early: list[int] = waves[: len(self.paths)].tolist()
        for wave in early:
            if wave >= len(self.paths):
                break
            self._early += 1
            self.paths[wave].append(bound)

    def access(
        self,
        ins: Instruction,
        access: tuple[str, str, int],
        at: Ints,
        mask: Bools | None,
    ) -> None:
        """Measure the first wave of an access."""
        space, kind, size = access
        everyone = np.arange(at.shape[1], dtype=np.int64)
        lanes = everyone if mask is None else everyone[mask[0]]
        sample = self.samples.setdefault(ins.pc, Sample())
        if kind != "dma":
            sample.bytes += size * len(lanes)
        if space == "global":
            self._touch(ins, at, mask, size)
        if not len(lanes):
            return
        positions = at[0, lanes]
        if space == "lds":
            cycles, ideal = self._conflicts(
                positions, lanes, size, reading=kind == "read"
            )
            sample.lds_cycles += cycles
            sample.lds_ideal += ideal
        else:
            sample.lines += len(_lines(positions, size))
            sample.l1_cycles += _l1_cycles(positions, lanes, size)

    def _touch(self, ins: Instruction, at: Ints, mask: Bools | None, size: int) -> None:
        """Note the lines of all waves, and those of the first workgroup in order."""
        chosen = at if mask is None else at[mask]
        if not chosen.size:
            return
        last = int(chosen.max() + size) // LINE_BYTES + 1
        if last > len(self.touched):
            grown = np.zeros(2 * last, np.bool_)
            grown[: len(self.touched)] = self.touched
            self.touched = grown
        self.touched[chosen // LINE_BYTES] = True
        if len(self.trace) >= _LONGEST_TRACE:
            return
        for row in range(self._early):
            mine = at[row] if mask is None else at[row][mask[row]]
            self.trace.append((ins.pc, tuple(_lines(mine, size).tolist())))

    def _conflicts(
        self, positions: Ints, lanes: Ints, size: int, *, reading: bool
    ) -> tuple[int, int]:
        """Cycles of LDS, and how many without conflicts."""
        banks, phases = lds_phases(self.architecture, size, reading=reading)
        of_lane = dict(zip(lanes.tolist(), positions.tolist(), strict=True))
        total = ideal = 0
        for phase in phases:
            cells = {
                of_lane[lane] // 4 + k
                for lane in phase if lane in of_lane for k in range(max(1, size // 4))
            }  # fmt: skip
            if not cells:
                continue
            load = np.bincount(np.array(sorted(cells)) % banks, minlength=banks)
            total += int(load.max())
            ideal += -(-len(cells) // banks)
        return total, ideal


def _l1_cycles(positions: Ints, lanes: Ints, size: int) -> int:
    """Cycles in which L1 looks up lines, one each; only neighbouring lanes share one.

    Sixteen lanes together up to 4 bytes, four above (GPUOpen, "Understanding Memory
    Coalescing on GCN"); a cycle for each further line is assumed.
    """
    together = 16 if size <= 4 else 4
    groups = lanes // together
    last = (positions + size - 1) // LINE_BYTES
    keys = [groups << 40 | lines for lines in (positions // LINE_BYTES, last)]
    return len(np.unique(np.concatenate(keys)))


def _lines(positions: Ints, size: int) -> Ints:
    """Cache lines that accesses touch, each once."""
    first, last = positions // LINE_BYTES, (positions + size - 1) // LINE_BYTES
    return np.unique(np.concatenate([first, last]))

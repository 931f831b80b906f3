"""A compute unit full of workgroups of one launch, and replays of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_emulator_amdgcn.costs.caches import count_misses, memory_share
from wave_emulator_amdgcn.costs.timeline import Timeline
from wave_emulator_amdgcn.costs.turns import FEW, MORE, Turns, find_turns
from wave_emulator_amdgcn.isa.vmem import is_store
from wave_isa_amdgcn.costs import COSTS, Cost

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_emulator_amdgcn.architectures import Architecture
    from wave_emulator_amdgcn.codeobject import CodeObject, Kernel
    from wave_emulator_amdgcn.costs.meter import Meter
    from wave_emulator_amdgcn.launch import LaunchResult

_OF_SIMDS = ("mfma", "valu", "salu")
"""Units that each SIMD has."""


@dataclass(frozen=True)
class Replay:
    """What a replay took.

    Attributes:
        cycles: until the last operation was done.
        busy: cycles that each unit worked, of all SIMDs together; what each SIMD has
            counts once, as the mean of the SIMDs.
        stalls: cycles that waves lost, by address and reason.
    """

    cycles: float
    busy: Mapping[str, float]
    stalls: Mapping[tuple[int, str], float]

    def with_turns(self, fewer: Replay, times: float) -> Replay:
        """So many times more of what this one does beyond ``fewer``.

        A unit that works so long keeps the others waiting: no replay is shorter.
        """
        busy = {
            unit: cycles + times * (cycles - fewer.busy.get(unit, 0.0))
            for unit, cycles in self.busy.items()
        }
        stalls = {
            key: max(0.0, cycles + times * (cycles - fewer.stalls.get(key, 0.0)))
            for key, cycles in self.stalls.items()
        }
        cycles = self.cycles + times * (self.cycles - fewer.cycles)
        return Replay(max(cycles, *busy.values()), busy, stalls)


@dataclass(frozen=True)
class Unit:
    """A compute unit and the workgroup that is replayed on it.

    Attributes:
        architecture: of the machine.
        cost: its costs.
        meter: what was measured of the workgroup.
        turns: its paths.
        share: the part of what L2 is asked for that comes from memory, 0 to 1.
        resident: workgroups that fit at a time.
    """

    architecture: Architecture
    cost: Cost
    meter: Meter
    turns: Turns
    share: float
    resident: int

    def timeline(self, turns: int, *, keep: bool = False) -> Timeline:
        """A fresh replay, with so many turns of a long loop."""
        return Timeline(
            self.architecture, self.cost, self.turns.keep(turns), self.meter.samples,
            share=self.share, keep=keep,
        )  # fmt: skip

    def replay(self, resident: int, groups: int) -> Replay:
        """Run ``groups`` workgroups, ``resident`` at a time."""
        more = self._replayed(MORE, resident, groups)
        if not self.turns.count:
            return more
        fewer = self._replayed(FEW, resident, groups)
        return more.with_turns(fewer, (self.turns.count - MORE) / (MORE - FEW))

    def _replayed(self, turns: int, resident: int, groups: int) -> Replay:
        timeline = self.timeline(turns)
        cycles = timeline.run(resident, groups)
        busy = {
            name: worked / (self.cost.simds if name in _OF_SIMDS else 1)
            for name, worked in timeline.busy.items()
        }
        return Replay(cycles, busy, timeline.stalls)


def unit_of(
    code: CodeObject, kernel: Kernel, result: LaunchResult, share: float | None = None
) -> Unit:
    """The unit that runs a launch, which was metered.

    Args:
        code: what was launched.
        kernel: which kernel of it.
        result: of the launch.
        share: of what L2 is asked for, the part that comes from memory; counted where
            it is not given.
    """
    meter, cost = result.meter, COSTS[code.architecture.name]
    assert meter is not None, "counters are asked for"
    resident = resident_groups(code, kernel, cost, len(meter.paths))
    stores = frozenset(
        bound.instruction.pc
        for bound in result.program.executed()
        if is_store(bound.instruction.name) or "ATOMIC" in bound.instruction.name
    )
    # Workgroups that are resident share L1.
    count_misses(meter, cost.l1_size // resident, stores)
    if share is None:
        share = memory_share(meter, result.program, result.part)
    turns = find_turns(meter.paths)
    return Unit(code.architecture, cost, meter, turns, share, resident)


def resident_groups(code: CodeObject, kernel: Kernel, cost: Cost, waves: int) -> int:
    """Workgroups that fit on a compute unit: waves, registers, LDS."""
    rounded = max(cost.granule, -(-kernel.vgprs // cost.granule) * cost.granule)
    per_simd = min(cost.waves_per_simd, cost.registers // rounded)
    by_waves = max(1, per_simd * cost.simds // waves)
    if not kernel.lds_bytes:
        return by_waves
    return max(1, min(by_waves, code.architecture.lds_bytes // kernel.lds_bytes))

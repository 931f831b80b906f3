"""Counters of a launch and the estimate of its cycles."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from wave_emulator_amdgcn.costs.caches import count_misses, memory_share
from wave_emulator_amdgcn.costs.meter import Sample
from wave_emulator_amdgcn.costs.tables import COSTS
from wave_emulator_amdgcn.costs.timeline import Timeline
from wave_emulator_amdgcn.isa.vmem import is_store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_emulator_amdgcn.codeobject import CodeObject, Kernel
    from wave_emulator_amdgcn.costs.tables import Cost
    from wave_emulator_amdgcn.launch import LaunchResult

_Key = TypeVar("_Key", tuple[int, str], tuple[str, str])

_TOP = 10

_SETS = 3
"""Sets of resident workgroups that are replayed."""


@dataclass(frozen=True)
class Estimate:
    """Counters of a launch, and its costs by the model.

    Attributes:
        counters: instructions by kind; bytes, cache lines and LDS cycles of all waves.
        cycles: ``per_workgroup`` on one compute unit in steady state, ``total`` for the
            launch, ``mfma_utilisation`` and those of other units (0 to 1),
            ``waves_per_simd``, ``memory_share`` of what L2 is asked for.
        stalls: the instructions that waves waited at longest: place, reason, share.
        lines: the same by line of the source; ``?`` where the code has no lines.
    """

    counters: dict[str, float]
    cycles: dict[str, float]
    stalls: list[dict[str, object]] = field(default_factory=list["dict[str, object]"])
    lines: list[dict[str, object]] = field(default_factory=list["dict[str, object]"])


def estimate(code: CodeObject, kernel: Kernel, result: LaunchResult) -> Estimate:
    """Count and estimate; cycles only where the launch was metered."""
    counters = _counters(result)
    if result.meter is None or not result.meter.paths or not result.meter.paths[0]:
        return Estimate(counters, {})
    cost = COSTS[code.architecture.name]
    per_group = len(result.meter.paths)
    resident = resident_groups(code, kernel, cost, per_group)
    timeline = _timeline(code, result, resident)
    cycles = timeline.run(resident, _SETS * resident)
    groups = max(1, result.waves // per_group)
    share = -(-groups // cost.units)
    # One set fills the unit and drains it: what further sets take is steady.
    first = _timeline(code, result, resident).run(resident, resident)
    steady = (cycles - first) / ((_SETS - 1) * resident)
    total = first + steady * (share - resident)
    if share < resident:
        total = _timeline(code, result, resident).run(share, share)
    return Estimate(
        counters,
        {
            "per_workgroup": steady,
            "total": total,
            **_utilisation(timeline, cost, cycles),
            "waves_per_simd": resident * per_group / cost.simds,
            "memory_share": timeline.share,
        },
        _stalls(code, result, timeline),
        _lines(code, timeline),
    )


def _timeline(
    code: CodeObject, result: LaunchResult, resident: int, *, keep: bool = False
) -> Timeline:
    """A replay of the first workgroup; workgroups that are resident share L1."""
    meter = result.meter
    assert meter is not None
    cost = COSTS[code.architecture.name]
    stores = frozenset(
        bound.instruction.pc
        for bound in result.program.executed()
        if is_store(bound.instruction.name) or "ATOMIC" in bound.instruction.name
    )
    count_misses(meter, cost.l1_size // resident, stores)
    share = memory_share(meter, result.program)
    return Timeline(
        code.architecture, cost, meter.paths, meter.samples, share=share, keep=keep
    )


def _utilisation(timeline: Timeline, cost: Cost, cycles: float) -> dict[str, float]:
    """How busy each unit was, 0 to 1."""
    each = {"valu": cost.simds, "mfma": cost.simds, "salu": cost.simds}
    names = ("mfma", "valu", "salu", "lds", "l1", "l2", "hbm")
    most = cycles or 1.0
    return {
        f"{name}_utilisation": timeline.busy[name] / (each.get(name, 1) * most)
        for name in names
    }


def timeline_of(code: CodeObject, kernel: Kernel, result: LaunchResult) -> Timeline:
    """The replay of one full compute unit, with its events; needs a meter."""
    assert result.meter is not None
    cost = COSTS[code.architecture.name]
    resident = resident_groups(code, kernel, cost, len(result.meter.paths))
    timeline = _timeline(code, result, resident, keep=True)
    timeline.run(resident, resident)
    return timeline


def resident_groups(code: CodeObject, kernel: Kernel, cost: Cost, waves: int) -> int:
    """Workgroups that fit on a compute unit: waves, registers, LDS."""
    rounded = max(cost.granule, -(-kernel.vgprs // cost.granule) * cost.granule)
    per_simd = min(cost.waves_per_simd, cost.registers // rounded)
    by_waves = max(1, per_simd * cost.simds // waves)
    if not kernel.lds_bytes:
        return by_waves
    return max(1, min(by_waves, code.architecture.lds_bytes // kernel.lds_bytes))


def _counters(result: LaunchResult) -> dict[str, float]:
    units: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    samples = result.meter.samples if result.meter is not None else {}
    for bound in result.program.executed():
        units[f"{bound.usage.unit}_instructions"] += bound.count
        sample = samples.get(bound.instruction.pc, Sample())
        if not sample.executions:
            continue
        scale = bound.count / sample.executions
        if bound.usage.unit == "lds":
            totals["lds_bytes"] += round(sample.bytes * scale)
            totals["lds_cycles"] += round(sample.lds_cycles * scale)
            totals["lds_conflict_cycles"] += round(
                (sample.lds_cycles - sample.lds_ideal) * scale
            )
        else:
            totals["memory_bytes"] += round(sample.bytes * scale)
            totals["memory_lines"] += round(sample.lines * scale)
    return {**dict(sorted(units.items())), **dict(sorted(totals.items()))}


def _shares(stalls: Mapping[_Key, float]) -> list[tuple[_Key, float]]:
    """The longest stalls, each as its share of all."""
    total = sum(stalls.values()) or 1
    ordered = sorted(stalls.items(), key=lambda item: (-item[1], item[0]))
    return [(key, cycles / total) for key, cycles in ordered[:_TOP]]


def _stalls(
    code: CodeObject, result: LaunchResult, timeline: Timeline
) -> list[dict[str, object]]:
    return [
        {
            "pc": pc,
            "text": result.program.at(pc).instruction.text,
            "source": code.lines.place(pc),
            "reason": reason,
            "share": share,
        }
        for (pc, reason), share in _shares(timeline.stalls)
    ]


def _lines(code: CodeObject, timeline: Timeline) -> list[dict[str, object]]:
    sums: dict[tuple[str, str], float] = defaultdict(float)
    for (pc, reason), cycles in sorted(timeline.stalls.items()):
        sums[code.lines.place(pc) or "?", reason] += cycles
    return [
        {"source": source, "reason": reason, "share": share}
        for (source, reason), share in _shares(sums)
    ]

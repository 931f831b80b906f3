"""Counters of a launch and the estimate of its cycles."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, TypeVar

from wave_emulator_amdgcn.costs.meter import Sample
from wave_emulator_amdgcn.costs.rates import matrix_flops
from wave_emulator_amdgcn.costs.timeline import step_cycles
from wave_emulator_amdgcn.costs.turns import MORE
from wave_emulator_amdgcn.costs.unit import Replay, Unit, unit_of

if TYPE_CHECKING:
    from wave_emulator_amdgcn.codeobject import CodeObject, Kernel
    from wave_emulator_amdgcn.costs.timeline import Timeline
    from wave_emulator_amdgcn.launch import LaunchResult
    from wave_emulator_amdgcn.program import Bound

_Key = TypeVar("_Key", tuple[int, str], tuple[str, str])

_TOP = 10

_SETS = 3
"""Sets of resident workgroups that are replayed."""

_UNITS = ("mfma", "valu", "salu", "lds", "l1", "l2", "hbm")


@dataclass(frozen=True)
class Estimate:
    """Counters of a launch, and its costs by the model.

    Attributes:
        counters: instructions by kind; bytes, cache lines and LDS cycles of all waves.
        cycles: ``per_workgroup`` on one compute unit in steady state, ``total`` for the
            launch, ``microseconds`` of that at ``clock_ghz``, ``matrix_tflops`` of its
            matrix instructions in this time; ``loaded_low_tflops`` at
            ``loaded_low_ghz`` to ``loaded_high_tflops`` at ``loaded_high_ghz``, where
            clocks under load are known; ``mfma_utilisation`` and those of other
            units (0 to 1), ``waves_per_simd``, ``memory_share`` of what L2 is asked;
        ``loop_others_per_kflop`` of a long loop that multiplies: what a wave executes
        in a turn beside matrix instructions, for each 1000 FLOPs of these.
        stalls: the instructions that waves waited at longest: place, reason, share.
        lines: the same by line of the source; ``?`` where the code has no lines.
        spent: cycles of a wave by line of the source, waits included, of the mean wave
            on a full compute unit; they add up to its life.
        basis: what stands for the whole: ``workgroups_executed`` of ``workgroups``,
            ``turns_replayed`` of the ``turns`` of a long loop.
    """

    counters: dict[str, float]
    cycles: dict[str, float]
    stalls: list[dict[str, object]] = field(default_factory=list["dict[str, object]"])
    lines: list[dict[str, object]] = field(default_factory=list["dict[str, object]"])
    basis: dict[str, int] = field(default_factory=dict[str, int])
    spent: list[dict[str, object]] = field(default_factory=list["dict[str, object]"])


def estimate(code: CodeObject, kernel: Kernel, result: LaunchResult) -> Estimate:
    """Count and estimate; cycles only where the launch was metered."""
    counted = counters(result)
    if result.meter is None or not result.meter.paths or not result.meter.paths[0]:
        return Estimate(counted, {})
    unit = unit_of(code, kernel, result)
    per_group = len(unit.turns.paths)
    groups = max(1, result.waves // per_group)
    sets = unit.replay(unit.resident, _SETS * unit.resident)
    steady, total = launch_cycles(unit, sets, -(-groups // unit.cost.units))
    cycles = {
        "per_workgroup": steady,
        "total": total,
        **_rates(unit, result, total),
        **_utilisation(sets),
        **beside(unit.turns.turn),
        "waves_per_simd": unit.resident * per_group / unit.cost.simds,
        "memory_share": unit.share,
    }
    basis = {
        "workgroups_executed": round(groups * result.part),
        "workgroups": groups,
        "turns_replayed": MORE if unit.turns.count else 0,
        "turns": unit.turns.count,
    }
    stalls = _stalls(code, result, sets.stalls)
    spent = _spent(code, unit, sets)
    return Estimate(counted, cycles, stalls, _lines(code, sets.stalls), basis, spent)


def _spent(code: CodeObject, unit: Unit, sets: Replay) -> list[dict[str, object]]:
    """What the mean wave of ``sets`` of workgroups spends at each line, most first."""
    paths, by_pc = unit.turns.paths, Counter[int]()
    for path in paths:
        for bound, following in zip_longest(path, path[1:]):
            by_pc[bound.instruction.pc] += step_cycles(bound, following, unit.cost)
    sums: dict[str, float] = defaultdict(float)
    for pc, cycles in sorted(by_pc.items()):
        sums[code.lines.place(pc) or "?"] += cycles / len(paths)
    waves = len(paths) * _SETS * unit.resident
    for (pc, _), cycles in sorted(sets.stalls.items()):
        sums[code.lines.place(pc) or "?"] += cycles / waves
    ordered = sorted(sums.items(), key=lambda row: (-row[1], row[0]))
    return [{"source": source, "cycles": cycles} for source, cycles in ordered]


def launch_cycles(unit: Unit, sets: Replay, share: int) -> tuple[float, float]:
    """Cycles of a workgroup in steady state, and of ``share`` of them on a unit.

    ``sets`` is the replay of three sets of resident workgroups.

    One set fills the unit and drains it: what further sets take is steady, no more
    than the sets one after the other, and no less than any unit works for them.
    """
    resident = unit.resident
    first = unit.replay(resident, resident).cycles
    steady = (sets.cycles - first) / ((_SETS - 1) * resident)
    busy = max(sets.busy.values(), default=0.0) / (_SETS * resident)
    steady = min(max(steady, busy), first / resident)
    if share >= resident:
        return steady, first + steady * (share - resident)
    total = unit.replay(share, share).cycles
    return min(steady, total / share), total


def _rates(unit: Unit, result: LaunchResult, total: float) -> dict[str, float]:
    """The time at the clock of the vendor's peaks, and the matrix units' speed.

    Under load the clock is lower: the speed at the ends of what was measured there.
    """
    flops = sum(
        matrix_flops(bound.instruction) * bound.count
        for bound in result.program.executed()
        if bound.usage.unit == "mfma"
    )
    tflops_per_ghz = flops / result.part / (1e3 * total or 1.0)
    rates = {
        "clock_ghz": unit.cost.ghz,
        "microseconds": total / (1e3 * unit.cost.ghz),
        "matrix_tflops": tflops_per_ghz * unit.cost.ghz,
    }
    loaded = zip(("low", "high"), unit.cost.loaded_ghz or (), strict=False)
    for end, ghz in loaded:
        rates[f"loaded_{end}_ghz"] = ghz
        rates[f"loaded_{end}_tflops"] = tflops_per_ghz * ghz
    return rates


def beside(turn: list[Bound]) -> dict[str, float]:
    """Instructions beside matrix instructions for each 1000 FLOPs of a turn."""
    matrix = [bound.instruction for bound in turn if bound.usage.unit == "mfma"]
    flops = sum(map(matrix_flops, matrix))
    others = len(turn) - len(matrix)
    return {"loop_others_per_kflop": 1000 * others / flops} if flops else {}


def _utilisation(replay: Replay) -> dict[str, float]:
    """How busy each unit was, 0 to 1."""
    most = replay.cycles or 1.0
    return {f"{name}_utilisation": replay.busy.get(name, 0.0) / most for name in _UNITS}


def timeline_of(code: CodeObject, kernel: Kernel, result: LaunchResult) -> Timeline:
    """The replay of one full compute unit, with its events; needs a meter.

    Of a long loop it has `MORE` turns.
    """
    unit = unit_of(code, kernel, result)
    timeline = unit.timeline(MORE, keep=True)
    timeline.run(unit.resident, unit.resident)
    return timeline


def counters(result: LaunchResult) -> dict[str, float]:
    """Instructions by kind; bytes, cache lines and LDS cycles of all waves.

    Those of waves that were not executed are taken to be like the others'.
    """
    units: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    samples = result.meter.samples if result.meter is not None else {}
    for bound in result.program.executed():
        count = bound.count / result.part
        units[f"{bound.usage.unit}_instructions"] += round(count)
        sample = samples.get(bound.instruction.pc, Sample())
        if not sample.executions:
            continue
        scale = count / sample.executions
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
    code: CodeObject, result: LaunchResult, stalls: Mapping[tuple[int, str], float]
) -> list[dict[str, object]]:
    return [
        {
            "pc": pc,
            "text": result.program.at(pc).instruction.text,
            "source": code.lines.place(pc),
            "reason": reason,
            "share": share,
        }
        for (pc, reason), share in _shares(stalls)
    ]


def _lines(
    code: CodeObject, stalls: Mapping[tuple[int, str], float]
) -> list[dict[str, object]]:
    sums: dict[tuple[str, str], float] = defaultdict(float)
    for (pc, reason), cycles in sorted(stalls.items()):
        sums[code.lines.place(pc) or "?", reason] += cycles
    return [
        {"source": source, "reason": reason, "share": share}
        for (source, reason), share in _shares(sums)
    ]

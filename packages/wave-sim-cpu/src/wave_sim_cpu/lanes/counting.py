"""Counts what memory accesses cost: instructions, bytes, cache lines, bank conflicts.

Counts are exact. The address of a lane usually is a wave's own base plus a pattern
that all waves share; what the pattern costs depends on the base only modulo a cache
line (or a row of banks), so it is worked out once for each remainder.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wave_sim_cpu.expressions import Axis, Number, add_all

if TYPE_CHECKING:
    from wave_core.symbols import Expr
    from wave_core.targets import BankPhases, Target
    from wave_sim_cpu.arrays import Array, Bits, Index
    from wave_sim_cpu.lanes.addressing import AccessPlan
    from wave_sim_cpu.lanes.machine import Machine
    from wave_sim_cpu.memory import Buffer

_LANE_AXES = Axis.LANE | Axis.REGISTER

_NOWHERE = int(np.iinfo(np.int64).max)
"""The address of a lane that is masked out."""


class Cost(NamedTuple):
    """The cost of accesses, in the units of ``Counters``."""

    lines: int = 0
    lines_minimum: int = 0
    conflict_cycles: int = 0
    misaligned: int = 0

    def plus(self, other: Cost, count: int) -> Cost:
        """The cost of these accesses and of ``count`` others."""
        return Cost(*[mine + count * n for mine, n in zip(self, other, strict=True)])


class AccessCounter:
    """Counts the accesses of one op."""

    def __init__(
        self, plan: AccessPlan, kind: str, target: Target, in_step: int
    ) -> None:
        self._plan = plan
        self._in_step = in_step
        self._memory = target.memory
        self._known: dict[int, tuple[int, Cost]] = {}
        self._kind = kind
        parts = plan.offset.parts
        self._unit_parts = [p for p in parts if not p.axes & (_LANE_AXES | Axis.VALUE)]
        self._lane_parts = [p for p in parts if p.axes & (_LANE_AXES | Axis.VALUE)]
        self._separable = all(
            not p.axes & (Axis.UNIT | Axis.VALUE) and not p.mutable
            for p in self._lane_parts
        )

    def count(
        self,
        machine: Machine,
        buffer: Buffer,
        extra: Mapping[Expr, Number],
        mask: Bits | None,
    ) -> Cost:
        """Add one execution to the machine's totals; the cost is returned too."""
        space = "lds" if buffer.is_lds else "global"
        name = f"{space}_{self._kind}"
        run, cost = self._cost(machine, buffer, extra, mask)
        counters = machine.counters
        per_wave = -(-self._plan.registers // run)
        width = run * buffer.element_bytes * 8
        counters.instructions[f"{name}.b{width}"] += machine.active_waves * per_wave
        counters.bytes_moved[name] += (
            self._touched(machine, mask) * buffer.element_bytes
        )
        if buffer.is_lds:
            counters.lds_conflict_cycles[self._kind] += cost.conflict_cycles
        else:
            counters.cache_lines[name] += cost.lines
            counters.cache_lines_minimum[name] += cost.lines_minimum
        if cost.misaligned:
            counters.instructions[f"{name}.misaligned"] += cost.misaligned
        return cost

    def _touched(self, machine: Machine, mask: Bits | None) -> int:
        slots = prod((*machine.shape, self._plan.registers))
        if mask is None:
            return slots
        return int(np.count_nonzero(mask)) * (slots // mask.size)

    def _cost(
        self,
        machine: Machine,
        buffer: Buffer,
        extra: Mapping[Expr, Number],
        mask: Bits | None,
    ) -> tuple[int, Cost]:
        env = machine.env
        if mask is None and self._separable:
            return self._by_remainder(machine, buffer, extra)
        offset = np.asarray(self._plan.offset.array(env, extra))
        full = (*machine.shape, self._plan.registers)
        alive = None if mask is None else np.broadcast_to(mask, full)
        run = _under_one_condition(self._run(buffer, offset), alive)
        starts = np.broadcast_to(offset, full)[..., ::run]
        active = None if alive is None else alive[..., ::run]
        return run, self._of_starts(buffer, starts, run, active)

    def _by_remainder(
        self, machine: Machine, buffer: Buffer, extra: Mapping[Expr, Number]
    ) -> tuple[int, Cost]:
        """The cost where each wave adds its base to one pattern."""
        env, memo = machine.env, self._known
        base = add_all(env.part(p, extra) for p in self._unit_parts)
        period = self._period(buffer)
        units = machine.units.count
        if isinstance(base, np.ndarray):
            found, counts = np.unique(base.reshape(-1) % period, return_counts=True)
            repeats = (counts * (units // base.size)).tolist()
            rows = list(zip(found.tolist(), repeats, strict=True))
        else:
            rows = [(base % period, units)]
        total, run = Cost(), 1
        for remainder, count in rows:
            if remainder not in memo:
                memo[remainder] = self._of_pattern(machine, buffer, extra, remainder)
            run, cost = memo[remainder]
            total = total.plus(cost, count)
        return run, total

    def _of_pattern(
        self,
        machine: Machine,
        buffer: Buffer,
        extra: Mapping[Expr, Number],
        remainder: int,
    ) -> tuple[int, Cost]:
        pattern = add_all(machine.env.part(p, extra) for p in self._lane_parts)
        offset = np.asarray(pattern) + remainder
        full = (1, machine.lanes, self._plan.registers)
        offset = np.broadcast_to(offset, full)
        run = self._run(buffer, offset)
        return run, self._of_starts(buffer, offset[..., ::run], run, None)

    def _period(self, buffer: Buffer) -> int:
        """Elements after which costs repeat."""
        memory = self._memory
        widest = max((p.banks for _, p in memory.read_phases), default=1)
        span = widest * memory.bank_bytes if buffer.is_lds else memory.cache_line_bytes
        return max(1, span // buffer.element_bytes)

    def _run(self, buffer: Buffer, offset: Array) -> int:
        """Registers that one access of a lane covers: those that lie side by side."""
        registers = self._plan.registers
        limit = self._memory.max_access_bits // (8 * buffer.element_bytes)
        if registers == 1 or offset.ndim == 0 or offset.shape[-1] != registers:
            return 1
        if self._kind == "atomic":
            return 1
        together = (np.diff(offset, axis=-1) == 1).all(axis=(0, 1))
        run = 1
        while run * 2 <= limit and registers % (run * 2) == 0:
            inner = np.arange(1, registers) % (run * 2) != 0
            if not together[inner].all():
                break
            run *= 2
        return run

    def _of_starts(
        self, buffer: Buffer, starts: Index, run: int, active: Bits | None
    ) -> Cost:
        """The cost of accesses of ``run`` elements from ``starts``.

        Lanes that do not run in step make accesses of their own.

        Shapes: ``starts`` and ``active`` are ``[units, lanes, accesses]``.
        """
        rows = np.moveaxis(starts, 2, 1).reshape(-1, self._in_step)
        rows = rows * buffer.element_bytes
        alive = None
        if active is not None:
            alive = np.moveaxis(active, 2, 1).reshape(rows.shape)
        width = run * buffer.element_bytes
        misaligned = _misaligned(rows, alive, width)
        if buffer.is_lds:
            phases = self._memory.phases(width, reads=self._kind == "read")
            cycles = _conflicts(rows, alive, width, phases, self._memory.bank_bytes)
            return Cost(conflict_cycles=cycles, misaligned=misaligned)
        lines, least = _lines(rows, alive, width, self._memory.cache_line_bytes)
        return Cost(lines, least, misaligned=misaligned)


def _under_one_condition(run: int, alive: Bits | None) -> int:
    """The most registers that exist together, of runs that lie side by side."""
    while alive is not None and run > 1:
        runs = alive.reshape(*alive.shape[:2], -1, run)
        if (runs == runs[..., :1]).all():
            break
        run //= 2
    return run


def _misaligned(rows: Index, alive: Bits | None, width: int) -> int:
    """Rows in which a lane's access does not start at a multiple of its width."""
    unit = width & -width
    bad = rows % unit != 0
    if alive is not None:
        bad &= alive
    return int(np.count_nonzero(bad.any(axis=1)))


def _lines(
    rows: Index, alive: Bits | None, width: int, line_bytes: int
) -> tuple[int, int]:
    """Cache lines that each row touches, and the fewest that hold its bytes."""
    starts = rows if alive is None else np.where(alive, rows, _NOWHERE)
    starts = np.sort(starts, axis=1)
    first = starts // line_bytes
    last = np.where(starts == _NOWHERE, first, (starts + (width - 1)) // line_bytes)
    if (first != last).any():
        first = np.sort(np.concatenate((first, last), axis=1), axis=1)
    distinct = _new(starts, _NOWHERE).sum(axis=1)
    least = -(-distinct * width // line_bytes)
    return int(_new(first, _NOWHERE // line_bytes).sum()), int(least.sum())


def _new(ordered: Index, nowhere: int) -> Bits:
    """Which entries of sorted rows are below ``nowhere`` and differ from the last."""
    new = np.ones(ordered.shape, np.bool_)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return new & (ordered != nowhere)


def _conflicts(
    rows: Index,
    alive: Bits | None,
    width: int,
    phases: BankPhases | None,
    bank_bytes: int,
) -> int:
    """Cycles beyond the first of each phase: most words that fall in one bank."""
    if phases is None:
        return 0
    words = rows // bank_bytes
    count = max(1, width // bank_bytes)
    total = 0
    for lanes in phases.phases:
        members = [lane for lane in lanes if lane < rows.shape[1]]
        chosen = words[:, members, None] + np.arange(count)
        here = None if alive is None else np.repeat(alive[:, members], count, axis=1)
        flat = chosen.reshape(rows.shape[0], -1)
        total += _extra_cycles(flat, here, phases.banks)
    return total


def _extra_cycles(words: Index, alive: Bits | None, banks: int) -> int:
    if alive is not None:
        words = np.where(alive, words, _NOWHERE)
    words = np.sort(words, axis=1)
    new = _new(words, _NOWHERE)
    row = np.arange(words.shape[0], dtype=np.int64)[:, None] * banks
    slots: Index = (row + words % banks)[new]
    counts = np.bincount(slots, minlength=words.shape[0] * banks)
    worst = counts.reshape(-1, banks).max(axis=1)
    return int(np.maximum(worst - 1, 0).sum())

"""Reductions of expanded graphs, before they become vector ops and shuffles."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from wave_core.ir.facts import PLACEMENT
from wave_core.ops.elementwise import compute_dtype, convert
from wave_core.ops.extremes import MAXIMUM, MINIMUM, Extreme
from wave_sim_cpu.lanes.value import Poison, Value, join, spread

if TYPE_CHECKING:
    from wave_core.ops.base import Op
    from wave_core.ops.reduce import Reduce
    from wave_core.symbols import Digit, Layout
    from wave_sim_cpu.arrays import Array
    from wave_sim_cpu.lanes.machine import Machine
    from wave_sim_cpu.lanes.program import Program, Step
    from wave_sim_cpu.launch import Units

Combine: TypeAlias = np.ufunc | Extreme

COMBINE: dict[str, Combine] = {"sum": np.add, "max": MAXIMUM, "min": MINIMUM}


class _Fold:
    """Combines the registers, then the lanes, then the waves that share a dim."""

    def __init__(self, op: Reduce, program: Program) -> None:
        source = _layout(op.sources[0], program)
        dim = str(op.dim)
        self._groups = register_groups(source, _layout(op, program))
        self._digits = source.lane_digits(dim) if dim in source.dims else ()
        self._wave_axis = program.geometry.split_among_waves(dim)

    def __call__(self, data: Array, combine: Combine, units: Units) -> Array:
        """``[units, lanes, registers]`` of the source to those of the result."""
        parts = [
            combine.reduce(data[..., group], axis=2, keepdims=True)
            for group in self._groups
        ]
        found = np.concatenate(parts, axis=2)
        for digit in self._digits:
            found = _over_lanes(found, combine, digit)
        if self._wave_axis is not None:
            found = across_waves(found, combine, units, self._wave_axis)
        return found


def _layout(op: Op, program: Program) -> Layout:
    placement = program.graph.facts.known(PLACEMENT, op)
    return placement.layout


def register_groups(source: Layout, result: Layout) -> list[list[int]]:
    """For each register of the result those of the source that it combines."""
    shared = [dim for dim in result.dims if dim in source.dims]

    def keys(layout: Layout) -> list[tuple[int, ...]]:
        columns = [layout.offsets(dim)[0] for dim in shared]
        return [tuple(int(c[r]) for c in columns) for r in range(layout.registers)]

    have = keys(source)
    return [[r for r, key in enumerate(have) if key == k] for k in keys(result)]


def _over_lanes(data: Array, combine: Combine, digit: Digit) -> Array:
    """Combine the lanes that differ in one digit; each of them gets the result."""
    units, lanes, registers = data.shape
    apart = data.reshape(units, -1, digit.mod, digit.div, registers)
    joined = combine.reduce(apart, axis=2, keepdims=True)
    return np.broadcast_to(joined, apart.shape).reshape(units, lanes, registers)


def across_waves(data: Array, combine: Combine, units: Units, axis: int) -> Array:
    """Combine the waves of a workgroup along one axis; each gets the result.

    Shapes: the first axis of ``data`` is that of the units.
    """
    data = np.broadcast_to(data, (units.count, *data.shape[1:]))
    apart = data.reshape(units.workgroups, *units.waves[::-1], *data.shape[1:])
    joined = combine.reduce(apart, axis=len(units.waves) - axis, keepdims=True)
    return np.broadcast_to(joined, apart.shape).reshape(data.shape)


def reduce(op: Reduce, program: Program) -> Step:
    """The sources combined, then along the dim, then with the initial value."""
    result = op.register_type.dtype
    wide, combine = compute_dtype(result), COMBINE[op.kind]
    registers = _layout(op.sources[0], program).registers
    fold = _Fold(op, program)

    def step(machine: Machine) -> None:
        full = (*machine.shape, registers)
        values = [machine.value(source) for source in op.sources]
        data = [np.broadcast_to(convert(v.data, wide), full) for v in values]
        total = fold(combine.reduce(np.stack(data)), combine, machine.units)
        found = convert(total, result)
        poison = _poison(values, full, fold, machine.units)
        if op.init is not None:
            start = machine.value(op.init)
            found = convert(combine(found, start.data), result)
            poison = join(poison, start.poison)
        machine.values[op.ident] = Value(found, poison)

    return step


def _poison(
    values: list[Value], full: tuple[int, ...], fold: _Fold, units: Units
) -> Poison | None:
    """A result is poison where any element of it is."""
    found = spread(values)
    if found is None:
        return None
    bits = fold(np.broadcast_to(found.bits, full), np.logical_or, units)
    return found.of(bits)

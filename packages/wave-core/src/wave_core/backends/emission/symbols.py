"""The symbols of a kernel as values: the machine's registers and launch constants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.analysis.loops import counter_ranges
from wave_core.backends.emission.elements import as_index
from wave_core.backends.emission.instructions import I32, I64, Kind
from wave_core.backends.emission.interface import Constant
from wave_core.backends.emission.values import Value, element
from wave_core.constraints.distribution import (
    device_symbol,
    wave_symbol,
    workgroup_symbol,
)
from wave_core.constraints.machine import LANE
from wave_core.constraints.order import hardware_symbol
from wave_core.ops.control import Iterate, symbols_set_by
from wave_core.symbols import Expr, Facts, symbol
from wave_core.types import DTYPES, DType, RegisterType

if TYPE_CHECKING:
    from wave_core.backends.emission.emitter import Emission
    from wave_core.constraints.geometry import Geometry
    from wave_core.ir import Graph

EXTENT_LIMIT = (1 << 31) - (1 << 20)
"""Extents that the launch decides stay below this, so that an index rounded up to a
tile still fits 32 bits."""

GRID_AXES = 3
"""Axes of a grid that the hardware counts."""

_I32 = DTYPES["i32"]


def constants_of(graph: Graph, geometry: Geometry) -> tuple[Constant, ...]:
    """Sizes that the launch binds, coordinates of the device, then scalar arguments."""
    scalars = [
        argument
        for argument in graph.parameters
        if isinstance(argument.type, RegisterType)
    ]
    named = {argument.label for argument in scalars}
    sizes = [s for s in _launch_symbols(graph) if s.name not in named]
    sizes += [device_symbol(axis) for axis in range(len(geometry.devices))]
    rows = [Constant(s.name, DTYPES["i32"], 1, parameter=False) for s in sizes]
    for argument in scalars:
        dtype = argument.register_type.dtype
        words = 2 if dtype.bits == 64 else 1
        rows.append(Constant(argument.label, dtype, words, parameter=True))
    return tuple(rows)


def _launch_symbols(graph: Graph) -> list[Expr]:
    """Symbols without a value, in order of name."""
    own = {s for op in graph.walk() for s in symbols_set_by(op)}
    return sorted(
        {s for s in graph.dynamic_symbols if s not in graph.bindings and s not in own},
        key=lambda s: s.name,
    )


def facts_of(
    graph: Graph, geometry: Geometry, constants: tuple[Constant, ...]
) -> Facts:
    """Facts about the symbols of the kernel, which hold in all of it.

    Of the counter of a loop that is only between which numbers it is. That it does not
    pass the last iteration would say that there is one, and before and after the loop
    that need not be true: see `within_loops`.
    """
    facts = geometry.facts
    devices = {device_symbol(axis) for axis in range(len(geometry.devices))}
    for row in constants:
        if not row.parameter and symbol(row.name) not in devices:
            facts = facts.with_range(symbol(row.name), 0, EXTENT_LIMIT - 1)
    loops = [op for op in graph.walk() if isinstance(op, Iterate)]
    for counter, ends in counter_ranges(loops, geometry.bind, facts).items():
        facts = facts.with_range(counter, *ends)
    return facts


def bind_constants(emit: Emission, constants: tuple[Constant, ...]) -> None:
    """Load the words that come with the launch."""
    arguments = {argument.label: argument for argument in emit.graph.parameters}
    position = 0
    for row in constants:
        name = emit.word(position)
        if row.words == 2:
            name = _join(emit, name, emit.word(position + 1))
        position += row.words
        if row.dtype.is_integer:
            emit.indices.bind(symbol(row.name), *_number(emit, name, row), 0)
        if row.parameter:
            value = Value(_as(emit, name, row.dtype), element(row.dtype), 1)
            emit.define(arguments[row.name], value)


def _number(emit: Emission, name: str, row: Constant) -> tuple[str, int]:
    """The words of an integer as a signed number, and its bits."""
    if row.words == 1 and row.dtype == DTYPES["u32"]:
        return as_index(emit, name, row.dtype)
    return name, 32 * row.words


def _join(emit: Emission, low: str, high: str) -> str:
    make = emit.instructions
    low = make.convert("extui", I32, "i64", low)
    high = make.convert("extui", I32, "i64", high)
    high = make.apply("shli", I64, high, make.constant(32, DTYPES["i64"]))
    return make.apply("ori", I64, low, high)


def _as(emit: Emission, name: str, dtype: DType) -> str:
    make, item, wide = emit.instructions, element(dtype), f"i{dtype.bits}"
    if dtype.bits < 32:
        name = make.convert("trunci", I32, wide, name)
    return name if item == wide else make.convert("bitcast", Kind(wide), item, name)


def bind_machine(emit: Emission, geometry: Geometry) -> None:
    """Workgroup, wave and lane."""
    make, lanes = emit.instructions, geometry.lanes
    _bind_workgroups(emit, geometry)
    thread = emit.thread(geometry.waves_per_workgroup * lanes)
    lane, wave = thread, make.constant(0, _I32)
    if geometry.waves_per_workgroup > 1:
        count = make.constant(lanes, _I32)
        lane = make.apply("remui", I32, thread, count)
        # The same in all lanes of a wave, which the code generator cannot see.
        wave = emit.uniform(make.apply("divui", I32, thread, count), I32)
    emit.indices.bind(LANE, lane, 32, 0)
    for axis, name in enumerate(_split(emit, wave, geometry.waves)):
        emit.indices.bind(wave_symbol(axis), name, 32, 0)


def _split(emit: Emission, name: str, counts: tuple[int, ...]) -> list[str]:
    """A linear number as coordinates, the first one fastest."""
    make, found = emit.instructions, list[str]()
    zero = make.constant(0, _I32)
    last = max((i for i, count in enumerate(counts) if count > 1), default=-1)
    for axis, count in enumerate(counts):
        if count == 1:
            found.append(zero)
        elif axis == last:
            found.append(name)
        else:
            number = make.constant(count, _I32)
            found.append(make.apply("remui", I32, name, number))
            name = make.apply("divui", I32, name, number)
    return found


def _bind_workgroups(emit: Emission, geometry: Geometry) -> None:
    _bind_hardware(emit, geometry)
    for symbol_, value in geometry.numbering:
        name = emit.indices.wrapped(emit.expr(value))
        emit.indices.bind(symbol_, name, 32, 0)


def _bind_hardware(emit: Emission, geometry: Geometry) -> None:
    """The coordinates that the hardware counts."""
    make, grid = emit.instructions, geometry.grid
    symbol_of = hardware_symbol if geometry.numbering else workgroup_symbol
    for axis in range(min(len(grid), GRID_AXES)):
        name = emit.workgroup(axis)
        if axis < GRID_AXES - 1 or len(grid) <= GRID_AXES:
            emit.indices.bind(symbol_of(axis), name, 32, 0)
            continue
        # Axes beyond the third share the third of the hardware.
        for further in range(axis, len(grid)):
            count = emit.indices.wrapped(emit.expr(grid[further]))
            own = name
            if further < len(grid) - 1:
                own = make.apply("remui", I32, name, count)
                name = make.apply("divui", I32, name, count)
            emit.indices.bind(symbol_of(further), own, 32, 0)

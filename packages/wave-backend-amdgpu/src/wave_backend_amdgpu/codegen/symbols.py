"""The symbols of a kernel as values: the machine's registers and launch constants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_backend_amdgpu.codegen.interface import constant_argument
from wave_backend_amdgpu.codegen.types import Value, element
from wave_core.analysis.loops import induction_range
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
    from wave_backend_amdgpu.codegen.emitter import Emitter
    from wave_core.constraints.geometry import Geometry
    from wave_core.ir import Graph

EXTENT_LIMIT = (1 << 31) - (1 << 20)
"""Extents that the launch decides stay below this, so that an index rounded up to a
tile still fits 32 bits."""

GRID_AXES = 3
"""Axes of a grid that the hardware counts."""


@dataclass(frozen=True)
class Constant:
    """A number that comes with the launch.

    Attributes:
        name: The symbol or the parameter.
        dtype: How its bytes are meant.
        words: 32-bit words that it takes.
        parameter: Whether it is an argument of the kernel, not a size.
    """

    name: str
    dtype: DType
    words: int
    parameter: bool


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
    """Facts about the symbols of the kernel."""
    facts = geometry.facts
    devices = {device_symbol(axis) for axis in range(len(geometry.devices))}
    for row in constants:
        if not row.parameter and symbol(row.name) not in devices:
            facts = facts.with_range(symbol(row.name), 0, EXTENT_LIMIT - 1)
    for op in graph.walk():
        if isinstance(op, Iterate):
            values = induction_range(op, geometry.bind)
            facts = facts if values is None else facts.with_range(*values)
    return facts


def bind_constants(emit: Emitter, constants: tuple[Constant, ...]) -> None:
    """Load the words that come with the launch."""
    arguments = {argument.label: argument for argument in emit.graph.parameters}
    position = 0
    for row in constants:
        name = _load(emit, position)
        if row.words == 2:
            name = _join(emit, name, _load(emit, position + 1))
        position += row.words
        if row.dtype.is_integer:
            emit.indices.bind(symbol(row.name), *_number(emit, name, row), 0)
        if row.parameter:
            value = Value(_as(emit, name, row.dtype), element(row.dtype), 1)
            emit.define(arguments[row.name], value)


def _number(emit: Emitter, name: str, row: Constant) -> tuple[str, int]:
    """The words of an integer as a signed number, and its bits."""
    if row.words == 1 and row.dtype == DTYPES["u32"]:
        return as_index(emit, name, row.dtype)
    return name, 32 * row.words


def as_index(emit: Emitter, name: str, dtype: DType) -> tuple[str, int]:
    """An integer or truth value as a signed one of 32 or 64 bits, and how many."""
    positive = dtype.is_unsigned or dtype.is_bool
    width = 64 if dtype.bits + dtype.is_unsigned > 32 else 32
    if dtype.bits >= width:
        return name, width
    form = "arith.extui" if positive else "arith.extsi"
    return emit.builder.op(f"{form} {name} : {element(dtype)} to i{width}"), width


def _load(emit: Emitter, position: int) -> str:
    text = emit.interface.constant(position)
    return constant_argument(position) if text is None else emit.builder.op(text)


def _join(emit: Emitter, low: str, high: str) -> str:
    builder = emit.builder
    low = builder.op(f"arith.extui {low} : i32 to i64")
    high = builder.op(f"arith.extui {high} : i32 to i64")
    amount = builder.constant("32", "i64")
    high = builder.op(f"arith.shli {high}, {amount} : i64")
    return builder.op(f"arith.ori {low}, {high} : i64")


def _as(emit: Emitter, name: str, dtype: DType) -> str:
    builder, item = emit.builder, element(dtype)
    wide = f"i{dtype.bits}"
    if dtype.bits < 32:
        name = builder.op(f"arith.trunci {name} : i32 to {wide}")
    if item == wide:
        return name
    return builder.op(f"arith.bitcast {name} : {wide} to {item}")


def bind_machine(emit: Emitter, geometry: Geometry) -> None:
    """Workgroup, wave and lane."""
    builder, lanes = emit.builder, emit.target.wave_size
    _bind_workgroups(emit, geometry)
    threads = geometry.waves_per_workgroup * lanes
    thread = builder.op(f"gpu.thread_id x upper_bound {threads}")
    thread = builder.op(f"arith.index_castui {thread} : index to i32")
    lane, wave = thread, builder.constant("0", "i32")
    if geometry.waves_per_workgroup > 1:
        count = builder.constant(str(lanes), "i32")
        lane = builder.op(f"arith.remui {thread}, {count} : i32")
        wave = builder.op(f"arith.divui {thread}, {count} : i32")
        # The same in all lanes of a wave, which the code generator cannot see.
        wave = builder.op(f"rocdl.readfirstlane {wave} : i32")
    emit.indices.bind(LANE, lane, 32, 0)
    for axis, name in enumerate(_split(emit, wave, geometry.waves)):
        emit.indices.bind(wave_symbol(axis), name, 32, 0)


def _split(emit: Emitter, name: str, counts: tuple[int, ...]) -> list[str]:
    """A linear number as coordinates, the first one fastest."""
    builder, found = emit.builder, list[str]()
    zero = builder.constant("0", "i32")
    last = max((i for i, count in enumerate(counts) if count > 1), default=-1)
    for axis, count in enumerate(counts):
        if count == 1:
            found.append(zero)
        elif axis == last:
            found.append(name)
        else:
            number = builder.constant(str(count), "i32")
            found.append(builder.op(f"arith.remui {name}, {number} : i32"))
            name = builder.op(f"arith.divui {name}, {number} : i32")
    return found


def _bind_workgroups(emit: Emitter, geometry: Geometry) -> None:
    _bind_hardware(emit, geometry)
    for symbol_, value in geometry.numbering:
        name = emit.indices.wrapped(emit.expr(value))
        emit.indices.bind(symbol_, name, 32, 0)


def _bind_hardware(emit: Emitter, geometry: Geometry) -> None:
    """The coordinates that the hardware counts."""
    builder, grid = emit.builder, geometry.grid
    symbol_of = hardware_symbol if geometry.numbering else workgroup_symbol
    for axis in range(min(len(grid), GRID_AXES)):
        name = builder.op(f"gpu.block_id {'xyz'[axis]}")
        name = builder.op(f"arith.index_castui {name} : index to i32")
        if axis < GRID_AXES - 1 or len(grid) <= GRID_AXES:
            emit.indices.bind(symbol_of(axis), name, 32, 0)
            continue
        # Axes beyond the third share the third of the hardware.
        for further in range(axis, len(grid)):
            count = emit.indices.wrapped(emit.expr(grid[further]))
            own = name
            if further < len(grid) - 1:
                own = builder.op(f"arith.remui {name}, {count} : i32")
                name = builder.op(f"arith.divui {name}, {count} : i32")
            emit.indices.bind(symbol_of(further), own, 32, 0)

"""A whole kernel as MLIR, with what a launch needs to know about it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wave_backend_amdgpu.codegen.builder import reference
from wave_backend_amdgpu.codegen.debug import file_scopes, scope_lines, scoped
from wave_backend_amdgpu.codegen.emitter import Emitter
from wave_backend_amdgpu.codegen.interface import Interface
from wave_backend_amdgpu.codegen.memories import (
    BUFFER_LIMIT,
    Memory,
    Space,
    choose_space,
    pointed_memories,
    stepped_memories,
)
from wave_core.analysis.effects import written_memories
from wave_core.backends.emission import Binding, Constant, stored
from wave_core.backends.emission.memories import (
    copied_memories,
    extents,
    masked_memories,
    size,
    streamed_memories,
    strides,
)
from wave_core.backends.emission.symbols import (
    bind_constants,
    bind_machine,
    constants_of,
    facts_of,
)
from wave_core.constraints.geometry import Geometry
from wave_core.types import MemoryType

if TYPE_CHECKING:
    from wave_backend_amdgpu.codegen.options import CodeOptions
    from wave_core.backends import LoweringTable
    from wave_core.ir import Graph
    from wave_core.ops.structure import Argument
    from wave_core.symbols import Expr
    from wave_core.targets import Target


@dataclass(frozen=True)
class Generated:
    """The MLIR of a kernel, and its interface.

    Attributes:
        name: The kernel's name, and that of its symbol.
        body: The function, without what holds it.
        aliases: Definitions that stand before everything.
        bindings: The pointer arguments in order.
        constants: The words after them in order.
        grid: Workgroups on each axis.
        devices: Devices on each axis.
        threads: Threads of a workgroup.
        wave_size: Lanes of a wave.
        where: The location of the function, as a suffix.
        probes: What the probes look at, in order of their addresses.
        order: How the compiler orders instructions; empty for its usual way.
    """

    name: str
    body: tuple[str, ...]
    aliases: tuple[str, ...]
    bindings: tuple[Binding, ...]
    constants: tuple[Constant, ...]
    grid: tuple[Expr, ...]
    devices: tuple[Expr, ...]
    threads: int
    wave_size: int
    where: str = ""
    probes: tuple[str, ...] = ()
    order: str = ""

    @property
    def symbol(self) -> str:
        """The reference to the kernel's symbol."""
        return reference(self.name)

    @property
    def executable(self) -> str:
        """The reference to the executable that holds the kernel, in a module."""
        return reference(f"{self.name}_code")


def generate(
    graph: Graph,
    target: Target,
    options: CodeOptions,
    table: LoweringTable,
    interface: Interface | None = None,
    geometry: Geometry | None = None,
) -> Generated:
    """The MLIR of a lowered graph; with its geometry, where somebody has it.

    Raises:
        UserError: WV0601 for an op that has no lowering.
    """
    geometry = geometry or Geometry(
        graph.constraints, graph.bindings, target, graph.location
    )
    constants = constants_of(graph, geometry)
    facts = facts_of(graph, geometry, constants)
    emit = Emitter(graph, target, options, facts, table, interface or Interface())
    emit.geometry = geometry
    if options.debug:
        emit.builder.come_home(graph.location)
    bind_constants(emit, constants)
    bind_machine(emit, geometry)
    bindings = _bind_memories(emit)
    emit.lower(graph.body)
    emit.builder.locate(graph.location)
    where = emit.builder.where
    scopes, aliases = _scopes(emit) if options.debug else ({}, [])
    aliases += emit.builder.location_lines(scopes)
    return Generated(
        name=graph.name,
        body=(*emit.builder.body_lines(), f"return{where if options.debug else ''}"),
        aliases=tuple(aliases),
        bindings=bindings,
        constants=constants,
        grid=geometry.grid,
        devices=geometry.devices,
        threads=geometry.threads,
        wave_size=geometry.lanes,
        where=scoped(where) if options.debug else where,
        probes=tuple(emit.probes),
    )


def _scopes(emit: Emitter) -> tuple[dict[str, str], list[str]]:
    """The scopes of debug information by file, and their definitions."""
    location = emit.graph.location
    names, lines = file_scopes(emit.builder.files, location)
    return names, [*scope_lines(emit.graph.name, location), *lines]


def _bind_memories(emit: Emitter) -> tuple[Binding, ...]:
    graph = emit.graph
    written = {memory.ident for memory in written_memories(graph.body)}
    streamed, pointed = streamed_memories(graph), pointed_memories(graph)
    masked, stepped = masked_memories(graph), stepped_memories(graph)
    bounded = masked | copied_memories(graph)
    found: list[Binding] = []
    for argument in graph.parameters:
        kind = argument.type
        if not isinstance(kind, MemoryType):
            continue
        shape = extents(graph, kind)
        wanted = emit.options.buffers or argument.ident in bounded
        file = emit.target.registers
        saves = file is not None and file.per_wave <= SMALL_FILE
        saves = saves or argument.ident in streamed
        wanted = wanted or (saves and size(shape).is_constant)
        wanted = wanted and argument.ident not in pointed
        space = choose_space(shape, kind.dtype, wanted=wanted)
        dynamic = any(not extent.is_constant for extent in shape)
        memory = _memory(emit, argument, len(found), shape, space)
        if argument.ident not in stepped or (dynamic and argument.ident in masked):
            memory = replace(memory, plain=None)
        emit.memories[argument.ident] = memory
        limit = BUFFER_LIMIT if dynamic and space is Space.BUFFER else None
        writes = argument.ident in written
        found.append(Binding(argument.label, kind.dtype.name, shape, writes, limit))
    return tuple(found)


SMALL_FILE = 256
"""Registers of a wave at which a second register for each address is too many: 32-bit
offsets are worth more than 64-bit addresses; else attention spills on gfx1100."""


_BUFFER = "#amdgpu.address_space<fat_raw_buffer>"


def _memory(
    emit: Emitter,
    argument: Argument,
    position: int,
    shape: tuple[Expr, ...],
    space: Space,
) -> Memory:
    kind = argument.memory_type
    builder, count, item = emit.builder, size(shape), stored(kind.dtype)
    extent, dynamic = "?", ""
    if count.is_constant:
        extent = str(count.constant_value)
    else:
        dynamic = f"{{{emit.index(count)}}}"
    zero = builder.constant("0", "index")
    head, place = emit.interface.subspan(position, zero)
    bound, plain = f"memref<{extent}x{item}{place}>", f"memref<{extent}x{item}>"
    name = builder.op(f"{head} {bound}{dynamic}")
    if bound != plain:
        name = builder.op(f"memref.memory_space_cast {name} : {bound} to {plain}")
    if space is Space.BUFFER:
        buffer, whole = f"memref<{extent}x{item}, {_BUFFER}>", name
        name = builder.op(
            f"amdgpu.fat_raw_buffer_cast {name} resetOffset : {plain} to {buffer}"
        )
        known = count.constant_value if count.is_constant else None
        return Memory(
            name, buffer, kind.dtype, strides(shape), space, (whole, plain), known
        )
    return Memory(name, plain, kind.dtype, strides(shape), space)

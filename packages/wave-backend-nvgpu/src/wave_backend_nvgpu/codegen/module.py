"""A whole kernel as LLVM IR, with what a launch needs to know about it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_backend_nvgpu.codegen.debug import quoted
from wave_backend_nvgpu.codegen.emitter import Emitter
from wave_backend_nvgpu.codegen.memories import Memory, Space, shared_definition
from wave_backend_nvgpu.codegen.rules.sync import meet
from wave_core.analysis.effects import written_memories
from wave_core.backends.emission import Binding, BoxedMemory, Constant
from wave_core.backends.emission.memories import extents, strides
from wave_core.backends.emission.symbols import (
    bind_constants,
    bind_machine,
    constants_of,
    facts_of,
)
from wave_core.constraints.geometry import Geometry
from wave_core.types import MemoryType

if TYPE_CHECKING:
    from wave_backend_nvgpu.codegen.options import CodeOptions
    from wave_core.backends import LoweringTable
    from wave_core.ir import Graph
    from wave_core.symbols import Expr
    from wave_core.targets import Target

TRIPLE = "nvptx64-nvidia-cuda"
LAYOUT = (
    "e-p3:32:32-p4:32:32-p5:32:32-p6:32:32-p7:32:32-i64:64-i128:128-i256:256-"
    "v16:16-v32:32-n16:32:64"
)
"""Source: LLVM 22, NVPTXTargetMachine, of 64 bits with short pointers."""

TENSOR_MAP = 'ptr byval([128 x i8]) align 64 "nvvm.grid_constant"'
"""The type of a parameter that describes a memory. Source: CUDA driver, CUtensorMap."""

_OUTSIDE = re.compile(r"[^A-Za-z0-9_]")

_RESERVED = frozenset({"WARP_SZ"})
"""Words that PTX has for something else wherever they stand."""


@dataclass(frozen=True)
class Generated:
    """The LLVM IR of a kernel, and its interface.

    Attributes:
        name: The kernel's name.
        symbol: What the code is called in the module.
        text: The module.
        bindings: The pointer arguments in order.
        constants: The words after them in order.
        grid: Workgroups on each axis.
        devices: Devices on each axis.
        threads: Threads of a workgroup.
        wave_size: Lanes of a wave.
        lds_bytes: Bytes of shared memory that a launch gives to a workgroup.
        boxed: Memories of which boxes are copied; code takes a tensor map of each
            behind the words, in order.
    """

    name: str
    symbol: str
    text: str
    bindings: tuple[Binding, ...]
    constants: tuple[Constant, ...]
    grid: tuple[Expr, ...]
    devices: tuple[Expr, ...]
    threads: int
    wave_size: int
    lds_bytes: int
    boxed: tuple[BoxedMemory, ...] = ()


def symbol_of(name: str) -> str:
    """A kernel's name as PTX takes it: letters, digits and underscores."""
    plain = _OUTSIDE.sub("_", name)
    fits = plain[:1].isalpha() and plain not in _RESERVED
    return plain if fits else f"kernel_{plain}"


def generate(
    graph: Graph, target: Target, options: CodeOptions, table: LoweringTable
) -> Generated:
    """The LLVM IR of a lowered graph.

    Raises:
        UserError: WV0601 for an op that has no lowering.
    """
    geometry = Geometry(graph.constraints, graph.bindings, target, graph.location)
    constants = constants_of(graph, geometry)
    facts = facts_of(graph, geometry, constants)
    emit = Emitter(graph, target, options, facts, table)
    emit.builder.locate(graph.location)
    bind_constants(emit, constants)
    bind_machine(emit, geometry)
    bindings = _bind_memories(emit)
    if emit.boxes is not None:
        emit.boxes.begin()
        meet(emit)
    emit.lower(graph.body)
    emit.builder.locate(graph.location)
    if emit.boxes is not None:
        emit.boxes.close(0)
    emit.builder.line("ret void")
    words = sum(row.words for row in constants)
    return Generated(
        name=graph.name,
        symbol=symbol_of(graph.name),
        text=_module(emit, len(bindings), words, geometry.threads),
        bindings=bindings,
        constants=constants,
        grid=geometry.grid,
        devices=geometry.devices,
        threads=geometry.threads,
        wave_size=geometry.lanes,
        lds_bytes=emit.shared.size,
        boxed=() if emit.boxes is None else tuple(emit.boxes.maps),
    )


def _bind_memories(emit: Emitter) -> tuple[Binding, ...]:
    """One pointer for each memory among the parameters, ``%b0`` and so on."""
    graph = emit.graph
    written = {memory.ident for memory in written_memories(graph.body)}
    found: list[Binding] = []
    for argument in graph.parameters:
        kind = argument.type
        if not isinstance(kind, MemoryType):
            continue
        shape = extents(graph, kind)
        name = f"%b{len(found)}"
        emit.memories[argument.ident] = Memory(
            name, 0, kind.dtype, strides(shape), Space.GLOBAL
        )
        writes = argument.ident in written
        found.append(Binding(argument.label, kind.dtype.name, shape, writes, None))
    return tuple(found)


def _module(emit: Emitter, bindings: int, words: int, threads: int) -> str:
    """The text of the module.

    Pointers have no alignment of their own: with it LLVM loads elements beside those
    that a mask lets through, up to 16 bytes, even beyond the end of an array.
    """
    pointers = [f"ptr addrspace(1) %b{at}" for at in range(bindings)]
    numbers = [f"i32 %k{at}" for at in range(words)]
    maps = [] if emit.boxes is None else list(emit.boxes.maps.values())
    described = [f"{TENSOR_MAP} {name}" for name in maps]
    parameters = ", ".join([*pointers, *numbers, *described])
    notes = [f'"nvvm.maxntid"="{threads}"']
    if emit.options.most_registers is not None:
        notes.append(f'"nvvm.maxnreg"="{emit.options.most_registers}"')
    head = f"define ptx_kernel void @{symbol_of(emit.graph.name)}({parameters})"
    shared = [shared_definition()] if emit.shared.size else []
    lines = [
        f"target datalayout = {quoted(LAYOUT)}",
        f"target triple = {quoted(TRIPLE)}",
        "",
        *shared,
        *emit.builder.declared.values(),
        "",
        f"{head} {' '.join(notes)} {emit.builder.lines.scope} {{",
        *emit.builder.body_lines(),
        "}",
        "",
        *emit.builder.lines.nodes(),
    ]
    return "\n".join(lines) + "\n"

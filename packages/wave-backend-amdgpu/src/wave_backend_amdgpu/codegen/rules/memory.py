"""Reads and writes."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from wave_backend_amdgpu.codegen.memories import (
    Memory,
    Space,
    lds_memory,
    packed_memory,
)
from wave_backend_amdgpu.codegen.pointers import volatile_load, volatile_store
from wave_backend_amdgpu.codegen.probes import probe
from wave_backend_amdgpu.codegen.scalar_offsets import scalar_offset_load
from wave_backend_amdgpu.codegen.types import vector
from wave_core.backends import lowers
from wave_core.backends.emission import Kind, Value, element, gathered, sliced, stored
from wave_core.backends.emission.accesses import Piece, pieces
from wave_core.backends.emission.memories import PACKED
from wave_core.backends.emission.steps import split_piece
from wave_core.ir import resolve
from wave_core.ops.memory import Allocate, Read, TransposedRead, Write

if TYPE_CHECKING:
    from wave_backend_amdgpu.codegen.emitter import Emitter
    from wave_core.symbols import Expr
    from wave_core.types import DType


@lowers(Allocate)
def allocate(op: Allocate, emit: Emitter) -> None:
    """A flat array in LDS."""
    name = emit.builder.fresh()
    memory = lds_memory(emit.graph, op, name)
    emit.memories[op.ident] = memory
    if op.offset is None:
        emit.builder.line(f"{name} = memref.alloc() alignment = 16 : {memory.type}")
        return
    pool = _pool(emit)
    start = emit.builder.constant(str(op.offset), "index")
    emit.builder.line(
        f"{name} = memref.view {pool.name}[{start}][] : {pool.type} to {memory.type}"
    )


def _pool(emit: Emitter) -> Memory:
    """The memory that packed buffers lie in; there is one."""
    found = emit.memories.get(PACKED)
    if found is None:
        found = emit.memories[PACKED] = packed_memory(emit.graph, emit.builder.fresh())
        emit.builder.line(
            f"{found.name} = memref.alloc() alignment = 16 : {found.type}"
        )
    return found


@lowers(Read)
def read(op: Read, emit: Emitter) -> None:
    """Piece by piece, put together."""
    memory = emit.memories[resolve(op.memory).ident]
    found = pieces(op, emit, memory)
    loaded = [
        row
        for _, rows in groupby(found, lambda piece: id(_guard(memory, piece)))
        for row in _loads(emit, memory, list(rows), op.flags)
    ]
    registers = sum(piece.count for piece in found)
    item = element(memory.dtype)
    probe(op, op.memory, emit, op.indices)
    emit.define(op, Value(_joined(emit, loaded, memory.dtype), item, registers))


@lowers(TransposedRead)
def transposed_read(op: TransposedRead, emit: Emitter) -> None:
    """One instruction: all that a lane fetches lies side by side."""
    memory = emit.memories[resolve(op.memory).ident]
    (piece,) = pieces(op, emit, memory)
    raw, kind = _types(memory, piece.count)
    index = place_of(emit, memory, piece)
    place = f"{memory.name}[{index}] : {memory.type}"
    name = emit.builder.op(f"amdgpu.transpose_load {place} -> {raw}")
    if raw != kind:
        name = emit.builder.op(f"vector.bitcast {name} : {raw} to {kind}")
    emit.define(op, Value(name, element(memory.dtype), piece.count))


@lowers(Write)
def write(op: Write, emit: Emitter) -> None:
    """Piece by piece."""
    memory = emit.memories[resolve(op.memory).ident]
    found = pieces(op, emit, memory)
    registers = sum(piece.count for piece in found)
    value = emit.value(op.value)
    value = Value(emit.spread(value, registers), value.item, registers)
    for piece in found:
        name = sliced(emit, value, piece.register, piece.count)
        _store(emit, memory, piece, name, op.flags)
    probe(op, op.memory, emit, op.indices)


def _joined(emit: Emitter, loaded: list[tuple[Piece, str]], dtype: DType) -> str:
    """One vector of all pieces."""
    if len(loaded) == 1:
        return loaded[0][1]
    if all(piece.count == 1 for piece, _ in loaded):
        return gathered(emit, [name for _, name in loaded], element(dtype))
    registers = sum(piece.count for piece, _ in loaded)
    make, kind = emit.instructions, Kind(element(dtype), registers)
    total = emit.constant(0, dtype, registers)
    for piece, name in loaded:
        total = make.insert(kind, total, name, piece.register, piece.count)
    return total


# ---- one piece


def _types(memory: Memory, count: int) -> tuple[str, str]:
    """The type in memory and the type in registers."""
    return vector(stored(memory.dtype), count), vector(element(memory.dtype), count)


def _guard(memory: Memory, piece: Piece) -> Expr | None:
    """The condition of the branch that a piece is accessed in; buffers need none."""
    return None if memory.space is Space.BUFFER else piece.mask


def _loads(
    emit: Emitter, memory: Memory, group: list[Piece], flags: str
) -> list[tuple[Piece, str]]:
    """Pieces under one guard, each with its name."""
    guard = _guard(memory, group[0])
    if guard is None:
        names = [_plain_load(emit, memory, piece, flags) for piece in group]
    else:
        names = _guarded_loads(emit, memory, group, guard, flags)
    return list(zip(group, names, strict=True))


def place_of(emit: Emitter, memory: Memory, piece: Piece) -> str:
    """The index of a piece; that of a buffer is out of bounds where the mask fails."""
    if memory.space is Space.GLOBAL:
        return emit.index(piece.offset)
    name = _number_of(emit, memory, piece)
    return emit.builder.op(f"arith.index_cast {name} : i32 to index")


def _number_of(emit: Emitter, memory: Memory, piece: Piece) -> str:
    """The same as 32 bits."""
    name = emit.indices.wrapped(piece.offset)
    if piece.mask is None or memory.space is not Space.BUFFER:
        return name
    test, outside = emit.indices.truth(piece.mask), memory.outside
    other = emit.builder.constant(str(outside), "i32")
    level = max(emit.indices.level(piece.mask), emit.indices.level(piece.offset))
    text = f"arith.select {test}, {name}, {other} : i32"
    key = ("masked", test, name, outside)
    return emit.builder.once(key, lambda: emit.builder.op(text, level), level)


_NONTEMPORAL = "<{nontemporal = true}>"
"""The property of a scalar access; its short form differs between releases."""


def _attributes(memory: Memory, piece: Piece, flags: str) -> str:
    words: list[str] = []
    if piece.alignment > memory.dtype.bytes:
        words.append(f"alignment = {piece.alignment}")
    if "nontemporal" in flags:
        words.append("nontemporal = true")
    return " ".join(words)


def _plain_load(emit: Emitter, memory: Memory, piece: Piece, flags: str) -> str:
    raw, kind = _types(memory, piece.count)
    if "volatile" in flags:
        name = volatile_load(emit, memory, piece, raw, flags)
    elif memory.plain is None:
        name = _indexed_load(emit, memory, piece, flags)
    else:
        steady, moving = split_piece(emit, memory, piece)
        index = _number_of(emit, memory, replace(piece, offset=steady))
        name = scalar_offset_load(emit, memory, index, moving, raw)
    if raw == kind:
        return name
    return emit.builder.op(f"arith.trunci {name} : {raw} to {kind}")


def _indexed_load(emit: Emitter, memory: Memory, piece: Piece, flags: str) -> str:
    raw, _ = _types(memory, piece.count)
    index = place_of(emit, memory, piece)
    if piece.count == 1 and flags == "none":
        text = f"memref.load {memory.name}[{index}] : {memory.type}"
    elif piece.count == 1:
        kinds = f"({memory.type}, index) -> {raw}"
        text = f'"memref.load"({memory.name}, {index}) {_NONTEMPORAL} : {kinds}'
    else:
        words = _attributes(memory, piece, flags)
        text = f"vector.load {memory.name}[{index}] {words} : {memory.type}, {raw}"
    return emit.builder.op(text)


def _guarded_loads(
    emit: Emitter, memory: Memory, group: list[Piece], guard: Expr, flags: str
) -> list[str]:
    """A branch, and zeros where it is not taken.

    Lanes that the mask leaves out must not touch another place instead: nothing
    orders them against the wave that writes it.
    """
    builder = emit.builder
    test = emit.indices.truth(guard)
    kinds = ", ".join(_types(memory, piece.count)[1] for piece in group)
    zeros = ", ".join(emit.constant(0, memory.dtype, piece.count) for piece in group)
    with builder.region() as block:
        names = [_plain_load(emit, memory, piece, flags) for piece in group]
        builder.line(f"scf.yield {', '.join(names)} : {kinds}")
    block.lines += ["} else {", f"scf.yield {zeros} : {kinds}"]
    result = builder.fresh()
    head = f"{result}:{len(group)} = scf.if {test} -> ({kinds}) {{"
    builder.splice(head, block, "}")
    return [f"{result}#{index}" for index in range(len(group))]


def _store(emit: Emitter, memory: Memory, piece: Piece, name: str, flags: str) -> None:
    raw, kind = _types(memory, piece.count)
    builder = emit.builder
    if raw != kind:
        name = builder.op(f"arith.extui {name} : {kind} to {raw}")
    guard = _guard(memory, piece)
    if guard is None:
        _plain_store(emit, memory, piece, name, flags)
        return
    test = emit.indices.truth(guard)
    with builder.region() as block:
        _plain_store(emit, memory, piece, name, flags)
    builder.splice(f"scf.if {test} {{", block, "}")


def _plain_store(
    emit: Emitter, memory: Memory, piece: Piece, name: str, flags: str
) -> None:
    raw, _ = _types(memory, piece.count)
    if "volatile" in flags:
        volatile_store(emit, memory, piece, (name, raw), flags)
        return
    index = place_of(emit, memory, piece)
    if piece.count == 1 and flags == "none":
        text = f"memref.store {name}, {memory.name}[{index}] : {memory.type}"
    elif piece.count == 1:
        kinds, place = f"({raw}, {memory.type}, index) -> ()", f"{memory.name}, {index}"
        text = f'"memref.store"({name}, {place}) {_NONTEMPORAL} : {kinds}'
    else:
        words = _attributes(memory, piece, flags)
        place = f"{memory.name}[{index}] {words}"
        text = f"vector.store {name}, {place} : {memory.type}, {raw}"
    emit.builder.line(text)

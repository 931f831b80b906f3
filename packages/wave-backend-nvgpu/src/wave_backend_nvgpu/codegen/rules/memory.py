"""Reads and writes."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from wave_backend_nvgpu.codegen.types import typed
from wave_core.backends import lowers
from wave_core.backends.emission import (
    Kind,
    Value,
    element,
    gathered,
    sliced,
    stored,
)
from wave_core.backends.emission.accesses import Piece, pieces
from wave_core.ir import resolve
from wave_core.ops.memory import Allocate, Read, Write

if TYPE_CHECKING:
    from wave_backend_nvgpu.codegen.emitter import Emitter
    from wave_backend_nvgpu.codegen.memories import Memory


@lowers(Allocate)
def allocate(op: Allocate, emit: Emitter) -> None:
    """A place in shared memory."""
    emit.memories[op.ident] = emit.shared.memory(emit.graph, op)


@lowers(Read)
def read(op: Read, emit: Emitter) -> None:
    """Piece by piece, put together."""
    memory = emit.memories[resolve(op.memory).ident]
    found = pieces(op, emit, memory)
    loaded = [
        row
        for _, rows in groupby(found, lambda piece: id(piece.mask))
        for row in _loads(emit, memory, list(rows), op.flags)
    ]
    kind = Kind(element(memory.dtype), sum(piece.count for piece in found))
    emit.define(op, Value(_joined(emit, loaded, kind), *kind))


@lowers(Write)
def write(op: Write, emit: Emitter) -> None:
    """Piece by piece."""
    memory = emit.memories[resolve(op.memory).ident]
    found = pieces(op, emit, memory)
    registers = sum(piece.count for piece in found)
    value = emit.value(op.value)
    value = Value(emit.spread(value, registers), value.item, registers)
    for _, rows in groupby(found, lambda piece: id(piece.mask)):
        _stores(emit, memory, list(rows), value, op.flags)


def _joined(emit: Emitter, loaded: list[tuple[Piece, str]], kind: Kind) -> str:
    """One vector of all pieces."""
    if len(loaded) == 1:
        return loaded[0][1]
    make = emit.instructions
    if all(piece.count == 1 for piece, _ in loaded):
        return gathered(emit, [name for _, name in loaded], kind.item)
    total = "poison"
    for piece, name in loaded:
        total = make.insert(kind, total, name, piece.register, piece.count)
    return total


def _loads(
    emit: Emitter, memory: Memory, group: list[Piece], flags: str
) -> list[tuple[Piece, str]]:
    """Pieces under one mask, each with its name; zeros where it does not hold.

    Lanes that the mask leaves out must not touch another place instead: nothing
    orders them against the thread that writes it.
    """
    mask = group[0].mask
    if mask is None:
        return [(piece, _load(emit, memory, piece, flags)) for piece in group]
    builder, test = emit.builder, emit.indices.truth(mask)
    with builder.region() as block:
        names = [_load(emit, memory, piece, flags) for piece in group]
    results = [
        (
            typed(Kind(element(memory.dtype), piece.count)),
            name,
            emit.constant(0, memory.dtype, piece.count),
        )
        for piece, name in zip(group, names, strict=True)
    ]
    return list(zip(group, builder.branch(test, block, results), strict=True))


def _words(flags: str) -> str:
    return " volatile" if "volatile" in flags else ""


def _load(emit: Emitter, memory: Memory, piece: Piece, flags: str) -> str:
    place = emit.address(memory, piece.offset)
    kind = Kind(stored(memory.dtype), piece.count)
    name = emit.builder.op(
        f"load{_words(flags)} {typed(kind)}, {memory.space.pointer} {place}, "
        f"align {piece.alignment}"
    )
    item = element(memory.dtype)
    if kind.item == item:
        return name
    return emit.instructions.convert("trunci", kind, item, name)


def _stores(
    emit: Emitter, memory: Memory, group: list[Piece], value: Value, flags: str
) -> None:
    """Pieces under one mask, in a branch where there is one."""
    mask = group[0].mask
    names = [sliced(emit, value, piece.register, piece.count) for piece in group]
    rows = list(zip(group, names, strict=True))
    if mask is None:
        for piece, name in rows:
            _store(emit, memory, piece, name, flags)
        return
    test = emit.indices.truth(mask)
    with emit.builder.region() as block:
        for piece, name in rows:
            _store(emit, memory, piece, name, flags)
    emit.builder.branch(test, block)


def _store(emit: Emitter, memory: Memory, piece: Piece, name: str, flags: str) -> None:
    place = emit.address(memory, piece.offset)
    kind = Kind(element(memory.dtype), piece.count)
    item = stored(memory.dtype)
    if kind.item != item:
        name = emit.instructions.convert("extui", kind, item, name)
    emit.builder.line(
        f"store{_words(flags)} {typed(Kind(item, piece.count))} {name}, "
        f"{memory.space.pointer} {place}, align {piece.alignment}"
    )

"""Reads and writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_amdgpu.codegen.accesses import Piece
from wave_backend_amdgpu.codegen.accesses import pieces
from wave_backend_amdgpu.codegen.emitter import unsupported
from wave_backend_amdgpu.codegen.memories import Space
from wave_backend_amdgpu.codegen.memories import lds_memory
from wave_backend_amdgpu.codegen.memories import memory_key
from wave_backend_amdgpu.codegen.rules.constants import gathered
from wave_backend_amdgpu.codegen.rules.shape import sliced
from wave_backend_amdgpu.codegen.types import Value
from wave_backend_amdgpu.codegen.types import element
from wave_backend_amdgpu.codegen.types import stored
from wave_backend_amdgpu.codegen.types import vector
from wave_core.backends import lowers
from wave_core.ops.memory import Allocate
from wave_core.ops.memory import Read
from wave_core.ops.memory import Write

if TYPE_CHECKING:
    from wave_backend_amdgpu.codegen.emitter import Emitter
    from wave_backend_amdgpu.codegen.memories import Memory


@lowers(Allocate)
def allocate(op: Allocate, emit: Emitter) -> None:
    """A flat array in LDS."""
    name = emit.builder.fresh()
    memory = lds_memory(emit.graph, op, name)
    emit.builder.line(f"{name} = memref.alloc() alignment = 16 : {memory.type}")
    emit.memories[op.ident] = memory


@lowers(Read)
def read(op: Read, emit: Emitter) -> None:
    """Piece by piece, put together."""
    memory = _memory(op, emit)
    found = pieces(op, emit, memory)
    loaded = [(piece, _load(emit, memory, piece, op.flags)) for piece in found]
    registers = sum(piece.count for piece in found)
    item = element(memory.dtype)
    emit.define(op, Value(_joined(emit, loaded, item, registers), item, registers))


@lowers(Write)
def write(op: Write, emit: Emitter) -> None:
    """Piece by piece."""
    memory = _memory(op, emit)
    found = pieces(op, emit, memory)
    registers = sum(piece.count for piece in found)
    value = emit.value(op.value)
    value = Value(emit.spread(value, registers), value.item, registers)
    for piece in found:
        name = sliced(emit, value, piece.register, piece.count)
        _store(emit, memory, piece, name, op.flags)


def _memory(op: Read | Write, emit: Emitter) -> Memory:
    if op.flags == "volatile":
        why = "volatile accesses have no form in the vector dialect"
        raise unsupported(op, why, "leave `flags` out where no other workgroup writes")
    return emit.memories[memory_key(op.memory)]


def _joined(
    emit: Emitter, loaded: list[tuple[Piece, str]], item: str, registers: int
) -> str:
    """One vector of all pieces."""
    if len(loaded) == 1:
        return loaded[0][1]
    if all(piece.count == 1 for piece, _ in loaded):
        return gathered(emit, [name for _, name in loaded], item)
    kind = vector(item, registers)
    zero = "0.0" if item.startswith(("f", "bf")) else "0"
    zero = "false" if item == "i1" else zero
    total = emit.builder.constant(f"dense<{zero}>", kind)
    for piece, name in loaded:
        part = vector(item, piece.count)
        if piece.count == 1:
            text = (
                f"vector.insert {name}, {total} [{piece.register}] : {part} into {kind}"
            )
        else:
            text = (
                f"vector.insert_strided_slice {name}, {total} "
                f"offsets = [{piece.register}], strides = [1] : {part} into {kind}"
            )
        total = emit.builder.op(text)
    return total


# ---- one piece


def _types(memory: Memory, count: int) -> tuple[str, str]:
    """The type in memory and the type in registers."""
    return vector(stored(memory.dtype), count), vector(element(memory.dtype), count)


def _load(emit: Emitter, memory: Memory, piece: Piece, flags: str) -> str:
    if piece.mask is None or memory.space is Space.BUFFER:
        return _plain_load(emit, memory, piece, _index(emit, memory, piece), flags)
    if memory.space is Space.LDS:
        return _clamped_load(emit, memory, piece, flags)
    return _guarded_load(emit, memory, piece, flags)


def _index(emit: Emitter, memory: Memory, piece: Piece) -> str:
    """The index of a piece; that of a buffer is out of bounds where the mask fails."""
    if memory.space is Space.GLOBAL:
        return emit.indices.index(piece.offset)
    name = emit.indices.wrapped(piece.offset)
    if piece.mask is not None and memory.space is Space.BUFFER:
        name = _selected(emit, piece, name, memory.outside)
    return emit.builder.op(f"arith.index_cast {name} : i32 to index")


def _selected(emit: Emitter, piece: Piece, name: str, otherwise: int) -> str:
    assert piece.mask is not None, "only masked pieces select"
    test = emit.indices.truth(piece.mask)
    wrapped = otherwise - (1 << 32) if otherwise >= 1 << 31 else otherwise
    other = emit.builder.constant(str(wrapped), "i32")
    level = max(emit.indices.level(piece.mask), emit.indices.level(piece.offset))
    memo = emit.builder.blocks[level].memo
    key = ("masked", test, name, otherwise)
    if key not in memo:
        text = f"arith.select {test}, {name}, {other} : i32"
        memo[key] = emit.builder.op(text, level)
    return memo[key]


def _attributes(memory: Memory, piece: Piece, flags: str) -> str:
    words: list[str] = []
    if piece.alignment > memory.dtype.bytes:
        words.append(f"alignment = {piece.alignment}")
    if flags == "nontemporal":
        words.append("nontemporal = true")
    return " ".join(words)


def _plain_load(
    emit: Emitter, memory: Memory, piece: Piece, index: str, flags: str
) -> str:
    raw, kind = _types(memory, piece.count)
    builder = emit.builder
    if piece.count == 1:
        text = f"memref.load {memory.name}[{index}] : {memory.type}"
    else:
        words = _attributes(memory, piece, flags)
        text = f"vector.load {memory.name}[{index}] {words} : {memory.type}, {raw}"
    name = builder.op(text)
    if raw == kind:
        return name
    return builder.op(f"arith.trunci {name} : {raw} to {kind}")


def _zero(emit: Emitter, memory: Memory, count: int) -> str:
    return emit.constant(0, memory.dtype, count)


def _clamped_load(emit: Emitter, memory: Memory, piece: Piece, flags: str) -> str:
    """LDS: element 0 where the mask fails, replaced by zero."""
    assert piece.mask is not None, "only masked pieces are clamped"
    name = _selected(emit, piece, emit.indices.wrapped(piece.offset), 0)
    index = emit.builder.op(f"arith.index_cast {name} : i32 to index")
    plain = Piece(piece.register, piece.count, piece.offset, None, memory.dtype.bytes)
    loaded = _plain_load(emit, memory, plain, index, flags)
    test, zero = emit.indices.truth(piece.mask), _zero(emit, memory, piece.count)
    _, kind = _types(memory, piece.count)
    return emit.builder.op(f"arith.select {test}, {loaded}, {zero} : {kind}")


def _guarded_load(emit: Emitter, memory: Memory, piece: Piece, flags: str) -> str:
    """Global memory beyond the reach of buffers: a branch."""
    assert piece.mask is not None, "only masked pieces are guarded"
    builder, (_, kind) = emit.builder, _types(memory, piece.count)
    test, zero = emit.indices.truth(piece.mask), _zero(emit, memory, piece.count)
    with builder.region() as block:
        name = _plain_load(emit, memory, piece, _index(emit, memory, piece), flags)
        builder.line(f"scf.yield {name} : {kind}")
    block.lines += ["} else {", f"scf.yield {zero} : {kind}"]
    result = builder.fresh()
    builder.splice(f"{result} = scf.if {test} -> ({kind}) {{", block, "}")
    return result


def _store(emit: Emitter, memory: Memory, piece: Piece, name: str, flags: str) -> None:
    raw, kind = _types(memory, piece.count)
    builder = emit.builder
    if raw != kind:
        name = builder.op(f"arith.extui {name} : {kind} to {raw}")
    if piece.mask is None or memory.space is Space.BUFFER:
        _plain_store(emit, memory, piece, name, flags)
        return
    test = emit.indices.truth(piece.mask)
    with builder.region() as block:
        _plain_store(emit, memory, piece, name, flags)
    builder.splice(f"scf.if {test} {{", block, "}")


def _plain_store(
    emit: Emitter, memory: Memory, piece: Piece, name: str, flags: str
) -> None:
    raw, _ = _types(memory, piece.count)
    index = _index(emit, memory, piece)
    if piece.count == 1:
        text = f"memref.store {name}, {memory.name}[{index}] : {memory.type}"
    else:
        words = _attributes(memory, piece, flags)
        place = f"{memory.name}[{index}] {words}"
        text = f"vector.store {name}, {place} : {memory.type}, {raw}"
    emit.builder.line(text)

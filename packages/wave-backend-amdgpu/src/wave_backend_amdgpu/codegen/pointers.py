"""Elements of memories by pointers, for what memrefs have no access for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_amdgpu.codegen.memories import Space
from wave_backend_amdgpu.codegen.types import vector

if TYPE_CHECKING:
    from wave_backend_amdgpu.codegen.emitter import Emitter
    from wave_backend_amdgpu.codegen.memories import Memory
    from wave_core.backends.emission.accesses import Piece
    from wave_core.symbols import Expr


def pointer(emit: Emitter, memory: Memory, offset: Expr) -> tuple[str, str]:
    """The element at an offset: name and type of a pointer.

    The memory is no buffer.
    """
    builder, lds = emit.builder, memory.space is Space.LDS
    kind, width = ("!llvm.ptr<3>", "i32") if lds else ("!llvm.ptr<1>", "i64")
    base = builder.op(
        f"memref.extract_aligned_pointer_as_index {memory.name} : {memory.type} "
        "-> index"
    )
    number = builder.op(f"arith.index_castui {base} : index to {width}")
    start = builder.op(f"llvm.inttoptr {number} : {width} to {kind}")
    index = emit.index(offset)
    index = builder.op(f"arith.index_cast {index} : index to {width}")
    item = f"i{8 * memory.dtype.bytes}"
    name = builder.op(
        f"llvm.getelementptr {start}[{index}] : ({kind}, {width}) -> {kind}, {item}"
    )
    return name, kind


def volatile_load(
    emit: Emitter, memory: Memory, piece: Piece, kind: str, flags: str
) -> str:
    """A value of type ``kind`` from the place of a piece."""
    name, place = pointer(emit, memory, piece.offset)
    integers, notes = _integers(memory, piece), _notes(piece, flags)
    text = f'"llvm.load"({name}) {notes} : ({place}) -> {integers}'
    return _as_type(emit, emit.builder.op(text), integers, kind)


def volatile_store(
    emit: Emitter, memory: Memory, piece: Piece, value: tuple[str, str], flags: str
) -> None:
    """Store a value, given with its type, at the place of a piece."""
    name, place = pointer(emit, memory, piece.offset)
    integers, notes = _integers(memory, piece), _notes(piece, flags)
    stored = _as_type(emit, *value, integers)
    emit.builder.line(
        f'"llvm.store"({stored}, {name}) {notes} : ({integers}, {place}) -> ()'
    )


def _integers(memory: Memory, piece: Piece) -> str:
    """What a piece is moved as: not all element types are LLVM's."""
    return vector(f"i{8 * memory.dtype.bytes}", piece.count)


def _notes(piece: Piece, flags: str) -> str:
    """The properties of an access; their short form differs between releases."""
    words = [f"alignment = {piece.alignment} : i64", "volatile_"]
    if "nontemporal" in flags:
        words.append("nontemporal")
    return f"<{{{', '.join(words)}}}>"


def _as_type(emit: Emitter, name: str, found: str, wanted: str) -> str:
    """The same bits in another type."""
    if found == wanted:
        return name
    return emit.builder.op(f"arith.bitcast {name} : {found} to {wanted}")

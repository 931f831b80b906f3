"""Updates of memory in one step, of elements of a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_asm.codegen.accesses import buffer_address, lds_address
from wave_backend_asm.codegen.rules.memory import held_mask
from wave_backend_asm.machine.operands import Operand, Virtual
from wave_backend_asm.select.missing import MissingError
from wave_core.backends import lowers
from wave_core.backends.emission import Kind, Value, element
from wave_core.backends.emission.accesses import Piece, by_register, simple
from wave_core.ir import ACCESS, resolve
from wave_core.ops import atomic
from wave_core.ops.atomic import Atomic
from wave_core.symbols import total
from wave_core.types import Family

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_backend_asm.code import Part
    from wave_backend_asm.codegen.emitter import Emitter
    from wave_backend_asm.codegen.memories import Memory

_FLOAT, _SIGNED, _UNSIGNED = Family.FLOAT, Family.INTEGER, Family.UNSIGNED

_SAME: dict[type[Atomic], tuple[str, str]] = {
    atomic.AtomicAnd: ("and", "and_rtn_b32"),
    atomic.AtomicOr: ("or", "or_rtn_b32"),
    atomic.AtomicXor: ("xor", "xor_rtn_b32"),
    atomic.AtomicXchg: ("swap", "wrxchg_rtn_b32"),
    atomic.AtomicCas: ("cmpswap", "cmpst_rtn_b32"),
}
"""Updates that do not ask what the bits mean: of buffers, and of LDS."""

_BY_FAMILY: dict[tuple[type[Atomic], Family], tuple[str, str]] = {
    (atomic.AtomicAdd, _FLOAT): ("add_f32", "add_rtn_f32"),
    (atomic.AtomicAdd, _SIGNED): ("add", "add_rtn_u32"),
    (atomic.AtomicAdd, _UNSIGNED): ("add", "add_rtn_u32"),
    (atomic.AtomicMin, _SIGNED): ("smin", "min_rtn_i32"),
    (atomic.AtomicMin, _UNSIGNED): ("umin", "min_rtn_u32"),
    (atomic.AtomicMax, _SIGNED): ("smax", "max_rtn_i32"),
    (atomic.AtomicMax, _UNSIGNED): ("umax", "max_rtn_u32"),
}
"""The others. Source: CDNA3 ISA, MUBUF and DS."""


@lowers(Atomic)
def update(op: Atomic, emit: Emitter) -> None:
    """One instruction for each register, which gives what the memory held."""
    memory = emit.memories[resolve(op.memory).ident]
    if memory.dtype.bits != 32 or op.scope == "system":
        raise MissingError(f"updates of {memory.dtype}, scope {op.scope}")
    kind = Kind(element(memory.dtype), emit.registers(op))
    given = [v for v in (op.value, op.expected) if v is not None]
    spread = [emit.spread(emit.value(v), kind.registers) for v in given]
    values = [emit.b.words(name) for name in spread]
    rows = zip(_pieces(op, emit, memory), *values, strict=True)
    found = [_updated(op, emit, memory, piece, row) for piece, *row in rows]
    emit.define(op, Value(emit.b.of(kind, found), *kind))


def _pieces(op: Atomic, emit: Emitter, memory: Memory) -> Iterator[Piece]:
    """The element of each register."""
    access = emit.graph.facts.known(ACCESS, op)
    rows = zip(access.coordinates, memory.strides, strict=True)
    offset = emit.expr(total([place * stride for place, stride in rows]))
    mask = None if access.mask is None else emit.expr(access.mask)
    registers = emit.registers(op)
    for register, known in enumerate(by_register(op.indices, emit, registers)):
        here = None if mask is None else simple(emit.facts, mask.subs(known))
        yield Piece(register, 1, offset.subs(known), here, memory.dtype.bytes)


def _names(op: Atomic, family: Family) -> tuple[str, str]:
    found = _SAME.get(type(op)) or _BY_FAMILY.get((type(op), family))
    if found is None:
        raise MissingError(f"`{op.op_name}` of floats")
    return found


def _updated(
    op: Atomic, emit: Emitter, memory: Memory, piece: Piece, row: list[Operand]
) -> Part:
    """What an element was; 0 where it does not exist."""
    in_buffer, in_lds = _names(op, memory.dtype.family)
    if memory.descriptor is None:
        return _in_lds(emit, memory, piece, f"ds_{in_lds}", row)
    b, held = emit.b, Virtual(len(row))
    place = buffer_address(emit, memory, piece)
    b.moved([b.in_vector(each) for each in row], held)
    wave = b.in_scalar(place.wave) if place.wave else place.wave
    operands = (b.in_vector(place.lane), memory.descriptor, wave)
    modifiers = f"offen offset:{place.immediate} sc0"
    b.say(f"buffer_atomic_{in_buffer}", (held.all,), operands, modifiers,
          keeps=(held.all,))  # fmt: skip
    return held.parts()[0]


def _in_lds(
    emit: Emitter, memory: Memory, piece: Piece, name: str, row: list[Operand]
) -> Part:
    """The same in LDS, whose comparison has the expected value first."""
    b, result = emit.b, Virtual().all
    place = lds_address(emit, memory, piece)
    operands = (b.in_vector(place.lane), *map(b.in_vector, reversed(row)))
    modifiers = f"offset:{place.immediate}"
    mask = held_mask(emit, piece)
    if mask is None:
        b.say(name, (result,), operands, modifiers)
        return result
    b.say("v_mov_b32", (result,), (0,))
    with emit.where(mask):
        b.say(name, (result,), operands, modifiers, keeps=(result,))
    return result

"""Updates of memory in one step, of elements of a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_asm.codegen.accesses import buffer_address, lds_address
from wave_backend_asm.codegen.rules.memory import held_mask
from wave_backend_asm.machine.operands import Operand, Virtual
from wave_backend_asm.select.data import WORD
from wave_backend_asm.select.missing import MissingError
from wave_backend_asm.select.vectors import elements
from wave_core.backends import lowers
from wave_core.backends.emission import Kind, Value, element
from wave_core.backends.emission.accesses import Piece, by_register, simple
from wave_core.ir import ACCESS
from wave_core.ops import atomic
from wave_core.ops.atomic import Atomic
from wave_core.symbols import total
from wave_core.types import DType, Family

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_backend_asm.codegen.emitter import Emitter
    from wave_backend_asm.codegen.memories import Memory

Words = tuple[Operand, ...]

_FLOAT, _SIGNED, _UNSIGNED = Family.FLOAT, Family.INTEGER, Family.UNSIGNED

_SAME: dict[type[Atomic], tuple[str, str]] = {
    atomic.AtomicAnd: ("and", "and_rtn_b"),
    atomic.AtomicOr: ("or", "or_rtn_b"),
    atomic.AtomicXor: ("xor", "xor_rtn_b"),
    atomic.AtomicXchg: ("swap", "wrxchg_rtn_b"),
    atomic.AtomicCas: ("cmpswap", "cmpst_rtn_b"),
}
"""Updates that do not ask what the bits mean: of buffers, and of LDS up to the bits."""

_BY_FAMILY: dict[tuple[type[Atomic], Family], tuple[str, str]] = {
    (atomic.AtomicAdd, _FLOAT): ("add_f", "add_rtn_f"),
    (atomic.AtomicAdd, _SIGNED): ("add", "add_rtn_u"),
    (atomic.AtomicAdd, _UNSIGNED): ("add", "add_rtn_u"),
    (atomic.AtomicMin, _FLOAT): ("min_f", "min_rtn_f"),
    (atomic.AtomicMin, _SIGNED): ("smin", "min_rtn_i"),
    (atomic.AtomicMin, _UNSIGNED): ("umin", "min_rtn_u"),
    (atomic.AtomicMax, _FLOAT): ("max_f", "max_rtn_f"),
    (atomic.AtomicMax, _SIGNED): ("smax", "max_rtn_i"),
    (atomic.AtomicMax, _UNSIGNED): ("umax", "max_rtn_u"),
}
"""The others. Source: CDNA3 ISA, MUBUF and DS."""

_EVERYWHERE = (atomic.AtomicAdd, atomic.AtomicXchg, atomic.AtomicCas)
"""What memory of the host does in one step. Source: PCI Express 5.0, 6.15: fetch and
add, swap, compare and swap."""


@lowers(Atomic)
def update(op: Atomic, emit: Emitter) -> None:
    """One instruction for each register, which gives what the memory held."""
    memory = emit.memory(op.memory)
    _check(op, emit, memory)
    kind = Kind(element(memory.dtype), emit.registers(op))
    given = [v for v in (op.value, op.expected) if v is not None]
    spread = [emit.spread(emit.value(v), kind.registers) for v in given]
    values = [elements(emit.b, emit.b.data[name]) for name in spread]
    rows = zip(_pieces(op, emit, memory), *values, strict=True)
    found = [
        word for piece, *row in rows for word in _updated(op, emit, memory, piece, row)
    ]
    emit.define(op, Value(emit.b.of(kind, found), *kind))


def _check(op: Atomic, emit: Emitter, memory: Memory) -> None:
    """Refuse what no instruction does in one step.

    Raises:
        MissingError: for floats that the chip, and for a scope that memory, lacks.
    """
    dtype, in_lds = memory.dtype, memory.descriptor is None
    if dtype.is_float and type(op) not in _SAME:
        kind = "add" if isinstance(op, atomic.AtomicAdd) else "extreme"
        known = "lds" if in_lds else "global", kind, dtype.name
        if dtype.bits < WORD or known not in emit.target.float_atomics:
            raise MissingError(f"`{op.op_name}` of {dtype}")
    plain = isinstance(op, _EVERYWHERE) and (not dtype.is_float or type(op) in _SAME)
    if op.scope == "system" and not in_lds and not plain:
        raise MissingError(f"`{op.op_name}` of {dtype} that the host sees as one step")


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


def _names(op: Atomic, dtype: DType) -> tuple[str, str]:
    """The instruction on buffers, and that on LDS."""
    family, bits = dtype.family, dtype.bits
    in_buffer, in_lds = _SAME.get(type(op)) or _BY_FAMILY[type(op), family]
    if in_buffer.endswith("_f"):
        in_buffer += str(bits)
    elif bits > WORD:
        in_buffer += "_x2"
    return f"buffer_atomic_{in_buffer}", f"ds_{in_lds}{bits}"


def _updated(
    op: Atomic, emit: Emitter, memory: Memory, piece: Piece, row: list[Words]
) -> Words:
    """What an element was; 0 where it does not exist."""
    in_buffer, in_lds = _names(op, memory.dtype)
    if memory.descriptor is None:
        return _in_lds(emit, memory, piece, in_lds, row)
    b, held = emit.b, Virtual(sum(map(len, row)))
    place = buffer_address(emit, memory, piece)
    b.moved([b.in_vector(word) for words in row for word in words], held)
    wave = b.in_scalar(place.wave) if place.wave else place.wave
    operands = (b.in_vector(place.lane), memory.descriptor, wave)
    beyond = " sc1" if op.scope == "system" else ""
    modifiers = f"offen offset:{place.immediate} sc0{beyond}"
    b.say(in_buffer, (held.all,), operands, modifiers, keeps=(held.all,))
    return held.parts()[: len(row[0])]


def _in_lds(
    emit: Emitter, memory: Memory, piece: Piece, name: str, row: list[Words]
) -> Words:
    """The same in LDS, whose comparison has the expected value first."""
    b, result = emit.b, Virtual(len(row[0]))
    place = lds_address(emit, memory, piece)
    data = [b.together([*map(b.in_vector, words)]) for words in reversed(row)]
    operands = (b.in_vector(place.lane), *data)
    modifiers = f"offset:{place.immediate}"
    mask = held_mask(emit, piece)
    if mask is None:
        with b.touching(place.memory):
            b.say(name, (result.all,), operands, modifiers)
        return result.parts()
    b.moved((0,) * result.width, result)
    with emit.where(mask), b.touching(place.memory):
        b.say(name, (result.all,), operands, modifiers, keeps=(result.all,))
    return result.parts()

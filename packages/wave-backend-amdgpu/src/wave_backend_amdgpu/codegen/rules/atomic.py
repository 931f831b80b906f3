"""Updates of memory in one step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_backend_amdgpu.codegen.memories import Space
from wave_backend_amdgpu.codegen.pointers import pointer
from wave_backend_amdgpu.codegen.probes import probe
from wave_backend_amdgpu.codegen.rules.sync import scope_words
from wave_backend_amdgpu.codegen.types import vector
from wave_backend_amdgpu.codegen.updates import (
    Place,
    add_by_exchange,
    add_to_half,
    extreme_by_bits,
)
from wave_core.backends import lowers
from wave_core.backends.emission import Kind, Value, element, gathered, sliced
from wave_core.backends.emission.accesses import by_register, simple
from wave_core.ir import ACCESS, resolve
from wave_core.ops import atomic
from wave_core.ops.atomic import Atomic
from wave_core.symbols import total
from wave_core.types import Family

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_backend_amdgpu.codegen.emitter import Emitter
    from wave_backend_amdgpu.codegen.memories import Memory
    from wave_core.symbols import Expr

HALF = 16
"""Bits of elements of which two are a word, the least that memory updates."""

_FLOAT, _SIGNED, _UNSIGNED = Family.FLOAT, Family.INTEGER, Family.UNSIGNED

_WORDS: dict[type[Atomic], dict[Family, str]] = {
    atomic.AtomicAdd: {_FLOAT: "fadd", _SIGNED: "add", _UNSIGNED: "add"},
    atomic.AtomicMin: {_FLOAT: "fmin", _SIGNED: "min", _UNSIGNED: "umin"},
    atomic.AtomicMax: {_FLOAT: "fmax", _SIGNED: "max", _UNSIGNED: "umax"},
    atomic.AtomicAnd: {_SIGNED: "_and", _UNSIGNED: "_and"},
    atomic.AtomicOr: {_SIGNED: "_or", _UNSIGNED: "_or"},
    atomic.AtomicXor: {_SIGNED: "_xor", _UNSIGNED: "_xor"},
    atomic.AtomicXchg: dict.fromkeys((_FLOAT, _SIGNED, _UNSIGNED), "xchg"),
}
"""LLVM's names of the updates, by family of element types."""


@dataclass(frozen=True)
class _Part:
    """Registers that one instruction updates: one, or a pair of halves of a word."""

    register: int
    count: int
    offset: Expr
    mask: Expr | None


@lowers(Atomic)
def update(op: Atomic, emit: Emitter) -> None:
    """One instruction for each register, in a branch where lanes are left out."""
    memory = emit.memories[resolve(op.memory).ident]
    registers = emit.registers(op)
    item = element(memory.dtype)
    operands = [emit.value(op.value)]
    if op.expected is not None:
        operands.append(emit.value(op.expected))
    wide = [Value(emit.spread(v, registers), item, registers) for v in operands]
    names: list[str] = []
    for part in _parts(op, emit, memory, registers):
        values = [sliced(emit, value, part.register, part.count) for value in wide]
        name = _guarded(op, emit, memory, part, values)
        names += _elements(emit, name, Kind(item, part.count))
    probe(op, op.memory, emit, op.indices)
    emit.define(op, Value(gathered(emit, names, item), item, registers))


def _elements(emit: Emitter, name: str, kind: Kind) -> list[str]:
    if kind.registers == 1:
        return [name]
    make = emit.instructions
    return [make.extract(kind, name, at) for at in range(kind.registers)]


def _parts(
    op: Atomic, emit: Emitter, memory: Memory, registers: int
) -> Iterator[_Part]:
    """Pairs where the machine has them and both are one word, else single registers."""
    places = list(_places(op, emit, memory, registers))
    paired = memory.dtype.bits == HALF and _is_instruction(op, emit, memory)
    register = 0
    while register < registers:
        together = paired and _is_word(emit, places[register : register + 2])
        yield _Part(register, 1 + together, *places[register])
        register += 1 + together


def _is_word(emit: Emitter, places: list[tuple[Expr, Expr | None]]) -> bool:
    """Whether two elements under one mask lie side by side in a word."""
    if len(places) < 2:
        return False
    (first, mask), (second, other) = places
    step = second - first
    aligned = emit.facts.divisor(first) % 2 == 0
    return mask is other and aligned and step.is_constant and step.constant_value == 1


def _places(
    op: Atomic, emit: Emitter, memory: Memory, registers: int
) -> Iterator[tuple[Expr, Expr | None]]:
    """Offset and mask of each register."""
    access = emit.graph.facts.known(ACCESS, op)
    rows = zip(access.coordinates, memory.strides, strict=True)
    offset = emit.expr(total([place * stride for place, stride in rows]))
    mask = None if access.mask is None else emit.expr(access.mask)
    for known in by_register(op.indices, emit, registers):
        here = None if mask is None else simple(emit.facts, mask.subs(known))
        yield offset.subs(known), here


def _guarded(
    op: Atomic, emit: Emitter, memory: Memory, part: _Part, values: list[str]
) -> str:
    """The update where the mask holds; 0 elsewhere."""
    if part.mask is None:
        return _updated(op, emit, memory, part, values)
    kind, builder = vector(element(memory.dtype), part.count), emit.builder
    test = emit.indices.truth(part.mask)
    zero = emit.constant(0, memory.dtype, part.count)
    with builder.region() as block:
        name = _updated(op, emit, memory, part, values)
        builder.line(f"scf.yield {name} : {kind}")
    block.lines += ["} else {", f"scf.yield {zero} : {kind}"]
    result = builder.fresh()
    builder.splice(f"{result} = scf.if {test} -> ({kind}) {{", block, "}")
    return result


def _updated(
    op: Atomic, emit: Emitter, memory: Memory, part: _Part, values: list[str]
) -> str:
    """The elements before, which hold the new ones now."""
    place = _address(op, emit, memory, part)
    if isinstance(op, atomic.AtomicCas):
        new, expected = values
        return place.exchange(emit, expected, new)[0]
    family = memory.dtype.family
    word = _WORDS[type(op)][family]
    if memory.dtype.bits == HALF and part.count == 1:
        return add_to_half(emit, place, values[0])
    if family is not _FLOAT or word == "xchg" or _is_instruction(op, emit, memory):
        return place.combine(emit, word, values[0])
    if isinstance(op, atomic.AtomicAdd):
        return add_by_exchange(emit, place, values[0])
    return extreme_by_bits(emit, place, values[0], least=word == "fmin")


def _is_instruction(op: Atomic, emit: Emitter, memory: Memory) -> bool:
    """Whether the machine updates floats so.

    Memory that other devices or the host map has no sums and extremes of floats; the
    scope of the system includes it.
    """
    space = "lds" if memory.space is Space.LDS else "global"
    kind = "add" if isinstance(op, atomic.AtomicAdd) else "extreme"
    known = (space, kind, memory.dtype.name) in emit.target.float_atomics
    return known and (op.scope != "system" or memory.space is Space.LDS)


_DEVICE = "{rocdl.no_fine_grained_memory, rocdl.no_remote_memory}"
_DEVICE_FLOATS = f"{_DEVICE[:-1]}, rocdl.ignore_denormal_mode}}"
"""The memory is that of the device, where all updates are instructions."""


def _address(op: Atomic, emit: Emitter, memory: Memory, part: _Part) -> Place:
    """The elements at an offset."""
    name, kind = pointer(emit, memory, part.offset)
    notes = _DEVICE_FLOATS if memory.dtype.is_float else _DEVICE
    item = vector(element(memory.dtype), part.count)
    if op.scope == "system":
        return Place(name, kind, item, "", "")
    return Place(name, kind, item, scope_words(op.scope).strip(), notes)

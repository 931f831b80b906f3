"""Updates of memory in one step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_backend_nvgpu.codegen.types import scalar
from wave_core.backends import lowers
from wave_core.backends.emission import Value, element, gathered, sliced
from wave_core.backends.emission.accesses import by_register, simple
from wave_core.ir import ACCESS, resolve
from wave_core.ops import atomic
from wave_core.ops.atomic import Atomic
from wave_core.symbols import total
from wave_core.types import Family

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_backend_nvgpu.codegen.emitter import Emitter
    from wave_backend_nvgpu.codegen.memories import Memory
    from wave_core.symbols import Expr

_FLOAT, _SIGNED, _UNSIGNED = Family.FLOAT, Family.INTEGER, Family.UNSIGNED

WORDS: dict[type[Atomic], dict[Family, str]] = {
    atomic.AtomicAdd: {_FLOAT: "fadd", _SIGNED: "add", _UNSIGNED: "add"},
    atomic.AtomicMin: {_FLOAT: "fmin", _SIGNED: "min", _UNSIGNED: "umin"},
    atomic.AtomicMax: {_FLOAT: "fmax", _SIGNED: "max", _UNSIGNED: "umax"},
    atomic.AtomicAnd: {_SIGNED: "and", _UNSIGNED: "and"},
    atomic.AtomicOr: {_SIGNED: "or", _UNSIGNED: "or"},
    atomic.AtomicXor: {_SIGNED: "xor", _UNSIGNED: "xor"},
    atomic.AtomicXchg: dict.fromkeys((_FLOAT, _SIGNED, _UNSIGNED), "xchg"),
}
"""LLVM's names of the updates, by family of element types. What the machine has no
instruction for, LLVM makes of exchanges that compare."""

SCOPES = {"workgroup": 'syncscope("block") ', "device": 'syncscope("device") '}
"""LLVM's names of those who see an update as one step; its own is the system's."""


@dataclass(frozen=True)
class _Place:
    """The element that one register updates.

    Attributes:
        register: The register.
        offset: The element of the memory.
        mask: Where it is updated; ``None`` is everywhere.
    """

    register: int
    offset: Expr
    mask: Expr | None


@lowers(Atomic)
def update(op: Atomic, emit: Emitter) -> None:
    """One instruction for each register, in a branch where lanes are left out."""
    memory = emit.memories[resolve(op.memory).ident]
    registers, item = emit.registers(op), element(memory.dtype)
    operands = [emit.value(op.value)]
    if op.expected is not None:
        operands.append(emit.value(op.expected))
    wide = [Value(emit.spread(v, registers), item, registers) for v in operands]
    names: list[str] = []
    for place in _places(op, emit, memory, registers):
        values = [sliced(emit, v, place.register, 1) for v in wide]
        names.append(_guarded(op, emit, memory, place, values))
    emit.set(op, gathered(emit, names, item), registers)


def _places(
    op: Atomic, emit: Emitter, memory: Memory, registers: int
) -> Iterator[_Place]:
    """Offset and mask of each register."""
    access = emit.graph.facts.known(ACCESS, op)
    rows = zip(access.coordinates, memory.strides, strict=True)
    offset = emit.expr(total([place * stride for place, stride in rows]))
    mask = None if access.mask is None else emit.expr(access.mask)
    for register, known in enumerate(by_register(op.indices, emit, registers)):
        here = None if mask is None else simple(emit.facts, mask.subs(known))
        yield _Place(register, offset.subs(known), here)


def _guarded(
    op: Atomic, emit: Emitter, memory: Memory, place: _Place, values: list[str]
) -> str:
    """The update where the mask holds; 0 elsewhere."""
    if place.mask is None:
        return _updated(op, emit, memory, place, values)
    test = emit.indices.truth(place.mask)
    zero = emit.constant(0, memory.dtype)
    with emit.builder.region() as block:
        name = _updated(op, emit, memory, place, values)
    kind = scalar(element(memory.dtype))
    (found,) = emit.builder.branch(test, block, [(kind, name, zero)])
    return found


def _updated(
    op: Atomic, emit: Emitter, memory: Memory, place: _Place, values: list[str]
) -> str:
    """The element before, which holds the new one now."""
    at = f"{memory.space.pointer} {emit.address(memory, place.offset)}"
    kind = scalar(element(memory.dtype))
    scope, aligned = SCOPES.get(op.scope, ""), f"align {memory.dtype.bytes}"
    if isinstance(op, atomic.AtomicCas):
        new, expected = values
        pair = emit.builder.op(
            f"cmpxchg {at}, {kind} {expected}, {kind} {new} "
            f"{scope}monotonic monotonic, {aligned}"
        )
        return emit.builder.op(f"extractvalue {{{kind}, i1}} {pair}, 0")
    word = WORDS[type(op)][memory.dtype.family]
    return emit.builder.op(
        f"atomicrmw {word} {at}, {kind} {values[0]} {scope}monotonic, {aligned}"
    )

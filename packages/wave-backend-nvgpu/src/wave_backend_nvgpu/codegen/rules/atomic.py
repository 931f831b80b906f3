"""Updates of memory in one step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

from wave_backend_nvgpu.codegen.memories import Space
from wave_backend_nvgpu.codegen.types import scalar
from wave_core.backends import lowers
from wave_core.backends.emission import Kind, Value, element, gathered, sliced
from wave_core.backends.emission.accesses import by_register, simple
from wave_core.ir import ACCESS, resolve
from wave_core.ops import atomic
from wave_core.ops.atomic import Atomic
from wave_core.symbols import total
from wave_core.types import DTYPES, Family

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

_SCOPE_NAMES = {"workgroup": "cta", "device": "gpu", "system": "sys"}
"""PTX's names of the same."""


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
    item = element(memory.dtype)
    cell = _Cell(
        f"{memory.space.pointer} {emit.address(memory, place.offset)}",
        item,
        op.scope,
        instruction=_has_instruction(op, emit, memory),
        is_added=_is_added(emit, memory),
        space="global" if memory.space is Space.GLOBAL else "shared",
    )
    if isinstance(op, atomic.AtomicCas):
        new, expected = values
        return _exchanged(emit, cell, expected, new)
    word = WORDS[type(op)][memory.dtype.family]
    if word in _EXTREMES:
        return _extreme(emit, cell, word, values[0])
    return _combined(emit, cell, word, values[0])


@dataclass(frozen=True)
class _Cell:
    """One element of a memory.

    Attributes:
        address: Its pointer, with the type.
        item: What it is.
        scope: Who sees updates as one step.
        instruction: Whether LLVM has no form for that scope, but the machine has.
        is_added: Whether the machine adds such floats there in one step.
        space: Where it is, as PTX calls it.
    """

    address: str
    item: str
    scope: str
    instruction: bool
    is_added: bool
    space: str

    @property
    def bits(self) -> int:
        """Its width."""
        return int("".join(filter(str.isdigit, self.item)))

    @property
    def order(self) -> str:
        """The clauses at the end of an update."""
        return f"{SCOPES.get(self.scope, '')}monotonic"


def _has_instruction(op: Atomic, emit: Emitter, memory: Memory) -> bool:
    """Whether an update for the whole system is an instruction.

    LLVM's updates of global memory are those of the device; those that compare say it.
    """
    if op.scope != "system" or memory.space is not Space.GLOBAL:
        return False
    known = _is_added(emit, memory)
    return known or not memory.dtype.is_float or not isinstance(op, atomic.AtomicAdd)


def _is_added(emit: Emitter, memory: Memory) -> bool:
    place = "global" if memory.space is Space.GLOBAL else "lds"
    return (place, "add", memory.dtype.name) in emit.target.float_atomics


def _combined(emit: Emitter, cell: _Cell, word: str, value: str) -> str:
    """The element before an update by a word of LLVM's."""
    if cell.instruction:
        return _by_name(emit, cell, word, value)
    if word == "fadd" and not cell.is_added:
        return _retried(emit, cell, value)
    return emit.builder.op(
        f"atomicrmw {word} {cell.address}, {scalar(cell.item)} {value} {cell.order}, "
        f"align {cell.bits // 8}"
    )


def _exchanged(emit: Emitter, cell: _Cell, expected: str, new: str) -> str:
    """The element before; it is ``new`` now where it was ``expected``."""
    kind = scalar(cell.item)
    pair = emit.builder.op(
        f"cmpxchg {cell.address}, {kind} {expected}, {kind} {new} "
        f"{cell.order} monotonic, align {cell.bits // 8}"
    )
    return emit.builder.op(f"extractvalue {{{kind}, i1}} {pair}, 0")


def _retried(emit: Emitter, cell: _Cell, value: str) -> str:
    """The element before a sum that is put there while nobody else changes it.

    LLVM would read a word by a plain load first, which nothing orders against the
    updates of others and of neighbours, where it adds and where it compares.
    """
    builder, kind, bits = emit.builder, scalar(cell.item), f"i{cell.bits}"
    first = builder.op(
        f"load atomic {bits}, {cell.address} {cell.order}, align {cell.bits // 8}"
    )
    before, old = builder.blocks[-1].label, builder.fresh()
    with builder.region() as block:
        now = builder.op(f"bitcast {bits} {old} to {kind}")
        new = builder.op(f"fadd {kind} {now}, {value}")
        new = builder.op(f"bitcast {kind} {new} to {bits}")
        seen = _compared(emit, cell, old, new)
        done = builder.op(f"icmp eq {bits} {seen}, {old}")
    head, end = builder.label(), builder.label()
    builder.splice(
        f"br label %{head}",
        f"{head}:",
        f"{old} = phi {bits} [ {first}, %{before} ], [ {seen}, %{block.label} ]",
        f"br label %{block.entry}",
        block,
        f"br i1 {done}, label %{end}, label %{head}",
        f"{end}:",
    )
    return builder.op(f"bitcast {bits} {seen} to {kind}")


def _compared(emit: Emitter, cell: _Cell, old: str, new: str) -> str:
    """The bits before; they are ``new`` now where they were ``old``."""
    bits, letter = f"i{cell.bits}", _LETTERS[cell.bits]
    scope = _SCOPE_NAMES[cell.scope]
    text = f"atom.relaxed.{scope}.{cell.space}.cas.b{cell.bits} $0, [$1], $2, $3;"
    rules = (f"={letter}", "l", letter, letter)
    given = (cell.address, f"{bits} {old}", f"{bits} {new}")
    return emit.builder.assembly(text, rules, given, bits)


_FORMS = {
    "fadd": {"f64": "add.f64", "f32": "add.f32", "f16": "add.noftz.f16"}
    | {"bf16": "add.noftz.bf16"},
    "add": {"i32": "add.u32", "i64": "add.u64"},
    **{f: {f"i{n}": f"{f}.s{n}" for n in (32, 64)} for f in ("min", "max")},
    **{f"u{f}": {f"i{n}": f"{f}.u{n}" for n in (32, 64)} for f in ("min", "max")},
    **{f: {f"i{n}": f"{f}.b{n}" for n in (32, 64)} for f in ("and", "or", "xor")},
    "xchg": {f"{k}{n}": f"exch.b{n}" for k in "if" for n in (32, 64)},
}
"""By LLVM's word and the element: the instruction. Source: PTX ISA, atom."""

_LETTERS = {16: "h", 32: "r", 64: "l"}
"""By width: what inline assembly calls registers. Source: PTX inline assembly guide."""


def _by_name(emit: Emitter, cell: _Cell, word: str, value: str) -> str:
    """The instruction in assembly, whose scope is the system."""
    bits, letter = Kind(f"i{cell.bits}"), _LETTERS[cell.bits]
    given = emit.instructions.recast(Kind(cell.item), bits, value)
    text = f"atom.relaxed.sys.global.{_FORMS[word][cell.item]} $0, [$1], $2;"
    operands = (cell.address, f"{bits.item} {given}")
    rules = (f"={letter}", "l", letter)
    name = emit.builder.assembly(text, rules, operands, bits.item)
    return emit.instructions.recast(bits, Kind(cell.item), name)


_EXTREMES = {"fmin": ("min", "umax"), "fmax": ("max", "umin")}
"""Words for floats, and those for integers, by the sign of the register's element."""


def _extreme(emit: Emitter, cell: _Cell, word: str, value: str) -> str:
    """The smaller or larger float, as integers; what was there before.

    Floats without a sign are ordered like their bits, those with one the other way
    round, as numbers without sign. So the sign of the register's element decides
    which extreme of integers finds that of the floats, whatever the memory holds. A
    NaN becomes the number that changes nothing. LLVM would read the element first, and
    nothing orders that against the updates of others.
    """
    make, kind, bits = emit.instructions, Kind(cell.item), Kind(f"i{cell.bits}")
    most = emit.constant(inf if word == "fmin" else -inf, DTYPES[cell.item])
    is_number = make.compare("oeq", kind, value, value)
    name = make.recast(kind, bits, make.select(is_number, kind, value, most))
    zero = emit.constant(0, DTYPES[bits.item])
    words = replace(cell, item=bits.item)
    result = zero
    tests = (make.compare(p, bits, name, zero) for p in ("sge", "slt"))
    for test, integer_word in zip(tests, _EXTREMES[word], strict=True):
        with emit.builder.region() as block:
            old = _combined(emit, words, integer_word, name)
        row = (bits.item, old, result)
        (result,) = emit.builder.branch(test, block, [row])
    return make.recast(bits, kind, result)

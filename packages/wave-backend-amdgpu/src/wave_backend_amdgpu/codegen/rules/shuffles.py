"""Moves between lanes, and butterflies that need no selection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_amdgpu.codegen.types import vector
from wave_core.backends import lowers
from wave_core.backends.emission import Value, gathered, sliced
from wave_core.backends.emission.operands import Operands
from wave_core.backends.emission.rules.arithmetic import word_of
from wave_core.constraints.machine import LANE
from wave_core.ir import resolve
from wave_core.ops.arithmetic import Add, Maximum, Minimum
from wave_core.ops.reduce import Shuffle
from wave_core.symbols import ge, select

if TYPE_CHECKING:
    from wave_backend_amdgpu.codegen.emitter import Emitter
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr

WORD = 32
"""Bits that a lane gives to another in one shuffle."""


@lowers(Shuffle)
def shuffle(op: Shuffle, emit: Emitter) -> None:
    """Word by word: elements are packed into 32 bits, or cut into them."""
    value = emit.value(op.value)
    words = _words(emit, value)
    moved = [_moved(op, emit, word) for word in words]
    emit.define(op, _elements(emit, moved, value))


def _moved(op: Shuffle, emit: Emitter, word: str) -> str:
    builder, wave = emit.builder, emit.geometry.lanes
    width = min(op.width, wave)
    if op.offset >= width:
        return word
    mode, partner = op.mode, _partner(op, width)
    distance = builder.constant(str(op.offset), "i32")
    if partner is not None:
        mode, width = "idx", wave
        distance = emit.indices.number(partner, 32)
    groups, name = builder.constant(str(width), "i32"), builder.fresh()
    builder.line(
        f"{name}, {builder.fresh()} = gpu.shuffle {mode} {word}, {distance}, "
        f"{groups} : i32"
    )
    return name


def _is_step(op: Op) -> bool:
    """Whether an op joins what a lane has and what its partner has.

    It is the same whichever of both comes first.
    """
    own, other = map(resolve, op.operands)
    return isinstance(other, Shuffle) and resolve(other.value) is own


@lowers(Add, Maximum, Minimum, when=_is_step, benefit=2)
def butterfly(op: Add | Maximum | Minimum, emit: Emitter) -> None:
    """A step of a butterfly, where its operands come without a selection."""
    work, moved = Operands(op, emit), resolve(op.rhs)
    assert isinstance(moved, Shuffle), "a step of a butterfly"
    alike = work.dtype == work.source
    sides = _both_sides(moved, emit) if alike else None
    work.finish(work.apply(word_of(op, work.dtype), *(sides or work.names)))


def _both_sides(op: Shuffle, emit: Emitter) -> tuple[str, str] | None:
    """What the two partners of a butterfly hold, the same in both of them.

    Nothing where the machine has no instruction that gives both.
    """
    if op.mode != "xor" or op.offset not in emit.target.lane_swaps:
        return None
    builder, value = emit.builder, emit.value(op.value)
    swap = f"rocdl.permlane{op.offset}.swap"
    pairs = [
        builder.op(f"{swap} {word}, {word}, false, false : (i32, i32) -> <(i32, i32)>")
        for word in _words(emit, value)
    ]
    pair = "!llvm.struct<(i32, i32)>"
    one, other = (
        [builder.op(f"llvm.extractvalue {name}[{side}] : {pair}") for name in pairs]
        for side in (0, 1)
    )
    return _elements(emit, one, value).name, _elements(emit, other, value).name


def _partner(op: Shuffle, width: int) -> Expr | None:
    """Where `gpu.shuffle` leaves the group: which lane of the wave a lane reads.

    On AMD GPUs its ``idx`` counts in the wave, and ``up`` does not see where a group
    begins.
    """
    place = LANE % width
    if op.mode == "up":
        return select(ge(place, op.offset), LANE - op.offset, LANE)
    return LANE - place + op.offset if op.mode == "idx" else None


def _bits(value: Value) -> int:
    return int("".join(filter(str.isdigit, value.item.split("E")[0])))


def _words(emit: Emitter, value: Value) -> list[str]:
    """The value as 32-bit integers, the last one filled up with zeros."""
    builder, bits = emit.builder, _bits(value)
    name, kind = value.name, vector(*value.kind)
    if bits == 1:
        kind = vector("i8", value.registers)
        name, bits = (
            builder.op(f"arith.extui {name} : {vector(*value.kind)} to {kind}"),
            8,
        )
    whole = vector(f"i{bits}", value.registers)
    if kind != whole:
        cast = "vector.bitcast" if value.registers > 1 else "arith.bitcast"
        name = builder.op(f"{cast} {name} : {kind} to {whole}")
    total = bits * value.registers
    if total < WORD or total % WORD:
        return [
            _widened(emit, Value(name, f"i{bits}", value.registers), register)
            for register in range(value.registers)
        ]
    if total == WORD and value.registers == 1:
        return [name]
    if value.registers == 1:
        name = builder.op(f"vector.broadcast {name} : {whole} to vector<1x{whole}>")
        whole = f"vector<1x{whole}>"
    count = total // WORD
    packed = f"vector<{count}xi32>"
    if packed != whole:
        name = builder.op(f"vector.bitcast {name} : {whole} to {packed}")
    return [
        builder.op(f"vector.extract {name}[{i}] : i32 from {packed}")
        for i in range(count)
    ]


def _widened(emit: Emitter, value: Value, register: int) -> str:
    name = sliced(emit, value, register, 1)
    return emit.builder.op(f"arith.extui {name} : {value.item} to i32")


def _elements(emit: Emitter, words: list[str], like: Value) -> Value:
    """The value that `_words` took apart."""
    builder, bits = emit.builder, _bits(like)
    truth, bits = bits == 1, max(bits, 8)
    whole, total = vector(f"i{bits}", like.registers), bits * like.registers
    if total < WORD or total % WORD:
        items = [builder.op(f"arith.trunci {word} : i32 to i{bits}") for word in words]
        name = gathered(emit, items, f"i{bits}")
    elif total == WORD and like.registers == 1:
        name = words[0]
    else:
        name = _unpacked(emit, words, bits, like.registers)
    if truth:
        return Value(
            builder.op(f"arith.trunci {name} : {whole} to {vector(*like.kind)}"),
            like.item,
            like.registers,
        )
    if whole != vector(*like.kind):
        cast = "vector.bitcast" if like.registers > 1 else "arith.bitcast"
        name = builder.op(f"{cast} {name} : {whole} to {vector(*like.kind)}")
    return Value(name, like.item, like.registers)


def _unpacked(emit: Emitter, words: list[str], bits: int, registers: int) -> str:
    builder = emit.builder
    packed = f"vector<{len(words)}xi32>"
    name = builder.op(f"vector.from_elements {', '.join(words)} : {packed}")
    whole = f"vector<{registers}xi{bits}>"
    if packed != whole:
        name = builder.op(f"vector.bitcast {name} : {packed} to {whole}")
    if registers == 1:
        name = builder.op(f"vector.extract {name}[0] : i{bits} from {whole}")
    return name

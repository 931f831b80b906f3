"""Moves of values between lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_nvgpu.codegen.types import scalar, typed
from wave_core.backends import lowers
from wave_core.ops.reduce import Shuffle

if TYPE_CHECKING:
    from wave_backend_nvgpu.codegen.emitter import Emitter
    from wave_core.backends.emission.values import Value

WORD = 32
"""Bits that a lane gives to another in one shuffle."""

MODES = {"xor": "bfly", "up": "up", "down": "down", "idx": "idx"}

_BITS = {"double": 64, "float": 32, "half": 16, "bfloat": 16}


@lowers(Shuffle)
def shuffle(op: Shuffle, emit: Emitter) -> None:
    """Word by word: the bits of a lane are packed into words of 32."""
    value = emit.value(op.value)
    width = min(op.width, emit.geometry.in_reach)
    if op.offset >= width:
        emit.define(op, value)
        return
    group = segments(op.mode, width)
    moved = [
        emit.builder.call(
            f"llvm.nvvm.shfl.sync.{MODES[op.mode]}.i32",
            "i32",
            [("i32", n) for n in (emit.lanes, word, str(op.offset), str(group))],
        )
        for word in words(emit, value)
    ]
    emit.define(op, from_words(emit, moved, value))


def segments(mode: str, width: int) -> int:
    """The last operand of a shuffle in groups of ``width`` lanes.

    Source: PTX ISA, shfl.sync: bits 8 to 12 are those of the lane that stay, the low
    ones the bound that no partner passes, in a group.
    """
    bound = 0 if mode == "up" else WORD - 1
    return (WORD - width) << 8 | bound


def words(emit: Emitter, value: Value) -> list[str]:
    """The bits of a value as 32-bit integers, the last one filled up with zeros."""
    builder, total = emit.builder, _total(value)
    count = -(-total // WORD)
    name = _cast(emit, "bitcast", value.name, typed(value.kind), f"i{total}")
    name = _cast(emit, "zext", name, f"i{total}", f"i{count * WORD}")
    if count == 1:
        return [name]
    kind = f"<{count} x i{WORD}>"
    name = _cast(emit, "bitcast", name, f"i{count * WORD}", kind)
    return [
        builder.op(f"extractelement {kind} {name}, i64 {at}") for at in range(count)
    ]


def from_words(emit: Emitter, names: list[str], like: Value) -> Value:
    """The value that `words` took apart."""
    total, count = _total(like), len(names)
    name = names[0]
    if count > 1:
        kind = f"<{count} x i{WORD}>"
        name = "poison"
        for at, word in enumerate(names):
            text = f"insertelement {kind} {name}, i{WORD} {word}, i64 {at}"
            name = emit.builder.op(text)
        name = _cast(emit, "bitcast", name, kind, f"i{count * WORD}")
    name = _cast(emit, "trunc", name, f"i{count * WORD}", f"i{total}")
    name = _cast(emit, "bitcast", name, f"i{total}", typed(like.kind))
    return type(like)(name, like.item, like.registers)


def _total(value: Value) -> int:
    """The bits of all elements of a lane."""
    one = scalar(value.item)
    return (_BITS.get(one) or int(one[1:])) * value.registers


def _cast(emit: Emitter, word: str, name: str, source: str, wanted: str) -> str:
    if source == wanted:
        return name
    return emit.builder.op(f"{word} {source} {name} to {wanted}")

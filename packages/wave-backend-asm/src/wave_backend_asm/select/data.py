"""What a name stands for: elements, packed into words of 32 bits."""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from wave_backend_asm.machine.operands import is_scalar
from wave_core.backends.emission.floats import code_of
from wave_core.backends.emission.small import FORMATS

if TYPE_CHECKING:
    from wave_backend_asm.machine.operands import Operand
    from wave_core.backends.emission import Kind
    from wave_core.types import DType

WORD = 32

_BITS = re.compile(r"[a-z]+(\d+)")


@cache
def bits_of_item(item: str) -> int:
    """Bits of one element: of ``bf16`` 16, of ``f8E4M3FN`` 8."""
    found = _BITS.match(item)
    assert found is not None, "items name their bits"
    return int(found[1])


@dataclass(frozen=True)
class Datum:
    """The value of a name.

    Attributes:
        kind: what elements there are, and how many.
        words: the elements, the first one in the lowest bits; bits that no element
            fills say nothing. Truth values have one operand each: 0, 1, or a pair of
            scalars with a bit for each lane.
    """

    kind: Kind
    words: tuple[Operand, ...]

    @property
    def bits(self) -> int:
        """Bits of an element."""
        return bits_of_item(self.kind.item)

    @property
    def per_word(self) -> int:
        """Elements of a word; 1 where an element takes several."""
        return max(1, WORD // self.bits)

    @property
    def is_uniform(self) -> bool:
        """Whether no register of a lane is in it."""
        return all(map(is_scalar, self.words))


def words_of(bits: int, count: int) -> int:
    """Words that so many elements of so many bits fill."""
    return -(-bits * count // WORD)


def repeated(number: int, bits: int, count: int) -> tuple[int, ...]:
    """Words of a number in every element."""
    if bits > WORD:
        return (number & 0xFFFFFFFF, number >> WORD & 0xFFFFFFFF) * count
    number &= (1 << bits) - 1
    word = sum(number << at for at in range(0, min(WORD, bits * count), bits))
    return (word,) * words_of(bits, count)


_FLOATS = {"f64": ("<d", "<Q"), "f32": ("<f", "<I"), "f16": ("<e", "<H")}


def number_bits(value: float, dtype: DType) -> int | None:
    """The bits of a number; ``None`` for a power of two as such a type."""
    if not dtype.is_float:
        return int(value)
    if dtype.name == "bf16":
        return _upper_half(value)
    if dtype.name in FORMATS:
        return code_of(value, dtype)
    if dtype.name not in _FLOATS:
        return 0 if value == 0 else None
    made, read = _FLOATS[dtype.name]
    try:
        return int(struct.unpack(read, struct.pack(made, value))[0])
    except OverflowError:
        return number_bits(float("inf") if value > 0 else float("-inf"), dtype)


def _upper_half(value: float) -> int:
    """The bits of a bf16, to nearest, ties to even."""
    bits = int(struct.unpack("<I", struct.pack("<f", value))[0])
    if math.isnan(value):
        return bits >> 16
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16

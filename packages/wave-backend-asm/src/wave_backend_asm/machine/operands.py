"""What an instruction names: registers that are not chosen yet, numbers, words."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from wave_backend_asm.code import UNNAMED, Part, Value, whole
from wave_isa_amdgcn.registers import (
    ACCUMULATOR,
    EXEC_BITS,
    M0_BIT,
    SCALAR,
    VCC_BITS,
)

if TYPE_CHECKING:
    from wave_backend_asm.allocate.files import Place

Operand: TypeAlias = Part | int | str
"""Registers, 32 bits, or a word of the assembler: ``exec``, ``off``."""

Places: TypeAlias = "Mapping[Value, Place]"

SCALARS, VECTORS, ACCUMULATORS = ("s",), ("v",), ("v", "a")
"""Files: those of a wave, those of lanes, and what products add to."""

_FIRST_BITS = {"v": 0, "a": ACCUMULATOR, "s": SCALAR}

_WORDS = {"exec": EXEC_BITS, "vcc": VCC_BITS, "m0": M0_BIT}

_INLINE_FLOATS = frozenset(
    struct.unpack("<I", struct.pack("<f", sign * value))[0]
    for value in (0.5, 1.0, 2.0, 4.0)
    for sign in (1, -1)
)
"""Source: CDNA3 ISA, "Scalar operands", 240 to 247."""


@dataclass(eq=False, slots=True)
class Virtual:
    """Consecutive registers without numbers: a `Value` of the allocator.

    Attributes:
        width: registers.
        files: where it may live.
        name: for messages.
    """

    width: int = 1
    files: tuple[str, ...] = VECTORS
    name: str = ""

    @property
    def align(self) -> int:
        """Tuples of lanes begin at even numbers, those of a wave at fours.

        Source: CDNA3 ISA, "VGPR alignment" and "SGPR alignment".
        """
        if self.width == 1:
            return 1
        return 4 if self.files == SCALARS and self.width > 2 else 2

    def __str__(self) -> str:
        return self.name or UNNAMED

    def parts(self) -> tuple[Part, ...]:
        """Its registers, one by one."""
        return tuple(Part(self, number, 1) for number in range(self.width))

    @property
    def all(self) -> Part:
        """All of its registers."""
        return whole(self)


def is_scalar(operand: Operand) -> bool:
    """Whether it is the same in all lanes of a wave."""
    return not isinstance(operand, Part) or operand.value.files == SCALARS


def is_inline(operand: Operand) -> bool:
    """Whether an operand is a number that takes no word of its own in the code."""
    if not isinstance(operand, int):
        return False
    return -16 <= signed(operand) <= 64 or operand & 0xFFFFFFFF in _INLINE_FLOATS


def is_literal(operand: Operand) -> bool:
    """Whether it is a number that takes one."""
    return isinstance(operand, int) and not is_inline(operand)


def signed(number: int) -> int:
    """32 bits as a number with a sign."""
    number &= 0xFFFFFFFF
    return number - (1 << 32) if number >> 31 else number


def bits_of(operand: Operand, places: Places) -> int:
    """The registers of an operand, as `wave_isa_amdgcn.registers` counts them."""
    if isinstance(operand, str):
        return _WORDS.get(operand, 0)
    if isinstance(operand, int):
        return 0
    place = places[operand.value]
    first = _FIRST_BITS[place.file] + place.first + operand.first
    return ((1 << operand.width) - 1) << first


def text_of(operand: Operand, places: Places) -> str:
    """An operand as the assembler reads it."""
    if isinstance(operand, str):
        return operand
    if isinstance(operand, int):
        small = signed(operand)
        return str(small) if -16 <= small <= 64 else hex(operand & 0xFFFFFFFF)
    place = places[operand.value]
    first = place.first + operand.first
    if operand.width == 1:
        return f"{place.file}{first}"
    return f"{place.file}[{first}:{first + operand.width - 1}]"

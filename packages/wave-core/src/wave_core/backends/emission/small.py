"""Floats of a byte and less, and powers of two: taken from bits and made of them.

No instruction of all chips converts them, so registers of 32 bits do, one for each
element.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.backends.emission.instructions import Kind
from wave_core.backends.emission.values import (
    Value,
    element,
    gathered,
    recast,
    sliced,
)
from wave_core.types import DTYPES

if TYPE_CHECKING:
    from wave_core.backends.emission.emitter import Emission
    from wave_core.types import DType

WORD = 32
"""Bits of a register."""

F32, I32 = DTYPES["f32"], DTYPES["i32"]
_MANTISSA, _BIAS = 23, 127
"""Of f32."""


@dataclass(frozen=True, slots=True)
class Format:
    """How the bits of an element stand for a number.

    Attributes:
        mantissa: Its bits.
        bias: The exponent of one.
        greatest: The code of the greatest number.
        above: What is too large becomes this code; infinity, where there is one.
        nan: A code of NaN; where there is none, what NaN becomes.
        signs_zero: Whether zero has a sign; else its code is the one of NaN.
    """

    mantissa: int
    bias: int
    greatest: int
    above: int
    nan: int
    signs_zero: bool = True

    @property
    def step(self) -> float:
        """The distance of numbers around 0."""
        return 2.0 ** (1 - self.bias - self.mantissa)


FORMATS = {
    "f4e2m1fn": Format(1, 1, 0x07, 0x07, 0x07),
    "f6e2m3fn": Format(3, 1, 0x1F, 0x1F, 0x1F),
    "f6e3m2fn": Format(2, 3, 0x1F, 0x1F, 0x1F),
    "f8e5m2": Format(2, 15, 0x7B, 0x7C, 0x7E),
    "f8e4m3fn": Format(3, 7, 0x7E, 0x7F, 0x7F),
    "f8e5m2fnuz": Format(2, 16, 0x7F, 0x80, 0x80, signs_zero=False),
    "f8e4m3fnuz": Format(3, 8, 0x7F, 0x80, 0x80, signs_zero=False),
}
"""Source: OCP microscaling formats specification 1.0, section 5.3; OCP 8-bit floating
point specification 1.0, section 5; the last two: Noune et al., 8-bit numerical formats
for deep neural networks (2022)."""

_INFINITY, _NAN = 0x7F800000, 0x7FC00000
"""Bits of f32."""

SCALE = "f8e8m0fnu"


def is_small(emit: Emission, dtype: DType) -> bool:
    """Whether elements go through registers of 32 bits here."""
    if dtype.is_packed or dtype.name == SCALE:
        return True
    return dtype.name in FORMATS and not emit.converts(dtype)


class _Words:
    """Integer arithmetic on 32 bits for each element of a lane."""

    def __init__(self, emit: Emission, registers: int) -> None:
        self.emit = emit
        self.make = emit.instructions
        self.registers = registers
        self.kind = Kind("i32", registers)
        self._floats = Kind("f32", registers)

    def number(self, value: int) -> str:
        """A number in every element."""
        return self.emit.constant(value, I32, self.registers)

    def apply(self, word: str, name: str, other: str | int) -> str:
        """One operation; the other operand may be a number."""
        other = self.number(other) if isinstance(other, int) else other
        return self.make.apply(word, self.kind, name, other)

    def cut(self, name: str, item: str) -> str:
        """The low bits as narrower integers."""
        return self.make.convert("trunci", self.kind, item, name)

    def where(self, test: str, name: str, other: int, yes: str, no: str) -> str:
        """``yes`` where an unsigned comparison with a number holds."""
        condition = self.make.compare(test, self.kind, name, self.number(other))
        return self.make.select(condition, self.kind, yes, no)

    def of_float(self, name: str) -> str:
        """The bits of an f32."""
        return self.make.convert("bitcast", self._floats, "i32", name)

    def as_float(self, name: str) -> str:
        """The f32 with these bits."""
        return self.make.convert("bitcast", self.kind, "f32", name)

    def scaled(self, name: str, factor: float) -> str:
        """The bits of the f32 that is a number of steps."""
        name = self.make.convert("uitofp", self.kind, "f32", name)
        step = self.emit.constant(factor, F32, self.registers)
        return self.of_float(self.make.apply("mulf", self._floats, name, step))

    def times(self, name: str, power: int) -> str:
        """The bits of the f32 with some bits, times a power of two."""
        factor = self.emit.constant(2.0**power, F32, self.registers)
        name = self.as_float(name)
        return self.of_float(self.make.apply("mulf", self._floats, name, factor))

    def plus(self, name: str, number: float) -> str:
        """The bits of the sum of f32s, rounded to nearest even."""
        other = self.emit.constant(number, F32, self.registers)
        return self.of_float(self.make.apply("addf", self._floats, name, other))


def whole(emit: Emission, name: str, dtype: DType, registers: int) -> tuple[str, DType]:
    """Small elements as f32 or i32, which hold all their numbers; and which it is."""
    words = _Words(emit, registers)
    code = _codes(emit, Value(name, element(dtype), registers), dtype.bits)
    if dtype.is_integer:
        rest = WORD - dtype.bits
        return words.apply("shrsi", words.apply("shli", code, rest), rest), I32
    made = _power_bits if dtype.name == SCALE else _float_bits
    return words.as_float(made(words, code, dtype)), F32


def small(emit: Emission, name: str, dtype: DType, registers: int) -> str:
    """An f32 rounded to nearest even; or an i32 that wraps."""
    words = _Words(emit, registers)
    if dtype.is_integer:
        code = words.apply("andi", name, (1 << dtype.bits) - 1)
    else:
        made = _power_code if dtype.name == SCALE else _float_code
        code = made(words, name, dtype)
    return _joined(emit, code, dtype, registers)


def _float_bits(words: _Words, code: str, dtype: DType) -> str:
    row, sign_bit = FORMATS[dtype.name], 1 << (dtype.bits - 1)
    size = words.apply("andi", code, sign_bit - 1)
    exponents = (_BIAS - row.bias) << _MANTISSA
    shifted = words.apply("shli", size, _MANTISSA - row.mantissa)
    if words.emit.keeps_denormals:
        # As an f32 it has the bias of f32: numbers around 0 are such ones there, too.
        bits = words.times(shifted, _BIAS - row.bias)
    else:
        bits = words.where(
            *("ult", size, 1 << row.mantissa),
            words.scaled(words.apply("andi", size, (1 << row.mantissa) - 1), row.step),
            words.apply("addi", shifted, exponents),
        )
    bits = _with_specials(words, bits, size, row)
    sign = words.apply("shrui", code, dtype.bits - 1)
    bits = words.apply("ori", bits, words.apply("shli", sign, WORD - 1))
    if row.signs_zero:
        return bits
    return words.where("eq", code, row.nan, words.number(_NAN), bits)


def _with_specials(words: _Words, bits: str, size: str, row: Format) -> str:
    """The bits with NaN and infinity where codes stand for these."""
    if not row.signs_zero or row.nan == row.greatest:
        return bits
    bits = words.where("ugt", size, row.greatest, words.number(_NAN), bits)
    if row.above == row.nan:
        return bits
    return words.where("eq", size, row.above, words.number(_INFINITY), bits)


def _float_code(words: _Words, name: str, dtype: DType) -> str:
    """Rounded as integers, or around 0 by an addition that keeps whole steps.

    NaN and infinities have bits above all numbers.
    """
    row = FORMATS[dtype.name]
    bits = words.of_float(name)
    size, dropped = words.apply("andi", bits, 2**31 - 1), _MANTISSA - row.mantissa
    odd = words.apply("andi", words.apply("shrui", size, dropped), 1)
    half = words.apply("addi", size, (1 << (dropped - 1)) - 1)
    rounded = words.apply("shrui", words.apply("addi", half, odd), dropped)
    above = words.apply("subi", rounded, (_BIAS - row.bias) << row.mantissa)
    magic = row.step * 2.0**_MANTISSA
    exponent = _BIAS + 1 - row.bias - row.mantissa + _MANTISSA
    steps = words.apply(
        "subi", words.plus(words.as_float(size), magic), exponent << _MANTISSA
    )
    first = (_BIAS + 1 - row.bias) << _MANTISSA
    code = words.where("ult", size, first, steps, above)
    code = _limited(words, code, size, row)
    sign = words.apply("shrui", bits, WORD - 1)
    signed = words.apply("ori", code, words.apply("shli", sign, dtype.bits - 1))
    if row.signs_zero:
        return signed
    return words.where("eq", code, 0, code, signed)


def _limited(words: _Words, code: str, size: str, row: Format) -> str:
    """The code, or that of what is too large, or that of NaN."""
    if row.nan == row.greatest:
        return words.apply("minui", code, row.greatest)
    code = words.where("ugt", code, row.greatest, words.number(row.above), code)
    return words.where("ugt", size, _INFINITY, words.number(row.nan), code)


def _power_bits(words: _Words, code: str, _dtype: DType) -> str:
    bits = words.apply("shli", code, _MANTISSA)
    least, nan = words.number(1 << (_MANTISSA - 1)), words.number(_NAN)
    bits = words.where("ult", code, 1, least, bits)
    return words.where("ugt", code, 254, nan, bits)


def _power_code(words: _Words, name: str, _dtype: DType) -> str:
    """The exponent, one more from a half on; the sign does not count."""
    size = words.apply("andi", words.of_float(name), 2**31 - 1)
    odd = words.apply("minui", words.apply("shrui", size, _MANTISSA), 1)
    half = words.apply("addi", size, (1 << (_MANTISSA - 1)) - 1)
    code = words.apply("shrui", words.apply("addi", half, odd), _MANTISSA)
    return words.apply("minui", code, 255)


def _unit(bits: int) -> int:
    """The widest integers that so many bits are cut into; 0 where there are none."""
    return next((unit for unit in (WORD, 16, 8) if bits % unit == 0), 0)


def _codes(emit: Emission, value: Value, bits: int) -> str:
    """The bits of each element in an i32 of its own."""
    make, count = emit.instructions, value.registers
    unit = _unit(bits * count)
    if not unit:
        parts = [
            recast(emit, Value(sliced(emit, value, i, 1), value.item, 1), f"i{bits}", 1)
            for i in range(count)
        ]
        kind = Kind(f"i{bits}")
        names = [make.convert("extui", kind, "i32", part.name) for part in parts]
        return gathered(emit, names, "i32")
    found = recast(emit, value, f"i{unit}", bits * count // unit)
    units = [sliced(emit, found, i, 1) for i in range(found.registers)]
    if unit < WORD:
        kind = Kind(f"i{unit}")
        units = [make.convert("extui", kind, "i32", name) for name in units]
    return gathered(
        emit, [_field(emit, units, unit, bits, i) for i in range(count)], "i32"
    )


def _field(emit: Emission, units: list[str], unit: int, bits: int, index: int) -> str:
    word, (first, shift) = _Words(emit, 1), divmod(index * bits, unit)
    name = word.apply("shrui", units[first], shift)
    if shift + bits > unit:
        rest = word.apply("shli", units[first + 1], unit - shift)
        name = word.apply("ori", name, rest)
    return word.apply("andi", name, (1 << bits) - 1)


def _joined(emit: Emission, codes: str, dtype: DType, count: int) -> str:
    """Elements of their bits, which are the low ones of an i32 each."""
    bits, item = dtype.bits, element(dtype)
    value, word = Value(codes, "i32", count), _Words(emit, 1)
    unit = _unit(bits * count)
    items = [sliced(emit, value, i, 1) for i in range(count)]
    if not unit:
        cut = [word.cut(name, f"i{bits}") for name in items]
        made = [recast(emit, Value(name, f"i{bits}", 1), item, 1).name for name in cut]
        return gathered(emit, made, item)
    units = [word.number(0)] * (bits * count // unit)
    for index, name in enumerate(items):
        first, shift = divmod(index * bits, unit)
        part = word.apply("shli", name, shift)
        units[first] = word.apply("ori", units[first], part)
        if shift + bits > unit:
            rest = word.apply("shrui", name, unit - shift)
            units[first + 1] = word.apply("ori", units[first + 1], rest)
    if unit < WORD:
        units = [word.cut(name, f"i{unit}") for name in units]
    found = Value(gathered(emit, units, f"i{unit}"), f"i{unit}", len(units))
    return recast(emit, found, item, count).name

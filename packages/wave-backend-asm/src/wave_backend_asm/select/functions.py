"""Functions that the machine has no instruction for: core's formulas, one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from wave_backend_asm.select import floats
from wave_backend_asm.select.data import number_bits, repeated
from wave_backend_asm.select.doubles import fused
from wave_backend_asm.select.missing import MissingError
from wave_core.backends.emission import Kind
from wave_core.backends.mathematics import number
from wave_core.backends.mathematics.library import functions
from wave_core.backends.mathematics.number import F32, F64, I1, Number
from wave_core.types import DTYPES

if TYPE_CHECKING:
    from wave_backend_asm.machine.operands import Operand
    from wave_backend_asm.select.builder import Builder

_FLOATS = {
    "add": "addf", "sub": "subf", "mul": "mulf", "div": "divf", "neg": "negf",
    "size": "absf", "nearest": "roundeven", "signed": "copysign",
}  # fmt: skip

_INTEGERS = {
    "add": "addi", "sub": "subi", "mul": "muli", "and": "andi", "or": "ori",
    "xor": "xori", "shl": "shli", "lshr": "shrui", "ashr": "shrsi", "rest": "remui",
}  # fmt: skip

_APPROXIMATE = {"exp2": "v_exp_f32", "reciprocal": "v_rcp_f32"}

_RELATIONS = {"eq": "eq", "ne": "ne", "ult": "ult"}


class Maker(Protocol):
    """What of `Instructions` formulas are made of."""

    b: Builder

    def apply(self, word: str, kind: Kind, *names: str) -> str: ...  # noqa: D102
    def compare(self, predicate: str, kind: Kind, one: str, other: str) -> str: ...  # noqa: D102
    def select(self, test: str, kind: Kind, one: str, other: str) -> str: ...  # noqa: D102
    def convert(self, word: str, kind: Kind, item: str, name: str) -> str: ...  # noqa: D102


class Body(number.Body):
    """Formulas as instructions of lanes."""

    def __init__(self, make: Maker) -> None:
        self._make = make

    def constant(self, value: float, kind: str) -> Number:
        """A number, which no instruction makes before one needs it."""
        dtype = DTYPES["bool" if kind == I1 else kind]
        found = number_bits(value, dtype)
        assert found is not None, "formulas have numbers that are known here"
        words = (found,) if kind == I1 else repeated(found, dtype.bits, 1)
        return Number(self, self._make.b.of(Kind(kind), words), kind)

    def computed(self, word: str, *numbers: Number) -> Number:
        """One operation."""
        kind, names = numbers[0].kind, [each.name for each in numbers]
        if word == "fma":
            return self._fused(kind, names)
        if word in _APPROXIMATE:
            (given,) = self._make.b.words(names[0])
            found = self._make.b.valu(_APPROXIMATE[word], given)
            return Number(self, self._make.b.of(Kind(kind), (found,)), kind)
        words = _FLOATS if numbers[0].is_float else _INTEGERS
        return Number(self, self._make.apply(words[word], Kind(kind), *names), kind)

    def _fused(self, kind: str, names: list[str]) -> Number:
        b, rows = self._make.b, [self._make.b.words(name) for name in names]
        found: tuple[Operand, ...]
        if kind == F64:
            one, two, three = ((row[0], row[1]) for row in rows)
            found = fused(b, one, two, three)
        else:
            found = (floats.fused(b, *[row[0] for row in rows]),)
        return Number(self, b.of(Kind(kind), found), kind)

    def tested(self, relation: str, one: Number, other: Number) -> Number:
        """One comparison."""
        if one.is_float:
            asks = "une" if relation == "ne" else f"o{relation}"
        else:
            asks = _RELATIONS.get(relation, f"s{relation}")
        found = self._make.compare(asks, Kind(one.kind), one.name, other.name)
        return Number(self, found, I1)

    def chosen(self, test: Number, one: Number, other: Number) -> Number:
        """One of two values."""
        kind = Kind(one.kind)
        found = self._make.select(test.name, kind, one.name, other.name)
        return Number(self, found, one.kind)

    def converted(self, word: str, number: Number, kind: str) -> Number:
        """A number of another kind."""
        found = self._make.convert(word, Kind(number.kind), kind, number.name)
        return Number(self, found, kind)


FUNCTIONS = functions()


def function(
    make: Maker, word: str, item: str, elements: list[tuple[Operand, ...]]
) -> tuple[Operand, ...]:
    """The words of a function of one element, or of two.

    Raises:
        MissingError: there is no formula for it.
    """
    if (word, item) not in FUNCTIONS or item not in (F32, F64):
        raise MissingError(f"`{word}` of {item}")
    write, operands = FUNCTIONS[word, item]
    body = Body(make)
    given = [
        Number(body, make.b.of(Kind(item), words), item)
        for words in elements[:operands]
    ]
    return make.b.words(write(*given).name)

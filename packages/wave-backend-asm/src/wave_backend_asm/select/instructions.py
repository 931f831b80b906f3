"""Core's `Instructions` as instructions of the machine."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from wave_backend_asm.machine.operands import Operand
from wave_backend_asm.select.basics import lane_test
from wave_backend_asm.select.conversions import (
    PAIRS,
    chosen,
    converted,
    extended,
    in_pairs,
)
from wave_backend_asm.select.data import WORD, Datum, number_bits, repeated
from wave_backend_asm.select.doubles import DOUBLES, compared_doubles
from wave_backend_asm.select.floats import ONE, TESTS, floats_of, halves
from wave_backend_asm.select.functions import function
from wave_backend_asm.select.integers import (
    compared,
    compared_wide,
    integer,
    wide,
    within,
)
from wave_backend_asm.select.missing import MissingError
from wave_backend_asm.select.packed import packed
from wave_backend_asm.select.vectors import element, elements, joined, part_of
from wave_core.backends.emission import Kind, element as item_of
from wave_core.backends.emission.instructions import INTEGER_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from wave_backend_asm.select.builder import Builder
    from wave_core.diagnostics import Location
    from wave_core.types import DType

Words = tuple[Operand, ...]
T = TypeVar("T")

_LOGIC = {"andi": "s_and_b64", "ori": "s_or_b64", "xori": "s_xor_b64"}

_INVERTING = {"andi": "s_andn2_b64", "ori": "s_orn2_b64"}
"""Those that invert the second mask. Source: CDNA3 ISA, S_ANDN2_B64, S_ORN2_B64."""

_SUMS = ("addf", "subf", "mulf")
"""Sums and products, of which fast math lets two be rounded as one."""

_SIGNED = frozenset({"shrsi", "divsi", "remsi", "floordivsi", "maxsi", "minsi", "absi"})
_UNSIGNED = frozenset({"shrui", "divui", "remui", "maxui", "minui"})
"""Words that read the upper bits of narrow integers."""


def _unchanged(word: str, one: Words, two: Words) -> Words | None:
    """The words that a product with one leaves as they are."""
    if word != "mulf":
        return None
    if {*one} == {ONE}:
        return two
    return one if {*two} == {ONE} else None


def _of_each(make: Callable[..., T], *sides: Sequence[Any]) -> tuple[T, ...]:
    """What is made of the operands of each element, once where they are the same."""
    made: dict[tuple[Any, ...], T] = {}
    rows = [*zip(*sides, strict=True)]
    for row in rows:
        if row not in made:
            made[row] = make(*row)
    return tuple([made[row] for row in rows])


def _masks_of_words(masks: Words, datum: Datum) -> list[Operand] | None:
    """The truth value of each word; ``None`` where elements of a word have several."""
    words, elements_ = len(datum.words), len(masks)
    if words > elements_:
        return [mask for mask in masks for _ in range(words // elements_)]
    rows = [
        masks[at : at + datum.per_word] for at in range(0, elements_, datum.per_word)
    ]
    return [row[0] for row in rows] if all(len({*row}) == 1 for row in rows) else None


class AsmInstructions:
    """Implements core's `Instructions`.

    Every method raises `MissingError` where the machine has no way that is known here.
    """

    def __init__(self, builder: Builder) -> None:
        """Append to a builder what its chip has."""
        self.b = builder
        chip = self._chip = builder.chip.name
        self._floats = {fast: floats_of(chip, fast=fast) for fast in (False, True)}

    @property
    def level(self) -> int:
        """The depth of the innermost open region."""
        return self.b.level

    def once(self, key: Hashable, make: Callable[[], str], level: int) -> str:
        """The name under ``key`` in an open region."""
        return self.b.once(key, make, self.b.where(level))

    def holds(self, key: Hashable, level: int) -> bool:
        """Whether an open region has a name under ``key``."""
        return self.b.holds(key, level)

    def locate(self, location: Location | None) -> None:
        """Take ``location`` for what follows."""
        self.b.locate(location)

    def constant(self, value: float, dtype: DType, count: int = 1) -> str:
        """A constant, which no instruction makes before one needs it."""
        item, found = item_of(dtype), number_bits(value, dtype)
        if found is None:
            raise MissingError(f"a constant of {dtype}")
        kind = Kind(item, count)
        if item == "i1":
            return self.b.of(kind, (int(bool(value)),) * count)
        return self.b.of(kind, repeated(found, Datum(kind, ()).bits, count))

    def apply(
        self,
        word: str,
        kind: Kind,
        *names: str,
        fast: bool = False,
        level: int | None = None,
    ) -> str:
        """One operation on each element."""
        data = [self.b.data[name] for name in names]
        with self.b.at(level), self.b.rounded(late=fast and word in _SUMS):
            return self.b.of(kind, self._applied(word, kind, data, fast=fast))

    def _applied(
        self, word: str, kind: Kind, data: list[Datum], *, fast: bool
    ) -> Words:
        if kind.item == "i1":
            return self._logic(word, data)
        if word in INTEGER_WORDS:
            return self._integers(word, kind, data)
        table = self._floats[fast]
        if kind.item == "f32" and word in table:
            sides = [datum.words for datum in (data * 2)[:2]]
            same = _unchanged(word, *sides)
            if same is not None:
                return same
            pairs = packed(self.b, word, *sides)
            if pairs is not None:
                return pairs
            return _of_each(partial(table[word], self.b), *sides)
        if kind.item == "f16":
            sides = [datum.words for datum in (data * 2)[:2]]
            found = _of_each(partial(halves, self.b, word), *sides)
            made = tuple([each for each in found if each is not None])
            if len(made) == len(found):
                return made
        return self._by_element(word, kind, data)

    def _by_element(self, word: str, kind: Kind, data: list[Datum]) -> Words:
        """Functions, and f64."""

        def made(*row: Words) -> Words:
            if kind.item == "f64" and word in DOUBLES:
                pairs = [(words[0], words[1]) for words in row]
                return DOUBLES[word](self.b, *pairs)
            return function(self, word, kind.item, [*row])

        sides = [elements(self.b, datum) for datum in data]
        return joined(self.b, kind, _of_each(made, *sides))

    def _logic(self, word: str, data: list[Datum]) -> Words:
        if word not in _LOGIC:
            raise MissingError(f"`{word}` of truth values")
        rows = zip(*(datum.words for datum in data), strict=True)
        return tuple([self._joined(word, one, two) for one, two in rows])

    def _joined(self, word: str, one: Operand, two: Operand) -> Operand:
        if isinstance(one, int):
            one, two = two, one
        if isinstance(two, int) and (word == "andi") == bool(two):
            return one
        if isinstance(two, int) and word != "xori":
            return two
        bounded = within(self.b, one, two) if word == "andi" else None
        if bounded is not None:
            return self.b.mark_narrower(bounded, (one, two))
        both = self.b.is_uniform(one) and self.b.is_uniform(two)
        masks = [self.b.mask(each) for each in (one, two)]
        name, *masks = self._without_inversion(word, *masks)
        key = (name, *masks)
        found = self.b.kept(key, lambda: self.b.salu(name, *masks, width=2))
        if word == "andi":
            self.b.mark_narrower(found, (one, two))
        elif word == "xori" and masks[1] == -1:
            self.b.mark_inverted(found, masks[0])
        return self.b.mark_uniform(found) if both else found

    def _without_inversion(
        self, word: str, one: Operand, two: Operand
    ) -> tuple[str, Operand, Operand]:
        """The instruction that joins two masks, of which it inverts one if one is."""
        for mask, other in ((two, one), (one, two)):
            inverted = self.b.inverted(mask)
            if inverted is not None and word in _INVERTING:
                return _INVERTING[word], other, inverted
        return _LOGIC[word], one, two

    def _integers(self, word: str, kind: Kind, data: list[Datum]) -> Words:
        bits = data[0].bits
        if bits == WORD:
            sides = [datum.words for datum in data]
            return _of_each(partial(integer, self.b, word), *sides)
        parts = zip(*(elements(self.b, datum) for datum in data), strict=True)
        made = self._wide if bits > WORD else self._narrow
        return joined(self.b, kind, [made(word, kind.item, bits, row) for row in parts])

    def _wide(self, word: str, item: str, bits: int, row: tuple[Words, ...]) -> Words:
        del item, bits
        return wide(self.b, word, *[(words[0], words[1]) for words in row])

    def _narrow(self, word: str, item: str, bits: int, row: tuple[Words, ...]) -> Words:
        del item
        words = [each[0] for each in row]
        if word in _SIGNED or word in _UNSIGNED:
            signed = word in _SIGNED
            words = [extended(self.b, w, bits, signed=signed) for w in words]
        return (integer(self.b, word, *words),)

    def compare(
        self,
        predicate: str,
        kind: Kind,
        one: str,
        other: str,
        level: int | None = None,
    ) -> str:
        """A truth value for each element."""
        with self.b.at(level):
            sides = [elements(self.b, self.b.data[name]) for name in (one, other)]
            test = partial(self._test, predicate, kind.item)
            found = _of_each(test, *sides)
        return self.b.of(Kind("i1", kind.registers), found)

    def _test(self, predicate: str, item: str, one: Words, two: Words) -> Operand:
        bits = Datum(Kind(item), ()).bits
        if predicate in TESTS:
            if item == "f64":
                pairs = (one[0], one[1]), (two[0], two[1])
                return compared_doubles(self.b, TESTS[predicate], *pairs)
            if item not in ("f32", "f16"):
                raise MissingError(f"a comparison of {item}")
            name = f"v_cmp_{TESTS[predicate]}_{item}_e64"
            return lane_test(self.b, name, one[0], two[0])
        if bits == 1:
            differ = self._joined("xori", one[0], two[0])
            return differ if predicate == "ne" else self._joined("xori", differ, 1)
        if bits > WORD:
            return compared_wide(self.b, predicate, (one[0], one[1]), (two[0], two[1]))
        signed = predicate.startswith("s")
        sides = [extended(self.b, w[0], bits, signed=signed) for w in (one, two)]
        return compared(self.b, predicate, *sides)

    def select(
        self,
        test: str,
        kind: Kind,
        one: str,
        other: str,
        *,
        tests: int | None = None,
        level: int | None = None,
    ) -> str:
        """One of two values."""
        masks = self.b.words(test)
        values = [self.b.data[name] for name in (one, other)]
        with self.b.at(level):
            if kind.item == "i1":
                tested = masks * (kind.registers // len(masks))
                rows = zip(tested, *(each.words for each in values), strict=True)
                return self.b.of(kind, [self._either(*row) for row in rows])
            count = kind.registers if tests is None else tests
            tested = masks * (kind.registers // count)
            by_word = _masks_of_words(tested, values[0])
            if by_word is not None:
                words = (each.words for each in values)
                return self.b.of(
                    kind, _of_each(partial(chosen, self.b), by_word, *words)
                )
            sides = [elements(self.b, datum) for datum in values]
            found = [
                tuple([chosen(self.b, mask, x, y) for x, y in zip(*row, strict=True)])
                for mask, *row in zip(tested, *sides, strict=True)
            ]
            return self.b.of(kind, joined(self.b, kind, found))

    def _either(self, test: Operand, one: Operand, other: Operand) -> Operand:
        """A truth value by another one."""
        if isinstance(test, int):
            return one if test else other
        first = self._joined("andi", one, test)
        return self._joined("ori", first, self.without(other, test))

    def without(self, one: Operand, test: Operand) -> Operand:
        """A truth value where another one does not hold."""
        if one == 0:
            return 0
        return self.b.salu("s_andn2_b64", self.b.mask(one), self.b.mask(test), width=2)

    def convert(
        self, word: str, kind: Kind, item: str, name: str, level: int | None = None
    ) -> str:
        """A conversion, element by element."""
        wanted = Kind(item, kind.registers)
        with self.b.at(level):
            parts = elements(self.b, self.b.data[name])
            pairs = PAIRS.get((self._chip, kind.item, item))
            if pairs is not None and len(parts) > 1:
                return self.b.of(wanted, in_pairs(self.b, pairs, parts))
            found = _of_each(partial(self._converted, word, kind.item, item), parts)
            return self.b.of(wanted, joined(self.b, wanted, found))

    def _converted(self, word: str, source: str, item: str, part: Words) -> Words:
        found = converted(self.b, word, source, item, part)
        if found is None:
            raise MissingError(f"`{word}` of {source} to {item}")
        return found

    def recast(self, kind: Kind, wanted: Kind, name: str) -> str:
        """The same words."""
        del kind
        return self.b.of(wanted, self.b.words(name))

    def broadcast(self, kind: Kind, name: str) -> str:
        """A scalar in every element."""
        part = element(self.b, self.b.data[name], 0)
        if Datum(kind, ()).bits >= WORD or kind.item == "i1":
            return self.b.of(kind, part * kind.registers)
        return self.b.of(kind, joined(self.b, kind, [part] * kind.registers))

    def extract(self, kind: Kind, name: str, at: int) -> str:
        """One element."""
        return self.b.of(Kind(kind.item), element(self.b, self.b.data[name], at))

    def slice(self, kind: Kind, name: str, start: int, count: int) -> str:
        """Neighbouring elements."""
        del kind
        return self.b.name(part_of(self.b, self.b.data[name], start, count))

    def insert(self, kind: Kind, into: str, name: str, at: int, count: int) -> str:
        """Other elements in place of some."""
        own = elements(self.b, self.b.data[into])
        own[at : at + count] = elements(self.b, self.b.data[name])
        return self.b.of(kind, joined(self.b, kind, own))

    def from_elements(self, kind: Kind, *names: str) -> str:
        """A vector of scalars."""
        parts = [element(self.b, self.b.data[name], 0) for name in names]
        return self.b.of(kind, joined(self.b, kind, parts))

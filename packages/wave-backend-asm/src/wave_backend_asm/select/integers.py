"""All operations on integers, of 32 and 64 bits, and comparisons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from wave_backend_asm.machine.operands import (
    SCALARS,
    Operand,
    Virtual,
    is_inline,
    is_scalar,
    signed,
)
from wave_backend_asm.select.basics import basic, lane_test, power_of
from wave_backend_asm.select.builder import Compared, Shifted
from wave_backend_asm.select.conversions import chosen
from wave_backend_asm.select.divisions import DIVISIONS
from wave_backend_asm.select.long_division import divided
from wave_backend_asm.select.pairs import (
    Pair,
    carried,
    flipped,
    lanes_of,
    of_the_wave,
    sides_of,
)

if TYPE_CHECKING:
    from wave_backend_asm.select.builder import Builder


def integer(b: Builder, word: str, *operands: Operand) -> Operand:
    """One operation of `INTEGER_WORDS` on words of 32 bits."""
    if word == "absi":
        negated = basic(b, "subi", 0, operands[0])
        return basic(b, "maxsi", operands[0], negated)
    one, two = operands
    if word in DIVISIONS:
        return DIVISIONS[word](b, one, two)
    return basic(b, word, one, two)


def wide(b: Builder, word: str, *operands: Pair) -> Pair:
    """The same on 64 bits."""
    if word == "absi":
        return flipped(b, operands[0], basic(b, "shrsi", operands[0][1], 31))
    one, two = operands
    if word in ("andi", "ori", "xori"):
        low, high = (integer(b, word, x, y) for x, y in zip(one, two, strict=True))
        return low, high
    if word == "muli":
        return _product(b, one, two)
    if word in ("addi", "subi"):
        return carried(b, word, one, two)
    if word in ("divui", "remui"):
        return divided(b, one, two)[word == "remui"]
    if word in ("divsi", "remsi", "floordivsi"):
        return _signed(b, word, one, two)
    if word in _EXTREMES:
        test = compared_wide(b, _EXTREMES[word], one, two)
        low, high = (chosen(b, test, x, y) for x, y in zip(one, two, strict=True))
        return low, high
    return _moved(b, word, one, two[0])


def _signed(b: Builder, word: str, one: Pair, two: Pair) -> Pair:
    """By magnitudes; rounded down, the quotient is one less where a rest is left."""
    signs = [basic(b, "shrsi", each[1], 31) for each in (one, two)]
    above, below = (
        flipped(b, each, sign) for each, sign in zip((one, two), signs, strict=True)
    )
    quotient, rest = divided(b, above, below)
    if word == "remsi":
        return flipped(b, rest, signs[0])
    differs = basic(b, "xori", *signs)
    found = flipped(b, quotient, differs)
    if word == "divsi":
        return found
    some = basic(b, "minui", basic(b, "ori", *rest), 1)
    less = basic(b, "andi", some, differs)
    return carried(b, "subi", found, (less, 0))


_EXTREMES = {"minsi": "slt", "maxsi": "sgt", "minui": "ult", "maxui": "ugt"}
"""The relation under which the first of two is the result."""

_WIDE_SHIFTS = {
    "shli": ("v_lshlrev_b64", "s_lshl_b64"),
    "shrui": ("v_lshrrev_b64", "s_lshr_b64"),
    "shrsi": ("v_ashrrev_i64", "s_ashr_i64"),
}
"""The instructions of lanes and of the wave."""


def _moved(b: Builder, word: str, number: Pair, distance: Operand) -> Pair:
    """A shift."""
    lanes, wave = _WIDE_SHIFTS[word]
    if of_the_wave(*number, distance):
        found = b.salu(wave, b.together(number, SCALARS), distance, width=2)
        low, high = (found._replace(first=at, width=1) for at in (0, 1))
        return low, high
    pair = Virtual(2)
    near = distance if is_inline(distance) else b.in_vector(distance)
    operands = (near, b.together(lanes_of(b, number)))
    b.say(lanes, (pair.all,), operands)
    low, high = pair.parts()
    return low, high


def _product(b: Builder, one: Pair, two: Pair) -> Pair:
    """The lower 64 bits: what overflows of the upper words is lost."""
    for number, other in ((one, two), (two, one)):
        distance = _power(number)
        if distance is not None:
            return _times_power(b, other, distance)
    low = basic(b, "muli", one[0], two[0])
    if of_the_wave(one[0], two[0]):
        high: Operand = b.salu("s_mul_hi_u32", one[0], two[0])
    else:
        high = b.valu("v_mul_hi_u32", one[0], two[0])
    for x, y in ((one[0], two[1]), (one[1], two[0])):
        if 0 not in (x, y):
            high = basic(b, "addi", basic(b, "muli", x, y), high)
    return low, high


def _power(number: Pair) -> int | None:
    """The power of two that a number of 64 bits is, below 32 bits."""
    low, high = number
    known = isinstance(low, int) and high == 0
    return power_of(low) if known and isinstance(low, int) else None


def _times_power(b: Builder, number: Pair, distance: int) -> Pair:
    """A product with a power of two: of a word, two shifts of words."""
    low, high = number
    if high != 0 or not distance:
        return _moved(b, "shli", number, distance) if distance else number
    return basic(b, "shli", low, distance), basic(b, "shrui", low, 32 - distance)


# ---- comparisons

_INTEGER_TESTS = {
    "eq": "eq",
    "ne": "ne",
    "lt": "lt",
    "le": "le",
    "gt": "gt",
    "ge": "ge",
}
_SCALAR_TESTS = {**_INTEGER_TESTS, "ne": "lg"}
_COMPARE: Mapping[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def split_predicate(predicate: str) -> tuple[str, str]:
    """What a predicate of integers asks, and whether they have a sign: i or u."""
    if predicate in ("eq", "ne"):
        return predicate, "u"
    return predicate[1:], "i" if predicate[0] == "s" else "u"


def compared(b: Builder, predicate: str, one: Operand, two: Operand) -> Operand:
    """Whether a relation of two words holds."""
    asks, sign = split_predicate(predicate)
    if isinstance(one, int) and isinstance(two, int):
        if sign == "i":
            return int(_COMPARE[asks](signed(one), signed(two)))
        return int(_COMPARE[asks](one & 0xFFFFFFFF, two & 0xFFFFFFFF))
    if is_scalar(one) and is_scalar(two):
        b.say(f"s_cmp_{_SCALAR_TESTS[asks]}_{sign}32", (), (one, two))
        found = scc_mask(b)
    else:
        name = f"v_cmp_{_INTEGER_TESTS[asks]}_{sign}32_e64"
        found = lane_test(b, name, one, two)
    return b.mark_compared(found, Compared(predicate, one, two))


def scc_mask(b: Builder) -> Operand:
    """What a comparison of the wave found, as a mask of lanes."""
    mask = Virtual(2, SCALARS).all
    b.say("s_cselect_b64", (mask,), (-1, 0))
    return b.mark_uniform(mask)


def within(b: Builder, one: Operand, two: Operand) -> Operand | None:
    """Whether a word is from 0 up to a number, where two masks say that together.

    Without a sign, words below 0 are beyond every number with one. It is one comparison
    for two and what joins them; ``None`` where they say something else.
    """
    rows = _at_least(b, one), _at_least(b, two)
    for low, high in (rows, rows[::-1]):
        if low is None or high is None or low[1] != 0 or low[0] != high[1]:
            continue
        most, word = high
        if isinstance(most, int) and signed(most) >= 0:
            return compared(b, "uge", most, word)
    return None


def _at_least(b: Builder, mask: Operand) -> tuple[Operand, Operand] | None:
    """Two words of which a mask says that the first is not less, with a sign."""
    row = b.compared(mask)
    if row is None or row.predicate not in ("sge", "sle"):
        return None
    _, one, two = row
    return (one, two) if row.predicate == "sge" else (two, one)


def compared_wide(b: Builder, predicate: str, one: Pair, two: Pair) -> Operand:
    """Whether a relation of 64 bits holds: of their words where these say all.

    To extend words by their sign keeps their order, with a sign and without.
    """
    if _is_word(b, one) and _is_word(b, two):
        return compared(b, predicate, one[0], two[0])
    asks, sign = split_predicate(predicate)
    name = f"v_cmp_{_INTEGER_TESTS[asks]}_{sign}64_e64"
    mask = Virtual(2, SCALARS).all
    b.say(name, (mask,), sides_of(b, one, two))
    return mask


def _is_word(b: Builder, pair: Pair) -> bool:
    """Whether a number is its lower word, extended by its sign.

    Registers that a loop or a branch writes again hold both words of a number, so that
    no number has one of them beside an upper word that was made from what it held.
    """
    low, high = pair
    if isinstance(low, int) and isinstance(high, int):
        return (high ^ (signed(low) >> 31)) & 0xFFFFFFFF == 0
    return b.shifted(high) == Shifted("shrsi", low, 31)

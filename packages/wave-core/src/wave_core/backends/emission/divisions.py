"""Division that rounds down, and its remainder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from wave_core.types import Family

if TYPE_CHECKING:
    from wave_core.backends.emission.operands import Operands

Division = Callable[["Operands", str, str], str]
"""Computes with a dividend and a divisor."""


def _float_floor(work: Operands, lhs: str, rhs: str) -> str:
    """From the exact remainder, as ``torch.floor_divide`` does."""
    rest = work.apply("remf", lhs, rhs)
    whole = work.apply("divf", work.apply("subf", lhs, rest), rhs)
    lower = work.apply("subf", whole, work.constant(1.0))
    whole = work.choose(_off_side(work, rest, rhs), lower, whole)
    floor = work.apply("floor", whole)
    gap = work.apply("subf", whole, floor)
    above = work.test("ogt", gap, work.constant(0.5))
    upper = work.apply("addf", floor, work.constant(1.0))
    floor = work.choose(above, upper, floor)
    zero = work.constant(0.0)
    quotient = work.apply("divf", lhs, rhs)
    signed = work.apply("copysign", zero, quotient)
    nonzero = work.test("une", whole, zero)
    floor = work.choose(nonzero, floor, signed)
    return work.choose(work.test("oeq", rhs, zero), quotient, floor)


def _rest(work: Operands, lhs: str, rhs: str) -> str:
    """The truncated remainder, moved to the side of the divisor."""
    words = ("remf", "addf") if work.dtype.is_float else ("remsi", "addi")
    rest = work.apply(words[0], lhs, rhs)
    moved = work.apply(words[1], rest, rhs)
    return work.choose(_off_side(work, rest, rhs), moved, rest)


def _off_side(work: Operands, rest: str, rhs: str) -> str:
    """Whether a remainder is not zero and has another sign than the divisor."""
    differs, below = ("une", "olt") if work.dtype.is_float else ("ne", "slt")
    zero = work.constant(0)
    nonzero = work.test(differs, rest, zero)
    rest_sign = work.test(below, rest, zero)
    divisor_sign = work.test(below, rhs, zero)
    signs = work.logic("xori", rest_sign, divisor_sign)
    return work.logic("andi", nonzero, signs)


def _unsigned(word: str) -> Division:
    """An operation on integers without a sign; by 0 it gives 0."""

    def guarded(work: Operands, lhs: str, rhs: str) -> str:
        zero = work.constant(0)
        empty = work.test("eq", rhs, zero)
        safe = work.choose(empty, work.constant(1), rhs)
        return work.choose(empty, zero, work.apply(word, lhs, safe))

    return guarded


def _floor(work: Operands, lhs: str, rhs: str) -> str:
    whole = work.apply("divsi", lhs, rhs)
    lower = work.apply("subi", whole, work.constant(1))
    rest = work.apply("remsi", lhs, rhs)
    return work.choose(_off_side(work, rest, rhs), lower, whole)


def _guarded(make: Division) -> Division:
    """``make`` without divisors that trap: 0, which gives 0, and, as it wraps, -1."""

    def guarded(work: Operands, lhs: str, rhs: str) -> str:
        zero, one = work.constant(0), work.constant(1)
        empty = work.test("eq", rhs, zero)
        minus = work.test("eq", rhs, work.constant(-1))
        safe = work.choose(minus, one, work.choose(empty, one, rhs))
        flipped = work.choose(minus, work.apply("subi", zero, lhs), lhs)
        return work.choose(empty, zero, make(work, flipped, safe))

    return guarded


_FORMS: Mapping[Family, tuple[Division, Division]] = {
    Family.FLOAT: (_float_floor, _rest),
    Family.UNSIGNED: (_unsigned("divui"), _unsigned("remui")),
    **dict.fromkeys(
        (Family.INTEGER, Family.INDEX), (_guarded(_floor), _guarded(_rest))
    ),
}

DIVISIONS: Mapping[tuple[str, Family], Division] = {
    (name, family): division
    for family, forms in _FORMS.items()
    for name, division in zip(("floordiv", "mod"), forms, strict=True)
}
"""By the op, and what it is on."""

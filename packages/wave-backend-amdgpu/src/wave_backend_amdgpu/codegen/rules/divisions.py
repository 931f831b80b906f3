"""Division that rounds down, and its remainder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable


class Work(Protocol):
    """Operands of one op, and what computes with them."""

    @property
    def kind(self) -> str:
        """The MLIR type of the operands."""
        ...

    def apply(self, name: str, *names: str) -> str:
        """One operation of the compute type."""
        ...

    def constant(self, value: float) -> str:
        """A number in every element."""
        ...

    def test(self, name: str, predicate: str, *names: str) -> str:
        """A comparison."""
        ...

    def choose(self, condition: str, one: str, other: str) -> str:
        """One of two values, element by element."""
        ...

    def logic(self, name: str, one: str, other: str) -> str:
        """``andi`` or ``xori`` of two conditions."""
        ...


def float_floordiv(work: Work, lhs: str, rhs: str) -> str:
    """From the exact remainder, as ``torch.floor_divide`` does."""
    rest = work.apply("arith.remf", lhs, rhs)
    whole = work.apply("arith.divf", work.apply("arith.subf", lhs, rest), rhs)
    lower = work.apply("arith.subf", whole, work.constant(1.0))
    whole = work.choose(_off_side(work, rest, rhs), lower, whole)
    floor = work.apply("math.floor", whole)
    gap = work.apply("arith.subf", whole, floor)
    above = work.test("arith.cmpf", "ogt", gap, work.constant(0.5))
    upper = work.apply("arith.addf", floor, work.constant(1.0))
    floor = work.choose(above, upper, floor)
    zero = work.constant(0.0)
    quotient = work.apply("arith.divf", lhs, rhs)
    signed = work.apply("math.copysign", zero, quotient)
    nonzero = work.test("arith.cmpf", "une", whole, zero)
    floor = work.choose(nonzero, floor, signed)
    return work.choose(work.test("arith.cmpf", "oeq", rhs, zero), quotient, floor)


def float_mod(work: Work, lhs: str, rhs: str) -> str:
    """The truncated remainder, moved to the side of the divisor."""
    rest = work.apply("arith.remf", lhs, rhs)
    moved = work.apply("arith.addf", rest, rhs)
    return work.choose(_off_side(work, rest, rhs), moved, rest)


def _off_side(work: Work, rest: str, rhs: str) -> str:
    """Whether a remainder is not zero and has another sign than the divisor."""
    zero = work.constant(0.0)
    nonzero = work.test("arith.cmpf", "une", rest, zero)
    rest_sign = work.test("arith.cmpf", "olt", rest, zero)
    divisor_sign = work.test("arith.cmpf", "olt", rhs, zero)
    differ = work.logic("arith.xori", rest_sign, divisor_sign)
    return work.logic("arith.andi", nonzero, differ)


def integer_floordiv(work: Work, lhs: str, rhs: str) -> str:
    """The floor; by zero it is 0."""
    return _guarded(work, lhs, rhs, _floor)


def integer_mod(work: Work, lhs: str, rhs: str) -> str:
    """The remainder on the side of the divisor; by zero it is 0."""
    return _guarded(work, lhs, rhs, _rest)


def _floor(work: Work, lhs: str, rhs: str) -> str:
    whole = work.apply("arith.divsi", lhs, rhs)
    lower = work.apply("arith.subi", whole, work.constant(1))
    return work.choose(_uneven(work, lhs, rhs), lower, whole)


def _rest(work: Work, lhs: str, rhs: str) -> str:
    rest = work.apply("arith.remsi", lhs, rhs)
    moved = work.apply("arith.addi", rest, rhs)
    return work.choose(_uneven(work, lhs, rhs), moved, rest)


def _uneven(work: Work, lhs: str, rhs: str) -> str:
    """Whether truncation rounds up: there is a rest, of another sign than ``rhs``."""
    zero = work.constant(0)
    rest = work.apply("arith.remsi", lhs, rhs)
    nonzero = work.test("arith.cmpi", "ne", rest, zero)
    rest_sign = work.test("arith.cmpi", "slt", rest, zero)
    divisor_sign = work.test("arith.cmpi", "slt", rhs, zero)
    differ = work.logic("arith.xori", rest_sign, divisor_sign)
    return work.logic("arith.andi", nonzero, differ)


def _guarded(
    work: Work, lhs: str, rhs: str, make: Callable[[Work, str, str], str]
) -> str:
    """``make`` with divisors that trap left out: 0 and, as it wraps, -1."""
    zero, one = work.constant(0), work.constant(1)
    empty = work.test("arith.cmpi", "eq", rhs, zero)
    minus = work.test("arith.cmpi", "eq", rhs, work.constant(-1))
    safe = work.choose(minus, one, work.choose(empty, one, rhs))
    flipped = work.choose(minus, work.apply("arith.subi", zero, lhs), lhs)
    return work.choose(empty, zero, make(work, flipped, safe))

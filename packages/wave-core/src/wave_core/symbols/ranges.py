"""Intervals of integers and their arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(slots=True, unsafe_hash=True)
class Interval:
    """All integers from `lo` to `hi`, both included; None means no limit.

    Nobody changes one: another one is made. It is not frozen since so many are made
    that the time counts, which is three times as long for what is.
    """

    lo: int | None = None
    hi: int | None = None

    def __str__(self) -> str:
        low = "-inf" if self.lo is None else self.lo
        high = "inf" if self.hi is None else self.hi
        return f"[{low}, {high}]"

    def __contains__(self, value: int) -> bool:
        above = self.lo is None or self.lo <= value
        return above and (self.hi is None or value <= self.hi)

    @property
    def is_point(self) -> bool:
        """True when there is exactly one integer in the interval."""
        return self.lo is not None and self.lo == self.hi

    @property
    def is_empty(self) -> bool:
        """True when no integer is in the interval: the facts exclude each other."""
        return self.lo is not None and self.hi is not None and self.lo > self.hi

    def __neg__(self) -> Interval:
        return Interval(_negate(self.hi), _negate(self.lo))

    def __add__(self, other: Interval) -> Interval:
        return Interval(_plus(self.lo, other.lo), _plus(self.hi, other.hi))

    def __mul__(self, other: Interval) -> Interval:
        if self == Interval(0, 0) or other == Interval(0, 0):
            return Interval(0, 0)
        low = -_product_high(-self, other) if _bounded(-self, other) else None
        high = _product_high(self, other) if _bounded(self, other) else None
        return Interval(low, high)

    def scale(self, factor: int) -> Interval:
        """All values times an integer."""
        if factor == 0:
            return Interval(0, 0)
        low, high = (self.lo, self.hi) if factor > 0 else (self.hi, self.lo)
        return Interval(_times(low, factor), _times(high, factor))

    def square(self) -> Interval:
        """All values times themselves."""
        product = self * self
        return Interval(max(0, product.lo or 0), product.hi)

    def intersect(self, other: Interval) -> Interval:
        """The values in both; those of `self` when facts exclude each other."""
        both = Interval(_highest(self.lo, other.lo), _lowest(self.hi, other.hi))
        return self if both.is_empty else both

    def union(self, other: Interval) -> Interval:
        """The smallest interval around both."""
        low = None if self.lo is None or other.lo is None else min(self.lo, other.lo)
        high = None if self.hi is None or other.hi is None else max(self.hi, other.hi)
        return Interval(low, high)

    def floordiv(self, other: Interval) -> Interval:
        """All quotients rounded down; zero is never a divisor."""
        if other == Interval(0, 0) or other.is_empty:
            return UNKNOWN
        if other.hi is not None and other.hi <= 0:
            return (-self).floordiv(-other)
        if other.lo is None or other.lo < 0:
            return UNKNOWN
        divisor = Interval(max(1, other.lo), other.hi)
        low = None if self.lo is None else _quotient(self.lo, divisor, toward_low=True)
        high = None if self.hi is None else _quotient(self.hi, divisor)
        return Interval(low, high)

    def remainder(self, modulus: int) -> Interval:
        """All values modulo a positive integer."""
        if self.lo is not None and self.hi is not None:
            quotient = self.lo // modulus
            if quotient == self.hi // modulus:
                return Interval(self.lo % modulus, self.hi % modulus)
        return Interval(0, modulus - 1)


UNKNOWN = Interval()
NONNEGATIVE = Interval(0, None)
BOOLEAN = Interval(0, 1)


def weighted(const: int, rows: Iterable[tuple[Interval, int]]) -> Interval:
    """The interval of a number and of others, each times an integer but zero."""
    low: int | None = const
    high: int | None = const
    for own, factor in rows:
        least, most = (own.lo, own.hi) if factor > 0 else (own.hi, own.lo)
        low = None if low is None or least is None else low + least * factor
        high = None if high is None or most is None else high + most * factor
    return Interval(low, high)


def interval_min(items: Sequence[Interval]) -> Interval:
    """The interval of the smallest of several values."""
    lows = [item.lo for item in items]
    highs = [item.hi for item in items if item.hi is not None]
    low = None if None in lows else min([low for low in lows if low is not None])
    return Interval(low, min(highs, default=None))


def interval_max(items: Sequence[Interval]) -> Interval:
    """The interval of the largest of several values."""
    return -interval_min([-item for item in items])


def interval_xor(items: Iterable[Interval]) -> Interval:
    """The interval of the exclusive or of several values."""
    bits = 0
    bounded = True
    negative = False
    for item in items:
        negative = negative or item.lo is None or item.lo < 0
        if item.lo is None or item.hi is None:
            bounded = False
        else:
            # A negative v needs the bits of ~v.
            low = item.lo if item.lo >= 0 else ~item.lo
            high = item.hi if item.hi >= 0 else ~item.hi
            bits = max(bits, low.bit_length(), high.bit_length())
    if not bounded:
        return UNKNOWN if negative else Interval(0, None)
    top = (1 << bits) - 1
    return Interval(-top - 1 if negative else 0, top)


def _negate(value: int | None) -> int | None:
    return None if value is None else -value


def _plus(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


def _times(a: int | None, factor: int) -> int | None:
    return None if a is None else a * factor


def _highest(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else max(a, b)


def _lowest(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else min(a, b)


def _quotient(value: int, divisor: Interval, *, toward_low: bool = False) -> int:
    """Extreme quotient of one numerator over positive divisors."""
    assert divisor.lo is not None, "divisors start at 1 at least"
    use_small = (value >= 0) != toward_low
    if use_small:
        return value // divisor.lo
    if divisor.hi is None:
        return 0 if value >= 0 else -1
    return value // divisor.hi


def _bounded(a: Interval, b: Interval) -> bool:
    """True when the products of values of a and b have an upper limit."""
    rows = ((a.lo, b.lo, -1), (a.hi, b.hi, 1))
    for x, y, sign in rows:
        # An endless direction must not meet a value of the sign that makes it grow.
        if x is None and not _only(b, -sign):
            return False
        if y is None and not _only(a, -sign):
            return False
    return True


def _only(item: Interval, sign: int) -> bool:
    """True when no value has the opposite sign."""
    if sign > 0:
        return item.lo is not None and item.lo >= 0
    return item.hi is not None and item.hi <= 0


def _product_high(a: Interval, b: Interval) -> int:
    # Towards an endless direction the products only fall.
    corners = [
        x * y
        for x in (a.lo, a.hi)
        for y in (b.lo, b.hi)
        if x is not None and y is not None
    ]
    return max(corners)

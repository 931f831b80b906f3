"""Float instructions in fractions, as sections 9.7.3 and 9.7.4 of the ISA say.

Operands are numbers of f64, which has those of all other formats.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from exact_rounding import FORMATS, on_grid

LEAST_NORMAL = 2.0**-126


def sign(a: float) -> float:
    """Of a number, zeros too."""
    return math.copysign(1.0, a)


def is_finite(*args: float) -> bool:
    """Whether all are."""
    return all(map(math.isfinite, args))


class Rounding:
    """Operations that round once, to a format and in a direction."""

    def __init__(self, kind: str, mode: str) -> None:
        self.form, self.mode = FORMATS[kind], mode

    def of(self, exact: Fraction, zero: float) -> float:
        """The number for an exact one; `zero` where that is zero."""
        if not exact:
            return zero
        found = on_grid(exact, self.form, self.mode)
        return found or math.copysign(0.0, 1 if exact > 0 else -1)

    def add(self, a: float, b: float) -> float:
        if not is_finite(a, b):
            return a + b
        opposite = -0.0 if self.mode == "rm" else 0.0
        zero = a if sign(a) == sign(b) else opposite
        return self.of(Fraction(a) + Fraction(b), zero)

    def sub(self, a: float, b: float) -> float:
        return self.add(a, -b)

    def mul(self, a: float, b: float) -> float:
        if not is_finite(a, b):
            return a * b
        return self.of(Fraction(a) * Fraction(b), math.copysign(0.0, sign(a) * sign(b)))

    def fma(self, a: float, b: float, c: float) -> float:
        if not is_finite(a, b):
            return a * b + c
        if not is_finite(c):
            return c
        product = Fraction(a) * Fraction(b)
        alike = not product and sign(a) * sign(b) == sign(c)
        return self.of(product + Fraction(c), c if alike else 0.0)

    def div(self, a: float, b: float) -> float:
        signed = sign(a) * sign(b)
        if math.isnan(a) or math.isnan(b):
            return math.nan
        if math.isinf(a) or b == 0:
            unknown = math.isinf(b) if math.isinf(a) else a == 0
            return math.nan if unknown else math.copysign(math.inf, signed)
        if math.isinf(b) or a == 0:
            return math.copysign(0.0, signed)
        return self.of(Fraction(a) / Fraction(b), 0.0)

    def rcp(self, a: float) -> float:
        return self.div(1.0, a)

    def sqrt(self, a: float) -> float:
        if a < 0:
            return math.nan
        if a == 0 or not is_finite(a):
            return a
        scaled = Fraction(a) * 4**1200  # has more digits than any format, left of 1
        root = math.isqrt(scaled.numerator // scaled.denominator)
        inexact = root * root != scaled
        return self.of(Fraction(2 * root + inexact, 2 << 1200), 0.0)


def least(a: float, b: float) -> float:
    """The minimum: numbers beat what is none, -0 is below +0."""
    if math.isnan(a) or math.isnan(b):
        return b if math.isnan(a) else a
    return min((a, b), key=lambda each: (each, sign(each)))


PLAIN: dict[str, Callable[..., float]] = {
    "min": least,
    "max": lambda a, b: -least(-a, -b),
    "neg": lambda a: -a,
    "abs": abs,
    "copysign": lambda a, b: math.copysign(b, a),
}


def flushed(a: float) -> float:
    """``.ftz``."""
    return math.copysign(0.0, a) if abs(a) < LEAST_NORMAL else a


def computed(opcode: str, words: tuple[str, ...], kind: str, *args: float) -> float:
    """What an instruction gives for numbers of a format."""
    (mode,) = [each for each in words if each in {"rz", "rm", "rp"}] or ["rn"]
    if "ftz" in words:
        args = tuple(map(flushed, args))
    name = "fma" if opcode == "mad" else opcode
    operation = PLAIN.get(name) or getattr(Rounding(kind, mode), name)
    result = operation(*args)
    if "NaN" in words and any(map(math.isnan, args)):
        result = math.nan
    if "sat" in words:
        result = min(result, 1.0) if result > 0 else 0.0
    if "relu" in words and result <= 0:
        result = 0.0
    return flushed(result) if "ftz" in words else result

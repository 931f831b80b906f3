"""From sympy, in which users write, to the expressions of the compiler."""

from __future__ import annotations

from functools import lru_cache
from math import lcm
from typing import TYPE_CHECKING, Any, NamedTuple

from wave_core.symbols import logic
from wave_core.symbols.division import ceildiv, floordiv, mod
from wave_core.symbols.error import SymbolError
from wave_core.symbols.expr import Expr, constant, multiply, product, symbol, total

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_POWER = 16
"""Largest exponent of a power that is multiplied out."""

_KEPT = 1024
"""Expressions of users that are remembered."""


def from_sympy(value: Any, obligations: list[Expr] | None = None) -> Expr:
    """The expression that a sympy expression (or an integer) denotes.

    A quotient p/q outside of floor and ceiling, such as BLOCK_M/2, is meant to be
    exact: it becomes p // q.

    Args:
        value: Integer-valued sympy expression, or an integer. Symbols keep their name
            and count as nonnegative only if they were declared so.
        obligations: Receives the conditions eq(mod(p, q), 0) that this relies on; the
            caller checks them once the symbols are bound.

    Raises:
        SymbolError: The expression has no integer meaning here.
    """
    leaf = _leaf(value)
    if leaf is not None:
        return leaf
    _check_known(value)
    found, conditions = _read(value)
    if obligations is not None:
        obligations.extend(conditions)
    return found


@lru_cache(_KEPT, typed=True)
def _read(value: Any) -> tuple[Expr, tuple[Expr, ...]]:
    """The expression and what it relies on: constraints are made anew for each size."""
    obligations: list[Expr] = []
    found = _Reader(obligations).convert(value)
    return found, tuple(obligations)


class _Fraction(NamedTuple):
    """A numerator over a divisor, before it is rounded."""

    num: Expr
    den: Expr


class _Reader:
    """Reads each part of an expression once, however often it occurs.

    Parts are told apart by identity: sympy compares equal ones by walking both.
    """

    def __init__(self, obligations: list[Expr]) -> None:
        self._obligations = obligations
        self._known: dict[int, Expr] = {}
        self._parts: list[Any] = []

    def convert(self, value: Any) -> Expr:
        """An integer-valued expression."""
        leaf = _leaf(value)
        if leaf is not None:
            return leaf
        found = self._known.get(id(value))
        if found is None:
            found = self._known[id(value)] = self._converted(value)
            # What is gone could leave its identity to another part.
            self._parts.append(value)
        return found

    def _converted(self, value: Any) -> Expr:
        _check_known(value)
        name = type(value).__name__
        special = _SPECIAL.get(name)
        if special is not None:
            return special(self, value)
        builder = _FUNCTIONS[name]
        if name in _RELATIONS:
            return self._relation(builder, *value.args)
        return builder(*[self.convert(arg) for arg in value.args])

    def quotient(self, value: Any) -> Expr:
        """Arithmetic outside of a rounding: what it divides must be exact."""
        return self._exact(self._fraction(value))

    def floor(self, value: Any) -> Expr:
        """A quotient rounded down."""
        return floordiv(*self._fraction(value.args[0]))

    def ceiling(self, value: Any) -> Expr:
        """A quotient rounded up."""
        return ceildiv(*self._fraction(value.args[0]))

    def held(self, value: Any) -> Expr:
        """An expression that sympy was told not to evaluate."""
        return self.convert(value.args[0])

    def _exact(self, fraction: _Fraction) -> Expr:
        num, den = fraction
        if den is constant(1):
            return num
        condition = logic.eq(mod(num, den), 0)
        if condition.is_constant and condition.const:
            return floordiv(num, den)
        if condition.is_constant:
            msg = f"{num} is not known to be divisible by {den}; use // or floor"
            raise SymbolError(msg)
        self._obligations.append(condition)
        return floordiv(num, den)

    def _fraction(self, value: Any) -> _Fraction:
        name = type(value).__name__
        one = constant(1)
        if name in ("Rational", "Half"):
            return _Fraction(constant(int(value.p)), constant(int(value.q)))
        if name == "Mul":
            parts = [self._fraction(arg) for arg in value.args]
            num = product([part.num for part in parts])
            return _Fraction(num, product([part.den for part in parts]))
        if name == "Add":
            return self._add([self._fraction(arg) for arg in value.args])
        if name == "Pow":
            return self._power(value)
        return _Fraction(self.convert(value), one)

    def _add(self, parts: list[_Fraction]) -> _Fraction:
        dens = list(dict.fromkeys([p.den for p in parts if p.den is not constant(1)]))
        common = product(dens)
        if all(den.is_constant for den in dens):
            common = constant(lcm(*[den.const for den in dens]))
        rows = [multiply(p.num, floordiv(common, p.den)) for p in parts]
        return _Fraction(total(rows), common)

    def _power(self, value: Any) -> _Fraction:
        base, exponent = value.args
        one = constant(1)
        if not exponent.is_Integer or abs(int(exponent)) > MAX_POWER:
            msg = f"cannot use the power {value} in an index"
            raise SymbolError(msg)
        inner = self._fraction(base)
        times = abs(int(exponent))
        num = product([inner.num] * times) if times else one
        den = product([inner.den] * times) if times else one
        return _Fraction(num, den) if int(exponent) >= 0 else _Fraction(den, num)

    def remainder(self, value: Any) -> Expr:
        """A remainder, also of fractions."""
        num, den = (self._fraction(arg) for arg in value.args)
        one = constant(1)
        if num.den is one and den.den is one:
            return mod(num.num, den.num)
        # (a/b) mod (c/d) = ((a*d) mod (c*b)) / (b*d), which has to be exact.
        rest = mod(multiply(num.num, den.den), multiply(den.num, num.den))
        return self._exact(_Fraction(rest, multiply(num.den, den.den)))

    def _relation(self, builder: Callable[..., Expr], a: Any, b: Any) -> Expr:
        left, right = self._fraction(a), self._fraction(b)
        for part in (left, right):
            if not part.den.nonnegative:
                return builder(self._exact(left), self._exact(right))
        # Divisors are positive, so comparing the cross products is the same.
        return builder(
            multiply(left.num, right.den),
            multiply(right.num, left.den),
        )

    def piecewise(self, value: Any) -> Expr:
        """A chain of selects; the last case must be the default."""
        rows = list(value.args)
        last, condition = rows[-1].args
        if type(condition).__name__ != "BooleanTrue":
            msg = f"a Piecewise in an index needs a default case: {value}"
            raise SymbolError(msg)
        result = self.convert(last)
        for row in reversed(rows[:-1]):
            branch, condition = row.args
            result = logic.select(self.convert(condition), self.convert(branch), result)
        return result


def _check_known(value: Any) -> None:
    name = type(value).__name__
    if name not in _SPECIAL and name not in _FUNCTIONS:
        msg = f"cannot use {name} in an index: {value}"
        raise SymbolError(msg)


def _leaf(value: Any) -> Expr | None:
    """The symbol or number that a leaf of a sympy expression is."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, int):
        return constant(value)
    if getattr(value, "is_Symbol", False):
        return symbol(value.name, bool(value.is_nonnegative))
    if getattr(value, "is_Integer", False):
        return constant(int(value))
    if type(value).__name__ in ("BooleanTrue", "BooleanFalse"):
        return constant(int(bool(value)))
    return None


_SPECIAL: Mapping[str, Callable[[_Reader, Any], Expr]] = {
    "Add": _Reader.quotient,
    "Mul": _Reader.quotient,
    "Pow": _Reader.quotient,
    "Rational": _Reader.quotient,
    "Half": _Reader.quotient,
    "floor": _Reader.floor,
    "ceiling": _Reader.ceiling,
    "Mod": _Reader.remainder,
    "Piecewise": _Reader.piecewise,
    "UnevaluatedExpr": _Reader.held,
}

_RELATIONS: Mapping[str, Callable[..., Expr]] = {
    "StrictLessThan": logic.lt,
    "LessThan": logic.le,
    "StrictGreaterThan": logic.gt,
    "GreaterThan": logic.ge,
    "Equality": logic.eq,
    "Unequality": logic.ne,
}

_FUNCTIONS: Mapping[str, Callable[..., Expr]] = {
    "Min": logic.minimum,
    "Max": logic.maximum,
    "Abs": logic.absolute,
    "xor": logic.xor,
    "And": logic.logical_and,
    "Or": logic.logical_or,
    "Not": logic.logical_not,
    "ITE": logic.select,
    **_RELATIONS,
}


def sympy_symbol(value: Expr) -> Any:
    """The symbol as users write it, which `from_sympy` reads as `value`."""
    import sympy  # noqa: PLC0415

    flag = True if value.nonnegative else None
    return sympy.Symbol(value.name, integer=True, nonnegative=flag)

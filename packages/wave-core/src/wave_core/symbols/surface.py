"""Expressions as a reader or an emitter wants them: with %, -, < and ceildiv.

The canonical form has neither remainders nor subtractions nor two-sided comparisons.
`surface` gives an equal tree that has them; printing and code emission walk it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from wave_core.symbols.division import is_ceiling
from wave_core.symbols.expr import as_expr
from wave_core.symbols.node import Kind
from wave_core.symbols.remainder import Part, Remainder, split_remainders

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wave_core.symbols.expr import Expr


class Op(StrEnum):
    """Operations of surface nodes."""

    CONST = "const"
    SYMBOL = "symbol"
    NEG = "neg"
    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    FLOORDIV = "floordiv"
    CEILDIV = "ceildiv"
    MOD = "mod"
    MIN = "min"
    MAX = "max"
    SELECT = "select"
    XOR = "xor"
    LT = "lt"
    LE = "le"
    EQ = "eq"
    NE = "ne"
    AND = "and"
    OR = "or"


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """One surface node; two arguments except for min, max, xor, and, or, select.

    Attributes:
        op: The operation.
        args: Operands.
        leaf: The constant or symbol, for these two operations.
    """

    op: Op
    args: tuple[Form, ...] = ()
    leaf: Expr | None = None


_PLAIN = {
    Kind.FLOORDIV: Op.FLOORDIV,
    Kind.MIN: Op.MIN,
    Kind.MAX: Op.MAX,
    Kind.SELECT: Op.SELECT,
    Kind.XOR: Op.XOR,
    Kind.AND: Op.AND,
    Kind.OR: Op.OR,
}

_Weighted = tuple[Part, int]


def surface(value: Expr) -> Form:
    """The surface tree of an expression; equal sub-expressions share one `Form`."""
    return _Surface().form(value)


class _Surface:
    def __init__(self) -> None:
        self.memo: dict[Expr, Form] = {}

    def form(self, value: Expr) -> Form:
        found = self.memo.get(value)
        if found is None:
            found = self.memo[value] = self._build(value)
        return found

    def _build(self, value: Expr) -> Form:
        kind = value.kind
        if kind is Kind.CONST:
            return Form(Op.CONST, leaf=value)
        if kind is Kind.SYMBOL:
            return Form(Op.SYMBOL, leaf=value)
        if kind is Kind.SUM:
            const, parts = split_remainders(value)
            return self._total(_ordered(parts), const)
        if kind is Kind.PRODUCT:
            return self._chain(Op.MUL, [self.form(arg) for arg in value.args])
        if kind in _PLAIN:
            return self._plain(value)
        return self._comparison(kind, value.args[0])

    def _plain(self, value: Expr) -> Form:
        if is_ceiling(value):
            return Form(Op.NEG, (self._ceiling(value),))
        args = tuple([self.form(arg) for arg in value.args])
        return Form(_PLAIN[value.kind], args)

    def _chain(self, op: Op, forms: list[Form]) -> Form:
        result = forms[0]
        for form in forms[1:]:
            result = Form(op, (result, form))
        return result

    def _number(self, value: int) -> Form:
        return self.form(as_expr(value))

    def _ceiling(self, value: Expr) -> Form:
        above, below = value.args
        return Form(Op.CEILDIV, (self.form(-above), self.form(below)))

    def _part(self, part: Part, factor: int) -> tuple[Form, bool]:
        """The form of |factor| * part, and whether it is to be subtracted."""
        negative = factor < 0
        if isinstance(part, Remainder):
            form = Form(Op.MOD, (self.form(part.base), self.form(part.modulus)))
        elif is_ceiling(part):
            form, negative = self._ceiling(part), not negative
        else:
            form = self.form(part)
        if abs(factor) != 1:
            form = Form(Op.MUL, (self._number(abs(factor)), form))
        return form, negative

    def _total(self, parts: Iterable[_Weighted], const: int) -> Form:
        rows = [self._part(part, factor) for part, factor in parts]
        if const or not rows:
            rows.append((self._number(abs(const)), const < 0))
        lead = next((i for i, row in enumerate(rows) if not row[1]), 0)
        rows.insert(0, rows.pop(lead))
        result, negative = rows[0]
        if negative:
            constant = result.op is Op.CONST and result.leaf is not None
            leaf = result.leaf if constant else None
            result = Form(Op.NEG, (result,)) if leaf is None else self.form(-leaf)
        for form, subtracted in rows[1:]:
            result = Form(Op.SUB if subtracted else Op.ADD, (result, form))
        return result

    def _comparison(self, kind: Kind, value: Expr) -> Form:
        const, found = split_remainders(value)
        parts = _ordered(found)
        right = [(part, factor) for part, factor in parts if factor > 0]
        left = [(part, -factor) for part, factor in parts if factor < 0]
        if kind is Kind.GE:
            return self._inequality(left, right, const)
        op = Op.EQ if kind is Kind.EQ else Op.NE
        if not left:
            return Form(op, (self._total(right, 0), self._number(-const)))
        sides = self._total(right, max(const, 0)), self._total(left, max(-const, 0))
        return Form(op, sides)

    def _inequality(
        self, left: list[_Weighted], right: list[_Weighted], const: int
    ) -> Form:
        """The form of left <= right + const."""
        if not left:
            return Form(Op.LE, (self._number(-const), self._total(right, 0)))
        if not right and const > 0:
            return Form(Op.LT, (self._total(left, 0), self._number(const + 1)))
        if not right or const >= 0:
            return Form(Op.LE, (self._total(left, 0), self._total(right, const)))
        # left <= right - n is left + n - 1 < right.
        return Form(Op.LT, (self._total(left, -const - 1), self._total(right, 0)))


def _ordered(parts: Iterable[_Weighted]) -> list[_Weighted]:
    """Plain symbols and products first, then quotients and the like."""

    def rank(row: _Weighted) -> tuple[bool, object, object]:
        part = row[0]
        if isinstance(part, Remainder):
            return True, part.base.key, part.modulus.key
        return part.kind not in (Kind.SYMBOL, Kind.PRODUCT), part.key, ()

    return sorted(parts, key=rank)

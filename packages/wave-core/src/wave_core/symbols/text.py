"""Text of expressions; `parse.parse_expr` reads it back to the identical node.

A symbol prints as its name. Names with other characters than letters, digits and
`_ $ . :` print as sym"..." with JSON escapes; a symbol that may be negative carries
a trailing `?`. Operators and their precedence are those of Python; `and`, `or`,
`min`, `max`, `xor`, `select` and `ceildiv` are functions.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from wave_core.symbols.surface import Form, Op, surface

if TYPE_CHECKING:
    from wave_core.symbols.expr import Expr

FUNCTION_NAMES = frozenset({"and", "ceildiv", "max", "min", "or", "select", "xor"})
PLAIN_NAME = re.compile(r"[A-Za-z_$](?:[A-Za-z0-9_$.:]*[A-Za-z0-9_$])?")

_COMPARE, _SUM, _PRODUCT, _UNARY, _ATOM = range(5)

_INFIX = {
    Op.LT: (" < ", _COMPARE, _SUM, _SUM),
    Op.LE: (" <= ", _COMPARE, _SUM, _SUM),
    Op.EQ: (" == ", _COMPARE, _SUM, _SUM),
    Op.NE: (" != ", _COMPARE, _SUM, _SUM),
    Op.ADD: (" + ", _SUM, _SUM, _PRODUCT),
    Op.SUB: (" - ", _SUM, _SUM, _PRODUCT),
    Op.MUL: ("*", _PRODUCT, _PRODUCT, _ATOM),
    Op.FLOORDIV: (" // ", _PRODUCT, _PRODUCT, _ATOM),
    Op.MOD: (" % ", _PRODUCT, _PRODUCT, _ATOM),
}
"""Operator text, own precedence, and the precedence that each side needs."""


def format_expr(value: Expr) -> str:
    """The text of an expression."""
    return _format(surface(value), _COMPARE)


def format_symbol(value: Expr) -> str:
    """The text of a symbol, quoted when its name needs it."""
    name = value.name
    if name in FUNCTION_NAMES or name == "sym" or not PLAIN_NAME.fullmatch(name):
        name = "sym" + json.dumps(name)
    return name if value.nonnegative else name + "?"


def _precedence(form: Form) -> int:
    op = form.op
    if op in _INFIX:
        return _INFIX[op][1]
    if op is Op.NEG or (form.leaf is not None and form.leaf.const < 0):
        return _UNARY
    return _ATOM


def _format(form: Form, needed: int) -> str:
    if _precedence(form) < needed:
        return f"({_format(form, _COMPARE)})"
    # Long sums lean to the left: walk down that side instead of recursing.
    pieces: list[str] = []
    while form.op in _INFIX:
        sign, _, left, right = _INFIX[form.op]
        form, second = form.args
        pieces.append(sign + _format(second, right))
        if _precedence(form) < left:
            pieces.append(f"({_format(form, _COMPARE)})")
            break
    else:
        pieces.append(_format_prefix(form))
    return "".join(reversed(pieces))


def _format_prefix(form: Form) -> str:
    if form.op is Op.NEG:
        return "-" + _format(form.args[0], _ATOM)
    if form.op is Op.SYMBOL and form.leaf is not None:
        return format_symbol(form.leaf)
    if form.leaf is not None:
        return str(form.leaf.const)
    parts = [_format(arg, _COMPARE) for arg in form.args]
    return f"{form.op.value}({', '.join(parts)})"

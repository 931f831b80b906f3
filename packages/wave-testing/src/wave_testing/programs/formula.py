"""Integer formulas as data: what index arithmetic and mappings are written in.

A formula is an integer, a leaf ``(kind, name)``, or ``(operator, left, right)``. The
same formula is computed on sympy symbols and on numpy arrays.
"""

# Programs are data of many shapes, and kernels are built from them at run time.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

Formula = int | tuple[Any, ...]

OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compute(formula: Formula, leaf: Callable[[str, Any], Any]) -> Any:
    """The value of a formula; ``leaf(kind, name)`` gives that of its leaves."""
    if isinstance(formula, int):
        return formula
    if len(formula) == 2:
        return leaf(*formula)
    sign, left, right = formula
    return OPERATORS[sign](compute(left, leaf), compute(right, leaf))


def formula_text(formula: Formula) -> str:
    """A formula as Python writes it."""
    if isinstance(formula, int):
        return str(formula)
    if len(formula) == 2:
        kind, name = formula
        return name if kind == "sym" else f"{kind}{name}"
    sign, left, right = formula
    return f"({formula_text(left)} {sign} {formula_text(right)})"

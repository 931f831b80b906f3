"""The elementwise kinds of steps, by what they are in the language and in numpy."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
LOGIC = ("and", "or", "xor", "not")
ROUNDINGS = ("floor", "ceil", "round", "roundeven")

_SPELLED = {"and": "and_", "or": "or_", "not": "invert"}

OPERATORS: Mapping[str, Callable[..., Any]] = {
    kind: getattr(operator, _SPELLED.get(kind, kind))
    for kind in ("add", "sub", "mul", "neg", "floordiv", "mod", *LOGIC, *COMPARISONS)
}
"""Kinds that Python's operators mean, of registers and of arrays alike."""

FUNCTIONS = ("maximum", "minimum", "abs", "exp2", "reciprocal", *ROUNDINGS, "select")
"""Kinds that are functions of the language."""

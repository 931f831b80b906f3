"""The elementwise kinds of steps, by what they are in the language and in numpy."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
LOGIC = ("and", "or", "xor", "not")
SHIFTS = ("lshift", "rshift")
ROUNDINGS = ("floor", "ceil", "round", "roundeven")

_SPELLED = {"and": "and_", "or": "or_", "not": "invert"}

OPERATORS: Mapping[str, Callable[..., Any]] = {
    kind: getattr(operator, _SPELLED.get(kind, kind))
    for kind in (
        "add",
        "sub",
        "mul",
        "neg",
        "floordiv",
        "mod",
        *SHIFTS,
        *LOGIC,
        *COMPARISONS,
    )
}
"""Kinds that Python's operators mean, of registers and of arrays alike."""

HINTS = ("scheduling", "group", "priority", "wait", "workgroup", "split")
"""Barriers and hints that change no result."""

ROUNDED_UNARY = (
    *("exp", "log", "log2", "log10", "sqrt", "rsqrt", "cbrt", "sin", "cos", "sinh"),
    *("tanh", "tanh_approx", "erf", "sigmoid", "silu", "gelu", "softsign"),
)
ROUNDED_BINARY = ("div", "powf", "atan2", "remf")
ROUNDED = (*ROUNDED_UNARY, *ROUNDED_BINARY)
"""Kinds that each device rounds in its own way; see `functions`."""

FUNCTIONS = ("maximum", "minimum", "abs", "exp2", "reciprocal", *ROUNDINGS, "select")
"""Kinds that are functions of the language."""

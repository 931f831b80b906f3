"""Integer expressions, facts about them, and layouts; imports no sympy, no numpy."""

from __future__ import annotations

from wave_core.symbols.convert import from_sympy, to_sympy
from wave_core.symbols.division import ceildiv, floordiv, mod
from wave_core.symbols.error import SymbolError
from wave_core.symbols.evaluate import Evaluator, evaluate
from wave_core.symbols.expr import Expr, as_expr, constant, product, symbol, total
from wave_core.symbols.facts import Facts
from wave_core.symbols.layout import Coverage, Digit, Layout
from wave_core.symbols.layout_text import parse_layout
from wave_core.symbols.logic import (
    absolute,
    conjuncts,
    eq,
    ge,
    gt,
    le,
    logical_and,
    logical_not,
    logical_or,
    lt,
    maximum,
    minimum,
    ne,
    select,
    xor,
)
from wave_core.symbols.node import Kind
from wave_core.symbols.parse import parse_expr
from wave_core.symbols.ranges import Interval
from wave_core.symbols.remainder import Remainder, split_remainders
from wave_core.symbols.substitute import substitute_all
from wave_core.symbols.surface import Form, Op, surface
from wave_core.symbols.tape import Tape, compile_tape

__all__ = [
    "Coverage",
    "Digit",
    "Evaluator",
    "Expr",
    "Facts",
    "Form",
    "Interval",
    "Kind",
    "Layout",
    "Op",
    "Remainder",
    "SymbolError",
    "Tape",
    "absolute",
    "as_expr",
    "ceildiv",
    "compile_tape",
    "conjuncts",
    "constant",
    "eq",
    "evaluate",
    "floordiv",
    "from_sympy",
    "ge",
    "gt",
    "le",
    "logical_and",
    "logical_not",
    "logical_or",
    "lt",
    "maximum",
    "minimum",
    "mod",
    "ne",
    "parse_expr",
    "parse_layout",
    "product",
    "select",
    "split_remainders",
    "substitute_all",
    "surface",
    "symbol",
    "to_sympy",
    "total",
    "xor",
]

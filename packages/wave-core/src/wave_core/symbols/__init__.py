"""Integer expressions, facts about them, and layouts; imports no sympy, no numpy."""

from __future__ import annotations

from wave_core.symbols.convert import from_sympy, to_sympy
from wave_core.symbols.division import ceildiv, floordiv, mod
from wave_core.symbols.error import SymbolError
from wave_core.symbols.evaluate import Evaluator, evaluate
from wave_core.symbols.expr import Expr, as_expr, constant, product, symbol, total
from wave_core.symbols.facts import Facts
from wave_core.symbols.layout import Digit, Layout
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
from wave_core.symbols.relation import Coverage, coverage, lane_map, register_map
from wave_core.symbols.remainder import Remainder, split_remainders
from wave_core.symbols.sequence import IndexSequence, sequence_of
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
    "IndexSequence",
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
    "coverage",
    "eq",
    "evaluate",
    "floordiv",
    "from_sympy",
    "ge",
    "gt",
    "lane_map",
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
    "register_map",
    "select",
    "sequence_of",
    "split_remainders",
    "substitute_all",
    "surface",
    "symbol",
    "to_sympy",
    "total",
    "xor",
]

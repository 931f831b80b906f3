"""Integer expressions, facts about them, and layouts; imports no sympy, no numpy."""

from __future__ import annotations

from wave_core.symbols.convert import from_sympy
from wave_core.symbols.convert import to_sympy
from wave_core.symbols.division import ceildiv
from wave_core.symbols.division import floordiv
from wave_core.symbols.division import mod
from wave_core.symbols.error import SymbolError
from wave_core.symbols.evaluate import Evaluator
from wave_core.symbols.evaluate import evaluate
from wave_core.symbols.exchange import EXCHANGE_LANES
from wave_core.symbols.exchange import before_exchange
from wave_core.symbols.exchange import exchanged
from wave_core.symbols.expr import Expr
from wave_core.symbols.expr import as_expr
from wave_core.symbols.expr import constant
from wave_core.symbols.expr import product
from wave_core.symbols.expr import symbol
from wave_core.symbols.expr import total
from wave_core.symbols.facts import Facts
from wave_core.symbols.layout import Digit
from wave_core.symbols.layout import Layout
from wave_core.symbols.layout_text import parse_layout
from wave_core.symbols.logic import absolute
from wave_core.symbols.logic import eq
from wave_core.symbols.logic import ge
from wave_core.symbols.logic import gt
from wave_core.symbols.logic import le
from wave_core.symbols.logic import logical_and
from wave_core.symbols.logic import logical_not
from wave_core.symbols.logic import logical_or
from wave_core.symbols.logic import lt
from wave_core.symbols.logic import maximum
from wave_core.symbols.logic import minimum
from wave_core.symbols.logic import ne
from wave_core.symbols.logic import select
from wave_core.symbols.logic import xor
from wave_core.symbols.node import Kind
from wave_core.symbols.parse import parse_expr
from wave_core.symbols.ranges import Interval
from wave_core.symbols.relation import Coverage
from wave_core.symbols.relation import coverage
from wave_core.symbols.relation import lane_map
from wave_core.symbols.relation import register_map
from wave_core.symbols.remainder import Remainder
from wave_core.symbols.remainder import split_remainders
from wave_core.symbols.sequence import IndexSequence
from wave_core.symbols.sequence import sequence_of
from wave_core.symbols.substitute import substitute_all
from wave_core.symbols.surface import Form
from wave_core.symbols.surface import Op
from wave_core.symbols.surface import surface
from wave_core.symbols.tape import Tape
from wave_core.symbols.tape import compile_tape

__all__ = [
    "EXCHANGE_LANES",
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
    "before_exchange",
    "ceildiv",
    "compile_tape",
    "constant",
    "coverage",
    "eq",
    "evaluate",
    "exchanged",
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

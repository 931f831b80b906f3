"""Integer expressions, facts about them, and layouts; imports no sympy, no numpy."""

from __future__ import annotations

from wave_core.symbols.convert import (
    from_sympy as from_sympy,
    sympy_symbol as sympy_symbol,
)
from wave_core.symbols.division import (
    ceildiv as ceildiv,
    floordiv as floordiv,
    mod as mod,
)
from wave_core.symbols.error import SymbolError as SymbolError
from wave_core.symbols.evaluate import Evaluator as Evaluator, evaluate as evaluate
from wave_core.symbols.expr import (
    Expr as Expr,
    as_expr as as_expr,
    constant as constant,
    product as product,
    symbol as symbol,
    total as total,
)
from wave_core.symbols.facts import Facts as Facts
from wave_core.symbols.layout import (
    Coverage as Coverage,
    Digit as Digit,
    Layout as Layout,
)
from wave_core.symbols.layout_text import parse_layout as parse_layout
from wave_core.symbols.logic import (
    absolute as absolute,
    conjuncts as conjuncts,
    eq as eq,
    ge as ge,
    gt as gt,
    le as le,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    lt as lt,
    maximum as maximum,
    minimum as minimum,
    ne as ne,
    select as select,
    xor as xor,
)
from wave_core.symbols.node import Kind as Kind
from wave_core.symbols.parse import parse_expr as parse_expr
from wave_core.symbols.ranges import Interval as Interval
from wave_core.symbols.remainder import (
    Remainder as Remainder,
    split_remainders as split_remainders,
)
from wave_core.symbols.substitute import substitute_all as substitute_all
from wave_core.symbols.surface import Form as Form, Op as Op, surface as surface
from wave_core.symbols.tape import Tape as Tape

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
from wave_core.symbols.evaluate import evaluate as evaluate
from wave_core.symbols.expr import (
    Expr as Expr,
    as_expr as as_expr,
    combine as combine,
    constant as constant,
    dot as dot,
    product as product,
    symbol as symbol,
    total as total,
)
from wave_core.symbols.facts import Facts as Facts
from wave_core.symbols.layout import Digit as Digit, Layout as Layout
from wave_core.symbols.layout_text import parse_layout as parse_layout
from wave_core.symbols.logic import (
    conjuncts as conjuncts,
    eq as eq,
    ge as ge,
    le as le,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    lt as lt,
    maximum as maximum,
    minimum as minimum,
    select as select,
    xor as xor,
)
from wave_core.symbols.node import Kind as Kind
from wave_core.symbols.parse import parse_expr as parse_expr
from wave_core.symbols.ratio import ratio_of as ratio_of
from wave_core.symbols.remainder import (
    Remainder as Remainder,
    split_remainders as split_remainders,
)
from wave_core.symbols.tape import Tape as Tape

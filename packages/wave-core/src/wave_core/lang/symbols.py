"""Symbols, as kernel authors write them: sympy's."""

from __future__ import annotations

import sympy

from wave_core.diagnostics import capture_location, user_error

IndexSymbol = sympy.Symbol
"""The type of a symbol."""

IndexExpr = sympy.Expr
"""The type of an expression of symbols and integers."""


class SymbolFactory:
    """``sym.M`` is the symbol ``M``: an integer that is not negative.

    The same name is the same symbol everywhere.
    """

    def __getattr__(self, name: str) -> sympy.Symbol:
        if name.startswith("__"):
            raise AttributeError(name)
        return index_symbol(name)


def index_symbol(name: str) -> sympy.Symbol:
    """The symbol called ``name``."""
    return sympy.Symbol(name, integer=True, nonnegative=True)


sym = SymbolFactory()

WORKGROUP_0 = index_symbol("$WG0")
WORKGROUP_1 = index_symbol("$WG1")
WORKGROUP_2 = index_symbol("$WG2")
WORKGROUP_3 = index_symbol("$WG3")
WORKGROUP_4 = index_symbol("$WG4")
THREAD_0 = index_symbol("$T0")
THREAD_1 = index_symbol("$T1")
THREAD_2 = index_symbol("$T2")
DEVICE_DIM_0 = index_symbol("$DD0")
DEVICE_DIM_1 = index_symbol("$DD1")
DEVICE_DIM_2 = index_symbol("$DD2")


def GET_ITER_ARG(position: object) -> sympy.Symbol:  # noqa: N802 - the language's name
    """Value ``position`` of ``init_args``, in the condition of the loop.

    It has to be an integer scalar; unlike other symbols it may be negative.

    Raises:
        UserError: WV0141 for what is no position.
    """
    if not isinstance(position, int) or isinstance(position, bool) or position < 0:
        raise user_error(
            "WV0141",
            f"`GET_ITER_ARG` counts from 0, not `{position!r}`",
            at=capture_location(),
            help="the first value of `init_args` is `GET_ITER_ARG(0)`",
        )
    return sympy.Symbol(f"$ITER_ARG{position}", integer=True)

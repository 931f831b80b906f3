"""Symbols, as kernel authors write them: sympy's."""

from __future__ import annotations

import sympy


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
DEVICE_DIM_0 = index_symbol("$DD0")
DEVICE_DIM_1 = index_symbol("$DD1")
DEVICE_DIM_2 = index_symbol("$DD2")

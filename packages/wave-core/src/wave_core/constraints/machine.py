"""Names of the values that differ from lane to lane and from register to register."""

from __future__ import annotations

from wave_core.symbols import Expr, symbol

LANE: Expr = symbol("$LANE")
"""The lane's position in its wave."""

REGISTER: Expr = symbol("$REG")
"""The position of an element in its lane's vector."""


def induction_symbol(axis: str, depth: int) -> Expr:
    """The iteration count of a loop over ``axis``; ``depth`` nested loops over it."""
    return symbol(f"$IV:{axis}" if depth == 0 else f"$IV:{axis}.{depth}")

"""Loops, conditions, symbols that change their value, and breakpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error
from wave_core.ops import rules
from wave_core.ops.base import (
    Op,
    attribute,
    operand,
    optional,
    region,
    variadic,
)
from wave_core.ops.traits import Trait

if TYPE_CHECKING:
    from wave_core.ir.graph import Region
    from wave_core.symbols import Expr


class Iterate(Op, name="iterate"):
    """A loop over the tiles of ``axis`` that carries values along.

    The body's arguments are the carried values, then the captures; it yields the
    values of the next iteration. The results (``get_result``) are those of the
    last one, or ``inits`` where there is none. How often it runs follows from the
    tiling constraint of ``axis``.

    Shapes and dtypes: a carried value keeps the type of its initial value.
    """

    inits: tuple[Op, ...] = variadic(help="the carried values of iteration 0")
    captures: tuple[Op, ...] = variadic(help="outer values that the body uses")
    axis: Expr = attribute(help="the dimension that the loop tiles")
    induction: Expr | None = attribute(
        default=None, help="the number of the tile that an iteration works on"
    )
    count: Expr | None = attribute(default=None, help="the number of iterations")
    start: Expr | int = attribute(default=0, help="the first iteration")
    step: int = attribute(least=1, default=1, help="iterations to advance at a time")
    body: Region = region(help="one iteration")  # pyright: ignore[reportGeneralTypeIssues] - given by keyword

    def infer(self) -> None:
        """No value of its own."""
        for value in self.inits:
            rules.register_type(self, value, "init_args")


class While(Op, name="while"):
    """A loop that carries values along and runs as long as a condition holds.

    ``symbols`` name the first carried values, integer scalars, wherever expressions
    of the loop use them. Each iteration begins with the question whether
    ``condition``, a relation of these and other symbols, holds. The body's arguments
    are the carried values, then the captures; it yields those of the next iteration.
    The results (``get_result``) are the values with which the condition fails.

    Without a condition, the first carried value says for each lane whether it takes
    part in the next iteration; a lane that has left keeps its values.

    Shapes and dtypes: a carried value keeps the type of its initial value; a named
    one is an integer scalar, one that decides a bool. Raises: WV0205, WV0218 for what
    is no relation.
    """

    inits: tuple[Op, ...] = variadic(help="the carried values of iteration 0")
    captures: tuple[Op, ...] = variadic(help="outer values that the body uses")
    condition: Expr | None = attribute(default=None, help="a relation of symbols")
    symbols: tuple[Expr, ...] = attribute(
        default=(), help="names of the first carried values"
    )
    axis: Expr | None = attribute(
        default=None, help="the dimension whose tile the first symbol counts"
    )
    body: Region = region(help="one iteration")  # pyright: ignore[reportGeneralTypeIssues] - given by keyword

    @property
    def by_lane(self) -> bool:
        """Whether each lane leaves the loop by itself."""
        return self.condition is None and bool(self.inits)

    def infer(self) -> None:
        """No value of its own."""
        relation = self.condition is not None and self.condition.is_boolean
        if not (relation or self.by_lane):
            raise user_error(
                "WV0218",
                f"`{self.condition}` is no condition",
                at=self.location,
                help="write a relation of symbols: `condition=sym.TILE < sym.TILES`",
            )
        for value in self.inits:
            rules.register_type(self, value, "init_args")
        if self.by_lane:
            rules.require_family(self, self.inits[0], "condition", rules.BOOLS)
        for value in self.inits[: len(self.symbols)]:
            rules.require_family(self, value, "named value", rules.INTEGERS)


class Conditional(Op, name="conditional"):
    """Runs its body where a condition holds.

    The condition is a bool register (``condition``) or a relation of uniform
    symbols (``expr``). The results (``get_result``) are what the body yields where
    it holds, and ``else_values`` elsewhere.

    Dtypes: a bool condition. Raises: WV0205, WV0218 without exactly one condition.
    """

    condition: Op | None = optional(help="a bool register")
    captures: tuple[Op, ...] = variadic(help="outer values that the body uses")
    else_values: tuple[Op, ...] = variadic(help="results where it does not hold")
    expr: Expr | None = attribute(default=None, help="a relation of symbols")
    body: Region = region(help="what runs")  # pyright: ignore[reportGeneralTypeIssues] - given by keyword

    def infer(self) -> None:
        """No value of its own."""
        relation = self.expr is not None and self.expr.is_boolean
        if (self.condition is None) != relation:
            raise user_error(
                "WV0218",
                "`conditional` needs a bool register or a relation of symbols",
                at=self.location,
                help="compare registers, or write a relation such as `sym.M > 0`",
            )
        for value in self.else_values:
            rules.register_type(self, value, "else_return")
        if self.condition is not None:
            rules.require_family(
                self,
                self.condition,
                "condition",
                rules.BOOLS,
                "compare with something: `conditional(x > 0)`",
            )


class SetSymbol(Op, name="set_symbol", traits={Trait.ORDERED}):
    """Gives ``symbol`` the value of a scalar, from here on in program order.

    Shapes: a scalar, or a tile that is the same in every lane. Dtypes: an integer.
    Raises: WV0205.
    """

    value: Op = operand(help="an integer")
    symbol: Expr = attribute(help="the symbol")

    def infer(self) -> None:
        """No value."""
        rules.require_family(self, self.value, "value", rules.INTEGERS)


Loop = Iterate | While
"""The ops that carry values from one iteration of their body to the next."""


def symbols_set_by(op: Op) -> tuple[Expr, ...]:
    """The symbols that ``op`` itself gives values to."""
    if isinstance(op, SetSymbol):
        return (op.symbol,)
    return op.symbols if isinstance(op, While) else ()


class Breakpoint(Op, name="breakpoint", traits={Trait.ORDERED}):
    """Stops a simulation here and shows registers as tensors.

    For a device that runs machine code, logs take its place; emitted code has none.
    Shapes and dtypes: any registers.
    """

    values: tuple[Op, ...] = variadic(help="the registers to show")
    labels: tuple[str, ...] = attribute(default=(), help="their names")

    def infer(self) -> None:
        """No value."""
        for value in self.values:
            rules.register_type(self, value, "value")

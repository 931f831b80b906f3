"""An arbitrary index expression applied to registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error
from wave_core.ops import rules
from wave_core.ops.base import Op, attribute, variadic
from wave_core.ops.elementwise import BOOL
from wave_core.ops.traits import Trait
from wave_core.symbols import symbol
from wave_core.types import RegisterType

if TYPE_CHECKING:
    from wave_core.symbols import Expr
    from wave_core.types import DType


def argument_symbol(position: int) -> Expr:
    """The symbol of operand ``position`` in the expression of an ``ApplyExpr``."""
    return symbol(f"$ARG{position}", nonnegative=False)


class ApplyExpr(Op, name="apply_expr", traits={Trait.PURE, Trait.FOLLOWS_OPERANDS}):
    """``expr`` of integer registers, element by element.

    ``expr`` is over ``$ARG0``, ``$ARG1``, ... (the operands) and uniform symbols.
    Shapes: the dims of all operands, each once. Dtypes: integers; the result has
    ``dtype``, bool for a relation. Raises: WV0205, WV0206, WV0210 without operands.
    """

    values: tuple[Op, ...] = variadic(help="the registers")
    expr: Expr = attribute(help="over $ARG0.. and uniform symbols")
    dtype: DType | None = attribute(default=None, help="of the result")

    def infer(self) -> RegisterType:
        """A relation gives bool; anything else the type of the first operand."""
        if not self.values:
            raise user_error(
                "WV0210",
                "`apply_expr` needs at least one register",
                at=self.location,
                help="write an expression of symbols alone as `scalar(expr, dtype)`",
            )
        roles = tuple(f"value {i}" for i in range(len(self.values)))
        for value, role in zip(self.values, roles, strict=True):
            rules.require_family(self, value, role, rules.BITS)
        first = rules.register_type(self, self.values[0], roles[0]).dtype
        default = BOOL if self.expr.is_boolean else first
        shape = rules.union_shape(self, self.values, roles)
        return RegisterType(shape, self.dtype or default)

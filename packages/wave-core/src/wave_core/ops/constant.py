"""Constants, indices, and expressions over them and over registers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import user_error
from wave_core.ops import rules
from wave_core.ops.base import Op, attribute, variadic
from wave_core.ops.elementwise import BOOL, convert
from wave_core.ops.traits import Trait
from wave_core.symbols import Expr, symbol
from wave_core.types import RegisterType

if TYPE_CHECKING:
    from wave_core.types import DType


def check_constant(op: Op, value: object, dtype: DType) -> None:
    """Refuse a Python number that ``dtype`` cannot hold.

    Floats may round (to infinity too); integers have to fit and be whole.

    Raises:
        UserError: WV0209.
    """
    if isinstance(value, Expr):
        fits = not dtype.is_bool or value.is_boolean
    elif dtype.is_float:
        fits = isinstance(value, float) or _is_finite(value)
    elif dtype.is_bool:
        fits = isinstance(value, bool) or value in (0, 1)
    else:
        fits = isinstance(value, int) and value in dtype.integer_range
    if not fits:
        raise user_error(
            "WV0209",
            f"`{shortened(value)}` is not a value of element type `{dtype}`",
            at=op.location,
            label=f"as {dtype}",
            help="cast the register to an element type that holds the number",
        )


def _is_finite(value: object) -> bool:
    return isinstance(value, int) and value.bit_length() <= _FLOAT_BITS


def shortened(value: object) -> object:
    """A number that fits into a message."""
    if type(value) is int and value.bit_length() > _FLOAT_BITS:
        return f"an integer of {value.bit_length()} bits"
    return value


#: Integers of more bits are beyond every floating-point number.
_FLOAT_BITS = 1023


class Splat(Op, name="register", traits={Trait.PURE, Trait.FLEXIBLE}):
    """A tile with ``value`` in every element.

    Shapes: ``shape``. Dtypes: ``dtype``. Raises: WV0207 for a dimension named
    twice, WV0209 for a value that the element type cannot hold.
    """

    shape: tuple[Expr, ...] = attribute(help="the dims of the tile")
    dtype: DType = attribute(help="the element type")
    value: float = attribute(help="the number in every element")

    def infer(self) -> RegisterType:
        """The declared tile."""
        rules.require_distinct(self, self.shape, "shape")
        check_constant(self, self.value, self.dtype)
        return RegisterType(tuple(self.shape), self.dtype)

    def evaluate(self, *operands: Any) -> Any:  # noqa: ARG002 - overrides
        """One element; it broadcasts to the tile."""
        return convert(self.value, self.dtype)


class Scalar(Op, name="scalar", traits={Trait.PURE}):
    """A number, or the value of an expression over uniform symbols.

    Shapes: none, every lane holds it. Dtypes: ``dtype``. Raises: WV0209.
    """

    value: float | Expr = attribute(help="a number or an expression")
    dtype: DType = attribute(help="the element type")

    def infer(self) -> RegisterType:
        """A scalar."""
        check_constant(self, self.value, self.dtype)
        return RegisterType((), self.dtype)

    def evaluate(self, *operands: Any) -> Any:  # noqa: ARG002 - overrides
        """The number; an executor puts the values of symbols in first."""
        assert not isinstance(self.value, Expr), "needs the values of symbols"
        return convert(self.value, self.dtype)


class SelfIndex(Op, name="self_index", traits={Trait.PURE, Trait.FLEXIBLE}):
    """Each element's own logical index along ``dim``, counted in the whole tensor.

    Shapes: ``[dim]``. Dtypes: an integer type. Units: elements. Raises: WV0205.
    """

    dim: Expr = attribute(help="the dimension")
    dtype: DType = attribute(help="an integer element type")
    elements_per_thread: int | None = attribute(
        least=1,
        default=None,
        help="a wish that nothing has to follow: indices cost nothing",
    )

    def infer(self) -> RegisterType:
        """A tile along one dimension."""
        if not self.dtype.is_integer:
            raise user_error(
                "WV0205",
                f"`self_index` counts in integers, not in `{self.dtype}`",
                at=self.location,
                label=f"asks for {self.dtype}",
                help="use i32 or i64, and cast the result",
            )
        return RegisterType((self.dim,), self.dtype)


class LaneExpr(Op, name="lane_expr", traits={Trait.PURE}):
    """The value of ``expr`` at every lane (``$LANE``) and register (``$REG``).

    Only in lowered graphs: the number of registers is that of the placement.
    Shapes: ``shape``. Dtypes: ``dtype``; of a relation, its truth.
    """

    expr: Expr = attribute(help="over uniform symbols, $LANE and $REG")
    shape: tuple[Expr, ...] = attribute(help="the dims of the tile")
    dtype: DType = attribute(help="the element type")

    def infer(self) -> RegisterType:
        """The declared tile."""
        return RegisterType(tuple(self.shape), self.dtype)


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

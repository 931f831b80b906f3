"""Values without operands: splats, scalars, an element's own index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import user_error
from wave_core.ops import rules
from wave_core.ops.base import Op, attribute
from wave_core.ops.elementwise import convert
from wave_core.ops.traits import Trait
from wave_core.symbols import Expr
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
        fits = isinstance(value, int) and _in_range(value, dtype)
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


def _in_range(value: int, dtype: DType) -> bool:
    bound = 1 << (dtype.bits - 1)
    return -bound <= value < bound


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

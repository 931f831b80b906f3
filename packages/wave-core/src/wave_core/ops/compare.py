"""Comparisons, selection and conversion, element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from wave_core.ops import rules
from wave_core.ops.base import Op, attribute, operand
from wave_core.ops.elementwise import BOOL, Binary, Elementwise, Unary, convert
from wave_core.types import RegisterType

if TYPE_CHECKING:
    from wave_core.types import DType


class Comparison(Binary):
    """A relation of two elements; false where either is NaN, but for ``ne``.

    Shapes: the dims of both. Dtypes: equal operands, result bool.
    """

    def result_dtype(self, dtype: DType) -> DType:  # noqa: ARG002 - overrides
        """Truth values, whatever is compared."""
        return BOOL


class Eq(Comparison, name="eq"):
    """Whether the elements are equal. Dtypes: any; the result is bool."""

    allowed = rules.ANY
    numpy_name = "equal"


class Ne(Comparison, name="ne"):
    """Whether the elements differ; true where either is NaN.

    Dtypes: any; the result is bool.
    """

    allowed = rules.ANY
    numpy_name = "not_equal"


class Lt(Comparison, name="lt"):
    """Whether ``lhs`` is below ``rhs``. Dtypes: numbers; the result is bool."""

    numpy_name = "less"


class Le(Comparison, name="le"):
    """Whether ``lhs`` is at most ``rhs``. Dtypes: numbers; the result is bool."""

    numpy_name = "less_equal"


class Gt(Comparison, name="gt"):
    """Whether ``lhs`` is above ``rhs``. Dtypes: numbers; the result is bool."""

    numpy_name = "greater"


class Ge(Comparison, name="ge"):
    """Whether ``lhs`` is at least ``rhs``. Dtypes: numbers; the result is bool."""

    numpy_name = "greater_equal"


class Select(Elementwise, name="select"):
    """``on_true`` where ``condition`` holds, else ``on_false``.

    Shapes: the dims of all three, each once. Dtypes: a bool condition; both values
    of one element type. Raises: WV0204, WV0205, WV0206.
    """

    condition: Op = operand(help="a bool register")
    on_true: Op = operand(help="the values where the condition holds")
    on_false: Op = operand(help="the values elsewhere")

    def infer(self) -> RegisterType:
        """The element type of the values on the dims of all."""
        rules.require_family(
            self,
            self.condition,
            "condition",
            rules.BOOLS,
            "compare with something, or write `cast(condition, bool)`",
        )
        values, roles = (self.on_true, self.on_false), ("on_true", "on_false")
        dtype = rules.same_dtype(self, values, roles)
        return RegisterType(rules.union_shape(self, self.operands, self.roles), dtype)

    def evaluate(self, *operands: Any) -> Any:
        """No arithmetic takes place, so nothing is rounded."""
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when simulating

        condition, on_true, on_false = operands
        return cast("Any", np.where(condition, on_true, on_false))


class Cast(Unary, name="cast"):
    """The elements converted to ``dtype``, as torch converts them.

    Floats round to nearest even; a float becomes an integer by dropping its
    fraction (out of range it is any value); an integer wraps; anything but zero
    is true. Floats without infinities saturate; those without NaN have their
    greatest number in its place, with the sign. A scale, f8e8m0fnu, is the power of
    two nearest to the magnitude. Shapes: those of the value. Dtypes: any.
    """

    dtype: DType = attribute(help="the element type of the result")

    def infer(self) -> RegisterType:
        """Elements that share bytes convert, too."""
        found = rules.register_type(self, self.value, "value")
        return RegisterType(found.shape, self.dtype)

    def evaluate(self, *operands: Any) -> Any:
        """One conversion."""
        return convert(operands[0], self.dtype)


COMPARISONS = (Eq, Ne, Lt, Le, Gt, Ge)

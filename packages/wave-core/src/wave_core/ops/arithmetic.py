"""Arithmetic and mathematics, element by element; the meaning is torch's.

Shapes: the result has the dims of all operands, each once; a scalar operand goes
with every element. Dtypes: operands have one element type, which is the result's.
f16, bf16 and f8 compute in f32 and round once for each op. Integers wrap.
Raises: WV0201 for a memory, WV0204 for mixed element types, WV0205 for an element
type that the op does not take, WV0206 for dims in two orders.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import user_error
from wave_core.ops import rules
from wave_core.ops.base import attribute
from wave_core.ops.elementwise import Binary, Unary
from wave_core.ops.extremes import MAXIMUM, MINIMUM

if TYPE_CHECKING:
    from wave_core.types import RegisterType

_FLOATS_ONLY = "write `cast(value, f32)` first"


class Add(Binary, name="add"):
    """The sum, ``lhs + rhs``. Dtypes: numbers."""


class Sub(Binary, name="sub"):
    """The difference, ``lhs - rhs``. Dtypes: numbers."""

    numpy_name = "subtract"


class Mul(Binary, name="mul"):
    """The product, ``lhs * rhs``. Dtypes: numbers."""

    numpy_name = "multiply"


class Div(Binary, name="div"):
    """The quotient, ``lhs / rhs``. Dtypes: floats."""

    allowed = rules.FLOATS
    hint = "write `//` for integers, or cast both sides to a float type"
    numpy_name = "divide"


class FloorDiv(Binary, name="floordiv"):
    """The quotient rounded towards minus infinity, ``lhs // rhs``.

    Floats follow ``torch.floor_divide``; an integer division by zero gives 0 here
    and is reported by the simulator where the element takes part. Dtypes: numbers.
    """

    def compute(self, np: Any, *arrays: Any) -> Any:
        """The floor of the quotient, from the remainder so that it is exact."""
        lhs, rhs = arrays
        if np.result_type(lhs, rhs).kind != "f":
            return np.floor_divide(lhs, rhs)
        rest = np.fmod(lhs, rhs)
        whole = (lhs - rest) / rhs
        whole = np.where((rest != 0) & ((rhs < 0) != (rest < 0)), whole - 1, whole)
        floor = np.floor(whole)
        floor = np.where(whole - floor > 0.5, floor + 1, floor)
        nonzero = np.where(whole != 0, floor, np.copysign(0, lhs / rhs))
        return np.where(rhs == 0, lhs / rhs, nonzero).astype(rest.dtype)


class Mod(Binary, name="mod"):
    """The remainder with the sign of ``rhs``, ``lhs % rhs``.

    An integer remainder by zero gives 0 here and is reported by the simulator
    where the element takes part. Dtypes: numbers.
    """

    def compute(self, np: Any, *arrays: Any) -> Any:
        """The truncated remainder, moved to the side of the divisor."""
        lhs, rhs = arrays
        rest = np.fmod(lhs, rhs)
        return np.where((rest != 0) & ((rhs < 0) != (rest < 0)), rest + rhs, rest)


class Rem(Binary, name="remf"):
    """The remainder with the sign of ``lhs``, as C's ``fmod``. Dtypes: floats."""

    allowed = rules.FLOATS
    hint = "write `lhs - lhs // rhs * rhs`, or cast both sides to a float type"
    numpy_name = "fmod"


class And(Binary, name="and"):
    """Bits (or truth) of both, ``lhs & rhs``. Dtypes: integers, bool."""

    allowed = rules.BITS
    numpy_name = "bitwise_and"


class Or(Binary, name="or"):
    """Bits (or truth) of either, ``lhs | rhs``. Dtypes: integers, bool."""

    allowed = rules.BITS
    numpy_name = "bitwise_or"


class Xor(Binary, name="xor"):
    """Bits (or truth) of exactly one, ``lhs ^ rhs``. Dtypes: integers, bool."""

    allowed = rules.BITS
    numpy_name = "bitwise_xor"


class Shl(Binary, name="shl"):
    """The bits moved ``rhs`` places up, ``lhs << rhs``; zeros come in below.

    A shift by the width or more, or by a negative number, leaves 0.
    Dtypes: integers.
    """

    allowed = rules.INTEGERS
    numpy_name = "left_shift"


class Shr(Binary, name="shr"):
    """The bits moved ``rhs`` places down, ``lhs >> rhs``.

    Copies of the sign come in above, of an unsigned integer zeros: this is the floor
    of ``lhs / 2 ** rhs``. A shift by the width or more, or by a negative number,
    leaves nothing but what comes in. Dtypes: integers.
    """

    allowed = rules.INTEGERS
    numpy_name = "right_shift"


class Maximum(Binary, name="maximum"):
    """The larger element; NaN if either is NaN, and 0 is above -0. Dtypes: numbers."""

    def compute(self, np: Any, *arrays: Any) -> Any:
        """As IEEE 754-2019 has it."""
        del np
        return MAXIMUM(*arrays)


class Minimum(Binary, name="minimum"):
    """The smaller element; NaN if either is NaN, and -0 is below 0. Dtypes: numbers."""

    def compute(self, np: Any, *arrays: Any) -> Any:
        """As IEEE 754-2019 has it."""
        del np
        return MINIMUM(*arrays)


class Atan2(Binary, name="atan2"):
    """The angle of the point ``(rhs, lhs)``, in radians. Dtypes: floats."""

    allowed = rules.FLOATS
    hint = _FLOATS_ONLY
    numpy_name = "arctan2"


class Pow(Binary, name="powf"):
    """``lhs`` to the power ``rhs``, as IEEE 754 has it. Dtypes: floats.

    -inf and -0.0 to the power 0.5 are inf and 0.0. As in torch, ``x ** 0.5`` and
    ``x ** -0.5`` with a number are `sqrt` and `rsqrt`, which differ there.
    """

    allowed = rules.FLOATS
    hint = _FLOATS_ONLY

    def compute(self, np: Any, *arrays: Any) -> Any:
        """The power; numpy takes the root where one exponent stands for all."""
        base, exponent = np.broadcast_arrays(*arrays)
        return np.power(base, np.array(exponent, ndmin=1)).reshape(base.shape)


class Neg(Unary, name="neg"):
    """The negative; the least integer is its own negative. Dtypes: numbers."""

    numpy_name = "negative"


class Not(Unary, name="not"):
    """All bits flipped; of a bool, its opposite. Dtypes: integers, bool."""

    allowed = rules.BITS
    numpy_name = "invert"


class Abs(Unary, name="abs"):
    """The absolute value; the least integer is its own absolute value.

    Dtypes: numbers.
    """

    numpy_name = "absolute"


class FloatUnary(Unary):
    """A function of floats."""

    allowed = rules.FLOATS
    hint = _FLOATS_ONLY


class Exp(FloatUnary, name="exp"):
    """e to the power ``value``. Dtypes: floats."""


class Exp2(FloatUnary, name="exp2"):
    """2 to the power ``value``. Dtypes: floats."""


class Sqrt(FloatUnary, name="sqrt"):
    """The square root; NaN of a negative. Dtypes: floats."""


class Rsqrt(FloatUnary, name="rsqrt"):
    """One over the square root. Dtypes: floats."""

    def compute(self, np: Any, *arrays: Any) -> Any:
        """The reciprocal of the root."""
        return 1 / np.sqrt(arrays[0])


class Log(FloatUnary, name="log"):
    """The natural logarithm. Dtypes: floats."""


class Log2(FloatUnary, name="log2"):
    """The logarithm to base 2. Dtypes: floats."""


class Log10(FloatUnary, name="log10"):
    """The logarithm to base 10. Dtypes: floats."""


class Reciprocal(FloatUnary, name="reciprocal"):
    """One over ``value``. Dtypes: floats."""


class Round(FloatUnary, name="round"):
    """The nearest whole number, halves to the even one (as ``torch.round``).

    Dtypes: floats.
    """

    numpy_name = "rint"


class RoundEven(FloatUnary, name="roundeven"):
    """The nearest whole number, halves to the even one; the same as ``round``.

    Dtypes: floats.
    """

    numpy_name = "rint"


class Floor(FloatUnary, name="floor"):
    """The greatest whole number that is not above ``value``. Dtypes: floats."""


class Ceil(FloatUnary, name="ceil"):
    """The least whole number that is not below ``value``. Dtypes: floats."""


class Sin(FloatUnary, name="sin"):
    """The sine of an angle in radians. Dtypes: floats."""


class Cos(FloatUnary, name="cos"):
    """The cosine of an angle in radians. Dtypes: floats."""


class Sinh(FloatUnary, name="sinh"):
    """The hyperbolic sine. Dtypes: floats."""


class Tanh(FloatUnary, name="tanh"):
    """The hyperbolic tangent. Dtypes: floats."""


class TanhApprox(FloatUnary, name="tanh_approx"):
    """The hyperbolic tangent, which a backend may compute less exactly.

    Dtypes: floats.
    """

    numpy_name = "tanh"


class Erf(FloatUnary, name="erf"):
    """The error function: ``2 / sqrt(pi)`` times the integral of ``exp(-t * t)``.

    Dtypes: floats.
    """

    def compute(self, np: Any, *arrays: Any) -> Any:
        """Python's own, element by element: numpy has none."""
        return np.vectorize(math.erf, otypes="d")(arrays[0]).astype(arrays[0].dtype)


class Sigmoid(FloatUnary, name="sigmoid"):
    """The logistic function, ``1 / (1 + exp(-value))``. Dtypes: floats."""

    def compute(self, np: Any, *arrays: Any) -> Any:
        """The formula of the class."""
        return 1 / (1 + np.exp(-arrays[0]))


class Silu(FloatUnary, name="silu"):
    """``value * sigmoid(value)``, also known as swish; NaN at minus infinity.

    Dtypes: floats.
    """

    def compute(self, np: Any, *arrays: Any) -> Any:
        """The formula of the class, with one division."""
        return arrays[0] / (1 + np.exp(-arrays[0]))


GELU_FORMS = ("none", "tanh")


class Gelu(FloatUnary, name="gelu"):
    """``value`` times the share of a normal distribution below it.

    ``approximate`` is torch's: ``none`` is exact, by the error function; ``tanh`` is
    ``value / 2 * (1 + tanh(sqrt(2 / pi) * (value + 0.044715 * value ** 3)))``. NaN at
    minus infinity. Dtypes: floats. Raises: WV0222 for another form. Source:
    arXiv:1606.08415, section 2.
    """

    approximate: str = attribute(default="none", help="none or tanh")

    def infer(self) -> RegisterType:
        """The type of the value, for a form that there is."""
        if self.approximate not in GELU_FORMS:
            raise user_error(
                "WV0222",
                f"`gelu` has no form `{self.approximate}`",
                at=self.location,
                label="`approximate=` is not known",
                help=f"it is one of {', '.join(GELU_FORMS)}",
            )
        return super().infer()

    def compute(self, np: Any, *arrays: Any) -> Any:
        """The formula of the form, in terms that lose no digits near 0."""
        (value,) = arrays
        number = value.dtype.type
        if self.approximate == "tanh":
            inner = value + number(GELU_CUBE) * (value * value * value)
            return value / (1 + np.exp(number(GELU_SCALE) * inner))
        below = value * number(-math.sqrt(0.5))
        share = np.vectorize(math.erfc, otypes="d")(below).astype(value.dtype)
        return value * number(0.5) * share


GELU_SCALE, GELU_CUBE = -2 * math.sqrt(2 / math.pi), 0.044715
"""The constants of the form ``tanh``, for ``(1 + tanh(u)) / 2 = 1 / (1 + exp(-2u))``:
the right side loses no digits where the left one is near 0.

Source: arXiv:1606.08415, section 2.
"""


class Cbrt(FloatUnary, name="cbrt"):
    """The cube root, negative of a negative. Dtypes: floats."""


class Softsign(FloatUnary, name="softsign"):
    """``value / (1 + |value / cap|)``: grows like ``value``, stays below ``cap``.

    The cap is ``logit_cap``, times ``head_dim ** -0.5`` with ``apply_scaling``.
    Dtypes: floats.
    """

    logit_cap: float = attribute(default=30.0, help="the cap before scaling")
    apply_scaling: bool = attribute(
        default=False, help="scale the cap by ``head_dim ** -0.5``"
    )
    head_dim: int | None = attribute(
        default=None, help="elements of an attention head; needed to scale"
    )

    @property
    def cap(self) -> float:
        """The bound of the result's magnitude."""
        if self.apply_scaling and self.head_dim is not None:
            return self.logit_cap * self.head_dim**-0.5
        return self.logit_cap

    def compute(self, np: Any, *arrays: Any) -> Any:
        """The formula of the class."""
        (value,) = arrays
        return value / (1 + np.abs(value / value.dtype.type(self.cap)))


BINARY = (
    *(Add, Sub, Mul, Div, FloorDiv, Mod, Rem, Pow, Atan2),
    *(And, Or, Xor, Shl, Shr, Maximum, Minimum),
)

UNARY = (
    *(Neg, Not, Abs, Reciprocal, Round, RoundEven, Floor, Ceil, Softsign),
    *(Exp, Exp2, Sqrt, Rsqrt, Cbrt, Log, Log2, Log10),
    *(Sin, Cos, Sinh, Tanh, TanhApprox, Erf, Sigmoid, Silu, Gelu),
)

"""Values that kernel code holds while it is traced, with Python's operators."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, NoReturn

from wave_core.diagnostics import (
    UserError,
    capture_location,
    make_diagnostic,
    user_error,
)
from wave_core.ops import arithmetic, compare
from wave_core.ops.structure import GetResult
from wave_core.trace.context import active, tag_set
from wave_core.trace.operands import lift_operands

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from wave_core.diagnostics import Location
    from wave_core.ops.base import Op
    from wave_core.types import DType, Type


def _binary(cls: type[Op]) -> Callable[[Value, Any], Value]:
    def operator(self: Value, other: Any) -> Value:
        return emit_op(cls, {"lhs": self, "rhs": other})

    return operator


def _reflected(cls: type[Op]) -> Callable[[Value, Any], Value]:
    def operator(self: Value, other: Any) -> Value:
        return emit_op(cls, {"lhs": other, "rhs": self})

    return operator


def _power(self: Value, exponent: Any) -> Value:
    """The power; as in torch, a number that is a half makes it a square root."""
    if isinstance(exponent, float) and abs(exponent) == 0.5:
        root = arithmetic.Sqrt if exponent > 0 else arithmetic.Rsqrt
        return emit_op(root, {"value": self})
    return emit_op(arithmetic.Pow, {"lhs": self, "rhs": exponent})


def _unary(cls: type[Op]) -> Callable[[Value], Value]:
    def operator(self: Value) -> Value:
        return emit_op(cls, {"value": self})

    return operator


def _refused(what: str, instead: str) -> Any:
    """An operator of Python that the language does not have."""

    def operator(self: Value, *_others: Any) -> NoReturn:
        self.refuse(f"a register has no `{what}`", instead)

    return operator


#: Python's operators by the names that numpy gives them.
_OPERATORS = {
    "add": "add",
    "divide": "truediv",
    "equal": "eq",
    "floor_divide": "floordiv",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "multiply": "mul",
    "not_equal": "ne",
    "power": "pow",
    "remainder": "mod",
    "subtract": "sub",
}


def _is_scalar(value: object) -> bool:
    """Whether a value is a number of numpy, which need not be loaded to ask."""
    return hasattr(value, "item") and getattr(value, "shape", None) == ()


class Value:
    """A register or memory of the kernel that is being traced.

    It stands for the op that defines it. Operators emit ops; whatever would need
    the numbers (``if``, ``len``, ``int``) is refused, because there are none yet.
    """

    __slots__ = ("op",)

    def __init__(self, op: Op) -> None:
        self.op = op

    @property
    def type(self) -> Type:
        """The type of the value."""
        assert self.op.type is not None, "only values are wrapped"
        return self.op.type

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.type.dtype

    __add__ = _binary(arithmetic.Add)
    __radd__ = _reflected(arithmetic.Add)
    __sub__ = _binary(arithmetic.Sub)
    __rsub__ = _reflected(arithmetic.Sub)
    __mul__ = _binary(arithmetic.Mul)
    __rmul__ = _reflected(arithmetic.Mul)
    __truediv__ = _binary(arithmetic.Div)
    __rtruediv__ = _reflected(arithmetic.Div)
    __floordiv__ = _binary(arithmetic.FloorDiv)
    __rfloordiv__ = _reflected(arithmetic.FloorDiv)
    __mod__ = _binary(arithmetic.Mod)
    __rmod__ = _reflected(arithmetic.Mod)
    __pow__ = _power
    __rpow__ = _reflected(arithmetic.Pow)
    __and__ = _binary(arithmetic.And)
    __rand__ = _reflected(arithmetic.And)
    __or__ = _binary(arithmetic.Or)
    __ror__ = _reflected(arithmetic.Or)
    __xor__ = _binary(arithmetic.Xor)
    __rxor__ = _reflected(arithmetic.Xor)
    __lt__ = _binary(compare.Lt)
    __le__ = _binary(compare.Le)
    __gt__ = _binary(compare.Gt)
    __ge__ = _binary(compare.Ge)
    __eq__ = _binary(compare.Eq)  # pyright: ignore[reportAssignmentType] - a register of truth values
    __ne__ = _binary(compare.Ne)  # pyright: ignore[reportAssignmentType] - a register of truth values
    __neg__ = _unary(arithmetic.Neg)
    __invert__ = _unary(arithmetic.Not)
    __abs__ = _unary(arithmetic.Abs)

    __hash__ = object.__hash__

    def __pos__(self) -> Value:
        """The value itself."""
        return self

    def __getitem__(self, position: int) -> Value:
        """The only result of a loop; a register has no Python subscripts.

        Raises:
            UserError: WV0104.
        """
        if isinstance(self.op, GetResult) and position in (0, -1):
            return self
        raise user_error(
            "WV0104",
            f"a register cannot be subscripted with `{position}`",
            at=capture_location(),
            label=f"this is {self.type}",
            secondary=((self.op.location, "it comes from here"),),
            help=(
                "`extract(x, offset)` takes an element along the last dim",
                "only the results of a loop with several are taken with `[i]`",
            ),
        )

    def __iter__(self) -> Iterator[Value]:
        """Unpacks the only result of a loop.

        Raises:
            UserError: WV0104 for any other value.
        """
        return iter((self[0],))

    def __bool__(self) -> NoReturn:  # noqa: PLE0304 - always raises
        """Refused: there is no number to branch on.

        Raises:
            UserError: WV0102.
        """
        self.refuse(
            "Python cannot branch on a register",
            "`select(condition, a, b)` chooses element by element",
            "`@conditional(condition)` runs code where a condition holds",
            "`and`, `or` and `not` are written `&`, `|` and `~`",
            "`max(x, y)` and `min(x, y)` are `tkw.maximum` and `tkw.minimum`",
            "a loop over tiles is `@tkw.iterate(dim)`; `while` is for Python's numbers",
        )

    def __len__(self) -> NoReturn:  # noqa: PLE0303 - always raises
        """Refused: a tile's extents are symbols.

        Raises:
            UserError: WV0102.
        """
        self.refuse("a register has no length", "use the symbols of its dims")

    def __index__(self) -> NoReturn:  # noqa: PLE0305 - always raises
        """Refused: there is no number yet.

        Raises:
            UserError: WV0102.
        """
        self.refuse(
            "Python needs a number here and a register has none yet",
            "`@iterate(dim)` loops over the tiles of a dimension",
        )

    __int__ = __index__
    __float__ = __index__

    __matmul__ = __rmatmul__ = _refused("@", "`tkw.mma(a, b, acc)` multiplies matrices")
    __lshift__ = __rlshift__ = _refused("<<", "multiply by a power of two")
    __rshift__ = __rrshift__ = _refused(">>", "divide by a power of two: `//`")
    __divmod__ = __rdivmod__ = _refused("divmod", "write `x // y` and `x % y`")
    __round__ = _refused("round", "write `tkw.round(x)`")
    __setitem__ = _refused(
        "assignment to elements", "`tkw.select` makes a new register"
    )

    def __array_ufunc__(self, ufunc: Any, *call: Any, **_given: Any) -> Any:
        """A number of numpy beside a register is a number; the rest is refused.

        Raises:
            UserError: WV0102.
        """
        own = getattr(operator, _OPERATORS.get(ufunc.__name__, ""), None)
        plain = [item.item() if _is_scalar(item) else item for item in call[1:]]
        if own is None or any(hasattr(item, "__array__") for item in plain):
            self.refuse(
                f"numpy's `{ufunc.__name__}` needs numbers and a register has none yet",
                f"`tkw.{ufunc.__name__}` is what the kernel would run, if it is there",
            )
        return own(*plain)

    @classmethod
    def __torch_function__(cls, function: Any, *call: Any, **_given: Any) -> NoReturn:
        """Refused: torch computes with tensors.

        Raises:
            UserError: WV0102.
        """
        register = next(item for item in call[1] if isinstance(item, cls))
        name = getattr(function, "__name__", str(function))
        register.refuse(
            f"torch's `{name}` needs a tensor and a register is none",
            "kernels compute with `tkw`; pass data in as an argument",
        )

    def _sympy_(self) -> _NotSympy:
        """Nothing of sympy's for its operators, so that ours run."""
        return _NotSympy(self)

    def __getattr__(self, name: str) -> NoReturn:
        """Refused: what tensors have, registers have not.

        Raises:
            RefusedError: WV0104.
        """
        # Those who ask what kind of object this is get a cheap answer.
        if name.startswith(("_", "is_")) or name in {"op", "free_symbols"}:
            raise AttributeError(name)
        raise RefusedError(
            make_diagnostic(
                "WV0104",
                f"a register has no attribute `{name}`",
                at=capture_location(),
                label=f"this is {self.type}",
                help="it has `type` and `dtype`; ops are functions: `tkw.exp(x)`",
            )
        )

    def refuse(self, what: str, *help: str) -> NoReturn:  # noqa: A002
        """Raise WV0102, with what to do instead."""
        raise user_error(
            "WV0102",
            what,
            at=capture_location(),
            label=f"this is {self.type}, known only when the kernel runs",
            secondary=((self.op.location, "it comes from here"),),
            help=help,
        )

    def __repr__(self) -> str:
        return f"<Value {self.type}>"


class RefusedError(UserError, AttributeError):
    """An attribute that registers do not have; ``hasattr`` works."""


class _NotSympy:
    """A value on the right of a sympy operator, which then asks for ours.

    sympy compares with the result of ``_sympy_``, and takes a missing one for False.
    """

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    def __getattr__(self, name: str) -> NoReturn:
        """Refused: sympy computes with symbols.

        Raises:
            RefusedError: WV0102, which is an ``AttributeError`` for those who ask.
        """
        raise RefusedError(
            make_diagnostic(
                "WV0102",
                "sympy needs symbols here and a register is none",
                at=capture_location(),
                help="kernels compute with `tkw`; `tkw.apply_expr` takes functions",
            )
        )

    def __eq__(self, other: object) -> Any:
        return self.value == other

    __hash__ = object.__hash__


def emit_op(
    cls: type[Op],
    fields: Mapping[str, Any],
    *,
    tag: str | Iterable[str] | None = None,
    location: Location | None = None,
) -> Value:
    """Emit one op; operands may be Python numbers or expressions of symbols.

    A number takes the element type of the other operands.
    """
    location = capture_location() if location is None else location
    tracer = active(cls.op_name)
    lifted = lift_operands(tracer, cls, fields, location)
    return Value(tracer.emit(cls(**lifted), location, tag_set(tag, location)))

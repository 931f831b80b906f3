"""What kernel code holds while it is traced: a value with Python's operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from wave_core.diagnostics import capture_location, user_error
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
        self._refuse(
            "Python cannot branch on a register",
            "`select(condition, a, b)` chooses element by element",
            "`@conditional(condition)` runs code where a condition holds",
            "`and`, `or` and `not` are written `&`, `|` and `~`",
        )

    def __len__(self) -> NoReturn:  # noqa: PLE0303 - always raises
        """Refused: a tile's extents are symbols.

        Raises:
            UserError: WV0102.
        """
        self._refuse("a register has no length", "use the symbols of its dims")

    def __index__(self) -> NoReturn:  # noqa: PLE0305 - always raises
        """Refused: there is no number yet.

        Raises:
            UserError: WV0102.
        """
        self._refuse(
            "Python needs a number here and a register has none yet",
            "`@iterate(dim)` loops over the tiles of a dimension",
        )

    __int__ = __index__
    __float__ = __index__

    def _sympy_(self) -> _NotSympy:
        """What sympy's operators see: nothing of theirs, so that ours run."""
        return _NotSympy(self)

    def _refuse(self, what: str, *help: str) -> NoReturn:  # noqa: A002
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


class _NotSympy:
    """A value on the right of a sympy operator, which then asks for ours.

    sympy compares with the result of ``_sympy_``, and takes a missing one for False.
    """

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

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

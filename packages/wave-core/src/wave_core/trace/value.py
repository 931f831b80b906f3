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
from wave_core.ops.constant import Splat
from wave_core.ops.matrix import Mma
from wave_core.ops.structure import GetResult
from wave_core.trace.align import aligned
from wave_core.trace.context import active, tag_set
from wave_core.trace.dot import is_generic, summed
from wave_core.trace.operands import lift_operands, python_number
from wave_core.types import DTYPES, MemoryType, RegisterType

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


def _refused(what: str, *instead: str) -> Any:
    """A part of Python that registers have not: WV0102 says ``what``, and a way out."""

    def operator(self: Value, *_others: Any) -> NoReturn:
        self.refuse(what, *instead)

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

    def __matmul__(self, other: Any) -> Value:
        """The product over the only dim of both, in f32, f64 or i32.

        Raises:
            UserError: WV0203 where the dims leave a choice, WV0105 for no register.
        """
        return _matrix_product(self, other)

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
            f"{self._what} cannot be subscripted with `{position}`",
            at=capture_location(),
            label=f"this is {self.type}",
            secondary=((self.op.location, "it comes from here"),),
            help=(*self._parts, "the results of a loop with several are taken `[i]`"),
        )

    def __setitem__(self, position: Any, value: Any) -> NoReturn:
        """Refused: a register is never changed, a memory is written as a tile.

        Raises:
            UserError: WV0104.
        """
        raise user_error(
            "WV0104",
            f"elements of {self._what} cannot be assigned to",
            at=capture_location(),
            label=f"this is {self.type}",
            secondary=((self.op.location, "it comes from here"),),
            help=self._parts,
        )

    @property
    def _what(self) -> str:
        return "a memory" if isinstance(self.type, MemoryType) else "a register"

    @property
    def _parts(self) -> tuple[str, ...]:
        """How to reach elements."""
        if isinstance(self.type, MemoryType):
            return (
                "`read(memory)` gives the tile of a wave, `write(x, memory)` sets it",
                "`mapping=` of both says which elements",
            )
        return (
            "`extract(x, offset)` takes an element along the last dim",
            "`select(condition, a, b)` makes a new register from two",
        )

    def __iter__(self) -> Iterator[Value]:
        """Unpacks the only result of a loop.

        Raises:
            UserError: WV0104 for any other value.
        """
        return iter((self[0],))

    __bool__ = _refused(
        "Python cannot branch on a register",
        "`select(condition, a, b)` chooses element by element",
        "`@conditional(condition)` runs code where a condition holds",
        "`and`, `or` and `not` are written `&`, `|` and `~`",
        "`max(x, y)` and `min(x, y)` are `tkw.maximum` and `tkw.minimum`",
        "a loop over tiles is `@tkw.iterate(dim)`; `while` is for Python's numbers",
    )
    __len__ = _refused("a register has no length", "use the symbols of its dims")
    __index__ = __int__ = __float__ = _refused(
        "Python needs a number here and a register has none yet",
        "`@iterate(dim)` loops over the tiles of a dimension",
    )
    __rmatmul__ = _refused(
        "a register has no `@`", "`tkw.mma(a, b, acc)` multiplies matrices"
    )
    __lshift__ = _binary(arithmetic.Shl)
    __rlshift__ = _reflected(arithmetic.Shl)
    __rshift__ = _binary(arithmetic.Shr)
    __rrshift__ = _reflected(arithmetic.Shr)
    __divmod__ = __rdivmod__ = _refused(
        "a register has no `divmod`", "write `x // y` and `x % y`"
    )
    __round__ = _refused("a register has no `round`", "write `tkw.round(x)`")

    def __array_ufunc__(self, ufunc: Any, *call: Any, **_given: Any) -> Any:
        """A number of numpy beside a register is a number; the rest is refused.

        Raises:
            UserError: WV0102.
        """
        own = getattr(operator, _OPERATORS.get(ufunc.__name__, ""), None)
        plain = [python_number(item) for item in call[1:]]
        if own is None or any(hasattr(item, "__array__") for item in plain):
            self.refuse(
                f"numpy's `{ufunc.__name__}` needs numbers and a register has none yet",
                _function_here(ufunc.__name__),
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
            _function_here(name),
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
                f"{self._what} has no attribute `{name}`",
                at=capture_location(),
                label=f"this is {self.type}",
                help=_INSTEAD.get(
                    name, "it has `type` and `dtype`; ops are functions: `exp(x)`"
                ),
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


def _matrix_product(lhs: Value, rhs: Any) -> Value:
    """A product whose dims say by themselves what is kept.

    Batch dims are shared too, so with two shared dims only the author knows.
    """
    location = capture_location()
    if not isinstance(rhs, Value) or not isinstance(rhs.type, RegisterType):
        lhs.refuse("`@` needs a register on both sides", _PRODUCT)
    left, right = lhs.type.shape, rhs.type.shape
    kept = [dim for dim in (*left, *right) if (dim in left) != (dim in right)]
    if (len(left), len(right), len(kept)) != (2, 2, 2):
        raise user_error(
            "WV0203",
            "`@` is for tiles of two dims that share exactly one",
            at=location,
            label=f"multiplies {lhs.type} by {rhs.type}",
            secondary=(
                (lhs.op.location, f"this is {lhs.type}"),
                (rhs.op.location, f"this is {rhs.type}"),
            ),
            help=_PRODUCT,
        )
    wide = {True: DTYPES["f32"], False: DTYPES["i32"]}[lhs.dtype.is_float]
    dtype = max(wide, lhs.dtype, key=lambda each: each.bits)
    fields = {"shape": tuple(kept), "dtype": dtype, "value": 0}
    acc = emit_op(Splat, fields, location=location)
    fields = {"lhs": lhs, "rhs": rhs, "acc": acc}
    return emit_op(Mma, fields, location=location)


_PRODUCT = "`tkw.mma(a, b, acc)` says by its accumulator which dims are kept"


_FUNCTIONS = frozenset(
    [
        "abs",
        "argmax",
        "argmin",
        "atan2",
        "cbrt",
        "ceil",
        "clamp",
        "cos",
        "cumsum",
        "erf",
        "exp",
        "exp2",
        "floor",
        "log",
        "log10",
        "log2",
        "max",
        "maximum",
        "min",
        "minimum",
        "reciprocal",
        "round",
        "rsqrt",
        "select",
        "sigmoid",
        "sin",
        "sinh",
        "sort",
        "sqrt",
        "sum",
        "tanh",
        "topk",
        "where",
    ]
)
"""Functions that the language calls as numpy or torch do."""

_CALLED_HERE = {
    "absolute": "abs",
    "arctan2": "atan2",
    "clip": "clamp",
    "fmod": "remf",
    "rint": "roundeven",
    **dict.fromkeys(("amax", "nanmax"), "max"),
    **dict.fromkeys(("amin", "nanmin"), "min"),
    **dict.fromkeys(("matmul", "mm", "bmm", "dot", "einsum"), "mma"),
    **dict.fromkeys(("power", "pow", "float_power"), "powf"),
}


def _function_here(name: str) -> str:
    """What kernels write for a function of numpy or torch, as far as there is one."""
    own = name if name in _FUNCTIONS else _CALLED_HERE.get(name)
    if own is None:
        return "kernels compute with `tkw`; pass data in as an argument"
    return f"write `tkw.{own}`: kernels compute with `tkw`"


_EXTENTS = "extents are the symbols of its dims: use those"
_INSTEAD = {
    **dict.fromkeys(("shape", "size", "ndim", "dim", "numel"), _EXTENTS),
    **dict.fromkeys(("T", "mT", "transpose"), "`permute(x, [N, M])`"),
    **dict.fromkeys(("to", "astype", "float", "half"), "`cast(x, f32)`"),
}
"""Ways to write what tensors have attributes for."""


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
    lifted = aligned(tracer, cls, lifted, location)
    if cls is Mma and is_generic(tracer, lifted):
        op = summed(tracer, lifted, location)
        op.tags |= tag_set(tag, location)
        return Value(op)
    return Value(tracer.emit(cls(**lifted), location, tag_set(tag, location)))

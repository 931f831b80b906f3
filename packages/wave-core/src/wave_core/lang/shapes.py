"""Surface functions that make tiles, reshape them or reduce them."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, cast

import sympy
from sympy.logic.boolalg import Boolean

from wave_core.diagnostics import capture_location, coded_arguments, user_error
from wave_core.lang.types import dims_of, splat
from wave_core.ops.compare import Cast
from wave_core.ops.constant import ApplyExpr, Scalar, SelfIndex
from wave_core.ops.control import SetSymbol
from wave_core.ops.elementwise import compute_dtype
from wave_core.ops.reduce import Reduce, Shuffle
from wave_core.ops.shape import (
    Bitcast,
    Broadcast,
    Extract,
    ExtractSlice,
    Permute,
    Reshape,
)
from wave_core.symbols import eq
from wave_core.trace.context import active, tag_set
from wave_core.trace.operands import (
    as_number,
    as_tuple,
    is_number,
    not_a_value,
)
from wave_core.trace.surface import value_type
from wave_core.trace.value import Value, emit_op
from wave_core.types import DTYPES, DType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from wave_core.diagnostics import Location
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr
    from wave_core.trace.tracer import Tracer


class ShuffleMode(Enum):
    """Which partner each lane of a group has in a shuffle."""

    XOR = "xor"
    UP = "up"
    DOWN = "down"
    IDX = "idx"


@coded_arguments
def register(
    shape: Sequence[Any], dtype: DType, value: Any, *, tag: Any = None
) -> Value:
    """A tile of ``shape`` with ``value`` in every element."""
    return splat(shape, dtype, value, tag=tag)


@coded_arguments
def scalar(value: Any, dtype: DType, *, tag: Any = None) -> Value:
    """A number, or the value of an expression of symbols, in every lane."""
    location = capture_location()
    number = as_number(active("scalar"), value, location)
    fields = {"value": number, "dtype": dtype}
    return emit_op(Scalar, fields, tag=tag, location=location)


@coded_arguments
def self_index(
    dim: Any, dtype: DType, elements_per_thread: int | None = None, *, tag: Any = None
) -> Value:
    """Each element's own logical index along ``dim``, as a tile ``[dim]``.

    Of the axis of a while loop around that is no dimension of a memory, a scalar.
    """
    location = capture_location()
    tracer = active("self_index")
    dim = tracer.expression(dim, location)
    if tracer.is_counter(dim):
        return scalar(dim, dtype, tag=tag)
    fields = {"dim": dim, "dtype": dtype, "elements_per_thread": elements_per_thread}
    return emit_op(SelfIndex, fields, tag=tag, location=location)


@coded_arguments
def apply_expr(value: Any, expr: Callable[..., Any], *, tag: Any = None) -> Value:
    """``expr`` of one integer register, or of a sequence of them, element by element.

    ``expr`` gets symbols for the elements and gives an expression of them and of
    other symbols; a relation gives a bool register.

    Raises:
        UserError: WV0101, WV0205, WV0308 for what is no integer expression.
    """
    location = capture_location()
    tracer = active("apply_expr")
    values = as_tuple(value)
    arguments = [sympy.Symbol(f"$ARG{i}", integer=True) for i in range(len(values))]
    result = _applied(expr, arguments, location)
    if _is_fraction(result):
        raise _fraction(result, location)
    first = value_type(values[0]) if values else None
    # sympy's symbols count as Boolean too; they stand for integers here.
    is_truth = isinstance(result, (bool, Boolean)) and not isinstance(
        result, sympy.Expr
    )
    dtype = DTYPES["bool"] if is_truth or first is None else first.dtype
    fields = {
        "values": values,
        "expr": tracer.number(result, location),
        "dtype": dtype,
    }
    return emit_op(ApplyExpr, fields, tag=tag, location=location)


def _is_fraction(result: Any, *, compared: bool = False) -> bool:
    """Whether a part outside of ``floor`` and ``ceiling`` is divided.

    Terms of ``compared`` sums may be divided by numbers, which both sides are
    multiplied by: sympy itself makes ``x / 3 < 4`` of ``x // 3 < 4``.
    """
    if not isinstance(result, sympy.Basic) or isinstance(
        result, (sympy.floor, sympy.ceiling)
    ):
        return False
    if isinstance(result, sympy.Rational):
        return not (compared or result.is_Integer)
    if isinstance(result, sympy.Pow) and result.exp.could_extract_minus_sign():
        return True
    terms = compared and isinstance(result, (sympy.Add, sympy.Mul))
    linear = terms or isinstance(result, sympy.Rel)
    return any(_is_fraction(part, compared=linear) for part in result.args)


def _fraction(result: object, location: Location) -> Exception:
    return user_error(
        "WV0308",
        f"`{str(result).replace('$ARG', 'x')}` of `apply_expr` is no integer",
        at=location,
        label="`/` gives a fraction",
        help="write `//`, which rounds down",
    )


def _applied(expr: object, arguments: Sequence[Any], location: Location) -> Any:
    """The expression that the author's function gives for symbols.

    Raises:
        UserError: WV0210 where it is no function of these, or fails.
    """
    why = f"`expr` is {expr!r}"
    if callable(expr):
        try:
            return expr(*arguments)
        except (TypeError, ValueError, ArithmeticError) as error:
            why = f"`expr` fails: {error}"
    raise user_error(
        "WV0210",
        f"`apply_expr` cannot be computed: {why}",
        at=location,
        help="write a function of one symbol for each register: `lambda x: x % 8`",
    )


@coded_arguments
def broadcast(value: Any, target_shape: Sequence[Any], *, tag: Any = None) -> Value:
    """The elements repeated along the dims of ``target_shape`` that are new."""
    return _with_shape(Broadcast, value, target_shape, tag)


@coded_arguments
def permute(value: Any, target_shape: Sequence[Any], *, tag: Any = None) -> Value:
    """The same elements with the dims in the order of ``target_shape``."""
    return _with_shape(Permute, value, target_shape, tag)


def _with_shape(cls: type[Op], value: Any, shape: Sequence[Any], tag: Any) -> Value:
    location = capture_location()
    fields = {"value": value, "shape": dims_of(cls.op_name, shape, location)}
    return emit_op(cls, fields, tag=tag, location=location)


@coded_arguments
def bitcast(value: Any, dtype: DType, *, tag: Any = None) -> Value:
    """The same bits as elements of ``dtype``; the last dim scales with the widths.

    ``[M, K/2]`` of i8 becomes ``[M, K]`` of f4e2m1fn, the low half of a byte first.

    Args:
        value: A register of numbers.
        dtype: The element type of the result, anything but bool.
        tag: Names that schedules use to find the op.

    Raises:
        UserError: WV0224 where the elements do not come out even.
    """
    location = capture_location()
    found = emit_op(
        Bitcast, {"value": value, "dtype": dtype}, tag=tag, location=location
    )
    op = found.op
    assert isinstance(op, Bitcast), "it was just emitted"
    times, parts = op.ratio
    if parts > 1:
        last = op.value.register_type.shape[-1]
        active("bitcast").assume(eq(last * times % parts, 0), location)
    return found


@coded_arguments
def reshape(
    inputs: Any,
    target_vector_shape: Sequence[Any] | dict[Any, Any],
    logical_slice: int = 0,
    num_slices: int = 1,
    *,
    tag: Any = None,
) -> Value:
    """Several tiles joined along the fastest dim, or one piece of one tile."""
    location = capture_location()
    values = as_tuple(inputs)
    fields = {
        "values": values,
        "shape": dims_of("reshape", _names(target_vector_shape), location),
        "logical_slice": logical_slice,
        "num_slices": num_slices,
    }
    return emit_op(Reshape, fields, tag=tag, location=location)


def _names(shape: Any) -> tuple[Any, ...]:
    return (
        tuple(cast("dict[Any, Any]", shape))
        if isinstance(shape, dict)
        else as_tuple(shape)
    )


@coded_arguments
def extract(value: Any, offset: Any, *, tag: Any = None) -> Value:
    """The element at ``offset`` along the fastest dim, which is dropped."""
    location = capture_location()
    tracer = active("extract")
    fields = {"value": value, "offset": _numbers(tracer, offset, location)}
    return emit_op(Extract, fields, tag=tag, location=location)


@coded_arguments
def extract_slice(
    x: Any,
    offsets: Sequence[Any],
    sizes: Sequence[Any],
    strides: Sequence[Any],
    *,
    tag: Any = None,
) -> Value:
    """Elements at equal distances along the last dims, with dims of their own.

    ``extract_slice(x, [1], [HALF], [2])`` has the odd columns of ``x``. Beyond the
    extent of ``x``, where that comes with the launch, elements have no particular
    value. Shapes: the dims of ``x``, the last ones replaced by the sizes. Dtypes: that
    of ``x``. Units: elements of the tensor.

    Args:
        x: A register, of which one wave holds all along the dims that are cut.
        offsets: The first element along each of the last dims.
        sizes: How many elements: symbols, which name the new dims.
        strides: The distance from one element to the next.
        tag: Names that schedules use to find the op.

    Raises:
        UserError: WV0207, WV0238, WV0341, WV0343.
    """
    location = capture_location()
    tracer = active("extract_slice")
    found = value_type(x)
    if found is None:
        raise not_a_value(x, "`x`", location)
    rest = len(found.shape) - len(as_tuple(sizes))
    dims = found.shape[:rest] if rest > 0 else ()
    last = tuple(tracer.expression(size, location) for size in as_tuple(sizes))
    fields = {
        "value": x,
        "shape": (*dims, *last),
        "offsets": (*(0 for _ in dims), *_numbers(tracer, offsets, location)),
        "strides": (*(1 for _ in dims), *_numbers(tracer, strides, location)),
    }
    return emit_op(ExtractSlice, fields, tag=tag, location=location)


def _numbers(tracer: Tracer, given: Any, at: Location) -> tuple[int | Expr, ...]:
    """Integers as they are, and expressions."""
    return tuple(
        item if type(item) is int else tracer.number(item, at)
        for item in as_tuple(given)
    )


@coded_arguments
def shuffle(
    value: Any,
    offset: int,
    width: int,
    mode: ShuffleMode | str = ShuffleMode.XOR,
    *,
    tag: Any = None,
) -> Value:
    """Each lane receives the value of its partner in a group of ``width`` lanes."""
    text = mode.value if isinstance(mode, ShuffleMode) else mode
    fields = {"value": value, "offset": offset, "width": width, "mode": text}
    return emit_op(Shuffle, fields, tag=tag, location=capture_location())


@coded_arguments
def set_symbol(symbol: Any, register_: Any, *, tag: Any = None) -> None:
    """Give ``symbol`` the value of an integer scalar from here on."""
    location = capture_location()
    tracer = active("set_symbol")
    named = tracer.expression(symbol, location)
    if not named.name:
        raise user_error(
            "WV0308",
            f"`set_symbol` of `{symbol}`, which is no symbol",
            at=location,
            label="the first argument",
            help="write `set_symbol(sym.OFFSET, value)`",
        )
    if is_number(register_):
        register_ = scalar(register_, tracer.dtype_of_set(named))
    own = tracer.symbol_to_set(named, location)
    fields = {"value": register_, "symbol": own}
    emit_op(SetSymbol, fields, tag=tag, location=location)


def _reduction(kind: str, document: str) -> Callable[..., Value]:
    """The surface function of one kind of reduction."""

    def function(
        x: Any,
        acc: Any = None,
        dim: Any = None,
        block: bool = False,  # noqa: FBT001, FBT002 - the language's signature
        *,
        tag: Any = None,
    ) -> Value:
        return _reduce(kind, x, acc, dim, block=block, tag=tag)

    function.__name__ = function.__qualname__ = kind
    function.__doc__ = document
    return coded_arguments(function)


sum = _reduction(  # noqa: A001 - the language's own name
    "sum", "The sum over ``dim`` of a register or of several, plus ``acc``."
)
max = _reduction(  # noqa: A001 - the language's own name
    "max", "The maximum over ``dim`` of a register or of several, and ``acc``."
)
min = _reduction(  # noqa: A001 - the language's own name
    "min", "The minimum over ``dim`` of a register or of several, and ``acc``."
)


def _reduce(kind: str, x: Any, acc: Any, dim: Any, *, block: bool, tag: Any) -> Value:
    location = capture_location()
    sources = as_tuple(x)
    found = value_type(sources[0]) if sources else None
    if dim is None and found is not None and found.shape:
        dim = found.shape[-1]
    dims = () if dim is None else dims_of(kind, as_tuple(dim), location)
    if not dims or not sources:
        raise user_error(
            "WV0214",
            f"`{kind}` needs a register and a dimension",
            at=location,
            help=f"write `{kind}(x, dim=K)`",
        )
    init = None
    if acc is not None:
        kept = () if found is None else tuple(d for d in found.shape if d not in dims)
        init = _accumulator(acc, kept, found and found.dtype, location)
    fields = {"sources": sources, "kind": kind, "block": block}
    if len(dims) == 1 or found is None:
        fields |= {"dim": dims[0], "init": init}
        return emit_op(Reduce, fields, tag=tag, location=location)
    return _reduced_over(dims, fields, init, found.dtype, tag)


def _reduced_over(
    dims: tuple[Expr, ...], fields: dict[str, Any], init: Any, dtype: DType, tag: Any
) -> Value:
    """One dimension after the other; what lies between is rounded for none."""
    wide = compute_dtype(dtype)
    sources = tuple(as_dtype(source, wide) for source in fields["sources"])
    for dim in dims[:-1]:
        fields = {**fields, "sources": sources, "dim": dim}
        sources = (emit_op(Reduce, fields, tag=tag),)
    init = None if init is None else as_dtype(init, wide)
    fields = {**fields, "sources": sources, "dim": dims[-1], "init": init}
    return as_dtype(emit_op(Reduce, fields, tag=tag), dtype)


def as_dtype(value: Value, dtype: DType) -> Value:
    """``value``, converted where its element type is another."""
    if value.dtype == dtype:
        return value
    return emit_op(Cast, {"value": value, "dtype": dtype})


def _accumulator(
    acc: Any, shape: tuple[Any, ...], dtype: DType | None, location: Location
) -> Any:
    """``acc`` with the dims of the result: numbers and smaller tiles are repeated."""
    if is_number(acc) and dtype is not None:
        return splat(shape, dtype, acc)
    found = value_type(acc)
    if found is not None and found.shape != shape and set(found.shape) < set(shape):
        return emit_op(Broadcast, {"value": acc, "shape": shape}, location=location)
    return acc


@coded_arguments
def tag(expr: Any, name: str | Iterable[str]) -> Value:
    """Give the op that computes ``expr`` a name for schedules; gives ``expr``."""
    active("tag")
    location = capture_location()
    if not isinstance(expr, Value):
        raise not_a_value(expr, "`tag`", location)
    expr.op.tags |= tag_set(name, location)
    return expr


@coded_arguments
def get_result(value: Any, res_idx: int = 0) -> Value:
    """Result number ``res_idx`` of a loop or condition."""
    active("get_result")
    if not isinstance(value, (Value, tuple)):
        raise not_a_value(value, "`get_result`", capture_location())
    return cast("tuple[Value, ...]", value)[res_idx]

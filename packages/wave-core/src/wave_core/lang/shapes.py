"""Surface functions that make tiles, reshape them or reduce them."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, cast

import sympy
from sympy.logic.boolalg import Boolean

from wave_core.diagnostics import capture_location, coded_arguments, user_error
from wave_core.lang.types import dims_of, splat
from wave_core.ops.constant import ApplyExpr, Scalar, SelfIndex
from wave_core.ops.control import SetSymbol
from wave_core.ops.reduce import Reduce, Shuffle
from wave_core.ops.shape import Broadcast, Extract, Permute, Reshape
from wave_core.trace.context import active, tag_set
from wave_core.trace.operands import as_tuple, is_number, not_a_value
from wave_core.trace.surface import value_type
from wave_core.trace.value import Value, emit_op
from wave_core.types import DTYPES, DType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from wave_core.diagnostics import Location


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
    tracer = active("scalar")
    if not isinstance(value, (bool, int, float)):
        value = tracer.expression(value, location)
    return emit_op(Scalar, {"value": value, "dtype": dtype}, tag=tag, location=location)


@coded_arguments
def self_index(
    dim: Any, dtype: DType, elements_per_thread: int | None = None, *, tag: Any = None
) -> Value:
    """Each element's own logical index along ``dim``, as a tile ``[dim]``."""
    location = capture_location()
    dim = active("self_index").expression(dim, location)
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
        "expr": tracer.expression(result, location),
        "dtype": dtype,
    }
    return emit_op(ApplyExpr, fields, tag=tag, location=location)


def _is_fraction(result: Any) -> bool:
    """Whether a part outside of ``floor`` and ``ceiling`` is divided."""
    if not isinstance(result, sympy.Basic) or isinstance(
        result, (sympy.floor, sympy.ceiling)
    ):
        return False
    if isinstance(result, sympy.Rational):
        return not result.is_Integer
    if isinstance(result, sympy.Pow) and result.exp.could_extract_minus_sign():
        return True
    return any(map(_is_fraction, result.args))


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
    location = capture_location()
    shape = dims_of("broadcast", target_shape, location)
    fields = {"value": value, "shape": shape}
    return emit_op(Broadcast, fields, tag=tag, location=location)


@coded_arguments
def permute(value: Any, target_shape: Sequence[Any], *, tag: Any = None) -> Value:
    """The same elements with the dims in the order of ``target_shape``."""
    location = capture_location()
    shape = dims_of("permute", target_shape, location)
    fields = {"value": value, "shape": shape}
    return emit_op(Permute, fields, tag=tag, location=location)


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
    offsets = tuple(
        item if isinstance(item, int) else tracer.expression(item, location)
        for item in as_tuple(offset)
    )
    fields = {"value": value, "offset": offsets}
    return emit_op(Extract, fields, tag=tag, location=location)


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
    if is_number(register_):
        register_ = scalar(register_, DTYPES["index"])
    named = tracer.expression(symbol, location)
    if not named.name:
        raise user_error(
            "WV0308",
            f"`set_symbol` of `{symbol}`, which is no symbol",
            at=location,
            label="the first argument",
            help="write `set_symbol(sym.OFFSET, value)`",
        )
    if tracer.has_value(named):
        raise user_error(
            "WV0118",
            f"`set_symbol` of `{named}`, which has a value already",
            at=location,
            label="sizes, tiles and masks follow from that one",
            help="set a symbol of your own: `set_symbol(sym.OFFSET, value)`",
        )
    fields = {"value": register_, "symbol": named}
    emit_op(SetSymbol, fields, tag=tag, location=location)


@coded_arguments
def sum(  # noqa: A001 - the language's own name
    x: Any,
    acc: Any = None,
    dim: Any = None,
    block: bool = False,  # noqa: FBT001, FBT002 - the language's signature
    *,
    tag: Any = None,
) -> Value:
    """The sum over ``dim`` of a register or of several, plus ``acc``."""
    return _reduce("sum", x, acc, dim, block=block, tag=tag)


@coded_arguments
def max(  # noqa: A001 - the language's own name
    x: Any,
    acc: Any = None,
    dim: Any = None,
    block: bool = False,  # noqa: FBT001, FBT002 - the language's signature
    *,
    tag: Any = None,
) -> Value:
    """The maximum over ``dim`` of a register or of several, and ``acc``."""
    return _reduce("max", x, acc, dim, block=block, tag=tag)


@coded_arguments
def min(  # noqa: A001 - the language's own name
    x: Any,
    acc: Any = None,
    dim: Any = None,
    block: bool = False,  # noqa: FBT001, FBT002 - the language's signature
    *,
    tag: Any = None,
) -> Value:
    """The minimum over ``dim`` of a register or of several, and ``acc``."""
    return _reduce("min", x, acc, dim, block=block, tag=tag)


def _reduce(kind: str, x: Any, acc: Any, dim: Any, *, block: bool, tag: Any) -> Value:
    location = capture_location()
    sources = as_tuple(x)
    found = value_type(sources[0]) if sources else None
    if dim is None and found is not None and found.shape:
        dim = found.shape[-1]
    if dim is None or not sources:
        raise user_error(
            "WV0214",
            f"`{kind}` needs a register and a dimension",
            at=location,
            help=f"write `{kind}(x, dim=K)`",
        )
    dims = dims_of(kind, (dim,), location)
    if len(dims) != 1:
        raise user_error(
            "WV0214",
            f"`{kind}` is over one dimension, not over {len(dims)}",
            at=location,
            help=f"reduce one after the other: `{kind}({kind}(x, dim=N), dim=M)`",
        )
    (dim,) = dims
    fields = {"sources": sources, "kind": kind, "dim": dim, "block": block}
    if acc is not None:
        kept = () if found is None else tuple(d for d in found.shape if d != dim)
        fields["init"] = _accumulator(acc, kept, found and found.dtype, location)
    return emit_op(Reduce, fields, tag=tag, location=location)


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

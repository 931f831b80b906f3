"""Surface functions that pick elements along a dimension, or put them in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wave_core.constraints import HardwareConstraint
from wave_core.diagnostics import capture_location, coded_arguments, user_error
from wave_core.lang.scans import dim_of
from wave_core.ops import compare
from wave_core.ops.constant import SelfIndex, Splat
from wave_core.ops.reduce import Reduce, identity_value
from wave_core.ops.scan import Sort
from wave_core.ops.shape import Broadcast, ExtractSlice
from wave_core.ops.structure import GetResult, Yield
from wave_core.symbols import le
from wave_core.trace.context import active, tag_set
from wave_core.trace.scan import region_of_pairs
from wave_core.trace.value import Value, emit_op
from wave_core.types import DTYPES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_core.diagnostics import Location
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr
    from wave_core.types import DType

_INDEX = DTYPES["i32"]


@coded_arguments
def argmax(x: Any, dim: Any = None, *, tag: Any = None) -> Value:
    """The index of the greatest element along ``dim``; of equal ones the lowest.

    NaN is greater than all, as in torch. Shapes: the dims of ``x`` but ``dim``.
    Dtypes: numbers; the result is i32. Units: the index in the whole tensor, as
    `self_index` counts it. The greatest of no elements is at 2147483647.

    Args:
        x: A register.
        dim: The dimension; the fastest one if left out.
        tag: Names that schedules use to find the op that is computed last.

    Raises:
        UserError: WV0205, WV0214.
    """
    return _first_extreme("argmax", "max", x, dim, tag)


@coded_arguments
def argmin(x: Any, dim: Any = None, *, tag: Any = None) -> Value:
    """The index of the least element along ``dim``; of equal ones the lowest.

    NaN is less than all, as in torch; all else is as for `argmax`.

    Raises:
        UserError: WV0205, WV0214.
    """
    return _first_extreme("argmin", "min", x, dim, tag)


def _first_extreme(what: str, kind: str, x: Any, dim: Any, tag: Any) -> Value:
    location = capture_location()
    _, index = next(_in_order(x, dim_of(what, x, dim, location), kind, location))
    index.op.tags |= tag_set(tag, location)
    return index


@coded_arguments
def topk(
    x: Any, k_dim: Any, dim: Any = None, *, tag: Any = None
) -> tuple[Value, Value]:
    """The greatest elements along ``dim``, from the greatest on, and their indices.

    How many is the size of ``k_dim``, which is known at compile time. Of equal
    elements that with the lower index comes first; NaN is greater than all, as in
    torch. Each costs two reductions; many along a dimension that no constraint
    divides are sorted.

    Shapes: the dims of ``x`` with ``k_dim`` in the place of ``dim``. Dtypes: numbers;
    the values have the type of ``x``, the indices are i32. Units: indices count in
    the whole tensor, as `self_index` does. The elements are those of the workgroup's
    tile, whichever waves hold it.

    Args:
        x: A register.
        k_dim: A symbol, whose value says how many, and which names the new dimension.
        dim: The dimension to pick along; the fastest one if left out.
        tag: Names that schedules use to find the op that gives the values.

    Raises:
        UserError: WV0205, WV0214, WV0231 for a ``k_dim`` without a value or beyond
            the size of ``dim``.
    """
    location = capture_location()
    tracer = active("topk")
    along = dim_of("topk", x, dim, location)
    k = tracer.expression(k_dim, location)
    count = _count(x, k, along, location)
    shape = tuple(k if each is along else each for each in x.type.shape)
    if _is_sorted_sooner(count, along):
        return _first_sorted(x, along, shape, tag, location)
    place = emit_op(SelfIndex, {"dim": k, "dtype": _INDEX}, location=location)
    values = _filled(shape, x.dtype, 0, location)
    indices = _filled(shape, _INDEX, 0, location)
    picked = _in_order(x, along, "max", location)
    for position, (value, index) in zip(range(count), picked, strict=False):
        fields = {"lhs": place, "rhs": position}
        here = emit_op(compare.Eq, fields, location=location)
        values = _chosen(here, value, values, location)
        indices = _chosen(here, index, indices, location)
    values.op.tags |= tag_set(tag, location)
    return values, indices


def _is_sorted_sooner(count: int, dim: Expr) -> bool:
    """Whether a network puts all in order with fewer steps than ``count`` reductions.

    It needs all of the dimension in one wave, at distances that are powers of two.
    """
    graph = active("topk").graph
    rows, size = graph.constraints, dim.subs(graph.bindings)
    divided = any(getattr(row, "dim", None) in dim.free_symbols for row in rows)
    hardware = next((row for row in rows if isinstance(row, HardwareConstraint)), None)
    shaped = hardware is not None and str(dim) in hardware.vector_shape
    if divided or shaped or not size.is_constant:
        return False
    bits = (size.constant_value - 1).bit_length()
    return count > bits * (bits + 1) // 2


def _first_sorted(
    x: Value, dim: Expr, shape: tuple[Expr, ...], tag: Any, location: Location
) -> tuple[Value, Value]:
    """The first elements along ``dim`` of all in descending order."""
    values, indices = (
        emit_op(
            ExtractSlice,
            {
                "value": each,
                "shape": shape,
                "offsets": (0,) * len(shape),
                "strides": (1,) * len(shape),
            },
            location=location,
        )
        for each in _sorted(x, dim, location, descending=True)
    )
    values.op.tags |= tag_set(tag, location)
    return values, indices


@coded_arguments
def sort(
    x: Any,
    dim: Any = None,
    descending: bool = False,  # noqa: FBT001, FBT002 - torch's signature
    *,
    tag: Any = None,
) -> tuple[Value, Value]:
    """The elements along ``dim`` from the least on, and where each of them was.

    Equal elements keep their order. NaN is greater than all, as in torch. A bitonic
    network does it in registers and lanes: its length grows with the size of the
    tile, and with the square of that size's logarithm.

    Shapes: the dims of ``x``. Dtypes: numbers; the indices are i32. Units: indices
    count in the whole tensor, as `self_index` does.

    Args:
        x: A register.
        dim: The dimension; the fastest one if left out.
        descending: From the greatest on.
        tag: Names that schedules use to find the sort.

    Raises:
        UserError: WV0205, WV0214, WV0340 where the dimension is spread across
            workgroups, WV0342 where it is across waves.
    """
    location = capture_location()
    along = dim_of("sort", x, dim, location)
    values, indices = _sorted(x, along, location, descending=descending)
    values.op.operands[0].tags |= tag_set(tag, location)
    return values, indices


def _sorted(
    x: Value, along: Expr, location: Location, *, descending: bool
) -> tuple[Value, Value]:
    tracer = active("sort")
    index = emit_op(SelfIndex, {"dim": along, "dtype": _INDEX}, location=location)
    fields = {"value": index, "shape": x.type.shape}
    index = emit_op(Broadcast, fields, location=location)
    sources = (tracer.use(x.op, location), index.op)
    region = region_of_pairs(tracer, sources, location)
    last = (_last(x.dtype, descending=descending), _INDEX.integer_range[-1])
    op = Sort(sources, (), along, last, body=region)
    tracer.emit(op, location)

    def body() -> tuple[Op, ...]:
        one, at, other, there = map(Value, region.arguments)
        before = _precedes(one, other, at < there, descending=descending)
        pairs = ((one, other), (at, there), (other, one), (there, at))
        return tuple(_chosen(before, a, b, location).op for a, b in pairs)

    tracer.terminate(region, Yield(tracer.fill(region, body)), location)
    values, indices = (
        Value(tracer.emit(GetResult(op, position), location)) for position in range(2)
    )
    return values, indices


def _last(dtype: DType, *, descending: bool) -> float:
    """What comes after all elements, or is equal to them."""
    if descending or not dtype.is_float:
        return identity_value("max" if descending else "min", dtype)
    return float("nan")


def _precedes(one: Value, other: Value, tie: Any, *, descending: bool) -> Any:
    """Whether ``one`` comes first; ``tie`` says so of equal ones."""
    if not one.dtype.is_float:
        return _strictly(one, other, descending) | (_same(one, other) & tie)
    nan, also = (emit_op(compare.Ne, {"lhs": v, "rhs": v}) for v in (one, other))
    alone = nan & ~also if descending else also & ~nan
    same = _same(one, other) | (nan & also)
    return _strictly(one, other, descending) | alone | (same & tie)


def _strictly(one: Value, other: Value, descending: bool) -> Any:  # noqa: FBT001 - private
    return one > other if descending else one < other


def _same(one: Value, other: Value) -> Value:
    return emit_op(compare.Eq, {"lhs": one, "rhs": other})


def _count(x: Value, k: Expr, along: Expr, location: Location) -> int:
    """How many elements to pick.

    Raises:
        UserError: WV0231.
    """
    tracer = active("topk")
    bindings = tracer.graph.bindings
    count, size = k.subs(bindings), along.subs(bindings)
    if not count.is_constant:
        raise user_error(
            "WV0231",
            f"`topk` needs the value of `{k}` at compile time",
            at=location,
            label="how many elements to pick",
            help=f"bind it: WaveCompileOptions(subs={{{k}: 4}})",
        )
    if not size.is_constant:
        tracer.assume(le(count, size), location)
    elif count.constant_value > size.constant_value:
        raise user_error(
            "WV0231",
            f"`topk` picks {count} of {size} elements along `{along}`",
            at=location,
            label=f"`{k}` is {count}",
            secondary=((x.op.location, f"`{along}` is {size}"),),
            help=f"let `{k}` be at most {size}",
        )
    return count.constant_value


def _in_order(
    x: Value, dim: Expr, kind: str, location: Location
) -> Iterator[tuple[Value, Value]]:
    """The extreme element along ``dim`` and its index, then the next one, ..."""

    def emit(cls: type[Op], *operands: object, **fields: object) -> Value:
        given = dict(zip(cls.field_names, operands, strict=False)) | fields
        return emit_op(cls, given, location=location)

    index = emit(Broadcast, emit(SelfIndex, dim, _INDEX), x.type.shape)
    nowhere, dtype = _INDEX.integer_range[-1], x.dtype
    least = identity_value(kind, dtype)
    rest, taken = x, None
    while True:
        value = emit(Reduce, (rest,), kind=kind, dim=dim)
        found = emit(compare.Eq, rest, value)
        if dtype.is_float:
            # NaN wins, so if there is any, it is what was found.
            found = found | emit(compare.Ne, rest, rest)
        if taken is not None:
            found = found & ~taken
        places = emit(compare.Select, found, index, nowhere)
        first = emit(Reduce, (places,), kind="min", dim=dim)
        yield value, first
        here = emit(compare.Eq, index, first)
        taken = here if taken is None else taken | here
        rest = emit(compare.Select, taken, least, x)


def _filled(
    shape: tuple[Expr, ...], dtype: DType, value: float, location: Location
) -> Value:
    fields = {"shape": shape, "dtype": dtype, "value": value}
    return emit_op(Splat, fields, location=location)


def _chosen(here: Value, new: Value, old: Value, location: Location) -> Value:
    fields = {"condition": here, "on_true": new, "on_false": old}
    return emit_op(compare.Select, fields, location=location)

"""Surface functions that go along a dimension, or pick elements of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import capture_location, coded_arguments, user_error
from wave_core.lang.shapes import as_dtype
from wave_core.lang.types import dims_of
from wave_core.ops.arithmetic import Add
from wave_core.ops.elementwise import compute_dtype
from wave_core.ops.shape import Permute
from wave_core.ops.structure import GetResult
from wave_core.trace.context import active, tag_set
from wave_core.trace.operands import as_op, as_tuple
from wave_core.trace.scan import emit_scan
from wave_core.trace.surface import surface, value_type
from wave_core.trace.value import Value, emit_op

if TYPE_CHECKING:
    from collections.abc import Callable

    from wave_core.diagnostics import Location
    from wave_core.symbols import Expr
    from wave_core.types import RegisterType


@coded_arguments
def cumsum(
    x: Any,
    acc: Any = None,
    dim: Any = None,
    block: bool = False,  # noqa: ARG001, FBT001, FBT002 - the language's signature
    *,
    exclusive: bool = False,
    reverse: bool = False,
    tag: Any = None,
) -> Value:
    """The sum of each element and all that come before it along ``dim``.

    Shapes and dtypes: those of ``x``; narrow floats add up in f32 and round once,
    integers wrap. The sums are over the workgroup's tile, whichever waves hold it.

    Args:
        x: A register.
        acc: What the sums start from: a number, or a register without ``dim``.
        dim: The dimension; the fastest one if left out.
        block: Said of a tile that several waves share; nothing depends on it.
        exclusive: Leave out the element itself: the first sum is ``acc``, or 0.
        reverse: Each element and all that come after it.
        tag: Names that schedules use to find the scan.

    Raises:
        UserError: WV0205, WV0214, WV0215, WV0340 where the dimension is spread across
            workgroups.
    """
    location = capture_location()
    along = dim_of("cumsum", x, dim, location)
    kind = _register("cumsum", x, location)
    wide = compute_dtype(kind.dtype)
    source = as_dtype(x, wide)
    # With -0.0 the sum of nothing but negative zeros stays one.
    nothing = -0.0 if wide.is_float else 0
    (found,) = _scanned(
        surface(Add),
        (source,),
        along,
        location,
        {"exclusive": exclusive, "reverse": reverse, "identity": (nothing,)},
        tag,
    )
    if acc is None and exclusive and wide.is_float:
        acc = 0.0
    if acc is not None:
        _check_start(acc, along, location)
        start = as_dtype(acc, wide) if isinstance(acc, Value) else acc
        fields = {"lhs": start, "rhs": found}
        found = emit_op(Add, fields, location=location)
    return as_dtype(found, kind.dtype)


@coded_arguments
def scan(
    function: Callable[[Any, Any], Any],
    x: Any,
    dim: Any = None,
    *,
    exclusive: bool = False,
    reverse: bool = False,
    identity: Any = None,
    tag: Any = None,
) -> Any:
    """Each element combined with all that come before it along ``dim``.

    ``function`` takes what stands for some elements and what stands for those after
    them, and gives what stands for all. It must be associative, and is computed in
    any grouping; it need not be commutative: elements keep their order.

    Shapes and dtypes: those of ``x``. The scan is over the workgroup's tile.

    Args:
        function: A function of two values; of two tuples where ``x`` is one.
        x: A register, or a tuple of registers of the same dims that go together.
        dim: The dimension; the fastest one if left out.
        exclusive: Leave out the element itself: the first result is ``identity``.
        reverse: Go from the last element to the first.
        identity: The number that changes nothing, or one for each register of ``x``.
        tag: Names that schedules use to find the scan.

    Raises:
        UserError: WV0106 for ``exclusive`` without ``identity``, WV0108, WV0109,
            WV0208, WV0209, WV0214, WV0230 for a function that does more than combine
            elements, WV0340 where the dimension is spread across workgroups.
    """
    location = capture_location()
    several = isinstance(x, (tuple, list))
    values = as_tuple(x)
    along = dim_of("scan", values[0] if values else None, dim, location)
    first = _register("scan", values[0], location)
    sources = (values[0], *(_ordered(each, first, location) for each in values[1:]))
    numbers = () if identity is None else as_tuple(identity)
    if (exclusive and not numbers) or len(numbers) not in (0, len(sources)):
        raise user_error(
            "WV0106",
            f"`scan` needs {len(sources)} numbers as `identity`",
            at=location,
            label="`exclusive` starts from it" if exclusive else "",
            help="write `identity=0.0`, or `identity=(0.0, 1.0)` for two registers",
        )
    fields = {"exclusive": exclusive, "reverse": reverse, "identity": numbers}
    found = _scanned(function, sources, along, location, fields, tag, several=several)
    return found if several else found[0]


def _scanned(
    function: Callable[..., Any],
    sources: tuple[Any, ...],
    dim: Expr,
    location: Location,
    fields: dict[str, Any],
    tag: Any,
    *,
    several: bool = False,
) -> tuple[Value, ...]:
    tracer = active("scan")
    role = "a register of `scan`"
    ops = tuple(as_op(tracer, each, None, role, location) for each in sources)
    fields = {**fields, "sources": ops, "dim": dim}
    tags = tag_set(tag, location)
    op = emit_scan(tracer, function, fields, location, tags, several=several)
    return tuple(
        Value(tracer.emit(GetResult(op, position), location))
        for position in range(len(ops))
    )


def _check_start(acc: Any, dim: Expr, location: Location) -> None:
    """See that one number goes with all elements along ``dim``.

    Raises:
        UserError: WV0215.
    """
    found = value_type(acc)
    if found is not None and dim in found.shape:
        raise user_error(
            "WV0215",
            f"the accumulator of `cumsum` along `{dim}` is {found}",
            at=location,
            label="all sums start from it",
            secondary=((acc.op.location, f"this is {found}"),),
            help=f"start from a register without `{dim}`",
        )


def _register(what: str, x: Any, location: Location) -> RegisterType:
    found = value_type(x)
    if found is None or not found.shape:
        raise user_error(
            "WV0214",
            f"`{what}` needs a register and a dimension",
            at=location,
            help=f"write `{'scan(f, x' if what == 'scan' else f'{what}(x'}, dim=K)`",
        )
    return found


def dim_of(what: str, x: Any, dim: Any, location: Location) -> Expr:
    """The dimension that is named, or the fastest one."""
    kind = _register(what, x, location)
    if dim is None:
        return kind.shape[-1]
    found, *more = dims_of(what, (dim,), location) or (None,)
    if found not in kind.shape or more:
        raise user_error(
            "WV0214",
            f"`{what}` along `{dim}` of {kind}",
            at=location,
            label=f"goes along `{dim}`",
            secondary=((x.op.location, f"this has {kind}"),),
            help="`dim=` is one of the register's dims",
        )
    return found


def _ordered(x: Any, first: RegisterType, location: Location) -> Any:
    """``x`` with its dims in the order of ``first``."""
    kind = value_type(x)
    if kind is None or kind.shape == first.shape or set(kind.shape) != set(first.shape):
        return x
    return emit_op(Permute, {"value": x, "shape": first.shape}, location=location)

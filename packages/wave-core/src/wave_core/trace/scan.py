"""The body of a scan: a function of two values, traced into a region."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import user_error
from wave_core.ops.constant import Scalar, Splat
from wave_core.ops.elementwise import Elementwise
from wave_core.ops.scan import Scan
from wave_core.ops.structure import Yield
from wave_core.trace.body import TracedBody
from wave_core.trace.operands import as_tuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wave_core.diagnostics import Location
    from wave_core.ir.graph import Region
    from wave_core.ops.base import Op
    from wave_core.trace.tracer import Tracer
    from wave_core.trace.value import Value

_WITHIN = (Elementwise, Splat, Scalar, Yield)


def emit_scan(
    tracer: Tracer,
    function: Callable[..., Any],
    fields: Mapping[str, Any],
    location: Location,
    tags: frozenset[str],
    *,
    several: bool,
) -> Scan:
    """A scan by ``function`` of two values, or of two tuples of ``several``.

    Raises:
        UserError: WV0108 for a function that does not take two, WV0109 for another
            result than its arguments, WV0230 for what is not done element by element.
    """
    _check_parameters(function, location)
    sources: tuple[Op, ...] = fields["sources"]
    region = region_of_pairs(tracer, sources, location)
    op = Scan(**fields, body=region)
    tracer.emit(op, location, tags)
    count = len(sources)

    def combine(*values: Value) -> Any:
        if several:
            return as_tuple(function(values[:count], values[count:]))
        return function(*values)

    combine.__name__ = getattr(function, "__name__", "function")
    body = TracedBody(tracer, combine, location, "scanned")
    body.where = location
    body.trace(region, sources, region.arguments)
    _check_ops(region, location)
    return op


def region_of_pairs(
    tracer: Tracer, sources: tuple[Op, ...], location: Location
) -> Region:
    """A region whose arguments are an element of each source, and another one."""
    region = tracer.graph.region()
    for side in ("first", "second"):
        for source in sources:
            name = tracer.label(side)
            region.add_argument("carried", name, source.register_type, location)
    return region


def _check_parameters(function: object, location: Location) -> None:
    try:
        fits = callable(function) and bool(signature(function).bind(None, None).args)
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise user_error(
            "WV0108",
            f"`scan` combines by a function of two values, not by `{function!r}`",
            at=location,
            help="write `scan(lambda a, b: a + b, x, dim=K)`",
        )


def _check_ops(region: Region, location: Location) -> None:
    """See that each element is computed from its own two alone."""
    for op in region.ops:
        if not isinstance(op, _WITHIN):
            raise _refused(
                op, f"`{op.op_name}` is not done element by element", location
            )
    for argument in region.arguments:
        dims = argument.declared.dims
        if argument.role == "capture" and dims:
            raise _refused(
                argument,
                f"a tile with dims {', '.join(dims)} comes from outside",
                location,
            )


def _refused(op: Op, what: str, location: Location) -> Exception:
    return user_error(
        "WV0230",
        f"the function of a scan combines two elements: {what}",
        at=op.location,
        label="in the function of the scan",
        secondary=((location, "the scan"),),
        help=(
            "it may compute with its parameters, numbers, and values without dims",
            "scan another value along: `scan(f, (x, y), dim=K)`",
        ),
    )

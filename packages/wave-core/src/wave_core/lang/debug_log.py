"""`debug_log`: registers of a running kernel as arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import capture_location, coded_arguments, user_error
from wave_core.lang.mapping import IndexMapping, MappedAccess, no_mapping
from wave_core.lang.types import dims_of
from wave_core.ops.compare import Cast
from wave_core.ops.control import Iterate, Loop, While
from wave_core.ops.memory import Write
from wave_core.symbols import Expr, as_expr
from wave_core.trace.context import active
from wave_core.trace.log_dims import (
    Placed,
    extent_symbol,
    iteration_dim,
    loops_around,
    stored_dtype,
    workgroup_dims,
)
from wave_core.trace.operands import as_op, as_tuple
from wave_core.trace.value import Value, emit_op
from wave_core.types import (
    AccessMapping,
    AddressSpace,
    LeadingDim,
    Log,
    MemoryType,
    RegisterType,
    iterator_symbol,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.diagnostics import Location
    from wave_core.trace.tracer import Tracer
    from wave_core.types import Handler, Printer


@coded_arguments
def debug_log(
    reg: Any,
    label: str | None = None,
    extra_iteration_dimensions: Sequence[Any] | None = None,
    mapping: Any = None,
    mapping_dynamic_vals: Sequence[Any] = (),
    printer: Printer | None = print,
    handler: Handler | None = None,
) -> None:
    """Keep what a register holds here and show it after the launch, on any device.

    Each launch allocates an array for the whole tensor of which the register is a
    tile; ``kernel(..., debug_logs=logs)`` enters it into the dictionary ``logs`` under
    the label, as a dictionary: ``value``; ``logged``, which elements were written;
    ``symbolic_shape``, the names of its dims; ``iteration_dimensions``, those that
    count iterations. Elements that nothing logged are NaN, or 0. Of the iterations of
    a loop the last stays, unless they are a dimension. Where workgroups on an axis
    hold tiles of the same elements, ``WORKGROUP_i`` is a dimension too.

    Shapes: that of the tensor, behind the extra dimensions. Dtypes: any; floats below
    16 bits come as f32, integers below 32 bits as i32.

    Args:
        reg: The register.
        label: A name that no other log of the kernel has; numbered by default.
        extra_iteration_dimensions: Loops around, whose iterations become dimensions:
            ``K``, ``(NAME, K)``, or with the number of iterations ``(NAME, K, SIZE)``.
        mapping: From elements of the register to those of the array, as of `write`.
        mapping_dynamic_vals: The index registers of the mapping.
        printer: Called with the label and the array after each launch.
        handler: Called with the dictionary of all logs, once for each launch, however
            many logs name it.

    Raises:
        UserError: WV0101, WV0105, WV0401 and others of mappings as in `write`; WV0170
            for an iteration dimension that is no loop around, WV0171 for a label that
            is taken, and for what cannot be called.
    """
    location = capture_location()
    tracer = active("debug_log")
    kind = _register(tracer, reg, location)
    label = f"debug_log_{len(tracer.logs)}" if label is None else label
    _check(tracer, label, printer, handler, location)
    dims = as_tuple(extra_iteration_dimensions or ())
    leading = _Leading(tracer, location).of(kind, dims)
    shape, access, indices = _own_part(
        tracer, kind, mapping, mapping_dynamic_vals, location
    )
    log = Log(
        label,
        tracer.label("log"),
        kind.dtype,
        stored_dtype(kind.dtype),
        tuple(dim for dim, _ in leading),
        shape,
        printer,
        handler,
        location,
    )
    places = (*(place for _, place in leading), *access.coordinates)
    mapped = replace(access, coordinates=places)
    _write(tracer, log, reg, mapped, indices)
    tracer.logs.append(log)


def _register(tracer: Tracer, reg: Any, location: Location) -> RegisterType:
    """The type of what is logged.

    Raises:
        UserError: WV0105, WV0201 for what is no register.
    """
    op = as_op(tracer, reg, None, "`reg` of `debug_log`", location)
    if isinstance(op.type, RegisterType):
        return op.type
    raise user_error(
        "WV0201",
        "`debug_log` shows a register and got a memory",
        at=location,
        secondary=((op.location, "this memory"),),
        help="read it first: `debug_log(read(memory))`",
    )


def _write(
    tracer: Tracer, log: Log, reg: Any, mapping: AccessMapping, indices: Any
) -> None:
    """Write the register to a memory of the log's own, a parameter of the kernel."""
    shape = (*(dim.extent for dim in log.leading), *log.shape)
    kind = MemoryType(shape, AddressSpace.GLOBAL, log.stored)
    body, at = tracer.graph.body, log.location
    memory = Value(body.add_argument("parameter", log.parameter, kind, at))
    if log.stored != log.dtype:
        reg = emit_op(Cast, {"value": reg, "dtype": log.stored}, location=at)
    fields = {"value": reg, "memory": memory, "indices": indices, "mapping": mapping}
    emit_op(Write, fields, location=at)


def _check(
    tracer: Tracer, label: object, printer: object, handler: object, at: Location
) -> None:
    """Refuse a label that is taken, and what cannot be called.

    Raises:
        UserError: WV0171.
    """
    if not isinstance(label, str):
        what, hint = f"`label` is {label!r}", 'a label is a string: `label="acc"`'
        raise user_error("WV0171", f"{what}", at=at, label="given here", help=hint)
    for name, given in (("printer", printer), ("handler", handler)):
        if given is not None and not callable(given):
            raise user_error(
                "WV0171",
                f"`{name}` of `debug_log` is {given!r}, which cannot be called",
                at=at,
                label="given here",
                help=f"give a function, or `{name}=None`",
            )
    for other in tracer.logs:
        if other.label == label:
            raise user_error(
                "WV0171",
                f"two logs of the kernel are called `{label}`",
                at=at,
                label="taken here",
                secondary=((other.location, "and here"),),
                help='give each its own: `label=f"acc{i}"` in a loop of Python',
            )


def _own_part(
    tracer: Tracer,
    kind: RegisterType,
    mapping: Any,
    indices: Sequence[Any],
    location: Location,
) -> tuple[tuple[Expr, ...], AccessMapping, tuple[Any, ...]]:
    """The register's own dims in the log, how they are accessed, index registers."""
    if mapping is None:
        places = tuple(map(iterator_symbol, range(len(kind.shape))))
        return kind.shape, AccessMapping(kind.dims, places), as_tuple(indices)
    if not isinstance(mapping, IndexMapping):
        raise no_mapping(f"`mapping` is {mapping!r}", location)
    shape = dims_of("debug_log", tuple(mapping.output_mapping), location)
    memory = MemoryType(shape, AddressSpace.GLOBAL, kind.dtype)
    access = MappedAccess(tracer, memory, location, reading=False)
    found, _, given = access.resolve(mapping, as_tuple(indices))
    return shape, found, given


@dataclass(frozen=True)
class _Leading:
    """Finds the dims of one log that the register has not."""

    tracer: Tracer
    location: Location

    def of(self, kind: RegisterType, dims: tuple[Any, ...]) -> list[Placed]:
        """Each with the coordinate along it: workgroups, then iterations."""
        graph, number = self.tracer.graph, len(self.tracer.logs)
        found = list(workgroup_dims(graph.constraints, kind.shape, number))
        loops = loops_around(self.tracer.region)
        for given in dims:
            extent = extent_symbol(number, len(found))
            found.append(self._iterations(given, loops, extent))
        if not found and not kind.shape:
            # A memory has at least one dim.
            extent = extent_symbol(number, 0)
            found.append((LeadingDim("", extent, size=as_expr(1)), as_expr(0)))
        return found

    def _iterations(
        self, given: Any, loops: list[tuple[Loop, int]], extent: Expr
    ) -> Placed:
        """The dimension of one loop, which is taken from ``loops``."""
        row = list(as_tuple(given))
        if not 1 <= len(row) <= 3:
            raise self._unfit(f"`{given!r}` names no loop", loops)
        tracer, at = self.tracer, self.location
        axis = tracer.expression(row[:2][-1], at)
        size = tracer.expression(row[2], at) if len(row) > 2 else None
        for number, (loop, depth) in enumerate(loops):
            if isinstance(loop, Iterate) and loop.axis is axis:
                del loops[number]
                return iteration_dim(loop, depth, extent, str(row[0]), size)
        raise self._unfit(f"no loop over `{axis}` is around", loops)

    def _unfit(self, what: str, loops: list[tuple[Loop, int]]) -> Exception:
        return user_error(
            "WV0170",
            f"`extra_iteration_dimensions` of `debug_log`: {what}",
            at=self.location,
            label="logged here",
            secondary=[
                (
                    loop.location,
                    "iterations of a while loop have no number"
                    if isinstance(loop, While)
                    else f"a loop over `{loop.axis}`",
                )
                for loop, _ in loops
            ],
            help="name loops over dimensions that are around: `[K]`, or `[(NAME, K)]`",
        )

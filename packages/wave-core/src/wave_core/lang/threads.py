"""Surface functions for code of single threads: who runs, loads, stores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wave_core.constraints import (
    GridConstraint,
    WorkgroupConstraint,
    threads_symbol,
    workgroup_symbol,
)
from wave_core.constraints.base import MAX_AXES, is_count, shortened
from wave_core.diagnostics import capture_location, coded_arguments, user_error
from wave_core.lang.types import splat
from wave_core.ops.constant import Scalar, SelfIndex
from wave_core.ops.memory import Read, Write
from wave_core.symbols import Expr, constant
from wave_core.trace.align import Fitting
from wave_core.trace.context import active
from wave_core.trace.control import conditional
from wave_core.trace.elements import only_where
from wave_core.trace.operands import (
    as_tuple,
    is_number,
    names_thread,
    not_a_value,
    thread_number,
)
from wave_core.trace.surface import value_type
from wave_core.trace.value import Value, emit_op
from wave_core.types import (
    DTYPES,
    AccessMapping,
    MemoryType,
    dim_name,
    dynamic_symbol,
)

if TYPE_CHECKING:
    from wave_core.diagnostics import Location


@coded_arguments
def thread_id(axis: int = 0, *, tag: Any = None) -> Value:
    """The position of the thread in its workgroup on one axis, an i32.

    On axis 0 it counts through the lanes of the waves on that axis, on another axis the
    waves.

    Raises:
        UserError: WV0101, WV0150 outside of a thread kernel, WV0222 for no axis.
    """
    location = capture_location()
    dim = threads_symbol(_axis("thread_id", axis, location))
    active("thread_id").require_threads("thread_id", location)
    if dim not in active("thread_id").threads_of("thread_id", location):
        return _scalar(constant(0), location)
    fields = {"dim": dim, "dtype": DTYPES["i32"], "elements_per_thread": 1}
    return emit_op(SelfIndex, fields, tag=tag, location=location)


@coded_arguments
def program_id(axis: int = 0) -> Value:
    """The position of the thread's workgroup in the grid on one axis, an i32.

    Raises:
        UserError: WV0101, WV0150 outside of a thread kernel, WV0222 for no axis.
    """
    location = capture_location()
    number = workgroup_symbol(_axis("program_id", axis, location))
    hint = "`scalar(WORKGROUP_0, i32)` is the number of a workgroup on axis 0"
    active("program_id").threads_of("program_id", location, hint)
    return _scalar(number, location)


@coded_arguments
def num_threads(axis: int = 0) -> Value:
    """The threads of a workgroup on one axis, an i32.

    Raises:
        UserError: WV0101, WV0150 outside of a thread kernel, WV0222 for no axis.
    """
    location = capture_location()
    dim = threads_symbol(_axis("num_threads", axis, location))
    active("num_threads").require_threads("num_threads", location)
    dims = active("num_threads").threads_of("num_threads", location)
    return _scalar(dim if dim in dims else constant(1), location)


@coded_arguments
def num_programs(axis: int = 0) -> Value:
    """The workgroups of the grid on one axis, an i32.

    Raises:
        UserError: WV0101, WV0150 outside of a thread kernel, WV0222 for no axis.
    """
    location = capture_location()
    axis = _axis("num_programs", axis, location)
    tracer = active("num_programs")
    tracer.threads_of("num_programs", location)
    rows = tracer.graph.constraints
    fixed = [row.grid_size for row in rows if isinstance(row, GridConstraint)]
    groups = [row for row in rows if isinstance(row, WorkgroupConstraint)]
    sized = [g.count for g in groups if g.primary and g.workgroup_dim == axis]
    counts = (fixed if axis == 0 else []) or ([] if fixed else sized) or [constant(1)]
    return _scalar(counts[0], location)


@coded_arguments
def load(
    memory: Any, at: Any = None, mask: Any = None, other: Any = 0, *, tag: Any = None
) -> Value:
    """The element of ``memory`` that each thread asks for.

    Args:
        memory: A kernel argument or an allocation.
        at: The coordinates of the element: integers, or expressions of symbols, one
            for each dim of the memory.
        mask: A bool register; threads for which it does not hold read nothing.
        other: What these get: a number, or a value of the memory's element type.
        tag: Names that schedules use to find the op.

    Raises:
        UserError: WV0101, WV0150 outside of code for threads, WV0151 for coordinates
            that do not fit the memory, WV0202, WV0402.
    """
    location = capture_location()
    place = Place("load", memory, at, location)

    def read() -> Value:
        fields = {"memory": memory, "shape": place.dims, **place.fields()}
        return emit_op(Read, fields, tag=tag, location=location)

    if mask is None:
        return read()
    found = conditional(mask, place.value(other))(read)
    assert isinstance(found, Value), "there is one value otherwise"
    return found


@coded_arguments
def store(
    value: Any, memory: Any, at: Any = None, mask: Any = None, *, tag: Any = None
) -> None:
    """Put each thread's ``value`` into the element of ``memory`` that it names.

    Args:
        value: A number or a value of the memory's element type; a float becomes
            another type of float, rounded to nearest even.
        memory: A kernel argument or an allocation.
        at: The coordinates of the element: integers, or expressions of symbols, one
            for each dim of the memory.
        mask: A bool register; threads for which it does not hold write nothing.
        tag: Names that schedules use to find the op.

    Raises:
        UserError: WV0101, WV0150 outside of code for threads, WV0151 for coordinates
            that do not fit the memory, WV0202, WV0204, WV0402.
    """
    location = capture_location()
    place = Place("store", memory, at, location)

    def write() -> None:
        fields = {"value": place.value(value), "memory": memory, **place.fields()}
        emit_op(Write, fields, tag=tag, location=location)

    if mask is None:
        write()
    else:
        conditional(mask)(write)


class Place:
    """The elements of a memory that threads name by coordinates.

    Attributes:
        dims: The dims over which the code runs, one thread for each element.
    """

    def __init__(self, what: str, memory: Any, at: Any, location: Location) -> None:
        tracer = active(what)
        self.dims = tracer.threads_of(what, location)
        found = getattr(getattr(memory, "op", None), "type", None)
        if not isinstance(found, MemoryType):
            raise not_a_value(memory, f"`memory` of `{what}`", location)
        self._dtype, self._location = found.dtype, location
        given = tuple(
            Value(thread_number(tracer, each, None, location))
            if names_thread(each)
            else each
            for each in (() if at is None else as_tuple(at))
        )
        if len(given) != len(found.shape):
            raise user_error(
                "WV0151",
                f"`{what}` gives {len(given)} coordinates, the memory has "
                f"{len(found.shape)} dims",
                at=location,
                label=f"accesses {found}",
                secondary=((memory.op.location, "this memory"),),
                help=f"write one for each of [{', '.join(found.dims)}]",
            )
        indices = tuple(each for each in given if isinstance(each, Value))
        positions = iter(range(len(given)))
        mapping = AccessMapping(
            tuple(map(dim_name, self.dims)),
            tuple(
                dynamic_symbol(next(positions))
                if isinstance(each, Value)
                else tracer.number(each, location)
                for each in given
            ),
            tuple(each.type.dims for each in indices),
        )
        self._mapping, self._indices = mapping, indices

    def fields(self) -> dict[str, Any]:
        """The fields of an access here: its mapping, and the registers that it takes.

        Of the elements of a tile, only those that take part are accessed.
        """
        tracer, mapping, indices = active("load"), self._mapping, self._indices
        if tracer.predicate is not None:
            mapping, indices = only_where(tracer.predicate, mapping, indices)
        width = None if tracer.on_elements else 1
        return {"mapping": mapping, "indices": indices, "elements_per_thread": width}

    def value(self, given: Any) -> Any:
        """What each thread has: a number of the memory's type, or a value."""
        if is_number(given):
            return splat(self.dims, self._dtype, given)
        found = value_type(given)
        if found is None or found.shape == self.dims:
            return given
        tracer, at = active("store"), self._location
        op = tracer.use(given.op, at)
        return Value(Fitting(tracer, at).over(op, self.dims))


def _scalar(value: Expr, location: Location) -> Value:
    fields = {"value": value, "dtype": DTYPES["i32"]}
    return emit_op(Scalar, fields, location=location)


def _axis(what: str, axis: object, location: Location) -> int:
    if type(axis) is int and is_count(axis) and axis < MAX_AXES:
        return axis
    raise user_error(
        "WV0222",
        f"`axis` is {shortened(axis)}",
        at=location,
        label="given here",
        help=f"`{what}` takes an axis of the grid: 0 to {MAX_AXES - 1}",
    )

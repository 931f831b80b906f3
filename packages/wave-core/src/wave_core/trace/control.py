"""Loops and conditions: decorators that trace a body into a region."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import (
    Location,
    capture_location,
    coded_arguments,
    user_error,
)
from wave_core.ops import rules
from wave_core.ops.constant import Splat
from wave_core.ops.control import Conditional, Iterate
from wave_core.ops.structure import GetResult, Yield
from wave_core.trace.annotations import (
    declared_type,
    has_string_annotations,
    resolve_annotations,
)
from wave_core.trace.context import active, tag_set
from wave_core.trace.operands import as_op, as_tuple, is_number
from wave_core.trace.parameter import ParameterLocation
from wave_core.trace.planned import planned
from wave_core.trace.value import Value
from wave_core.types import RegisterType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from wave_core.ir.graph import Region
    from wave_core.ops.base import Op
    from wave_core.trace.tracer import Tracer

Results = Value | tuple[Value, ...] | None


@coded_arguments
def iterate(
    axis: Any,
    init_args: Sequence[Any] = (),
    step: int = 1,
    start: Any = None,
    condition: Any = None,
    *,
    tag: str | Iterable[str] | None = None,
) -> Callable[[Callable[..., Any]], Results]:
    """Loop over the tiles of ``axis``; decorates the body of the loop.

    The body takes one parameter for each value of ``init_args`` and returns their
    next values. The decorated name becomes the result: one value, a tuple of
    several, or nothing.

    Args:
        axis: The dimension, which a tiling constraint cuts into tiles.
        init_args: The carried values of the first iteration.
        step: Tiles to advance at a time.
        start: The first tile.
        condition: Planned: loop while it holds.
        tag: Names that schedules use to find the loop.

    Raises:
        UserError: WV0101 outside a kernel, WV0108 where the body's parameters do
            not match ``init_args``, WV0109 where what it returns does not.
    """
    location = capture_location()
    tracer = active("iterate")
    if condition is not None:
        raise planned("iterate(..., condition=)", "while loops", location)

    def decorate(body: Callable[..., Any]) -> Results:
        loop = _Loop(tracer, body, location)
        inits = loop.initial_values(as_tuple(init_args))
        region = loop.region_for(inits)
        op = Iterate(
            inits=inits,
            captures=(),
            axis=tracer.expression(axis, location),
            start=0 if start is None else tracer.expression(start, location),
            step=step,
            body=region,
        )
        tracer.emit(op, location, tag_set(tag, location))
        loop.trace(region, [init.type for init in inits])
        return _results(tracer, op, len(inits), location)

    return decorate


@coded_arguments
def conditional(
    condition: Any,
    else_return: Any = None,
    *,
    tag: str | Iterable[str] | None = None,
) -> Callable[[Callable[..., Any]], Results]:
    """Run the decorated body where ``condition`` holds.

    Args:
        condition: A bool register, or a relation of symbols.
        else_return: The results where it does not hold; the body then returns as
            many values of the same types.
        tag: Names that schedules use to find the op.

    Raises:
        UserError: WV0101 outside a kernel, WV0109 where the body returns something
            else than ``else_return``.
    """
    location = capture_location()
    tracer = active("conditional")

    def decorate(body: Callable[..., Any]) -> Results:
        branch = _Loop(tracer, body, location)
        others = branch.initial_values(_returned(else_return))
        region = branch.region_for(())
        fields: dict[str, Any] = {"else_values": others, "body": region}
        if isinstance(condition, Value):
            fields["condition"] = tracer.use(condition.op, location)
        else:
            fields["expr"] = tracer.expression(condition, location)
        op = Conditional(**fields)
        tracer.emit(op, location, tag_set(tag, location))
        branch.trace(region, [other.type for other in others])
        return _results(tracer, op, len(others), location)

    return decorate


def _results(tracer: Tracer, op: Op, count: int, location: Location) -> Results:
    values = tuple(
        Value(tracer.emit(GetResult(op, position), location))
        for position in range(count)
    )
    if not values:
        return None
    return values[0] if count == 1 else values


def _returned(value: Any) -> tuple[Any, ...]:
    return () if value is None else as_tuple(value)


class _Loop:
    """One body being traced; checks it against the values that it carries."""

    def __init__(
        self, tracer: Tracer, body: Callable[..., Any], location: Location
    ) -> None:
        if not inspect.isfunction(body):
            raise user_error(
                "WV0116",
                f"a loop or condition decorates a function, not `{body!r}`",
                at=location,
                help="write `@tkw.iterate(dim)` above a `def`",
            )
        self.tracer = tracer
        self.body = body
        self.location = location
        self.where = Location.of_function(body)
        self.scope: Mapping[str, Any] = {}
        if has_string_annotations(body):
            # The decorator's caller: the kernel, or the body around this one.
            self.scope = dict(sys._getframe(2).f_locals)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - documented in sys

    def initial_values(self, values: Sequence[Any]) -> tuple[Op, ...]:
        """The ops of ``init_args`` or ``else_return``."""
        role = f"an initial value of `{self.body.__name__}`"
        return tuple(
            as_op(self.tracer, value, None, role, self.location) for value in values
        )

    def region_for(self, inits: tuple[Op, ...]) -> Region:
        """A region whose carried arguments are the body's parameters."""
        names = list(inspect.signature(self.body).parameters)
        if len(names) != len(inits):
            raise user_error(
                "WV0108",
                f"`{self.body.__name__}` takes {len(names)} values, "
                f"{len(inits)} are carried",
                at=self.where,
                label=f"{len(names)} parameters",
                secondary=((self.location, f"{len(inits)} initial values"),),
                help="one parameter for each initial value, in the same order",
            )
        hints = resolve_annotations(self.body, (self.scope, *self.tracer.namespaces))
        region = self.tracer.graph.region()
        for name, init in zip(names, inits, strict=True):
            self._check_hint(name, hints.get(name), init)
            where = ParameterLocation(self.body, name)
            assert init.type is not None, "initial values have types"
            region.add_argument("carried", self.tracer.label(name), init.type, where)
        return region

    def _check_hint(self, name: str, hint: object, init: Op) -> None:
        where = ParameterLocation(self.body, name)
        declared = declared_type(hint, self.tracer.expression, where)
        if declared is None or declared == init.type:
            return
        raise user_error(
            "WV0108",
            f"parameter `{name}` is declared {declared}, its initial value "
            f"is {init.type}",
            at=where,
            label=f"declared {declared}",
            secondary=((init.location, f"this is {init.type}"),),
            help="a carried value keeps the type of its initial value",
        )

    def trace(self, region: Region, types: list[Any]) -> None:
        """Run the body and end the region with what it returns."""
        carried = [Value(argument) for argument in region.arguments]

        def run() -> tuple[Op, ...]:
            returned = _returned(self.body(*carried))
            self._check_count(returned, len(types))
            return tuple(
                self._result(value, i, type_)
                for i, (value, type_) in enumerate(zip(returned, types, strict=True))
            )

        results = self.tracer.fill(region, run)
        self.tracer.terminate(region, Yield(results), self.where)

    def _check_count(self, returned: tuple[Any, ...], wanted: int) -> None:
        if len(returned) == wanted:
            return
        raise user_error(
            "WV0109",
            f"the body `{self.body.__name__}` returns {len(returned)} values, "
            f"{wanted} are carried",
            at=self.where,
            label=f"returns {len(returned)}",
            secondary=((self.location, f"{wanted} values are given here"),),
            help="return the next value of each, in the same order",
        )

    def _result(self, value: Any, position: int, wanted: RegisterType) -> Op:
        if is_number(value):
            splat = Splat(wanted.shape, wanted.dtype, value)
            return self.tracer.emit(splat, self.where)
        role = f"result {position} of `{self.body.__name__}`"
        op = as_op(self.tracer, value, None, role, self.where)
        if op.type == wanted:
            return op
        raise user_error(
            "WV0109",
            f"result {position} of `{self.body.__name__}` is {op.type}, "
            f"{wanted} is carried",
            at=op.location,
            label=f"this is {op.type}",
            secondary=(
                (self.location, f"value {position} given here is {wanted}"),
                (self.where, "returned from this body"),
            ),
            help=_remedy(op, wanted),
        )


def _remedy(op: Op, wanted: RegisterType) -> str:
    found = op.type
    if not isinstance(found, RegisterType):
        return "return a register"
    dims = rules.dims_text(wanted.shape)
    if found.dtype != wanted.dtype:
        return f"write `cast(value, {wanted.dtype})`"
    if set(found.shape) == set(wanted.shape):
        return f"write `permute(value, target_shape={dims})`"
    return f"a carried value keeps its dims {dims}"

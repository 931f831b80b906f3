"""The body of a loop or condition while it is traced."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import Location, user_error
from wave_core.ops import rules
from wave_core.ops.constant import Splat
from wave_core.ops.structure import GetResult, Yield
from wave_core.trace.align import Fitting
from wave_core.trace.annotations import (
    declared_type,
    has_string_annotations,
    resolve_annotations,
)
from wave_core.trace.operands import as_op, as_tuple, is_number
from wave_core.trace.parameter import ParameterLocation
from wave_core.trace.value import Value
from wave_core.types import RegisterType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wave_core.ir.graph import Region
    from wave_core.ops.base import Op
    from wave_core.trace.tracer import Tracer

Results = Value | tuple[Value, ...] | None


class TracedBody:
    """A body being traced; checks it against the values that it carries.

    ``given`` says where these come from: they are carried, or ``else_return`` gives
    them where the body does not run.
    """

    def __init__(
        self,
        tracer: Tracer,
        body: Callable[..., Any],
        location: Location,
        given: str = "carried",
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
        self.given = given
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

    @property
    def parameters(self) -> list[str]:
        """The names of the body's parameters."""
        return list(inspect.signature(self.body).parameters)

    def parameters_for(self, values: int) -> list[str]:
        """The name of the parameter that takes each value; ``*rest`` takes many."""
        found = inspect.signature(self.body).parameters
        names = list(found)
        rest = [n for n, row in found.items() if row.kind is row.VAR_POSITIONAL]
        if len(rest) != 1 or names[-1] != rest[0]:
            return names
        return names[:-1] + rest * (values - len(names) + 1)

    def region_for(self, inits: tuple[Op, ...], named: Sequence[Op] = ()) -> Region:
        """A region that carries ``named``, then what the parameters stand for."""
        self.check_parameters(inits)
        hints = resolve_annotations(self.body, (self.scope, *self.tracer.namespaces))
        region = self.tracer.graph.region()
        for init in named:
            label = self.tracer.label("condition")
            region.add_argument("carried", label, init.register_type, self.where)
        for name, init in zip(self.parameters_for(len(inits)), inits, strict=True):
            self._check_hint(name, hints.get(name), init)
            where = ParameterLocation(self.body, name)
            assert init.type is not None, "initial values have types"
            region.add_argument("carried", self.tracer.label(name), init.type, where)
        return region

    def check_parameters(self, inits: tuple[Op, ...]) -> None:
        """One parameter for each value.

        Raises:
            UserError: WV0108.
        """
        names = self.parameters_for(len(inits))
        if len(names) != len(inits):
            raise user_error(
                "WV0108",
                f"`{self.body.__name__}` takes {len(names)} values, "
                f"{len(inits)} are {self.given}",
                at=self.where,
                label=f"{len(names)} parameters",
                secondary=((self.location, f"{len(inits)} initial values"),),
                help="one parameter for each initial value, in the same order",
            )

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

    def trace(
        self,
        region: Region,
        wanted: Sequence[Op],
        given: Sequence[Op],
        before: Callable[[tuple[Op, ...]], Sequence[Op]] = lambda _: (),
    ) -> None:
        """Run the body and end the region with what it returns.

        Args:
            region: The body's region.
            wanted: Ops of the types of the values that the body returns.
            given: What its parameters stand for.
            before: The values to be yielded before those returned, which it gets.
        """

        def run() -> tuple[Op, ...]:
            results = self.results(wanted, given)
            return (*before(results), *results)

        results = self.tracer.fill(region, run)
        self.tracer.terminate(region, Yield(results), self.where)

    def results(self, wanted: Sequence[Op], given: Sequence[Op]) -> tuple[Op, ...]:
        """The values that the body returns, run where ops go now; see `trace`."""
        returned = returned_values(self.body(*map(Value, given)))
        self._check_count(returned, len(wanted))
        return tuple(
            self._result(value, i, like.register_type)
            for i, (value, like) in enumerate(zip(returned, wanted, strict=True))
        )

    def _check_count(self, returned: tuple[Any, ...], wanted: int) -> None:
        if len(returned) == wanted:
            return
        raise user_error(
            "WV0109",
            f"the body `{self.body.__name__}` returns {len(returned)} values, "
            f"{wanted} are {self.given}",
            at=self.where,
            label=f"returns {len(returned)}",
            secondary=((self.location, f"{wanted} values are given here"),),
            help="return the next value of each, in the same order",
        )

    def _result(self, value: Any, position: int, wanted: RegisterType) -> Op:
        if is_number(value) and not wanted.shape:
            return as_op(self.tracer, value, wanted.dtype, "a result", self.where)
        if is_number(value):
            splat = Splat(wanted.shape, wanted.dtype, value)
            return self.tracer.emit(splat, self.where)
        role = f"result {position} of `{self.body.__name__}`"
        given = as_op(self.tracer, value, None, role, self.where)
        op = Fitting(self.tracer, self.where).over(given, wanted.shape)
        if op.type == wanted:
            return op
        op = given
        raise user_error(
            "WV0109",
            f"result {position} of `{self.body.__name__}` is {op.type}, "
            f"{wanted} is {self.given}",
            at=op.location,
            label=f"this is {op.type}",
            secondary=(
                (self.location, f"value {position} given here is {wanted}"),
                (self.where, "returned from this body"),
            ),
            help=_remedy(op, wanted),
        )


def results_of(tracer: Tracer, op: Op, positions: range, location: Location) -> Results:
    """The results of ``op`` at ``positions``: one value, a tuple, or nothing."""
    values = tuple(
        Value(tracer.emit(GetResult(op, position), location)) for position in positions
    )
    if not values:
        return None
    return values[0] if len(values) == 1 else values


def returned_values(value: Any) -> tuple[Any, ...]:
    """The values that a body returns, or ``else_return`` gives, as a tuple."""
    return () if value is None else as_tuple(value)


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

"""Loops and conditions: decorators that trace a body into a region."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import capture_location, coded_arguments, user_error
from wave_core.ops.control import Conditional, Iterate
from wave_core.trace.align import Fitting
from wave_core.trace.body import TracedBody, results_of, returned_values
from wave_core.trace.context import active, tag_set
from wave_core.trace.elements import branch_on_elements
from wave_core.trace.operands import as_tuple, thread_number
from wave_core.trace.thread_loop import trace_thread_loop
from wave_core.trace.value import Value
from wave_core.trace.while_loop import TracedWhile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from wave_core.diagnostics import Location
    from wave_core.trace.body import Results


@coded_arguments
def iterate(
    axis: Any = None,
    init_args: Sequence[Any] = (),
    step: int = 1,
    start: Any = None,
    condition: Any = None,
    *,
    tag: str | Iterable[str] | None = None,
) -> Callable[[Callable[..., Any]], Results]:
    """Loop over the tiles of ``axis``; decorates the body of the loop.

    The body takes one parameter for each value of ``init_args``, a last ``*rest`` all
    that are left, and returns their next values. The decorated name becomes the
    result: one value, a tuple of several, or nothing.

    With ``condition`` it is a while loop. The condition is a relation of symbols, asked
    before each iteration: of ``axis``, which the body moves on by `set_symbol`, of
    carried integer scalars, which ``GET_ITER_ARG(i)`` names, and of others. In the
    body, ``axis`` is the number of the tile where the loop stands. It may be left out.

    In a thread kernel, ``condition`` may be a function of the carried values that gives
    a bool. Each thread then leaves the loop by itself.

    Args:
        axis: The dimension, which a tiling constraint cuts into tiles.
        init_args: The carried values of the first iteration.
        step: Tiles to advance at a time; a while loop's body does that itself.
        start: The first tile; of a while loop a number, an expression or an integer
            scalar.
        condition: Whether there is another iteration.
        tag: Names that schedules use to find the loop.

    Raises:
        UserError: WV0101 outside a kernel, WV0108 where the body's parameters do
            not match ``init_args``, WV0109 where what it returns does not, WV0140
            for a while loop that cannot end, WV0141 for a condition of what is no
            integer scalar, WV0144 where neither axis nor condition says how often.
    """
    location = capture_location()
    tracer = active("iterate")
    dim = None if axis is None else tracer.expression(axis, location)
    _check_form(axis, step, start, condition, location)

    def decorate(body: Callable[..., Any]) -> Results:
        loop = TracedBody(tracer, body, location)
        inits = loop.initial_values(as_tuple(init_args))
        tags = tag_set(tag, location)
        if inspect.isfunction(condition):
            return trace_thread_loop(tracer, loop, inits, condition, tags)
        if condition is not None:
            whole = TracedWhile(tracer, loop, dim, inits)
            return whole.emit(start, condition, tags)
        assert dim is not None, "checked above"
        region = loop.region_for(inits)
        op = Iterate(
            inits=inits,
            captures=(),
            axis=dim,
            start=0 if start is None else tracer.number(start, location),
            step=step,
            body=region,
        )
        tracer.emit(op, location, tags)
        with tracer.counting(dim, region, location):
            loop.trace(region, inits, region.arguments)
        return results_of(tracer, op, range(len(inits)), location)

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
            many values of the same types. It may take them as its parameters.
        tag: Names that schedules use to find the op.

    Raises:
        UserError: WV0101 outside a kernel, WV0109 where the body returns something
            else than ``else_return``.
    """
    location = capture_location()
    tracer = active("conditional")

    def decorate(body: Callable[..., Any]) -> Results:
        branch = TracedBody(tracer, body, location, "given by `else_return`")
        others = branch.initial_values(returned_values(else_return))
        if tracer.threads:
            fit = Fitting(tracer, location)
            others = tuple(fit.over(value, tracer.threads) for value in others)
        if branch.parameters:
            branch.check_parameters(others)
        asked = condition
        if tracer.differs_by_thread(condition):
            asked = Value(thread_number(tracer, condition, None, location))
        if tracer.on_elements and isinstance(asked, Value) and asked.type.shape:
            return branch_on_elements(tracer, branch, asked, others)
        region = tracer.graph.region()
        fields: dict[str, Any] = {"else_values": others, "body": region}
        if isinstance(asked, Value):
            fields["condition"] = tracer.use(asked.op, location)
        else:
            fields["expr"] = tracer.number(asked, location)
        op = Conditional(**fields)
        tracer.emit(op, location, tag_set(tag, location))
        branch.trace(region, others, others if branch.parameters else ())
        return results_of(tracer, op, range(len(others)), location)

    return decorate


def _check_form(
    axis: Any, step: int, start: Any, condition: Any, location: Location
) -> None:
    """Refuse arguments that belong to the other form of loop, or to none.

    Raises:
        UserError: WV0144.
    """
    if inspect.isfunction(condition) and (axis is not None or start is not None):
        what = "has an axis and a function as `condition`"
        hint = "carry the number in `init_args`: `condition=lambda i: i < 10`"
    elif axis is None and condition is None:
        what, hint = "needs an axis or a condition", "write `@iterate(K)`"
    elif axis is None and start is not None:
        what, hint = "has a `start` and no axis", "carry the number in `init_args`"
    elif condition is not None and step != 1:
        what, hint = "has a `step` and a condition", "`set_symbol(axis, axis + step)`"
    else:
        return
    raise user_error("WV0144", f"`iterate` {what}", at=location, help=hint)

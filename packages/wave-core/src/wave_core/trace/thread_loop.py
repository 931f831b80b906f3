"""Loops that each thread leaves by itself."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import Location, user_error
from wave_core.ops.control import While
from wave_core.ops.structure import Argument
from wave_core.ops.traits import Trait
from wave_core.trace.align import Fitting
from wave_core.trace.body import results_of
from wave_core.trace.elements import loop_on_elements
from wave_core.trace.operands import as_op
from wave_core.trace.value import Value
from wave_core.types import DTYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wave_core.ir.graph import Region
    from wave_core.ops.base import Op
    from wave_core.trace.body import Results, TracedBody
    from wave_core.trace.tracer import Tracer


def trace_thread_loop(
    tracer: Tracer,
    body: TracedBody,
    given: Sequence[Op],
    condition: Callable[..., Any],
    tags: frozenset[str],
) -> Results:
    """Trace a loop over ``body`` that runs where ``condition`` of its values holds.

    Raises:
        UserError: WV0108 for a condition of other values, WV0109 for one that gives
            no bool, WV0140 where no iteration changes it, WV0150 in code on tiles.
    """
    at = body.location
    dims = tracer.threads_of("condition=", at)
    _check_takes(condition, len(given), at)
    inits = tuple(Fitting(tracer, at).over(value, dims) for value in given)

    def ask(values: Sequence[Op]) -> Op:
        answer = as_op(
            tracer,
            condition(*map(Value, values)),
            DTYPES["bool"],
            "the condition of a loop",
            at,
        )
        if answer.register_type.dtype.is_bool:
            return Fitting(tracer, at).over(answer, dims)
        raise user_error(
            "WV0109",
            f"the condition of a loop is {answer.type}",
            at=at,
            label="asks each thread whether to go on",
            secondary=((answer.location, f"this is {answer.type}"),),
            help="compare: `condition=lambda i, x: i < 10`",
        )

    if tracer.on_elements:
        return loop_on_elements(tracer, body, inits, ask, tags)
    first = ask(inits)
    region = body.region_for(inits, (first,))
    op = While((first, *inits), (), body=region)
    tracer.emit(op, at, tags)
    body.trace(region, inits, region.arguments[1:], lambda values: (ask(values),))
    if not _may_change(region):
        raise user_error(
            "WV0140",
            "a while loop cannot end: no iteration changes its condition",
            at=at,
            label="holds for ever, if it holds once",
            secondary=((body.where, "this body changes nothing in it"),),
            help="decide by a value that the body returns changed, or loads",
        )
    return results_of(tracer, op, range(1, 1 + len(inits)), at)


def _check_takes(condition: Callable[..., Any], count: int, at: Location) -> None:
    """See that the condition can be asked about all carried values, and no others."""
    try:
        inspect.signature(condition).bind(*range(count))
    except TypeError as error:
        raise user_error(
            "WV0108",
            f"the condition of a loop is asked about {count} values: {error}",
            at=Location.of_function(condition),
            secondary=((at, f"{count} initial values"),),
            help="one parameter for each initial value, in the same order",
        ) from None


def _may_change(region: Region) -> bool:
    """Whether what decides about the next iteration differs from what did last."""
    wanted: list[Op] = [region.end.operands[0]]
    seen: set[Op] = set()
    while wanted:
        op = wanted.pop()
        if op in seen or op.owner is not region:
            continue
        seen.add(op)
        if isinstance(op, Argument):
            carried = op.role == "carried"
            if carried and region.end.operands[region.arguments.index(op)] is not op:
                return True
        elif not op.has(Trait.PURE):
            return True
        wanted += op.operands
    return False

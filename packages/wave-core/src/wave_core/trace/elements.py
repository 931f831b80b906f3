"""Functions of single threads, called on tiles: what they do to each element.

An element has no lane to itself, so nothing branches here. Branches are computed where
nobody wants them too, and a choice follows; what touches memory leaves out the elements
that do not take part. A loop goes on as long as some element of the tile wants to.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import Location, user_error
from wave_core.ops.arithmetic import And
from wave_core.ops.compare import Cast, Select
from wave_core.ops.control import While
from wave_core.ops.reduce import Reduce
from wave_core.ops.structure import Yield
from wave_core.symbols import ge, logical_and
from wave_core.trace.annotations import declared_type, resolve_annotations
from wave_core.trace.body import results_of
from wave_core.trace.context import active
from wave_core.trace.operands import as_op, is_number
from wave_core.trace.parameter import ParameterLocation
from wave_core.trace.value import Value, emit_op
from wave_core.types import DTYPES, MemoryType, RegisterType, dynamic_symbol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wave_core.ops.base import Op
    from wave_core.symbols import Expr
    from wave_core.trace.body import Results, TracedBody
    from wave_core.trace.tracer import Tracer
    from wave_core.types import AccessMapping


def call_on_elements(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    keywords: Mapping[str, Any],
    namespaces: Sequence[Mapping[str, Any]],
    location: Location,
) -> Any:
    """What ``function`` gives for each element of the tiles among the arguments.

    From code of single threads it is called as it is.

    Raises:
        UserError: WV0101, WV0154 for arguments that it does not take.
    """
    tracer = active(function.__name__)
    try:
        bound = inspect.signature(function).bind(*arguments, **keywords)
    except TypeError as error:
        where = Location.of_function(function)
        raise _unfit(function, str(error), location, where) from error
    hints = resolve_annotations(function, (*tracer.namespaces, *namespaces))
    for name, value in bound.arguments.items():
        at = ParameterLocation(function, name)
        declared = declared_type(hints.get(name), tracer.expression, at)
        if declared is not None:
            fitted = _fitted(tracer, value, declared, f"`{name}`", location)
            if fitted is None:
                what = f"`{name}` is declared {declared}, and gets {_kind(value)}"
                raise _unfit(function, what, location, at)
            bound.arguments[name] = fitted
    if tracer.threads:
        return function(*bound.args, **bound.kwargs)
    with tracer.each_of(_dims(bound.arguments.values()), location):
        return function(*bound.args, **bound.kwargs)


def _fitted(
    tracer: Tracer,
    value: Any,
    declared: RegisterType | MemoryType,
    role: str,
    at: Location,
) -> Value | None:
    """An argument as its parameter is declared; ``None`` where it is something else."""
    if is_number(value) and isinstance(declared, RegisterType):
        return Value(as_op(tracer, value, declared.dtype, role, at))
    if not isinstance(value, Value) or type(value.type) is not type(declared):
        return None
    rank = isinstance(declared, RegisterType) or len(declared.shape)
    fits = rank is True or rank == len(value.type.shape)
    return value if fits and value.dtype == declared.dtype else None


def _kind(value: object) -> str:
    return str(value.type) if isinstance(value, Value) else f"`{value!r}`"


def _unfit(
    function: Callable[..., Any], what: str, at: Location, where: Location
) -> Exception:
    return user_error(
        "WV0154",
        f"call of `{function.__name__}`: {what}",
        at=at,
        secondary=((where, "takes this"),),
        help="give one element's worth: registers, numbers, memories as declared",
    )


def _dims(arguments: Any) -> tuple[Expr, ...]:
    """The dims of all tiles, those of the largest first."""
    types = [value.type for value in arguments if isinstance(value, Value)]
    shapes = [found.shape for found in types if isinstance(found, RegisterType)]
    shapes.sort(key=len, reverse=True)
    return tuple(dict.fromkeys(dim for shape in shapes for dim in shape))


def branch_on_elements(
    tracer: Tracer, branch: TracedBody, condition: Value, others: Sequence[Op]
) -> Results:
    """The results of a branch where its condition holds, else ``others``."""
    with tracer.under(condition):
        found = branch.results(others, others if branch.parameters else ())
    values = tuple(
        Value(_select(condition, new, old, branch.location))
        for new, old in zip(found, others, strict=True)
    )
    return values[0] if len(values) == 1 else values or None


def loop_on_elements(
    tracer: Tracer,
    body: TracedBody,
    inits: tuple[Op, ...],
    ask: Callable[[Sequence[Op]], Op],
    tags: frozenset[str],
) -> Results:
    """A loop that goes on as long as an element wants to; others keep their values."""
    at = body.location
    going = _still(tracer, ask(inits))
    live = _any(going, at)
    region = body.region_for(inits, (live.op, going.op))
    _, name = tracer.loop_symbols(None)
    symbol = name(0)
    first = live.op, going.op, *inits
    op = While(first, (), ge(symbol, 1), (symbol,), body=region)
    tracer.emit(op, at, tags)
    own = region.arguments[2:]

    def run() -> tuple[Op, ...]:
        wants = Value(region.arguments[1])
        with tracer.under(wants):
            new = body.results(inits, own)
        pairs = zip(new, own, strict=True)
        kept = [_select(wants, each, old, at) for each, old in pairs]
        following = emit_op(And, {"lhs": wants, "rhs": Value(ask(kept))}, location=at)
        return (_any(following, at).op, following.op, *kept)

    results = tracer.fill(region, run)
    tracer.terminate(region, Yield(results), body.where)
    return results_of(tracer, op, range(2, len(first)), at)


def _still(tracer: Tracer, answer: Op) -> Value:
    """The elements that take part, of those that do here."""
    value = Value(answer)
    around = tracer.predicate
    return value if around is None else value & around


def _select(wants: Value, new: Op, old: Op, at: Location) -> Op:
    fields = {"condition": wants, "on_true": Value(new), "on_false": Value(old)}
    return emit_op(Select, fields, location=at).op


def _any(bits: Value, at: Location) -> Value:
    """1 where a truth value of the tile holds, else 0: a scalar."""
    fields: dict[str, Any] = {"value": bits, "dtype": DTYPES["i32"]}
    found = emit_op(Cast, fields, location=at)
    for dim in bits.type.shape:
        fields = {"sources": (found,), "kind": "max", "dim": dim}
        found = emit_op(Reduce, fields, location=at)
    return found


def only_where(
    mask: Value, mapping: AccessMapping, indices: tuple[Value, ...]
) -> tuple[AccessMapping, tuple[Value, ...]]:
    """An access of the elements alone for which ``mask`` holds."""
    fields = {"value": mask, "dtype": DTYPES["i32"]}
    holds = ge(dynamic_symbol(len(indices)), 1)
    exists = holds if mapping.exists is None else logical_and(mapping.exists, holds)
    dims = (*mapping.dynamic_dims, mask.type.dims)
    return (
        replace(mapping, exists=exists, dynamic_dims=dims),
        (*indices, emit_op(Cast, fields)),
    )

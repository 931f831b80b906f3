"""From a decorated Python function to the graph of a kernel."""

from __future__ import annotations

import inspect
from collections.abc import Coroutine, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wave_core.constraints import surface_expr
from wave_core.constraints.symbolic import in_terms_of
from wave_core.diagnostics import Location, user_error
from wave_core.ir.graph import Graph
from wave_core.ops.structure import Yield
from wave_core.symbols import Expr, symbol
from wave_core.trace.annotations import declared_type, resolve_annotations
from wave_core.trace.context import activate
from wave_core.trace.divergence import check_barriers
from wave_core.trace.parameter import ParameterLocation
from wave_core.trace.reindex import check_steady
from wave_core.trace.tracer import Tracer
from wave_core.trace.usage import check_usage
from wave_core.trace.value import Value
from wave_core.types import AddressSpace, MemoryType, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from wave_core.constraints import Constraint
    from wave_core.types import Type


def trace_kernel(
    function: Callable[..., Any],
    name: str,
    constraints: Sequence[Constraint],
    bindings: Mapping[Any, Any],
    location: Location,
    target: str,
    namespaces: Sequence[Mapping[str, Any]],
) -> Graph:
    """The graph of a kernel: wave-level ops on symbolic shapes.

    Args:
        function: The kernel's Python function, its parameters annotated.
        name: The kernel's name.
        constraints: How dimensions spread over the machine.
        bindings: Values of symbols: integers, or address spaces.
        location: Where the kernel is defined.
        target: The name of the target.
        namespaces: Where names in annotations given as strings are looked up,
            besides the function's closure and globals.

    Raises:
        UserError: WV01xx and WV02xx, at the first line that cannot be traced.
    """
    bound = Bindings.of(bindings, location)
    rows = tuple(in_terms_of(bound.places, row) for row in constraints)
    graph = Graph(name, target, bound.numbers, rows, location=location)
    tracer = Tracer(graph, namespaces, bound.spaces, bound.places)
    hints = resolve_annotations(function, tracer.namespaces)
    arguments = _parameters(tracer, function, hints, bound)
    undo = activate(tracer)
    try:
        returned = function(*arguments)
    except RecursionError as error:
        raise _too_deep(function, error) from None
    finally:
        undo()
    if returned is not None:
        raise _returns_value(function, returned)
    tracer.terminate(graph.body, Yield(values=()), Location.of_function(function))
    check_steady(tracer)
    stated = {name: getattr(hint, "usage", Usage.NONE) for name, hint in hints.items()}
    check_usage(graph, stated)
    check_barriers(graph)
    graph.constraints = (*graph.constraints, *tracer.findings)
    graph.logs = tuple(tracer.logs)
    return graph


def _too_deep(function: Callable[..., Any], error: RecursionError) -> Exception:
    return user_error(
        "WV0120",
        f"`{function.__name__}` goes deeper than Python can follow",
        at=Location.of_error(error),
        label="here at last",
        secondary=((Location.of_function(function), "the kernel"),),
        help=(
            "a function that calls itself ends by a number of Python, not by a value",
            "loop over values: `iterate(init_args=[x], condition=...)`",
        ),
    )


@dataclass(frozen=True)
class Bindings:
    """The values of symbols: integers, address spaces, expressions of places."""

    numbers: dict[Expr, int]
    spaces: dict[Expr, AddressSpace]
    places: dict[Expr, Expr]

    @classmethod
    def of(cls, bindings: Mapping[Any, Any], location: Location) -> Bindings:
        """From what users write."""
        found = cls({}, {}, {})
        for key, value in bindings.items():
            named = isinstance(key, str)
            name = symbol(key) if named else surface_expr(key, [], location)
            if isinstance(value, AddressSpace):
                found.spaces[name] = value
                continue
            expr = surface_expr(value, [], location)
            if expr.is_constant:
                found.numbers[name] = expr.constant_value
            else:
                found.places[name] = expr
        return found


def _parameters(
    tracer: Tracer,
    function: Callable[..., Any],
    hints: Mapping[str, Any],
    given: Bindings,
) -> list[Value]:
    declared: dict[str, Type] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        where = ParameterLocation(function, name)
        if (why := _unfit(parameter)) is not None:
            raise _unfit_parameter(parameter, why, where)
        found = declared_type(hints.get(name), tracer.expression, where)
        if found is None:
            raise _not_declared(name, hints.get(name), where)
        declared[name] = found
    sizes = {*given.numbers, *(dim for each in declared.values() for dim in each.shape)}
    arguments: list[Value] = []
    for name, found in declared.items():
        where = ParameterLocation(function, name)
        bound = _bind_space(name, found, given.spaces, sizes, where)
        argument = tracer.graph.body.add_argument(
            "parameter", tracer.label(name), bound, where
        )
        arguments.append(Value(argument))
    return arguments


def _bind_space(
    name: str,
    declared: Type,
    spaces: Mapping[Expr, AddressSpace],
    sizes: Container[Expr],
    where: Location,
) -> Type:
    if not isinstance(declared, MemoryType) or isinstance(declared.space, AddressSpace):
        return declared
    if declared.space in sizes:
        raise _size_for_space(name, declared, where)
    space = spaces.get(declared.space, declared.space)
    return MemoryType(declared.shape, space, declared.dtype, declared.physical)


def _size_for_space(name: str, declared: MemoryType, where: Location) -> Exception:
    dims = ", ".join(map(str, (*declared.shape, declared.space)))
    return user_error(
        "WV0220",
        f"`{name}` has size `{declared.space}` where its address space belongs",
        at=where,
        label="before the element type",
        help=f"write `{name}: Memory[{dims}, GLOBAL_ADDRESS_SPACE, {declared.dtype}]`",
    )


def _unfit(parameter: inspect.Parameter) -> str | None:
    """Why a launch could not pass the parameter in its place."""
    if parameter.default is not parameter.empty:
        return "has a default, and each launch passes all arguments"
    if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
        return f"is {parameter.kind.description}, and arguments come in order"
    return None


def _unfit_parameter(
    parameter: inspect.Parameter, why: str, where: Location
) -> Exception:
    return user_error(
        "WV0111",
        f"kernel parameter `{parameter.name}` {why}",
        at=where,
        label="not part of a launch",
        help="write out the parameters one by one: `a: ..., b: ...`",
    )


def _not_declared(name: str, hint: object, where: Location) -> Exception:
    what = "no annotation" if hint is None else f"the annotation `{hint}`"
    return user_error(
        "WV0111",
        f"kernel parameter `{name}` has {what}",
        at=where,
        label="of which type?",
        help=(
            f"`{name}: Memory[M, N, GLOBAL_ADDRESS_SPACE, f16]` is a tensor",
            f"`{name}: SymbolBind[i32]` a size, `{name}: f32` a number",
        ),
    )


def _returns_value(function: Callable[..., Any], returned: object) -> Exception:
    op = getattr(returned, "op", None)
    what, help_text = "returns a value", "write results to a memory parameter"
    if isinstance(returned, Generator | Coroutine):  # its code has not run
        returned.close()
        kind = "generator" if isinstance(returned, Generator) else "coroutine"
        what, help_text = f"is a {kind}", "take out `yield`, `async` and `await`"
    return user_error(
        "WV0112",
        f"kernel `{function.__name__}` {what}",
        at=Location.of_function(function),
        label="a kernel returns nothing",
        secondary=((getattr(op, "location", None), "this value"),),
        help=f"{help_text}: `write(value, out)`" if op is not None else help_text,
    )

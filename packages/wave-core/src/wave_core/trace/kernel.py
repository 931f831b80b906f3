"""From a decorated Python function to the graph of a kernel."""

from __future__ import annotations

import inspect
from collections.abc import Coroutine, Generator
from typing import TYPE_CHECKING, Any

from wave_core.constraints import surface_expr
from wave_core.diagnostics import Location, user_error
from wave_core.ir.graph import Graph
from wave_core.ops.structure import Yield
from wave_core.symbols import symbol
from wave_core.trace.annotations import declared_type, resolve_annotations
from wave_core.trace.context import activate
from wave_core.trace.parameter import ParameterLocation
from wave_core.trace.tracer import Tracer
from wave_core.trace.value import Value
from wave_core.types import AddressSpace, MemoryType

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from wave_core.constraints import Constraint
    from wave_core.symbols import Expr
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
    numbers, spaces = split_bindings(bindings, location)
    graph = Graph(name, target, numbers, tuple(constraints), location=location)
    tracer = Tracer(graph, namespaces)
    arguments = _parameters(tracer, function, numbers, spaces)
    undo = activate(tracer)
    try:
        returned = function(*arguments)
    finally:
        undo()
    if returned is not None:
        raise _returns_value(function, returned)
    tracer.terminate(graph.body, Yield(values=()), Location.of_function(function))
    graph.constraints = (*graph.constraints, *tracer.assumptions)
    return graph


def split_bindings(
    bindings: Mapping[Any, Any], location: Location
) -> tuple[dict[Expr, int], dict[Expr, AddressSpace]]:
    """Bindings of symbols to integers, and of symbols to address spaces."""
    numbers: dict[Expr, int] = {}
    spaces: dict[Expr, AddressSpace] = {}
    for key, value in bindings.items():
        name = symbol(key) if isinstance(key, str) else surface_expr(key, [], location)
        if isinstance(value, AddressSpace):
            spaces[name] = value
        else:
            numbers[name] = surface_expr(value, [], location).constant_value
    return numbers, spaces


def _parameters(
    tracer: Tracer,
    function: Callable[..., Any],
    numbers: Mapping[Expr, int],
    spaces: Mapping[Expr, AddressSpace],
) -> list[Value]:
    hints = resolve_annotations(function, tracer.namespaces)
    declared: dict[str, Type] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        where = ParameterLocation(function, name)
        if (why := _unfit(parameter)) is not None:
            raise _unfit_parameter(parameter, why, where)
        found = declared_type(hints.get(name), tracer.expression, where)
        if found is None:
            raise _not_declared(name, hints.get(name), where)
        declared[name] = found
    sizes = {*numbers, *(dim for each in declared.values() for dim in each.shape)}
    arguments: list[Value] = []
    for name, found in declared.items():
        where = ParameterLocation(function, name)
        bound = _bind_space(name, found, spaces, sizes, where)
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

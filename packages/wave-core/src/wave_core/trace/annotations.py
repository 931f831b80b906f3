"""Parameters of kernels and loop bodies, read from their annotations."""

from __future__ import annotations
import __future__

import inspect
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from wave_core.diagnostics import Location, user_error
from wave_core.types import DType, RegisterType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wave_core.symbols import Expr
    from wave_core.types import Type

    ToExpr = Callable[[Any, Location], Expr]
    """Turns what users write into an expression."""


@runtime_checkable
class Declares(Protocol):
    """An annotation that stands for a type, such as ``Memory[...]``."""

    def declared_type(self, expression: ToExpr, location: Location) -> Type:
        """The type that a parameter annotated with this has."""
        ...


def declared_type(
    annotation: object, expression: ToExpr, location: Location
) -> Type | None:
    """The type that an annotation stands for, ``None`` for any other annotation."""
    if isinstance(annotation, DType):
        return RegisterType((), annotation)
    # The bare class, without dims, has the method too.
    if isinstance(annotation, Declares) and not isinstance(annotation, type):
        return annotation.declared_type(expression, location)
    return None


def resolve_annotations(
    function: Callable[..., Any], namespaces: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The annotations of ``function`` by parameter, strings looked up.

    Names are searched in the function's closure, then in ``namespaces``, then in
    its globals.

    Raises:
        UserError: WV0107 for an annotation that names something unknown.
    """
    found = inspect.get_annotations(function)
    if not any(isinstance(value, str) for value in found.values()):
        return found
    names: dict[str, Any] = {}
    for namespace in (*reversed(namespaces), _closure(function)):
        names |= namespace
    try:
        return inspect.get_annotations(function, locals=names, eval_str=True)
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        raise user_error(
            "WV0107",
            f"an annotation of `{function.__name__}` cannot be looked up: {error}",
            at=Location.of_function(function),
            label="annotated here",
            help=(
                "annotations are strings under `from __future__ import annotations`; "
                "names in them must be visible where the function is defined"
            ),
        ) from error


def has_string_annotations(function: Callable[..., Any]) -> bool:
    """Whether the function's module keeps all annotations as strings."""
    code = getattr(function, "__code__", None)
    flag = __future__.annotations.compiler_flag
    return code is not None and bool(code.co_flags & flag)


def _closure(function: Callable[..., Any]) -> Mapping[str, Any]:
    names: dict[str, Any] = {}
    code = getattr(function, "__code__", None)
    cells = getattr(function, "__closure__", None) or ()
    for name, cell in zip(() if code is None else code.co_freevars, cells, strict=True):
        # A cell is empty while the name is not assigned yet.
        with suppress(ValueError):
            names[name] = cell.cell_contents
    return names

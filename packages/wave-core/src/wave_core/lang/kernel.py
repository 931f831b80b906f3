"""The ``wave`` decorator, and what it makes of a function."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from wave_core.compile.launchable import LaunchableThread, LaunchableWave
from wave_core.constraints import Constraint, thread_rows
from wave_core.diagnostics import Location, capture_location, user_error
from wave_core.trace.annotations import has_string_annotations

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from wave_core.ir.graph import Graph

T = TypeVar("T", bound=LaunchableWave)


def wave(
    constraints: Iterable[Constraint] = (),
) -> Callable[[Callable[..., Any]], LaunchableWave]:
    """Make a kernel of the decorated function.

    Args:
        constraints: How its dimensions spread over the machine.

    Raises:
        UserError: WV0114 for what is no constraint, WV0116 for what is no function.
    """
    given = _checked(constraints)
    scope = sys._getframe(1)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - names of annotations
    return lambda function: _launchable(function, given, scope, LaunchableWave)


def thread(
    constraints: Iterable[Constraint] = (),
) -> Callable[[Callable[..., Any]], LaunchableThread]:
    """Make a kernel of a function that says what one thread does.

    In another kernel it can be called: by threads with what a thread has, by a kernel
    on tiles with tiles, for each element of them. It may then return values.

    A workgroup has ``waves_per_block`` waves of the `HardwareConstraint`, one if it
    says nothing; its threads are numbered by `thread_id`. Workgroup constraints and
    grid constraints say how many workgroups there are; `program_id` numbers them.

    Args:
        constraints: The machine, and how many workgroups there are.

    Raises:
        UserError: WV0114 for what is no constraint, WV0116 for what is no function.
    """
    given = _checked(constraints)
    rows = (*given, *thread_rows(given, capture_location()))
    scope = sys._getframe(1)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - names of annotations
    return lambda function: _launchable(function, rows, scope, LaunchableThread)


def wave_trace_only(
    constraints: Iterable[Constraint] = (), **bindings: Any
) -> Callable[[Callable[..., Any]], Callable[[], Graph]]:
    """Make a function of no arguments that traces the decorated kernel."""
    given = _checked(constraints)
    scope = sys._getframe(1)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - names of annotations

    def decorate(function: Callable[..., Any]) -> Callable[[], Graph]:
        kernel = _launchable(function, given, scope, LaunchableWave)
        return lambda: kernel.trace(bindings)

    return decorate


def _launchable(
    function: Any,
    constraints: tuple[Constraint, ...],
    scope: FrameType,
    kind: type[T],
) -> T:
    if not inspect.isfunction(function):
        raise user_error(
            "WV0116",
            f"`wave` decorates a function, not `{function!r}`",
            at=capture_location(),
            help="write `@wave(constraints)` above a `def`",
        )
    where = Location.of_function(function)
    names = _namespaces(function, scope)
    return kind(function.__name__, function, constraints, where, names)


def _namespaces(
    function: Callable[..., Any], scope: FrameType
) -> tuple[Mapping[str, Any], ...]:
    """The names around the function, where it is not a module's own function.

    A closure has only the names that the function's code uses; annotations given
    as strings may use others.
    """
    if scope.f_locals is scope.f_globals or not has_string_annotations(function):
        return ()
    return (dict(scope.f_locals),)


def _checked(constraints: object) -> tuple[Constraint, ...]:
    if not isinstance(constraints, Iterable) or isinstance(
        constraints, (str, bytes, Mapping)
    ):
        what = f"`{constraints!r}` is no list"
        raise _no_constraint(what, "a list of constraints comes here")
    given = tuple(cast("Iterable[object]", constraints))
    for item in given:
        if not isinstance(item, Constraint):
            raise _no_constraint(f"`{item!r}` is no constraint", "in this list")
    return cast("tuple[Constraint, ...]", given)


def _no_constraint(what: str, label: str) -> Exception:
    return user_error(
        "WV0114",
        what,
        at=capture_location(),
        label=label,
        help="write `@wave([WorkgroupConstraint(...), HardwareConstraint()])`",
    )

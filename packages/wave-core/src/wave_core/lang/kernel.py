"""The ``wave`` decorator, and what it makes of a function."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn, cast

from wave_core.constraints import Constraint
from wave_core.diagnostics import Location, capture_location, user_error
from wave_core.trace.annotations import has_string_annotations

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from wave_core.ir.graph import Graph
    from wave_core.passes.manual import ManualSchedule


@dataclass(frozen=True, eq=False)
class LaunchableWave:
    """A kernel: a function and how its dimensions spread. Nothing is traced yet.

    Immutable; ``wave_compile`` makes as many compiled kernels of it as there are
    options.
    """

    name: str
    function: Callable[..., Any]
    constraints: tuple[Constraint, ...]
    location: Location
    namespaces: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    schedule: ManualSchedule | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Look like the function: documentation tools and pickling ask for these."""
        for key in ("__name__", "__qualname__", "__doc__", "__module__"):
            object.__setattr__(self, key, getattr(self.function, key))
        object.__setattr__(self, "__wrapped__", self.function)

    def trace(
        self, bindings: Mapping[Any, Any] | None = None, *, target: str = "generic"
    ) -> Graph:
        """The kernel's graph: wave-level ops on symbolic shapes.

        Args:
            bindings: Values of symbols: integers, or address spaces.
            target: The name of the target.

        Raises:
            UserError: WV01xx and WV02xx at the first line that cannot be traced.
        """
        # The one seam to the graph storage, so that the language imports quickly.
        from wave_core.trace.kernel import trace_kernel  # noqa: PLC0415

        return trace_kernel(
            self.function,
            self.name,
            self.constraints,
            bindings or {},
            self.location,
            target,
            self.namespaces,
        )

    def scheduled(self, schedule: ManualSchedule) -> LaunchableWave:
        """The kernel with a schedule of its own, as `wave_compile` would take it."""
        return replace(self, schedule=schedule)

    def __reduce__(self) -> str | tuple[object, ...]:
        """The kernel by its name in its module, which is imported where it is read.

        Raises:
            UserError: WV0117 where the name means something else.
        """
        found: Any = sys.modules.get(self.function.__module__)
        for part in self.function.__qualname__.split("."):
            found = getattr(found, part, None)
        if found is self:
            return self.function.__qualname__
        schedule = self.schedule
        if schedule is not None and found == replace(self, schedule=None):
            return LaunchableWave.scheduled, (found, schedule)
        raise _unnamed(self)

    def __call__(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        """Refused: the kernel is not compiled.

        Raises:
            UserError: WV0113.
        """
        raise user_error(
            "WV0113",
            f"kernel `{self.name}` is called, and not compiled",
            at=capture_location(),
            secondary=((self.location, "the kernel"),),
            help=(
                f"compile it first: `{self.name} = "
                f"wave_compile(WaveCompileOptions(subs={{...}}), {self.name})`"
            ),
        )


def _unnamed(kernel: LaunchableWave) -> Exception:
    name = f"{kernel.function.__module__}.{kernel.function.__qualname__}"
    return user_error(
        "WV0117",
        f"kernel `{kernel.name}` cannot be pickled: `{name}` is not this kernel",
        at=kernel.location,
        label="this kernel",
        help=(
            "define it at the top of a module, under the name of its function",
            "or pass what makes it, and make and compile it in the other process",
        ),
    )


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
    return lambda function: _launchable(function, given, scope)


def wave_trace_only(
    constraints: Iterable[Constraint] = (), **bindings: Any
) -> Callable[[Callable[..., Any]], Callable[[], Graph]]:
    """Make a function of no arguments that traces the decorated kernel."""
    given = _checked(constraints)
    scope = sys._getframe(1)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - names of annotations

    def decorate(function: Callable[..., Any]) -> Callable[[], Graph]:
        kernel = _launchable(function, given, scope)
        return lambda: kernel.trace(bindings)

    return decorate


def _launchable(
    function: Any, constraints: tuple[Constraint, ...], scope: FrameType
) -> LaunchableWave:
    if not inspect.isfunction(function):
        raise user_error(
            "WV0116",
            f"`wave` decorates a function, not `{function!r}`",
            at=capture_location(),
            help="write `@wave(constraints)` above a `def`",
        )
    where = Location.of_function(function)
    names = _namespaces(function, scope)
    return LaunchableWave(function.__name__, function, constraints, where, names)


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

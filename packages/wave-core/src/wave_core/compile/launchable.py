"""A kernel before it is compiled: what the ``wave`` decorator makes of a function."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn

from wave_core.diagnostics import capture_location, user_error

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wave_core.constraints import Constraint
    from wave_core.diagnostics import Location
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
        raise _not_compiled(self, "called")

    def __getitem__(self, grid: object) -> NoReturn:
        """Refused: constraints say the grid, and the kernel is not compiled.

        Raises:
            UserError: WV0113.
        """
        del grid
        how = "constraints size the grid: `WorkgroupConstraint(M, TILE, 0)`"
        raise _not_compiled(self, "launched on a grid", how)


class LaunchableThread(LaunchableWave):
    """A kernel of single threads; in other kernels, a function of elements."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The results for each element of the tiles among the arguments.

        Raises:
            UserError: WV0113 where no kernel is traced, WV0154 for arguments that do
                not fit.
        """
        # The one seam to the graph storage, so that the language imports quickly.
        from wave_core.trace.context import is_tracing  # noqa: PLC0415

        if not is_tracing():
            super().__call__(*args, **kwargs)
        from wave_core.trace.elements import call_on_elements  # noqa: PLC0415 - as above

        at = capture_location()
        return call_on_elements(self.function, args, kwargs, self.namespaces, at)


def _not_compiled(kernel: LaunchableWave, done: str, *more: str) -> Exception:
    """What tells somebody who uses a kernel before `wave_compile`."""
    made = f"wave_compile(WaveCompileOptions(subs={{...}}), {kernel.name})"
    return user_error(
        "WV0113",
        f"kernel `{kernel.name}` is {done}, and not compiled",
        at=capture_location(),
        secondary=((kernel.location, "the kernel"),),
        help=(f"compile it first: `{kernel.name} = {made}`", *more),
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

"""The logs of a kernel: memories that `debug_log` writes and a launch allocates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wave_core.diagnostics import Location
    from wave_core.symbols import Expr
    from wave_core.types.dtype import DType

Printer = Callable[[str, Any], object]
"""Takes the label and the array of one log."""
Handler = Callable[[Mapping[str, Any]], object]
"""Takes all logs of a launch, by label."""


@dataclass(frozen=True)
class LeadingDim:
    """A dimension of a log that the register has not: iterations or workgroups.

    Attributes:
        name: As users see it.
        extent: The symbol of its size.
        loop: Axis, start and step of the loop whose iterations it counts.
        grid_axis: The axis whose workgroups it counts, where there is no loop.
        size: The size where the author gives it.
    """

    name: str
    extent: Expr
    loop: tuple[str, Expr, int] | None = None
    grid_axis: int = 0
    size: Expr | None = None


@dataclass(frozen=True)
class Stop:
    """The breakpoint that a log belongs to, by number, and the name of its value."""

    number: int
    label: str


@dataclass(frozen=True)
class Log:
    """One `debug_log` of a kernel.

    Attributes:
        label: The author's name of it.
        parameter: The kernel's parameter that it is written to.
        dtype: The element type of the register.
        stored: That of the memory, which is no narrower.
        leading: The dims before those of the register, outermost first.
        shape: The dims of the register.
        printer: Called for this log after each launch.
        handler: Called for all logs of a launch.
        location: The author's line.
        stop: The breakpoint that shows it, which is no log to its author.
    """

    label: str
    parameter: str
    dtype: DType
    stored: DType
    leading: tuple[LeadingDim, ...]
    shape: tuple[Expr, ...]
    printer: Printer | None
    handler: Handler | None
    location: Location | None
    stop: Stop | None = None

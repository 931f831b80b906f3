"""Tracing: running a kernel's Python function once to get its graph.

Importing this package loads no graph storage; ``trace`` does, when it is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wave_core.trace.control import conditional as conditional, iterate as iterate
from wave_core.trace.planned import PlannedError as PlannedError
from wave_core.trace.surface import surface as surface
from wave_core.trace.usage import parameter_usage as parameter_usage
from wave_core.trace.value import Value as Value, emit_op as emit_op

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wave_core.constraints import Constraint
    from wave_core.diagnostics import Location
    from wave_core.ir.graph import Graph


def trace(
    function: Callable[..., Any],
    name: str,
    constraints: Sequence[Constraint],
    bindings: Mapping[Any, Any],
    location: Location,
    *,
    target: str = "generic",
    namespaces: Sequence[Mapping[str, Any]] = (),
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
    # The one seam to the graph storage, so that the language imports quickly.
    from wave_core.trace.kernel import trace_kernel  # noqa: PLC0415

    return trace_kernel(
        function, name, constraints, bindings, location, target, namespaces
    )

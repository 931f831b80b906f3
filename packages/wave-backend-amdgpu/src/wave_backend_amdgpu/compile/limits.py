"""Limits of the chip, checked before the compiler is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.analysis.capacity import check_lds, check_registers
from wave_core.constraints.geometry import Geometry
from wave_core.diagnostics import user_error
from wave_core.ops.compare import Select
from wave_core.ops.traits import Trait
from wave_core.symbols import constant, product
from wave_core.targets import Float8

if TYPE_CHECKING:
    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.targets import Target

GRID_LIMIT = (1 << 32) - 1
"""Source: HSA runtime specification, kernel dispatch packet: grid sizes are 32 bits of
work-items; axes but the first have one work-item a workgroup here."""


def check_limits(graph: Graph, target: Target) -> None:
    """Refuse a kernel that needs more LDS or registers than the chip has.

    Raises:
        UserError: WV0605.
    """
    _check_conversions(graph, target)
    check_lds(graph, target)
    check_registers(graph, target)
    check_grid(graph, target)


CONVERTED = {
    Float8.NONE: frozenset[str](),
    Float8.FNUZ: frozenset({"f8e4m3fnuz", "f8e5m2fnuz"}),
    Float8.OCP: frozenset({"f8e4m3fn", "f8e5m2"}),
}
"""8-bit floats that a chip converts; all of them move, and scales convert, on any."""


def _check_conversions(graph: Graph, target: Target) -> None:
    """Refuse arithmetic on 8-bit floats of another flavour.

    Raises:
        UserError: WV0601.
    """
    known = CONVERTED[target.float8] | {"f8e8m0fnu"}
    for op in graph.walk():
        if not op.has(Trait.ELEMENTWISE) or isinstance(op, Select):
            continue
        for value in (op, *op.operands):
            name = value.register_type.dtype.name
            if name.startswith("f8") and name not in known:
                raise _no_conversion(op, name, target, known)


def _no_conversion(
    op: Op, name: str, target: Target, known: frozenset[str]
) -> Exception:
    able = ", ".join(sorted(known))
    return user_error(
        "WV0601",
        f"{target.name} has no instructions for `{op.op_name}` of {name}",
        at=op.location,
        label=f"converts {name}",
        help=(f"{target.name} converts {able}", _who_converts(name)),
    )


def _who_converts(name: str) -> str:
    fnuz = name in CONVERTED[Float8.FNUZ]
    chips = "gfx942" if fnuz else "gfx950, gfx1201 and gfx1250"
    return f"{name} is converted by {chips}"


def check_grid(graph: Graph, target: Target) -> None:
    """Refuse a grid known at compile time that no launch can ask for.

    Raises:
        UserError: WV0605.
    """
    geometry = Geometry(graph.constraints, graph.bindings, target, graph.location)
    counts = [*geometry.grid, *[constant(1)] * 3]
    folded = product([constant(1), *geometry.grid[2:]])
    items = (counts[0] * geometry.threads, counts[1], folded)
    for axis, count in enumerate(items):
        if count.is_constant and count.constant_value > GRID_LIMIT:
            needed = count.constant_value
            what = "work-items" if axis == 0 else "workgroups"
            raise user_error(
                "WV0605",
                f"`{graph.name}` needs {needed} {what} on axis {axis} of its grid;"
                f" a launch counts to {GRID_LIMIT}",
                at=graph.location,
                help="use larger workgroup tiles, or spread the grid over its axes",
                needed=needed,
                limit=GRID_LIMIT,
            )

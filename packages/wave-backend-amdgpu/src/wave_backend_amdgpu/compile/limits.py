"""Limits of the chip, checked before the compiler is asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from wave_core.analysis.names import name_of
from wave_core.analysis.pressure import widest_point, words_of
from wave_core.backends.emission.memories import extents, size
from wave_core.constraints.geometry import Geometry
from wave_core.diagnostics import user_error
from wave_core.ir import PLACEMENT, Graph
from wave_core.ops.compare import Select
from wave_core.ops.control import Iterate
from wave_core.ops.memory import Allocate
from wave_core.ops.traits import Trait
from wave_core.symbols import constant, product
from wave_core.targets import Float8, Target

if TYPE_CHECKING:
    from wave_core.ops.base import Op

SHOWN = 4
"""Buffers that a message names."""

GRID_LIMIT = (1 << 32) - 1
"""Source: HSA runtime specification, kernel dispatch packet: grid sizes are 32 bits of
work-items; axes but the first have one work-item a workgroup here."""


def lds_bytes(graph: Graph) -> int:
    """LDS of a workgroup, each buffer rounded up to 16 bytes; packed ones share."""
    own = [_bytes(graph, op) for op in _buffers(graph) if op.offset is None]
    ends = [
        op.offset + _bytes(graph, op) for op in _buffers(graph) if op.offset is not None
    ]
    return sum(own) + max(ends, default=0)


def _buffers(graph: Graph) -> list[Allocate]:
    return [op for op in graph.walk() if isinstance(op, Allocate)]


def _bytes(graph: Graph, op: Allocate) -> int:
    count = size(extents(graph, op.memory_type)).constant_value + op.tail_padding
    return -(-count * op.dtype.bytes // 16) * 16


def check_limits(graph: Graph, target: Target) -> None:
    """Refuse a kernel that needs more LDS or registers than the chip has.

    Raises:
        UserError: WV0605.
    """
    _check_conversions(graph, target)
    _check_lds(graph, target)
    _check_registers(graph, target)
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


def _check_lds(graph: Graph, target: Target) -> None:
    total, limit = lds_bytes(graph), target.memory.lds_bytes
    if total <= limit:
        return
    ordered = sorted(_buffers(graph), key=lambda op: -_bytes(graph, op))
    rows = [
        f"{_bytes(graph, op)} bytes: {name_of(op)} "
        f"({op.dtype}[{', '.join(map(str, op.distributed_shape))}])"
        for op in ordered[:SHOWN]
    ]
    raise user_error(
        "WV0605",
        f"`{graph.name}` needs {total} bytes of LDS; {target.name} has {limit}",
        at=graph.location,
        secondary=tuple(
            (op.location, f"{_bytes(graph, op)} bytes") for op in ordered[:SHOWN]
        ),
        notes=("the largest buffers:", *rows),
        help="use smaller tiles, fewer buffers, or narrower element types",
        needed=total,
        limit=limit,
    )


def _check_registers(graph: Graph, target: Target) -> None:
    file = target.registers
    if file is None:
        return
    widest = widest_point(graph)
    if widest.registers <= file.per_wave:
        return
    at = widest.at
    where = "a loop" if isinstance(at, Iterate) else f"`{at.op_name}`" if at else "it"
    raise user_error(
        "WV0605",
        f"`{graph.name}` keeps values in {widest.registers} registers of each lane"
        f" across {where}; {target.name} has {file.per_wave}",
        at=graph.location if at is None else at.location,
        label=f"{widest.registers} registers are in use here",
        notes=("the largest values:", *_largest_values(graph, widest.values)),
        help=(
            "split the tile among more waves: a smaller WaveConstraint",
            "or use smaller workgroup tiles, or narrower element types",
            "or read and compute what is not needed here later",
        ),
        needed=widest.registers,
        limit=file.per_wave,
    )


def _largest_values(graph: Graph, values: Iterable[Op]) -> list[str]:
    """Registers of values by the line that makes them, the largest first."""
    sizes: dict[tuple[str, str], int] = defaultdict(int)
    for value in values:
        placement = graph.facts.get(PLACEMENT, value)
        count = 1 if placement is None else placement.layout.registers
        sizes[name_of(value), str(value.register_type.dtype)] += words_of(value, count)
    rows = sorted(sizes.items(), key=lambda row: (-row[1], row[0]))
    return [
        f"{size} registers: {name} ({dtype})" for (name, dtype), size in rows[:SHOWN]
    ]


def check_grid(graph: Graph, target: Target) -> None:
    """Refuse a grid known at compile time that no launch can ask for.

    Raises:
        UserError: WV0605.
    """
    geometry = Geometry(graph.constraints, graph.bindings, target, graph.location)
    threads = geometry.waves_per_workgroup * target.wave_size
    counts = [*geometry.grid, *[constant(1)] * 3]
    folded = product([constant(1), *geometry.grid[2:]])
    items = (counts[0] * threads, counts[1], folded)
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

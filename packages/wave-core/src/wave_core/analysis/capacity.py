"""Whether a kernel fits its machine: shared memory and registers."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable
from math import prod
from typing import TYPE_CHECKING

from wave_core.analysis.dependences.storage import buffers_of, static_bytes
from wave_core.analysis.names import name_of
from wave_core.analysis.pressure import Pressure, widest_point, words_of
from wave_core.diagnostics import make_diagnostic, user_error
from wave_core.diagnostics.diagnostic import Severity
from wave_core.ir import PLACEMENT
from wave_core.ops.control import Iterate
from wave_core.types import RegisterType

if TYPE_CHECKING:
    from wave_core.diagnostics import UserError
    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.ops.memory import Allocate
    from wave_core.ops.structure import Argument
    from wave_core.targets import Target

_LOG = logging.getLogger("wave_core")

SHOWN = 4
"""Buffers that a message names."""


def rounded_lds_bytes(graph: Graph) -> int:
    """LDS of a workgroup, each buffer rounded up to 16 bytes; packed ones share."""
    buffers = buffers_of(graph)
    own = [_bytes(graph, op) for op in buffers if op.offset is None]
    ends = [op.offset + _bytes(graph, op) for op in buffers if op.offset is not None]
    return sum(own) + max(ends, default=0)


def _bytes(graph: Graph, op: Allocate) -> int:
    return -(-static_bytes(op, graph.bindings) // 16) * 16


def check_lds(graph: Graph, target: Target, word: str = "LDS") -> None:
    """Refuse a kernel whose buffers take more than a workgroup can have.

    Args:
        graph: The kernel.
        target: The machine.
        word: What users of the machine call that memory.

    Raises:
        UserError: WV0605.
    """
    total, limit = rounded_lds_bytes(graph), target.memory.lds_bytes
    if total <= limit:
        return
    ordered = sorted(buffers_of(graph), key=lambda op: -_bytes(graph, op))
    rows = [
        f"{_bytes(graph, op)} bytes: {name_of(op)} "
        f"({op.dtype}[{', '.join(map(str, op.distributed_shape))}])"
        for op in ordered[:SHOWN]
    ]
    raise user_error(
        "WV0605",
        f"`{graph.name}` needs {total} bytes of {word}; {target.name} has {limit}",
        at=graph.location,
        secondary=tuple(
            (op.location, f"{_bytes(graph, op)} bytes") for op in ordered[:SHOWN]
        ),
        notes=("the largest buffers:", *rows),
        help="use smaller tiles, fewer buffers, or narrower element types",
        needed=total,
        limit=limit,
    )


def check_registers(graph: Graph, target: Target, waves: int) -> None:
    """Refuse a kernel that keeps more values than a lane has registers.

    Args:
        graph: The kernel.
        target: The machine.
        waves: Waves of a workgroup (`Geometry.groups_in_step`), which run at once and
            share the registers of a SIMD.

    Raises:
        UserError: WV0605.
    """
    file = target.registers
    if file is None:
        return
    widest = widest_point(graph)
    if widest.registers > file.limit(waves):
        raise _too_many(graph, target, widest, waves)


def check_carried(graph: Graph, target: Target, waves: int) -> None:
    """Refuse a loop that carries more values than a lane has registers.

    Known as soon as values are laid out, long before all of a large tile is expanded:
    no pass makes what a loop carries smaller.

    Args:
        graph: The kernel.
        target: The machine.
        waves: as for `check_registers`.

    Raises:
        UserError: WV0605.
    """
    file = target.registers
    if file is None:
        return
    for loop in graph.walk():
        if not isinstance(loop, Iterate):
            continue
        held = tuple(v for v in loop.body.arguments if _is_carried(v))
        total = sum(words_of(value, _registers(graph, value)) for value in held)
        if total > file.limit(waves):
            raise _too_many(graph, target, Pressure(total, loop, held), waves)


def too_many_spilled(
    graph: Graph, target: Target, limit: int, spilled: int
) -> UserError:
    """WV0605: machine code has ``limit`` registers of a lane, and spills others."""
    return user_error(
        "WV0605",
        f"the schedule of `{graph.name}` needs {limit + spilled} registers of each"
        f" lane on {target.name}, and a wave has {limit}: {spilled} are spilled",
        at=graph.location,
        label="this kernel",
        help=(
            "preset `auto` finds a schedule that fits",
            "or split the tile among more waves, or use a smaller one",
            f"or let schedules leave as many free: `spare_registers={spilled}`",
        ),
        needed=limit + spilled,
        limit=limit,
        spilled=spilled,
    )


def tell_spills(graph: Graph, target: Target, moved: str) -> None:
    """Warn (WV0608) that registers go to memory and back: ``moved`` says how many."""
    warning = make_diagnostic(
        "WV0608",
        f"`{graph.name}` spills registers on {target.name}: {moved}",
        at=graph.location,
        label="this kernel",
        help=(
            "split the tile among more waves: a smaller WaveConstraint",
            "or use smaller tiles, fewer stages, or narrower element types",
        ),
        severity=Severity.WARNING,
    )
    _LOG.warning(warning.render())


def _is_carried(value: Argument) -> bool:
    return value.role == "carried" and isinstance(value.type, RegisterType)


def _registers(graph: Graph, value: Op) -> int:
    placement = graph.facts.get(PLACEMENT, value)
    if placement is None:
        return 1
    return placement.layout.registers * prod(count for _, count, _ in placement.steps)


def _too_many(graph: Graph, target: Target, widest: Pressure, waves: int) -> Exception:
    file, at = target.registers, widest.at
    assert file is not None, "who compares has looked"
    limit = file.limit(waves)
    shared = f" for each of {waves} waves" if limit < file.per_wave else ""
    where = "a loop" if isinstance(at, Iterate) else f"`{at.op_name}`" if at else "it"
    return user_error(
        "WV0605",
        f"`{graph.name}` keeps values in {widest.registers} registers of each lane"
        f" across {where}; {target.name} has {limit}{shared}",
        at=graph.location if at is None else at.location,
        label=f"{widest.registers} registers are in use here",
        notes=("the largest values:", *_largest_values(graph, widest.values)),
        help=(
            "split the tile among more waves: a smaller WaveConstraint",
            "or use smaller workgroup tiles, or narrower element types",
            "or read and compute what is not needed here later",
        ),
        needed=widest.registers,
        limit=limit,
    )


def _largest_values(graph: Graph, values: Iterable[Op]) -> list[str]:
    """Registers of values by the line that makes them, the largest first."""
    sizes: dict[tuple[str, str], int] = defaultdict(int)
    for value in values:
        count = words_of(value, _registers(graph, value))
        sizes[name_of(value), str(value.register_type.dtype)] += count
    rows = sorted(sizes.items(), key=lambda row: (-row[1], row[0]))
    return [
        f"{size} registers: {name} ({dtype})" for (name, dtype), size in rows[:SHOWN]
    ]

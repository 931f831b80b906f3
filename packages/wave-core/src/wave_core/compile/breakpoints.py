"""Breakpoints of machine code: registers are logged, and shown after the launch."""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from wave_core.executors import Snapshot
from wave_core.ir import capture, erase, insert_before
from wave_core.ir.graph import walk
from wave_core.ops.compare import Cast
from wave_core.ops.control import Breakpoint, Iterate
from wave_core.ops.memory import Write
from wave_core.ops.structure import region_of
from wave_core.symbols import as_expr
from wave_core.trace.log_dims import (
    extent_symbol,
    iteration_dim,
    loops_around,
    stored_dtype,
    workgroup_dims,
)
from wave_core.types import (
    AccessMapping,
    AddressSpace,
    LeadingDim,
    Log,
    MemoryType,
    Stop,
    iterator_symbol,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from wave_core.compile.launch.logs import LogArray
    from wave_core.ir.graph import Graph
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr


def log_breakpoints(graph: Graph) -> None:
    """Replace the breakpoints of a traced graph by logs of what they show."""
    found = [op for op in walk(graph.body) if isinstance(op, Breakpoint)]
    for number, op in enumerate(found):
        for label, value in zip(op.labels, op.values, strict=True):
            graph.logs += (_logged(graph, op, value, Stop(number, label)),)
        erase(op)


def _logged(graph: Graph, op: Breakpoint, value: Op, stop: Stop) -> Log:
    kind, region, number = value.register_type, region_of(op), len(graph.logs)
    leading = list(workgroup_dims(graph.constraints, kind.shape, number))
    for loop, depth in reversed(loops_around(region)):
        if isinstance(loop, Iterate):
            extent = extent_symbol(number, len(leading))
            leading.append(iteration_dim(loop, depth, extent))
    if not leading and not kind.shape:
        extent = extent_symbol(number, 0)
        leading.append((LeadingDim("", extent, size=as_expr(1)), as_expr(0)))
    stored = stored_dtype(kind.dtype)
    shape = (*(dim.extent for dim, _ in leading), *kind.shape)
    memory = graph.body.add_argument(
        "parameter",
        _fresh_name(graph),
        MemoryType(shape, AddressSpace.GLOBAL, stored),
        op.location,
    )
    if stored != kind.dtype:
        value = insert_before(op, Cast(value, stored))
    own = map(iterator_symbol, range(len(kind.shape)))
    places = (*(place for _, place in leading), *own)
    mapping = AccessMapping(kind.dims, places)
    insert_before(op, Write(value, capture(region, memory), (), mapping))
    dims = tuple(dim for dim, _ in leading)
    rest = None, None, op.location, stop
    return Log(stop.label, memory.label, kind.dtype, stored, dims, kind.shape, *rest)


def _fresh_name(graph: Graph) -> str:
    taken, number = {each.label for each in graph.parameters}, len(graph.logs)
    while f"breakpoint{number}" in taken:
        number += 1
    return f"breakpoint{number}"


@dataclass(frozen=True)
class _Shown:
    """One register of a breakpoint after the launch.

    Attributes:
        log: Its log.
        value: The array, iterations and the register's dims, in memory of the CPU.
        logged: Which elements were written.
        loops: Start and step of each iteration dim.
    """

    log: Log
    value: Any
    logged: Any
    loops: Sequence[tuple[int, int]]

    def at(self, iteration: tuple[int, ...]) -> tuple[Any, Any]:
        """Elements and presence in one iteration."""
        present = self.logged[iteration]
        dtype = self.log.dtype.numpy()
        value = np.where(present, self.value[iteration], 0).astype(dtype)
        return value, present


def snapshots_of(
    rows: Sequence[LogArray],
    values: Sequence[tuple[Any, Any]],
    known: Mapping[Expr, int],
    workgroups: int,
) -> tuple[Snapshot, ...]:
    """What breakpoints show, in the order of the program and then of iterations.

    Args:
        rows: Logs of breakpoints.
        values: For each its array and which of its elements were logged.
        known: Values of symbols.
        workgroups: How many there are.
    """
    stops: dict[int, list[_Shown]] = defaultdict(list)
    for row, (value, logged) in zip(rows, values, strict=True):
        assert row.log.stop is not None, "the log is a breakpoint's"
        stops[row.log.stop.number].append(_shown(row.log, value, logged, known))
    return tuple(
        snapshot
        for shown in stops.values()
        for snapshot in _iterations(shown, (0, workgroups - 1))
    )


def _shown(log: Log, value: Any, logged: Any, known: Mapping[Expr, int]) -> _Shown:
    """The register with its workgroups joined: of several, the last one holds."""
    value, logged = _host(value, log), _host(logged, None)
    loops = [dim.loop for dim in log.leading if dim.loop is not None]
    for _ in range(len(log.leading) - len(loops)):
        whole, present = np.zeros_like(value[0]), np.zeros_like(logged[0])
        for part, there in zip(value, logged, strict=True):
            np.copyto(whole, part, where=there)
            present |= there
        value, logged = whole, present
    counted = [(_first(start, known), step) for _, start, step in loops]
    return _Shown(log, value, logged, counted)


def _first(start: Expr, known: Mapping[Expr, int]) -> int:
    """Where a loop starts; where workgroups differ, that of the first."""
    start = start.subs(known)
    return start.subs(dict.fromkeys(start.free_symbols, 0)).constant_value


def _host(value: Any, log: Log | None) -> Any:
    """An array of numpy; of torch, through the bits, as numpy may lack the type."""
    if not hasattr(value, "cpu"):
        return value
    if log is None:
        return value.cpu().numpy()
    torch: Any = sys.modules["torch"]
    bits = value.view(getattr(torch, f"int{log.stored.bits}"))
    return bits.cpu().numpy().view(log.stored.numpy())


def _iterations(
    shown: Sequence[_Shown], workgroups: tuple[int, int]
) -> Iterator[Snapshot]:
    first = shown[0]
    names = [dim.name for dim in first.log.leading if dim.loop is not None]
    for iteration in product(*map(range, first.value.shape[: len(names)])):
        found = {each.log.label: each.at(iteration) for each in shown}
        if not any(present.any() for _, present in found.values()):
            continue
        rows = zip(names, iteration, first.loops, strict=True)
        yield Snapshot(
            {label: value for label, (value, _) in found.items()},
            {label: present for label, (_, present) in found.items()},
            {each.log.label: tuple(map(str, each.log.shape)) for each in shown},
            {name: start + i * step for name, i, (start, step) in rows},
            workgroups,
            first.log.location,
        )

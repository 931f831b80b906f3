"""From a graph and its arguments to buffers, symbol values and a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wave_core.analysis.effects import written_memories
from wave_core.constraints.geometry import Geometry
from wave_core.ir.graph import walk
from wave_core.ops.memory import Allocate
from wave_core.types import MemoryType, RegisterType
from wave_sim_cpu.expressions import evaluate
from wave_sim_cpu.memory import Buffer, argument_buffer
from wave_sim_cpu.units import Units, chunks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wave_core.ir.graph import Graph
    from wave_core.symbols import Expr
    from wave_core.targets import Target
    from wave_sim_cpu.arrays import Array


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel.

    Attributes:
        graph, target: What is launched, and for which machine.
        symbols: Values of all symbols that are the same for the whole launch.
        geometry: The constraints with these values.
        grid, waves: Workgroups, and waves of a workgroup, on each axis.
        devices: Devices on each axis; all of them see the same memories.
        buffers: The kernel's memory parameters, by ``ident``.
        scalars: Its scalar parameters, by ``ident``.
        written: ``ident`` of the memories that the kernel writes.
        allocations: The ops that allocate LDS.
    """

    graph: Graph
    target: Target
    symbols: Mapping[Expr, int]
    geometry: Geometry
    grid: tuple[int, ...]
    waves: tuple[int, ...]
    devices: tuple[int, ...]
    buffers: Mapping[int, Buffer]
    scalars: Mapping[int, Array]
    written: frozenset[int]
    allocations: tuple[Allocate, ...]

    def number(self, expr: Expr) -> int:
        """The value of an expression of launch symbols."""
        return _number(expr, self.symbols)

    def chunks(self, limit: int) -> Iterator[Units]:
        """Parts of the launch of at most ``limit`` lanes, whole workgroups each."""
        rows = self.grid, self.waves, self.devices
        return chunks(*rows, self.target.wave_size, limit)

    @property
    def is_empty(self) -> bool:
        """Whether there is no workgroup to run."""
        return 0 in self.grid or 0 in self.devices


def prepare(
    graph: Graph,
    arguments: Mapping[str, Any],
    symbols: Mapping[Expr, int],
    target: Target,
) -> Launch:
    """Bind what the launch determines; the arguments fit the parameters."""
    values = {**graph.bindings, **symbols}
    geometry = Geometry(graph.constraints, values, target, graph.location)
    ops = list(walk(graph.body))
    return Launch(
        graph=graph,
        target=target,
        symbols=values,
        geometry=geometry,
        grid=tuple(_number(e, values) for e in geometry.grid),
        waves=tuple(geometry.waves),
        devices=tuple(_number(e, values) for e in geometry.devices),
        buffers={
            p.ident: argument_buffer(p.label, p.type.dtype, arguments[p.label])
            for p in graph.parameters
            if isinstance(p.type, MemoryType)
        },
        scalars={
            p.ident: np.asarray(arguments[p.label], p.type.dtype.numpy())
            for p in graph.parameters
            if isinstance(p.type, RegisterType)
        },
        written=frozenset(m.ident for m in written_memories(graph.body)),
        allocations=tuple(op for op in ops if isinstance(op, Allocate)),
    )


def _number(expr: Expr, values: Mapping[Expr, int]) -> int:
    value = evaluate(expr, values)
    assert not isinstance(value, np.ndarray), "launch symbols are integers"
    return int(value)

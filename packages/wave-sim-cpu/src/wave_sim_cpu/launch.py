"""From a graph and its arguments to buffers, symbol values and a grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wave_core.analysis.effects import written_memories
from wave_core.constraints.geometry import Geometry
from wave_core.diagnostics import launch_error
from wave_core.ir.graph import walk
from wave_core.ops.memory import Allocate
from wave_core.types import MemoryType
from wave_sim_cpu import codes
from wave_sim_cpu.evaluate import evaluate
from wave_sim_cpu.memory import Buffer, argument_buffer

if TYPE_CHECKING:
    from wave_core.ir.graph import Graph
    from wave_core.ops.structure import Argument
    from wave_core.symbols import Expr
    from wave_core.targets import Target
    from wave_core.types import RegisterType
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
        value = evaluate(expr, self.symbols)
        assert not isinstance(value, np.ndarray), "launch symbols are integers"
        return int(value)

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
    """Check the arguments and bind what the launch determines.

    Raises:
        LaunchError: WV07xx for a missing or unfit argument or symbol.
    """
    values = {**graph.bindings, **symbols}
    arrays = _arrays(graph, arguments)
    _bind_extents(graph, arrays, values)
    geometry = Geometry(graph.constraints, values, target, graph.location)
    ops = list(walk(graph.body))
    return Launch(
        graph=graph,
        target=target,
        symbols=values,
        geometry=geometry,
        grid=tuple(_bound(e, values, graph) for e in geometry.grid),
        waves=tuple(geometry.waves),
        devices=tuple(_bound(e, values, graph) for e in geometry.devices),
        buffers={
            p.ident: _buffer(p, arrays[p.ident], values, graph)
            for p in graph.parameters
            if isinstance(p.type, MemoryType)
        },
        scalars={
            p.ident: _scalar(p, arrays[p.ident])
            for p in graph.parameters
            if not isinstance(p.type, MemoryType)
        },
        written=frozenset(m.ident for m in written_memories(graph.body)),
        allocations=tuple(op for op in ops if isinstance(op, Allocate)),
    )


def _arrays(graph: Graph, arguments: Mapping[str, Any]) -> dict[int, Array]:
    arrays: dict[int, Array] = {}
    for parameter in graph.parameters:
        if parameter.label not in arguments:
            raise launch_error(
                codes.ARGUMENT_COUNT,
                f"kernel `{graph.name}` needs an argument `{parameter.label}`",
                at=parameter.location,
            )
        arrays[parameter.ident] = np.asanyarray(arguments[parameter.label])
    return arrays


def _bind_extents(
    graph: Graph, arrays: Mapping[int, Array], values: dict[Expr, int]
) -> None:
    """Extents that are symbols without a value take that of the argument."""
    for parameter in graph.parameters:
        if not isinstance(parameter.type, MemoryType):
            continue
        shape = arrays[parameter.ident].shape
        for dim, extent in zip(parameter.type.storage_shape, shape, strict=False):
            if dim in dim.free_symbols and dim not in values:
                values[dim] = extent


def _bound(expr: Expr, values: Mapping[Expr, int], graph: Graph) -> int:
    missing = sorted(s.name for s in expr.free_symbols if s not in values)
    if missing:
        raise launch_error(
            codes.UNDETERMINED,
            f"kernel `{graph.name}` needs a value for {', '.join(missing)}",
            at=graph.location,
            help=("pass it with the launch",),
        )
    value = evaluate(expr, values)
    assert not isinstance(value, np.ndarray), "launch symbols are integers"
    return int(value)


def _buffer(
    parameter: Argument, array: Array, values: Mapping[Expr, int], graph: Graph
) -> Buffer:
    declared = parameter.memory_type
    expected = tuple(_bound(e, values, graph) for e in declared.storage_shape)
    if array.shape != expected:
        raise launch_error(
            codes.SHAPE,
            f"`{parameter.label}` has shape {list(array.shape)}, the kernel expects "
            f"{list(expected)}",
            at=parameter.location,
        )
    if array.dtype != declared.dtype.numpy():
        raise launch_error(
            codes.DTYPE,
            f"`{parameter.label}` has element type {array.dtype}, the kernel expects "
            f"{declared.dtype}",
            at=parameter.location,
        )
    try:
        return argument_buffer(parameter.label, declared.dtype, array)
    except ValueError as error:
        raise launch_error(codes.LAYOUT, str(error), at=parameter.location) from error


def _scalar(parameter: Argument, array: Array) -> Array:
    declared: RegisterType = parameter.type  # pyright: ignore[reportAssignmentType] - not a memory
    return array.astype(declared.dtype.numpy())

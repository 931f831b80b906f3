"""A launch: buffers, symbol values and a grid, cut into waves simulated together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from wave_core.analysis.effects import written_memories
from wave_core.analysis.loops import looks_at_others
from wave_core.constraints import (
    device_symbol,
    hardware_symbol,
    wave_symbol,
    workgroup_symbol,
)
from wave_core.constraints.geometry import Geometry
from wave_core.diagnostics import launch_error
from wave_core.ir.graph import Graph, walk
from wave_core.ops.control import While
from wave_core.ops.memory import Allocate
from wave_core.types import MemoryType, RegisterType
from wave_sim_cpu.expressions import evaluate
from wave_sim_cpu.memory import Buffer, argument_buffer

if TYPE_CHECKING:
    from wave_core.ops.structure import Argument
    from wave_core.symbols import Expr
    from wave_core.targets import Target
    from wave_sim_cpu.arrays import Array


@dataclass(frozen=True)
class Units:
    """Waves of the workgroups ``first`` to ``first + workgroups - 1``.

    The workgroups of all devices are numbered through, device by device.
    Unit ``u`` is wave ``u % waves_per_workgroup`` of workgroup
    ``first + u // waves_per_workgroup``; axis 0 varies fastest in both. ``numbering``
    is that of the geometry.
    """

    grid: tuple[int, ...]
    waves: tuple[int, ...]
    first: int
    workgroups: int
    devices: tuple[int, ...] = ()
    numbering: tuple[tuple[Expr, Expr], ...] = ()

    @property
    def waves_per_workgroup(self) -> int:
        """Waves of one workgroup."""
        return int(np.prod(self.waves, dtype=np.int64))

    @property
    def count(self) -> int:
        """Number of units."""
        return self.workgroups * self.waves_per_workgroup

    @cached_property
    def local_workgroup(self) -> Array:
        """For each unit its workgroup's position among those simulated here."""
        return np.arange(self.count, dtype=np.int64) // self.waves_per_workgroup

    @cached_property
    def wave(self) -> Array:
        """For each unit its linear position in the workgroup."""
        return np.arange(self.count, dtype=np.int64) % self.waves_per_workgroup

    def leaders(self, axes: Iterable[int]) -> Array:
        """For each unit that of its workgroup which is at 0 along ``axes``."""
        leader = np.arange(self.count, dtype=np.int64)
        for axis in axes:
            stride = int(np.prod(self.waves[:axis], dtype=np.int64))
            leader -= self.wave // stride % self.waves[axis] * stride
        return leader

    def symbols(self, rank: int) -> dict[Expr, int | Array]:
        """Coordinates by symbol: arrays of ``rank`` axes, all but the first 1.

        An axis of extent 1 is the number 0.
        """
        found: dict[Expr, int | Array] = {}
        groups = self.first + self.local_workgroup
        device = groups // max(1, int(np.prod(self.grid, dtype=np.int64)))
        counted = hardware_symbol if self.numbering else workgroup_symbol
        for rows, index, name in (
            (self.grid, groups, counted),
            (self.devices, device, device_symbol),
            (self.waves, self.wave, wave_symbol),
        ):
            rest = index
            for axis, extent in enumerate(rows):
                shape = (self.count,) + (1,) * (rank - 1)
                value = (rest % extent).reshape(shape)
                found[name(axis)] = value if extent > 1 else 0
                rest = rest // extent
        for name, value in self.numbering:
            found[name] = evaluate(value, found)
        return found

    def describe(self, unit: int) -> str:
        """Where a unit stands, for messages."""
        group = self.first + unit // self.waves_per_workgroup
        wave = unit % self.waves_per_workgroup
        return f"workgroup {coordinates(group, self.grid)}, wave {wave}"


def coordinates(linear: int, extents: tuple[int, ...]) -> tuple[int, ...]:
    """Coordinates of a linear position, axis 0 fastest."""
    found: list[int] = []
    for extent in extents:
        found.append(int(linear % extent))
        linear //= extent
    return tuple(found)


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
        waits: Whether workgroups may wait for what others write.
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
    waits: bool

    def number(self, expr: Expr) -> int:
        """The value of an expression of launch symbols."""
        return _number(expr, self.symbols)

    def chunks(self, limit: int) -> Iterator[Units]:
        """Parts of the launch of at most ``limit`` lanes, whole workgroups each."""
        total = int(np.prod((*self.grid, *self.devices), dtype=np.int64))
        size = max(1, limit // self.geometry.threads)
        rows, numbering = (self.grid, self.waves), self.geometry.numbering
        for first in range(0, total, size):
            count = min(size, total - first)
            yield Units(*rows, first, count, self.devices, numbering)

    @property
    def shared(self) -> list[Buffer]:
        """The memories in which workgroups see what others write."""
        return [self.buffers[each] for each in sorted(self.written & {*self.buffers})]

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
    """Bind what the launch determines; the arguments have the parameters' types.

    Raises:
        LaunchError: WV0703, WV0707, WV0717 for what does not fit the kernel.
    """
    values = {**graph.bindings, **symbols}
    _check(graph, arguments, values)
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
        waits=any(isinstance(op, While) and looks_at_others(op) for op in ops),
    )


def _check(
    graph: Graph, arguments: Mapping[str, Any], values: Mapping[Expr, int]
) -> None:
    """See that each parameter has an argument, of its shape."""
    missing = [p.label for p in graph.parameters if p.label not in arguments]
    if missing:
        raise launch_error(
            "WV0703",
            f"`{graph.name}` is simulated without {', '.join(missing)}",
            at=graph.location,
            label="this kernel",
            help="give an array or a number for each parameter, by its name",
        )
    for parameter in graph.parameters:
        if isinstance(parameter.type, MemoryType):
            _check_shape(graph, parameter, arguments[parameter.label].shape, values)


def _check_shape(
    graph: Graph,
    parameter: Argument,
    found: tuple[int, ...],
    values: Mapping[Expr, int],
) -> None:
    shape = parameter.memory_type.storage_shape
    free = {s.name for extent in shape for s in extent.free_symbols - set(values)}
    if free:
        raise launch_error(
            "WV0717",
            f"`{graph.name}` is simulated without a value of {', '.join(sorted(free))}",
            at=parameter.location,
            label="a size of this memory",
            help="give it among the symbols: {symbol('N'): 100}",
        )
    wanted = tuple(_number(extent, values) for extent in shape)
    if found != wanted:
        raise launch_error(
            "WV0707",
            f"`{parameter.label}` has shape {list(found)}, the kernel is simulated "
            f"for {list(wanted)}",
            at=parameter.location,
            label="this parameter",
            help="give an array of that shape, or other values of the symbols",
        )


def _number(expr: Expr, values: Mapping[Expr, int]) -> int:
    value = evaluate(expr, values)
    assert not isinstance(value, np.ndarray), "launch symbols are integers"
    return int(value)

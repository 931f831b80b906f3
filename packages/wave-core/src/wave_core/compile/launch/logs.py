"""Arrays for the logs of a kernel: a launch allocates, fills and shows them."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from wave_core.analysis.loops import iterations
from wave_core.compile.breakpoints import snapshots_of
from wave_core.diagnostics import launch_error, user_error
from wave_core.executors import PlacesArrays
from wave_core.symbols import constant, symbol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from wave_core.compile.launch.signature import LaunchShape
    from wave_core.constraints.geometry import Geometry
    from wave_core.executors import Executor, Snapshot
    from wave_core.executors.spec import RemoteArray
    from wave_core.ir.graph import Graph
    from wave_core.symbols import Expr
    from wave_core.types import DType, LeadingDim, Log

UNWRITTEN = {
    "f16": 0x7E5A,
    "bf16": 0x7FDA,
    "f32": 0x7FC5A5A5,
    "f64": 0x7FF85A5A5A5A5A5A,
}
"""Bits of fresh elements of floats: a NaN with a payload that no arithmetic makes."""
_FRESH_BYTE = 0xA5
"""Each byte of a fresh element of integers; narrow ones are kept in 32 bits."""

MOST_BYTES = 1 << 32
"""Of one log: more is a mistake rather than a wish."""


@dataclass(frozen=True)
class LogArray:
    """One log and the size of its array, over the symbols that a launch binds."""

    log: Log
    extents: tuple[Expr, ...]

    @property
    def keeps_functions(self) -> bool:
        """Whether it calls what belongs to one kernel and not to its equals."""
        return self.log.handler is not None or self.log.printer not in (None, print)


def settle_logs(graph: Graph, geometry: Geometry) -> tuple[LogArray, ...]:
    """Give the extra dims of the logs their sizes, where those are known by now.

    Raises:
        UserError: WV0170 where iterations differ between workgroups without a limit.
    """
    found: list[LogArray] = []
    for log in graph.logs:
        sizes = [_size(dim, geometry, log) for dim in log.leading]
        for dim, size in zip(log.leading, sizes, strict=True):
            if size.is_constant:
                graph.bindings[dim.extent] = size.constant_value
            else:
                graph.dynamic_symbols += (dim.extent,)
        found.append(LogArray(log, (*sizes, *map(geometry.bind, log.shape))))
    return tuple(found)


def _size(dim: LeadingDim, geometry: Geometry, log: Log) -> Expr:
    if dim.loop is None:
        return geometry.grid[dim.grid_axis] if dim.size is None else dim.size
    size = iterations(*dim.loop, geometry, log.location)
    if not any(each.name.startswith("$") for each in size.free_symbols):
        return size
    most = geometry.facts.bounds(size).hi
    if most is not None:
        return constant(most)
    if dim.size is not None:
        return geometry.bind(dim.size)
    raise user_error(
        "WV0170",
        f"the loop over `{dim.loop[0]}` runs `{size}` times, which has no known limit",
        at=log.location,
        label="logged here",
        help=f"give the number of iterations: `[({dim.name}, {dim.loop[0]}, 16)]`",
    )


@dataclass(frozen=True)
class LaunchLogs:
    """The arrays of one launch.

    Attributes:
        rows: The logs.
        values: Their arrays, in the same order.
        sizes: Values of the symbols of their extra dims, by name.
        remote: Copies where a device reads no memory of the CPU.
    """

    rows: Sequence[LogArray] = ()
    values: Sequence[Any] = ()
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    remote: Sequence[RemoteArray] = ()

    @classmethod
    def of(
        cls,
        shape: LaunchShape,
        sizes: Mapping[str, int],
        arguments: Iterable[Any],
        executor: Executor,
    ) -> LaunchLogs:
        """Allocate them where the arguments are, filled with what nothing writes.

        Raises:
            LaunchError: WV0721 where one is too large.
        """
        if not shape.logs:
            return _NONE
        launched = {symbol(name): value for name, value in sizes.items()}
        known = {**shape.bindings, **launched}
        torch = sys.modules.get("torch")
        tensors = (x for x in arguments if torch and isinstance(x, torch.Tensor))
        like: Any = next(tensors, None)
        values: list[Any] = []
        extra: dict[str, int] = {}
        for row in shape.logs:
            extents = tuple(max(0, e.subs(known).constant_value) for e in row.extents)
            dims = zip(row.log.leading, extents, strict=False)
            extra |= {dim.extent.name: size for dim, size in dims}
            values.append(_allocated(row.log, extents, like))
        if like is None and isinstance(executor, PlacesArrays):
            remote = [executor.place(value) for value in values]
            return cls(shape.logs, values, extra, remote)
        return cls(shape.logs, values, extra)

    @property
    def arguments(self) -> Sequence[Any]:
        """The arrays as the device takes them."""
        return self.remote or self.values

    def finish(self) -> dict[str, dict[str, Any]]:
        """The logs by label, as users get them."""
        if not self.rows:
            return {}
        for copy, value in zip(self.remote, self.values, strict=False):
            copy.fetch(value)
        rows = zip(self.rows, self.values, strict=True)
        return {
            row.log.label: _entry(row.log, value)
            for row, value in rows
            if row.log.stop is None
        }

    def snapshots(
        self, known: Mapping[Expr, int], workgroups: int
    ) -> tuple[Snapshot, ...]:
        """What breakpoints show, once `finish` has run."""
        if not self.rows:
            return ()
        rows = [
            (row, (value, _bits(value, row.log.stored) != _fresh(row.log.stored)))
            for row, value in zip(self.rows, self.values, strict=True)
            if row.log.stop is not None
        ]
        found, values = [row for row, _ in rows], [value for _, value in rows]
        return snapshots_of(found, values, known, workgroups)

    def show(self, found: dict[str, dict[str, Any]]) -> None:
        """Call printers and handlers of the logs."""
        handlers: dict[int, Any] = {}
        for row in self.rows:
            log = row.log
            if log.printer is not None and log.stop is None:
                log.printer(log.label, found[log.label]["value"])
            if log.handler is not None:
                handlers[id(log.handler)] = log.handler
        for handler in handlers.values():
            handler(found)


_NONE = LaunchLogs()
"""Of a kernel without logs: every launch has the same."""


def _allocated(log: Log, extents: tuple[int, ...], like: Any) -> Any:
    """A fresh array of one log, of the kind and in the place of ``like``."""
    elements = int(np.prod(extents, dtype=np.float64))
    if elements * log.stored.bytes > MOST_BYTES:
        raise launch_error(
            "WV0721",
            f"log `{log.label}` has {' x '.join(map(str, extents))} elements",
            at=log.location,
            label="logged here",
            help=(
                "launch a smaller problem, or name fewer iteration dimensions",
                "log a part: `mapping=` says which elements go where",
            ),
        )
    value: Any = np.empty(extents, log.stored.numpy()) if like is None else None
    if like is not None:
        torch: Any = sys.modules["torch"]
        dtype = getattr(torch, log.stored.numpy_name)
        value = torch.empty(extents, dtype=dtype, device=like.device)
    _bits(value, log.stored)[...] = _fresh(log.stored)
    return value


def _entry(log: Log, value: Any) -> dict[str, Any]:
    logged = _bits(value, log.stored) != _fresh(log.stored)
    if not log.stored.is_float:
        value[~logged] = 0
    if log.dtype.is_bool:
        value = value != 0
    named = [dim for dim in log.leading if dim.name]
    index = tuple(slice(None) if dim.name else 0 for dim in log.leading)
    return {
        "value": value[index],
        "logged": logged[index],
        "symbolic_shape": (*(dim.name for dim in named), *map(str, log.shape)),
        "iteration_dimensions": tuple(dim.name for dim in named if dim.loop),
    }


def _bits(value: Any, dtype: DType) -> Any:
    """The elements as signed integers of the same width, over the same memory."""
    name = f"int{dtype.bits}"
    is_array = isinstance(value, np.ndarray)
    kind: Any = name if is_array else getattr(sys.modules["torch"], name)
    return value.view(kind)


def _fresh(dtype: DType) -> int:
    """The bits of a fresh element, as a signed integer."""
    repeated = int.from_bytes(bytes([_FRESH_BYTE]) * (dtype.bits // 8), "little")
    bits = UNWRITTEN.get(dtype.name, repeated)
    return bits - (1 << dtype.bits) if bits >> (dtype.bits - 1) else bits

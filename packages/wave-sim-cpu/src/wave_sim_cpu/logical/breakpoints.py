"""Breakpoints on whole tiles: the tiles of all waves put into one tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_sim_cpu.lanes.debug import report_stop
from wave_sim_cpu.logical.memory_rules import shape_of
from wave_sim_cpu.result import Snapshot

if TYPE_CHECKING:
    from wave_core.ops.base import Op
    from wave_core.ops.control import Breakpoint
    from wave_core.symbols import Expr
    from wave_sim_cpu.arrays import Array, Bits
    from wave_sim_cpu.logical.state import State


def breakpoint_op(op: Breakpoint, state: State) -> None:
    """Keep a snapshot, and show it to the handler of the options."""
    labels = op.labels or tuple(f"value{i}" for i in range(len(op.values)))
    named = dict(zip(labels, op.values, strict=True))
    tensors = {label: _tensor(value, state) for label, value in named.items()}
    units = state.units
    iterations = {str(s): state.get(s) for s in state.loops.values()}
    snapshot = Snapshot(
        tensors={label: t[0] for label, t in tensors.items()},
        present={label: t[1] for label, t in tensors.items()},
        dims={k: tuple(map(str, shape_of(v))) for k, v in named.items()},
        loops={name: int(i) for name, i in iterations.items() if i is not None},
        workgroups=(units.first, units.first + units.workgroups - 1),
        location=op.location,
    )
    state.shared.snapshots.append(snapshot)
    report_stop(op, state.shared.reporter)
    if state.shared.options.breakpoint is not None:
        state.shared.options.breakpoint(snapshot)


def _tensor(value: Op, state: State) -> tuple[Array, Bits]:
    dims = shape_of(value)
    rank = 1 + len(dims)
    index = [state.index(dim, rank, 1 + axis) for axis, dim in enumerate(dims)]
    extents = tuple(_extent(dim, state) for dim in dims)
    full = (state.units.count, *(state.tile(dim) for dim in dims))
    data = np.broadcast_to(state.values[value.ident], full)
    active = state.active(dims)
    held = np.ones((1,) * rank, np.bool_) if active is None else active
    for along, extent in zip(index, extents, strict=True):
        held = held & (along < extent)
    chosen = np.broadcast_to(held, full)
    tensor, present = np.zeros(extents, data.dtype), np.zeros(extents, np.bool_)
    places = tuple(np.broadcast_to(i, full)[chosen] for i in index)
    tensor[places] = data[chosen]
    present[places] = True
    return tensor, present


def _extent(dim: Expr, state: State) -> int:
    return int(np.max(state.uniform(state.launch.geometry.extent(str(dim)))))

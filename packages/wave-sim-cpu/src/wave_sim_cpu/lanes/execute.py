"""Runs a lowered graph: chunks of workgroups, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from wave_core.constraints.machine import LANE
from wave_core.ops.sync import Fence
from wave_sim_cpu.copies import Copies
from wave_sim_cpu.expressions import Environment
from wave_sim_cpu.journal import Journal
from wave_sim_cpu.lanes.clocks import Clocks, Locks
from wave_sim_cpu.lanes.machine import Machine
from wave_sim_cpu.lanes.program import GROUP, Program, Storage, run_steps
from wave_sim_cpu.lanes.rules import lane_rules
from wave_sim_cpu.lanes.value import Value
from wave_sim_cpu.launch import Launch, Units, prepare
from wave_sim_cpu.memory import Buffer, Pool, lds_buffer, lds_label, lds_pool, row_major
from wave_sim_cpu.options import Check, SimulationOptions
from wave_sim_cpu.races import RaceTracker
from wave_sim_cpu.rule_table import RuleTable
from wave_sim_cpu.together import run_parts

if TYPE_CHECKING:
    from wave_core.backends import LoweringTable
    from wave_core.ir.graph import Graph
    from wave_core.ops.base import Op
    from wave_core.ops.memory import Allocate
    from wave_core.symbols import Expr
    from wave_core.targets import Target
    from wave_sim_cpu.result import SimulationResult
    from wave_sim_cpu.together import Strand

_POOL_GRANULE = 16
"""Packed memory is a multiple of this; every element size divides it. Units: bytes."""


def run(
    graph: Graph,
    arguments: Mapping[str, Any],
    symbols: Mapping[Expr, int],
    target: Target,
    options: SimulationOptions | None = None,
    lowerings: LoweringTable | None = None,
) -> SimulationResult:
    """Execute a lowered graph on all lanes; outputs are written in place.

    Args:
        graph: A graph with the facts typed, indexed, expanded and bounded.
        arguments: Arrays and scalars by parameter label. Arrays may have any
            strides that are multiples of the element size.
        symbols: Values of dynamic sizes and scalar symbols.
        target: The machine.
        options: What to check, and limits.
        lowerings: Rules of plugins, like those of `lane_rules`: each takes an op
            and the `Program`, and returns the `Step` that sets the op's value.

    Returns:
        Totals and findings. Findings do not stop the run: an access out of bounds
        reads 0 or is left out, a race takes some order.

    Raises:
        SimulationError: WV0908, WV0909 beyond a limit; WV0916 where workgroups wait
            for ever.
    """
    options = options or SimulationOptions()
    launch = prepare(graph, arguments, symbols, target)
    journal = Journal(options)
    if not launch.is_empty:
        rules = RuleTable(lane_rules(), lowerings)
        program = Program(
            graph, target, options, _storage(launch), rules, launch.geometry
        )
        _prepare_checks(launch, options)
        locks: Locks = {}
        fenced = any(isinstance(op, Fence) for op in graph.walk())
        counts = (*launch.grid, *launch.devices, *launch.waves)
        width = launch.geometry.lanes // launch.geometry.in_step
        in_all = int(np.prod(counts, dtype=np.int64)) * width

        def execute(units: Units, strand: Strand | None) -> None:
            machine = _machine(launch, units, journal)
            machine.strand = strand
            if fenced:
                machine.clocks = Clocks(units, width, in_all, locks)
            # Elements that do not exist may hold anything; so may their arithmetic.
            with np.errstate(all="ignore"):
                run_steps(program.body, machine)
            machine.meetings.finish()
            journal.counters.units += units.count

        run_parts(launch, options.chunk_lanes, execute)
    return journal.result()


def _storage(launch: Launch) -> dict[int, Storage]:
    storage = {
        ident: Storage(buffer.shape, buffer.strides, buffer.origin, 0)
        for ident, buffer in launch.buffers.items()
    }
    pool = _pool_bytes(launch)
    for op in launch.allocations:
        shape = _lds_shape(launch, op)
        size, first = max(1, int(np.prod(shape, dtype=np.int64))), 0
        if op.offset is not None:
            item = op.dtype.numpy().itemsize
            size, first = pool // item, op.offset // item
        storage[op.ident] = Storage(shape, row_major(shape), first, size)
    return storage


def _pool_bytes(launch: Launch) -> int:
    """Bytes of the memory that packed buffers share; 0 where none is packed."""
    ends = [
        op.offset
        + int(np.prod(_lds_shape(launch, op), dtype=np.int64))
        * op.dtype.numpy().itemsize
        for op in launch.allocations
        if op.offset is not None
    ]
    return -(-max(ends, default=0) // _POOL_GRANULE) * _POOL_GRANULE


def _lds_shape(launch: Launch, op: Op) -> tuple[int, ...]:
    return tuple(launch.number(e) for e in op.memory_type.storage_shape)


def _prepare_checks(launch: Launch, options: SimulationOptions) -> None:
    """Give written parameters what the checks need; others cost nothing."""
    if options.looks_for(Check.POISON):
        for ident in launch.written & launch.buffers.keys():
            buffer = launch.buffers[ident]
            if options.poisons(buffer.label):
                buffer.valid = np.zeros(buffer.cells.size, np.bool_)
    if options.looks_for(Check.RACES):
        strands = launch.geometry.groups_in_step
        for ident in launch.written & launch.buffers.keys():
            buffer = launch.buffers[ident]
            buffer.tracker = RaceTracker(buffer.cells.size, strands, shared=True)
            buffer.copies = None if launch.waits else Copies(buffer.cells.size)


def _machine(launch: Launch, units: Units, journal: Journal) -> Machine:
    env = Environment(
        {
            **launch.symbols,
            **units.symbols(3),
            LANE: np.arange(launch.geometry.lanes).reshape(1, -1, 1),
            GROUP: units.local_workgroup.reshape(-1, 1, 1),
        }
    )
    buffers = dict(launch.buffers)
    for buffer in buffers.values():
        if buffer.copies is not None:
            buffer.copies.clear()
    size = launch.geometry.lanes, launch.geometry.in_step
    pool = _pool(launch, units, journal.options)
    for op in launch.allocations:
        buffers[op.ident] = _lds(launch, units, op, journal.options, pool)
    machine = Machine(units, size, env, buffers, journal)
    for ident, scalar in launch.scalars.items():
        machine.values[ident] = Value(scalar.reshape(1, 1, 1))
    return machine


def _pool(launch: Launch, units: Units, options: SimulationOptions) -> Pool | None:
    """The memory that packed buffers share, if there are any."""
    packed = [op for op in launch.allocations if op.offset is not None]
    if not packed:
        return None
    unit = min(op.dtype.numpy().itemsize for op in packed)
    looks = options.looks_for(Check.RACES)
    strands = launch.geometry.groups_in_step if looks else 1
    return lds_pool(_pool_bytes(launch), unit, units.workgroups, strands)


def _lds(
    launch: Launch,
    units: Units,
    op: Allocate,
    options: SimulationOptions,
    pool: Pool | None,
) -> Buffer:
    shape = _lds_shape(launch, op)
    if pool is not None and op.offset is not None:
        key = launch.allocations.index(op) + 1
        return pool.buffer(key, lds_label(op), op.memory_type.dtype, shape, op.offset)
    buffer = lds_buffer(lds_label(op), op.memory_type.dtype, shape, units.workgroups)
    buffer.valid = np.zeros(buffer.cells.size, np.bool_)
    buffer.copies = Copies(buffer.cells.size)
    strands = launch.geometry.groups_in_step
    if options.looks_for(Check.RACES) and strands > 1:
        buffer.tracker = RaceTracker(buffer.cells.size, strands, shared=False)
    return buffer

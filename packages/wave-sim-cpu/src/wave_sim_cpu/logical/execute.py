"""Runs a graph on whole tiles: chunks of workgroups, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from wave_core.diagnostics import user_error
from wave_core.ops import sync
from wave_core.ops.atomic import Atomic
from wave_core.ops.constant import ApplyExpr, Scalar, SelfIndex, Splat
from wave_core.ops.control import Breakpoint, Conditional, Iterate, SetSymbol, While
from wave_core.ops.elementwise import Elementwise
from wave_core.ops.matrix import Mma
from wave_core.ops.memory import Allocate, GatherToLDS, Read, Write
from wave_core.ops.reduce import Reduce, Shuffle
from wave_core.ops.scan import Scan, Sort
from wave_core.ops.shape import (
    Bitcast,
    Broadcast,
    Extract,
    ExtractSlice,
    Permute,
    Relayout,
    Reshape,
    Squeeze,
)
from wave_core.ops.structure import GetResult
from wave_core.passes import Fact
from wave_sim_cpu import codes
from wave_sim_cpu.journal import Journal
from wave_sim_cpu.launch import Launch, Units, prepare
from wave_sim_cpu.logical import control_rules, memory_rules, scan_rules, tile_rules
from wave_sim_cpu.logical.control_rules import breakpoint_op, run_region
from wave_sim_cpu.logical.state import State, TileRule
from wave_sim_cpu.memory import lds_buffer, lds_label
from wave_sim_cpu.options import SimulationOptions
from wave_sim_cpu.rule_table import RuleTable
from wave_sim_cpu.together import run_parts

if TYPE_CHECKING:
    from wave_core.backends import LoweringTable
    from wave_core.ir.graph import Graph
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr
    from wave_core.targets import Target
    from wave_sim_cpu.result import SimulationResult
    from wave_sim_cpu.together import Strand

UNSUPPORTED: Mapping[str, str] = {
    "assemble": "speaks of registers, which tiles do not have",
    "shared_tile": "speaks of LDS, which tiles do not lie in",
    "lane_expr": "speaks of lanes, which tiles do not have",
}
"""Ops of core without a meaning on whole tiles, by name, with the reason."""

_CHUNK_FACTOR = 4
"""Tiles cost less memory than lanes with their addresses: larger chunks fit."""


_SYNC = (
    sync.WaveFence,
    sync.Fence,
    sync.SharedMemoryBarrierSignal,
    sync.SharedMemoryBarrierWait,
    sync.MemoryCounterWait,
    sync.SetWavePrio,
    sync.SchedulingBarrier,
    sync.SchedulingGroupBarrier,
)
"""Ops that order what waves do: tiles of all waves advance together."""


def logical_rules() -> Mapping[type[Op], TileRule]:
    """How whole tiles execute each class of op; classes below one follow its rule."""
    return {
        Splat: tile_rules.splat,
        Scalar: tile_rules.scalar,
        SelfIndex: tile_rules.self_index,
        ApplyExpr: tile_rules.apply_expr,
        Elementwise: tile_rules.elementwise,
        Broadcast: tile_rules.realign,
        Permute: tile_rules.realign,
        Relayout: tile_rules.realign,
        Squeeze: tile_rules.evaluated,
        Bitcast: tile_rules.evaluated,
        Reshape: tile_rules.reshape,
        Extract: tile_rules.extract,
        ExtractSlice: tile_rules.extract_slice,
        Shuffle: tile_rules.shuffle,
        Reduce: tile_rules.reduce,
        Mma: tile_rules.mma,
        Allocate: control_rules.ignore,
        Read: memory_rules.read,
        Write: memory_rules.write,
        Atomic: memory_rules.atomic,
        GatherToLDS: memory_rules.gather_to_lds,
        GetResult: control_rules.get_result,
        SetSymbol: control_rules.set_symbol,
        Iterate: control_rules.iterate,
        While: control_rules.while_loop,
        Conditional: control_rules.conditional,
        Scan: scan_rules.scan,
        Sort: scan_rules.sort,
        Breakpoint: breakpoint_op,
        **dict.fromkeys(_SYNC, control_rules.ignore),
        sync.SharedMemoryBarrier: control_rules.barrier,
        sync.WorkgroupBarrier: control_rules.barrier,
    }


def run(
    graph: Graph,
    arguments: Mapping[str, Any],
    symbols: Mapping[Expr, int],
    target: Target,
    options: SimulationOptions | None = None,
    lowerings: LoweringTable | None = None,
) -> SimulationResult:
    """Execute a graph on whole tiles; outputs are written in place.

    Args:
        graph: A graph with the fact typed, before expansion.
        arguments: Arrays and scalars by parameter label. Arrays may have any
            strides that are multiples of the element size.
        symbols: Values of dynamic sizes and scalar symbols.
        target: The machine.
        options: Limits; of the checks, bounds are looked at.
        lowerings: Rules of plugins, like those of `logical_rules`: each takes an op
            and the `State`, in which it sets the op's value. An op without a rule is
            executed by its ``evaluate``.

    Raises:
        SimulationError: WV0908 beyond the step limit; WV0916 where workgroups wait
            for ever.
        UserError: WV0912 for an expanded graph, or an op without a rule.
    """
    options = options or SimulationOptions()
    if Fact.EXPANDED in graph.facts_present:
        raise user_error(
            codes.UNSUPPORTED_OP,
            f"kernel `{graph.name}` is expanded: its ops are pieces of tiles",
            at=graph.location,
            help=("simulate expanded graphs on lanes",),
        )
    launch = prepare(graph, arguments, symbols, target)
    rules, journal = RuleTable(logical_rules(), lowerings), Journal(options)
    if not launch.is_empty:

        def execute(units: Units, strand: Strand | None) -> None:
            state = _state(launch, units, rules, journal)
            state.strand = strand
            # Elements that do not exist may hold anything; so may their arithmetic.
            with np.errstate(all="ignore"):
                run_region(graph.body, state)
            state.meetings.finish()
            journal.counters.units += units.count

        run_parts(launch, options.chunk_lanes * _CHUNK_FACTOR, execute)
    return journal.result()


def _state(
    launch: Launch, units: Units, rules: RuleTable[TileRule], journal: Journal
) -> State:
    buffers = dict(launch.buffers)
    for op in launch.allocations:
        shape = tuple(launch.number(e) for e in op.memory_type.storage_shape)
        buffers[op.ident] = lds_buffer(
            lds_label(op), op.memory_type.dtype, shape, units.workgroups
        )
    state = State(launch, units, buffers, rules, journal)
    for ident, scalar in launch.scalars.items():
        state.values[ident] = scalar.reshape(-1)
    return state

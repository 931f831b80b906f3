"""How lanes execute each class of op; classes below one named here follow its rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from wave_core.ops import sync as barriers
from wave_core.ops.atomic import Atomic
from wave_core.ops.compare import Select
from wave_core.ops.constant import ApplyExpr, LaneExpr, Scalar, Splat
from wave_core.ops.control import Breakpoint, Conditional, Iterate, SetSymbol, While
from wave_core.ops.elementwise import Elementwise
from wave_core.ops.matrix import Mma, SharedTile
from wave_core.ops.memory import Allocate, GatherToLDS, Read, TransposedRead, Write
from wave_core.ops.reduce import Reduce, Shuffle
from wave_core.ops.shape import Assemble, Bitcast
from wave_core.ops.structure import GetResult
from wave_sim_cpu.lanes import (
    access,
    control,
    direct,
    matrix,
    reductions,
    registers,
    sync,
    tiles,
)

if TYPE_CHECKING:
    from wave_core.ops.base import Op
    from wave_sim_cpu.lanes.program import Program, Step

    AnyRule = Callable[[Any, Program], Step]

UNSUPPORTED: Mapping[str, str] = {
    "broadcast": "lowered to assemble",
    "permute": "lowered to assemble",
    "squeeze": "lowered to assemble",
    "reshape": "lowered to assemble",
    "extract": "lowered to assemble",
    "extract_slice": "lowered to a round trip through LDS",
    "relayout": "lowered to assemble, shuffle or a round trip through LDS",
    "self_index": "lowered to lane_expr",
    "scan": "lowered to elementwise ops, selections and shuffles",
    "sort": "lowered to elementwise ops, selections and shuffles",
}
"""Ops of core that no lowered graph has, by name, with the reason."""


def lane_rules() -> Mapping[type[Op], AnyRule]:
    """The rules for core's ops."""
    return {
        Splat: registers.splat,
        Scalar: registers.scalar,
        LaneExpr: registers.lane_expr,
        ApplyExpr: registers.apply_expr,
        Elementwise: registers.elementwise,
        Select: registers.select,
        Assemble: registers.assemble,
        Bitcast: registers.bitcast,
        Shuffle: registers.shuffle,
        Reduce: reductions.reduce,
        Mma: matrix.mma,
        SharedTile: tiles.shared_tile,
        Allocate: access.allocate,
        Read: access.read,
        TransposedRead: access.transposed_read,
        Write: access.write,
        Atomic: access.atomic,
        GatherToLDS: direct.gather_to_lds,
        Iterate: control.iterate,
        While: control.while_loop,
        Conditional: control.conditional,
        GetResult: control.get_result,
        SetSymbol: control.set_symbol,
        barriers.SharedMemoryBarrier: sync.shared_memory_barrier,
        barriers.WorkgroupBarrier: sync.workgroup_barrier,
        barriers.WaveFence: sync.wave_fence,
        barriers.Fence: sync.fence,
        barriers.SharedMemoryBarrierSignal: sync.signal,
        barriers.SharedMemoryBarrierWait: sync.wait,
        barriers.MemoryCounterWait: sync.memory_counter_wait,
        barriers.SetWavePrio: sync.hint,
        barriers.SchedulingBarrier: sync.hint,
        barriers.SchedulingGroupBarrier: sync.hint,
        Breakpoint: control.breakpoint_op,
    }

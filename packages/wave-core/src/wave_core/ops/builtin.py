"""The ops of core, as one list; a session adds those of plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.ops.arithmetic import BINARY
from wave_core.ops.arithmetic import UNARY
from wave_core.ops.compare import COMPARISONS
from wave_core.ops.compare import Cast
from wave_core.ops.compare import Select
from wave_core.ops.constant import LaneExpr
from wave_core.ops.constant import Scalar
from wave_core.ops.constant import SelfIndex
from wave_core.ops.constant import Splat
from wave_core.ops.control import Conditional
from wave_core.ops.control import Iterate
from wave_core.ops.control import SetSymbol
from wave_core.ops.debug import Breakpoint
from wave_core.ops.direct import GatherToLDS
from wave_core.ops.expression import ApplyExpr
from wave_core.ops.matrix import Mma
from wave_core.ops.memory import Allocate
from wave_core.ops.memory import Read
from wave_core.ops.memory import Write
from wave_core.ops.reduce import Reduce
from wave_core.ops.reduce import Shuffle
from wave_core.ops.relayout import Relayout
from wave_core.ops.shape import Assemble
from wave_core.ops.shape import Broadcast
from wave_core.ops.shape import Extract
from wave_core.ops.shape import Permute
from wave_core.ops.shape import Reshape
from wave_core.ops.structure import Argument
from wave_core.ops.structure import GetResult
from wave_core.ops.structure import Yield
from wave_core.ops.sync import MemoryCounterWait
from wave_core.ops.sync import SchedulingBarrier
from wave_core.ops.sync import SchedulingGroupBarrier
from wave_core.ops.sync import SetWavePrio
from wave_core.ops.sync import SharedMemoryBarrier
from wave_core.ops.sync import SharedMemoryBarrierSignal
from wave_core.ops.sync import SharedMemoryBarrierWait
from wave_core.ops.sync import WaveFence
from wave_core.ops.sync import WorkgroupBarrier
from wave_core.ops.transposed import TransposedRead

if TYPE_CHECKING:
    from wave_core.ops.base import Op


def builtin_ops() -> tuple[type[Op], ...]:
    """Core's op classes."""
    return (
        *(Argument, Yield, GetResult),
        *(Splat, Scalar, SelfIndex, LaneExpr),
        *BINARY,
        *UNARY,
        *COMPARISONS,
        *(Select, Cast, ApplyExpr),
        *(Broadcast, Permute, Reshape, Extract),
        *(Assemble, Relayout),
        *(Reduce, Shuffle, Mma),
        *(Allocate, Read, Write, TransposedRead, GatherToLDS),
        *(Iterate, Conditional, SetSymbol),
        *(SharedMemoryBarrier, WorkgroupBarrier, WaveFence),
        *(SharedMemoryBarrierSignal, SharedMemoryBarrierWait),
        *(SetWavePrio, MemoryCounterWait),
        *(SchedulingBarrier, SchedulingGroupBarrier),
        Breakpoint,
    )

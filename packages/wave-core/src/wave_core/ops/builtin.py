"""The ops of core, as one list; a session adds those of plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.ops.arithmetic import BINARY, UNARY
from wave_core.ops.compare import COMPARISONS, Cast, Select
from wave_core.ops.constant import ApplyExpr, LaneExpr, Scalar, SelfIndex, Splat
from wave_core.ops.control import Breakpoint, Conditional, Iterate, SetSymbol
from wave_core.ops.matrix import Mma
from wave_core.ops.memory import Allocate, GatherToLDS, Read, TransposedRead, Write
from wave_core.ops.reduce import Reduce, Shuffle
from wave_core.ops.shape import Assemble, Broadcast, Extract, Permute, Relayout, Reshape
from wave_core.ops.structure import Argument, GetResult, Yield
from wave_core.ops.sync import SYNCHRONIZATION

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
        *SYNCHRONIZATION,
        Breakpoint,
    )

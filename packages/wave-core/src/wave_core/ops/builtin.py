"""The ops of core, as one list; a session adds those of plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.ops.arithmetic import BINARY, UNARY
from wave_core.ops.atomic import ATOMICS
from wave_core.ops.compare import COMPARISONS, Cast, Select
from wave_core.ops.constant import ApplyExpr, LaneExpr, Scalar, SelfIndex, Splat
from wave_core.ops.control import Breakpoint, Conditional, Iterate, SetSymbol, While
from wave_core.ops.matrix import Mma, ScaledMma, SharedTile
from wave_core.ops.memory import Allocate, GatherToLDS, Read, TransposedRead, Write
from wave_core.ops.random import Philox
from wave_core.ops.reduce import Reduce, Shuffle
from wave_core.ops.scan import Scan, Sort
from wave_core.ops.shape import (
    Assemble,
    Bitcast,
    Broadcast,
    Extract,
    ExtractSlice,
    Permute,
    Relayout,
    Reshape,
    Squeeze,
)
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
        *(Select, Cast, ApplyExpr, Philox),
        *(Broadcast, Permute, Squeeze, Reshape, Extract, ExtractSlice, Bitcast),
        *(Assemble, Relayout),
        *(Reduce, Scan, Sort, Shuffle, Mma, ScaledMma),
        *(Allocate, Read, Write, TransposedRead, SharedTile, GatherToLDS),
        *ATOMICS,
        *(Iterate, While, Conditional, SetSymbol),
        *SYNCHRONIZATION,
        Breakpoint,
    )

"""Ops as seen from a body: those in conditionals of it are part of these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.ir import region_of
from wave_core.ops.control import Conditional

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.ir import Region
    from wave_core.ops.base import Op


def lifted(op: Op, region: Region) -> Op | None:
    """The op of ``region`` that is ``op``, or a conditional that holds it."""
    each: Op | None = op
    while each is not None and each.owner is not region:
        each = _holder(each)
    return each


def side_by_side(ops: Sequence[Op]) -> list[Op] | None:
    """Ops of one body: these, or the innermost conditionals that hold them."""
    found = list(ops)
    while len({op.owner for op in found}) > 1:
        depths = [_depth(op) for op in found]
        deepest = max(depths)
        lower = [
            _holder(op) if depth == deepest else op
            for op, depth in zip(found, depths, strict=True)
        ]
        found = [op for op in lower if op is not None]
        if len(found) < len(lower):
            return None
    return list(dict.fromkeys(found))


def _holder(op: Op) -> Op | None:
    parent = region_of(op).parent
    return parent if isinstance(parent, Conditional) else None


def _depth(op: Op) -> int:
    return sum(1 for _ in region_of(op).around)

"""Safe barriers: one wherever LDS accesses might otherwise meet."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
from typing import TYPE_CHECKING

from wave_core.ir import insert_before
from wave_core.ir import resolve
from wave_core.ops.control import Iterate
from wave_core.ops.memory import Allocate
from wave_core.ops.sync import SharedMemoryBarrier
from wave_core.ops.sync import WorkgroupBarrier
from wave_core.ops.traits import EffectKind
from wave_core.passes import Pass

if TYPE_CHECKING:
    from wave_core.ir import Graph
    from wave_core.ir import Region
    from wave_core.ops.base import Op
    from wave_core.passes import PassContext

_BARRIERS = (SharedMemoryBarrier, WorkgroupBarrier)


@dataclass
class _Pending:
    """Buffers touched since the last barrier."""

    read: set[Op] = field(default_factory=set["Op"])
    written: set[Op] = field(default_factory=set["Op"])

    def clear(self) -> None:
        self.read.clear()
        self.written.clear()

    def merge(self, other: _Pending) -> None:
        self.read |= other.read
        self.written |= other.written

    def copy(self) -> _Pending:
        return _Pending(set(self.read), set(self.written))

    def conflicts(self, kind: EffectKind, buffer: Op) -> bool:
        if buffer in self.written:
            return True
        return kind is not EffectKind.READ and buffer in self.read

    def add(self, kind: EffectKind, buffer: Op) -> None:
        if kind is EffectKind.READ:
            self.read.add(buffer)
        else:
            self.written.add(buffer)


@dataclass(frozen=True)
class InsertSafeBarriers(Pass):
    """Put a barrier before every LDS access that follows a conflicting one.

    Two accesses of one buffer conflict if one of them writes. What a loop's body
    touches counts as touched before its first op, for the iteration before. The
    author's own barriers count. Correct without any analysis of which elements
    are touched; the memory plugin's pass places fewer.
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Insert the barriers."""
        inserted = _guard(graph.body, _Pending())
        context.count("barriers", inserted)
        return inserted > 0


def _guard(region: Region, pending: _Pending) -> int:
    """Guard the ops of ``region``; ``pending`` goes in and comes out."""
    inserted = 0
    for op in region.ops:
        if isinstance(op, _BARRIERS):
            pending.clear()
        for nested in op.regions:
            inserted += _guard_nested(op, nested, pending)
        touched = _touched(op)
        if any(pending.conflicts(kind, buffer) for kind, buffer in touched):
            insert_before(op, SharedMemoryBarrier())
            inserted += 1
            pending.clear()
        for kind, buffer in touched:
            pending.add(kind, buffer)
    return inserted


def _guard_nested(op: Op, region: Region, pending: _Pending) -> int:
    before = pending.copy()
    if isinstance(op, Iterate):
        pending.merge(_left_pending(region))
    inserted = _guard(region, pending)
    pending.merge(before)
    return inserted


def _left_pending(region: Region) -> _Pending:
    """What an iteration leaves without a barrier after it."""
    left = _Pending()
    for op in region.ops:
        if isinstance(op, _BARRIERS):
            left.clear()
        for nested in op.regions:
            left.merge(_left_pending(nested))
        for kind, buffer in _touched(op):
            left.add(kind, buffer)
    return left


def _touched(op: Op) -> list[tuple[EffectKind, Op]]:
    """The LDS buffers that ``op`` itself touches."""
    found: list[tuple[EffectKind, Op]] = []
    for effect in op.effects():
        if effect.memory is None or effect.kind is EffectKind.ALLOCATE:
            continue
        buffer = resolve(effect.memory)
        if isinstance(buffer, Allocate):
            found.append((effect.kind, buffer))
    return found

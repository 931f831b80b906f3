"""Safe barriers: one wherever LDS accesses might otherwise meet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wave_core.analysis.dependences.accesses import touched_buffers
from wave_core.analysis.dependences.storage import sharing_buffers
from wave_core.analysis.dependences.uniform import Uniformity
from wave_core.diagnostics import user_error
from wave_core.ir import Region, insert_before, walk_op
from wave_core.ops.control import Conditional, Iterate, While
from wave_core.ops.sync import (
    MemoryCounterWait,
    SharedMemoryBarrier,
    WaveFence,
    WorkgroupBarrier,
)
from wave_core.ops.traits import EffectKind
from wave_core.passes import Pass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.passes import PassContext


@dataclass
class _Pending:
    """Buffers touched since the last barrier.

    ``updated`` holds those that atomics touched, which meet each other freely,
    ``copied`` holds those that a copy is on its way to. ``drained`` says that all
    accesses have completed, which a bare workgroup barrier does not wait for, and
    ``landed`` that all copies have.
    """

    read: set[Op] = field(default_factory=set["Op"])
    written: set[Op] = field(default_factory=set["Op"])
    updated: set[Op] = field(default_factory=set["Op"])
    copied: set[Op] = field(default_factory=set["Op"])
    drained: bool = False
    landed: bool = False

    def pass_over(self, op: Op) -> None:
        """Take note of the author's barriers and waits."""
        if isinstance(op, MemoryCounterWait):
            self.drained = self.drained or op.ds == 0
            self.landed = self.landed or op.load == 0
        whole = isinstance(op, SharedMemoryBarrier)
        meets = whole or isinstance(op, WorkgroupBarrier)
        if meets and (self.landed or (whole and op.lands_all)):
            self.copied.clear()
        if whole or (meets and self.drained):
            self.read.clear()
            self.written.clear()
            self.updated.clear()

    def clear(self) -> None:
        """Every wave has seen everything."""
        for touched in (self.read, self.written, self.updated, self.copied):
            touched.clear()

    def merge(self, other: _Pending) -> None:
        """The union of what two paths leave."""
        self.read |= other.read
        self.written |= other.written
        self.updated |= other.updated
        self.copied |= other.copied
        self.drained = self.landed = False

    def copy(self) -> _Pending:
        """A state of its own."""
        sets = set(self.read), set(self.written), set(self.updated), set(self.copied)
        return _Pending(*sets, self.drained, self.landed)

    def conflicts(self, kind: EffectKind, buffer: Op, near: frozenset[Op]) -> bool:
        """Whether an access of ``buffer`` may meet one that is pending.

        ``near`` has the buffers that share bytes with it.
        """
        if not near.isdisjoint(self.written | self.copied):
            return True
        others = near - {buffer} if kind is EffectKind.READ_WRITE else near
        if not others.isdisjoint(self.updated):
            return True
        return kind is not EffectKind.READ and not near.isdisjoint(self.read)

    def add(self, kind: EffectKind, buffer: Op) -> None:
        """Note an access."""
        if kind is EffectKind.DMA_WRITE:
            self.copied.add(buffer)
            self.landed = False
            return
        self.drained = False
        kinds = {EffectKind.READ: self.read, EffectKind.READ_WRITE: self.updated}
        kinds.get(kind, self.written).add(buffer)


@dataclass(frozen=True)
class InsertSafeBarriers(Pass):
    """Put a barrier before every LDS access that follows a conflicting one.

    Two accesses of one buffer conflict if one of them writes; two atomics do not. A
    barrier behind which
    a copy to LDS has to be there waits for it. What a loop's body
    touches counts as touched before its first op, for the iteration before. A
    barrier that a conditional's body needs against what came before stands before
    the conditional, where all waves pass. The author's own barriers count. A buffer
    whose barriers are all the author's gets fences, which keep the order of accesses
    within a wave. Correct
    without any analysis of which elements are touched; the memory plugin's pass
    places fewer.

    Example::

          kernel "k" target "generic" {
            %a = argument parameter "a" : mem<M, global, f32>
            %t = allocate {shape = [M], distributed_shape = [`64`], dtype = !f32} :
                mem<M, shared, f32, physical[64]>
            %x = read %a, [] : reg<M, f32> @access(coordinates = [$LANE], registers = 1)
            write %x, %t, [] @access(coordinates = [$LANE], registers = 1)
        +   shared_memory_barrier
            %y = read %t, [] : reg<M, f32>
                @access(coordinates = [63 - $LANE], registers = 1)
            write %y, %a, [] @access(coordinates = [$LANE], registers = 1)
            yield []
          }

    Raises:
        UserError: WV0412 where accesses conflict inside a region that not all waves
            of a workgroup enter together.
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Insert the barriers."""
        guard = _Guard(Uniformity(graph), sharing_buffers(graph))
        inserted = guard.region(graph.body, _Pending(), None)
        context.count("barriers", inserted)
        return inserted > 0


class _Guard:
    """Inserts barriers into regions.

    ``sharing`` has for each buffer those that lie in the same memory.
    """

    def __init__(
        self, uniformity: Uniformity, sharing: Mapping[Op, frozenset[Op]]
    ) -> None:
        self._uniformity = uniformity
        self._sharing = sharing

    def region(self, region: Region, pending: _Pending, divergent: Op | None) -> int:
        """Guard the ops of ``region``; ``pending`` goes in and comes out.

        ``divergent`` is the op around whose body not all waves may enter.
        """
        inserted = 0
        for op in region.ops:
            pending.pass_over(op)
            inside = isinstance(op, Conditional)
            ahead = [
                touched
                for each in (walk_op(op) if inside else (op,))
                for touched in touched_buffers(each)
            ]
            meeting = [
                buffer
                for kind, buffer in ahead
                if pending.conflicts(kind, buffer, self._sharing[buffer])
            ]
            if any(buffer.guarded for buffer in meeting):
                _insert(op, divergent, landed=bool(pending.copied))
                inserted += 1
                pending.clear()
            elif meeting:
                insert_before(op, WaveFence())
            around = divergent if self._uniformity.together(op) else op
            for nested in op.regions:
                inserted += self._nested(op, nested, pending, around)
            for kind, buffer in touched_buffers(op):
                pending.add(kind, buffer)
        return inserted

    def _nested(
        self, op: Op, region: Region, pending: _Pending, divergent: Op | None
    ) -> int:
        before = pending.copy()
        if isinstance(op, Iterate | While):
            pending.merge(_left_pending(region))
        inserted = self.region(region, pending, divergent)
        pending.merge(before)
        return inserted


def _insert(op: Op, divergent: Op | None, *, landed: bool) -> None:
    if divergent is not None:
        raise user_error(
            "WV0412",
            "shared memory needs a barrier where not all waves may come along",
            at=op.location,
            label="conflicts with an access before it",
            secondary=[(divergent.location, "waves may differ in entering this")],
            help=("move one of the accesses out",),
        )
    insert_before(op, SharedMemoryBarrier(wait_async_ops=landed))


def _left_pending(region: Region) -> _Pending:
    """Accesses that an iteration leaves without a barrier after them."""
    left = _Pending()
    for op in region.ops:
        left.pass_over(op)
        for nested in op.regions:
            left.merge(_left_pending(nested))
        for kind, buffer in touched_buffers(op):
            left.add(kind, buffer)
    return left

"""What may write the operands of products that are under way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.analysis.dependences.accesses import shared_accesses
from wave_core.builtin.synchronize.under_way import behind, later
from wave_core.ir import region_of, walk
from wave_core.ops.control import Conditional, Iterate
from wave_core.ops.sync import (
    SharedMemoryBarrier,
    SharedMemoryBarrierWait,
    WorkgroupBarrier,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wave_core.analysis.dependences.accesses import SharedAccess
    from wave_core.analysis.dependences.derive import Dependences, Reach
    from wave_core.builtin.synchronize.under_way import UnderWay
    from wave_core.ir import Graph, Region
    from wave_core.ops.base import Op

MET = (SharedMemoryBarrier, WorkgroupBarrier, SharedMemoryBarrierWait)
"""Behind these all waves of a workgroup have come to them."""


class Overwrites:
    """Answers which ops may overwrite what a product reads."""

    def __init__(self, graph: Graph, known: Dependences) -> None:
        """Answer for ``graph`` as it is now."""
        self._known = known
        self._accesses: dict[Op, list[SharedAccess]] = {}
        for access in shared_accesses(graph):
            self._accesses.setdefault(access.op, []).append(access)

    def by_itself(self, op: Op, entry: UnderWay) -> bool:
        """Whether lanes of a wave write what a product of that wave reads.

        Waves meet at a barrier before they write what others read.
        """
        found = self._reaches((op,), entry)
        return any(reach.lane or reach.wave for reach in found)

    def behind(self, barrier: Op, entry: UnderWay) -> bool:
        """Whether any wave may write it behind ``barrier`` before it meets the others.

        Where a wave meets them again, each has waited for what that barrier asks for.
        """
        return self._after(barrier, entry)

    def _after(self, op: Op, entry: UnderWay) -> bool:
        """Whether what follows ``op`` in its region, or that region, writes it."""
        region = region_of(op)
        ops = list(region.ops)
        following, meets = _until_met(ops[ops.index(op) + 1 :])
        if any(self._reaches(following, entry)):
            return True
        return not meets and self._after_region(region, entry)

    def _after_region(self, region: Region, entry: UnderWay) -> bool:
        """The same for what comes after a region; what is not known may write."""
        parent = region.parent
        if parent is None:
            return False
        if isinstance(parent, Conditional):
            return self._after(parent, entry)
        if not isinstance(parent, Iterate):
            return True
        if entry.out or region_of(entry.product) is not region:
            return True
        again, meets = _until_met(region.ops)
        (following,), (left,) = later((entry,)), behind((entry,))
        written = not meets or any(self._reaches(again, following))
        return written or self._after(parent, left)

    def _reaches(self, ops: Iterable[Op], entry: UnderWay) -> Iterator[Reach]:
        """How ops, and what is in them, reach what the product reads."""
        loop, ago = region_of(entry.product).parent, entry.ago
        carrier = loop if ago and isinstance(loop, Iterate) else None
        if entry.out or carrier is None:
            carrier, ago = None, 0
        writes = [
            access
            for op in ops
            for each in (
                op,
                *(inner for nested in op.regions for inner in walk(nested)),
            )
            for access in self._accesses.get(each, ())
            if access.writes
        ]
        for access in writes:
            for read in self._accesses.get(entry.product, ()):
                yield self._known.reach(read, access, carrier, ago)


def _until_met(ops: Iterable[Op]) -> tuple[list[Op], bool]:
    """The ops before all waves meet, and whether they do."""
    found: list[Op] = []
    for op in ops:
        if isinstance(op, MET):
            return found, True
        found.append(op)
    return found, False

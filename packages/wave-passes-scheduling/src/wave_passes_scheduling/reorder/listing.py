"""The clusters of reordered loops as rows, read off a finished graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.ir import region_of
from wave_core.ops.control import Conditional, Iterate
from wave_core.ops.sync import SetWavePrio, SharedMemoryBarrier
from wave_passes_scheduling.loops.kinds import OCCUPIES, kind_of
from wave_passes_scheduling.reorder.stagger import TAG

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wave_core.ir import Graph
    from wave_core.ops.base import Op


@dataclass(frozen=True)
class ClusterRow:
    """One cluster of a loop whose waves alternate.

    Attributes:
        loop: The axis of the loop.
        number: Which cluster of the body, from 0.
        ops: How many ops of each kind, in the order of the first of each.
        priority: The priority that the waves run it at.
        staggered: Whether halves of the waves run it a barrier apart.
    """

    loop: str
    number: int
    ops: tuple[tuple[str, int], ...]
    priority: int
    staggered: bool

    @property
    def cells(self) -> tuple[str, ...]:
        """As a row of a table."""
        listed = ", ".join(f"{count} {kind}" for kind, count in self.ops)
        waves = "halves alternate" if self.staggered else "all together"
        return self.loop, str(self.number), listed, str(self.priority), waves


TITLES = ("loop", "cluster", "operations", "priority", "waves")
"""Headings of the cells of a row."""


def cluster_rows(graph: Graph) -> Iterator[ClusterRow]:
    """The clusters of the loops that were reordered for halves of the waves."""
    for op in graph.walk():
        if isinstance(op, Iterate) and TAG in op.tags:
            yield from _rows(op, staggered=is_staggered(op))


def is_staggered(loop: Iterate) -> bool:
    """Whether only some waves pass a barrier just before a loop."""
    ops = list(region_of(loop).ops)
    before = ops[max(0, ops.index(loop) - 1)]
    return isinstance(before, Conditional) and any(
        isinstance(op, SharedMemoryBarrier)
        for region in before.regions
        for op in region.ops
    )


def _rows(loop: Iterate, *, staggered: bool) -> Iterator[ClusterRow]:
    cluster: list[Op] = []
    number = 0
    for op in loop.body.ops:
        if not isinstance(op, SharedMemoryBarrier):
            cluster.append(op)
            continue
        counts = tuple(_counts(cluster).items())
        raised = _priority(cluster)
        yield ClusterRow(str(loop.axis), number, counts, raised, staggered)
        cluster, number = [], number + 1


def _counts(ops: Sequence[Op]) -> dict[str, int]:
    found: dict[str, int] = {}
    for op in ops:
        kind = kind_of(op)
        if OCCUPIES[kind]:
            found[str(kind)] = found.get(str(kind), 0) + 1
    return found


def _priority(ops: Sequence[Op]) -> int:
    return max((op.priority for op in ops if isinstance(op, SetWavePrio)), default=0)

"""Reads of a buffer that need no condition once it holds zeros."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.analysis.effects import touches
from wave_core.ir import ACCESS, Access, Region, region_of
from wave_core.ops.memory import Read
from wave_core.symbols import constant, logical_and
from wave_passes_memory.copies.prove import alike, implied, index_of

if TYPE_CHECKING:
    from wave_core.analysis.region_facts import RegionFacts
    from wave_core.ops.base import Op
    from wave_passes_memory.copies.find import Copy
    from wave_passes_memory.copies.lane_points import LanePoints
    from wave_passes_memory.copies.prove import Box


def bare_readers(
    copy: Copy, box: Box, points: LanePoints, known: RegionFacts
) -> dict[Read, Access] | None:
    """The reads of the buffer with the access that each needs when it is filled whole.

    Filled whole, the buffer holds zeros for the elements of the box that do not
    exist. ``None`` where some access of the buffer could see the difference: it
    stands before the copy, does not read, or does not leave such elements out.
    """
    found: dict[Read, Access] = {}
    members = copy.members
    last = copy.pairs[-1][1]
    for op in copy.region.graph.walk():
        if op in members or not touches(op, copy.buffer):
            continue
        if not isinstance(op, Read) or not _follows(op, last, copy.region):
            return None
        row = _bare(op, box, points, known)
        if row is None:
            return None
        found[op] = row
    return found


def _follows(op: Op, last: Op, region: Region) -> bool:
    """Whether ``op`` runs after ``last``, which is an op of ``region``, each time."""
    while op.owner is not region:
        parent = region_of(op).parent
        if parent is None:
            return False
        op = parent
    order = {each: position for position, each in enumerate(region.ops)}
    return order[op] > order[last]


def _bare(
    read: Read, box: Box, points: LanePoints, known: RegionFacts
) -> Access | None:
    """The access of a read without the condition that the element exists."""
    row = region_of(read).graph.facts.get(ACCESS, read)
    index = index_of(read)
    if row is None or index is None or read.indices or set(index) != set(box.dims):
        return None
    facts = known.facts(region_of(read), row.registers)
    places = tuple(index[dim] for dim in box.dims)
    for place, coordinate, base in zip(places, row.coordinates, box.base, strict=True):
        if facts.simplify(place - coordinate - base) is not constant(0):
            return None
    mine, others = points.conditions(row.mask)
    exists = box.exists(places)
    if not alike(others, exists, facts):
        if not implied(others, exists, facts, mine):
            return None
        if not implied(exists, others, facts, mine):
            return row
    return Access(row.coordinates, row.registers, logical_and(*mine) if mine else None)

"""Writes of neighbouring elements become one wide write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.constraints.machine import REGISTER
from wave_core.ir import (
    ACCESS,
    PLACEMENT,
    Access,
    Placement,
    erase,
    insert_before,
    region_of,
    regions,
    resolve,
    walk_op,
)
from wave_core.ops.memory import Write
from wave_core.ops.shape import Assemble
from wave_core.ops.traits import Trait
from wave_core.passes import Pass, option
from wave_core.symbols import Layout, constant
from wave_passes_memory.accesses.windows import Member, families, fits, windows
from wave_passes_memory.copies.lane_points import LanePoints

if TYPE_CHECKING:
    from wave_core.analysis.region_facts import RegionFacts
    from wave_core.ir import Graph, Region
    from wave_core.ops.base import Op
    from wave_core.passes import PassContext
    from wave_core.symbols import Expr


@dataclass(frozen=True)
class MergeContiguousWrites(Pass):
    """Write neighbouring elements of one memory with one access.

    Needs expanded tiles. Writes of a region whose places differ by a constant along
    the innermost dimension, with equal conditions, become one write of a power of two
    of elements where the last of them stood, as wide as the target allows, if it is
    proved to start at a multiple of its length: the elements of two lanes are then
    the same or have none in common. What stands between them writes other elements,
    does not read the memory and orders nothing.

    Example::

          kernel "k" target "generic" {
            constraint #HardwareConstraint(threads_per_wave = 64)
            %a = argument parameter "a" : mem<M, global, f16>
            %x = register {shape = [M], dtype = !f16, value = 1.0} : reg<M, f16>
                @placement(layout = #layout(64x4 {M: 8*(lane/1%64) + (reg/1%4)}))
        -   write %x, %a, [] @access(coordinates = [8*$LANE + $REG], registers = 4)
        -   write %x, %a, [] @access(coordinates = [8*$LANE + $REG + 4], registers = 4)
        +   %0 = assemble [%x, %x] {picks = [[0, 0], [0, 1], [0, 2], [0, 3], [1, 0], [1,
        +       1], [1, 2], [1, 3]], shape = [M]} : reg<M, f16>
        +       @placement(layout = #layout(64x8 {M: 8*(lane/1%64)}))
        +   write %0, %a, [] @access(coordinates = [8*$LANE + $REG], registers = 8)
            yield []
          }
    """

    max_bits: int = option(
        0, "the widest access of one lane; 0 is the widest of the target", at_least=0
    )

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Merge the writes of every region."""
        known = context.region_facts(graph)
        widest = self.max_bits or context.target.memory.max_access_bits
        merged = 0
        for region in list(regions(graph.body)):
            merger = _Merger(region, known, widest)
            found = families(region, Write, _separates)
            merged += sum(merger.run(family) for family in found)
        context.count("merged_writes", merged)
        return merged > 0


def _separates(op: Op, memory: Op) -> bool:
    """Whether a write of ``memory`` above ``op`` may not move below it.

    What other writes of the region write is looked at for each window.
    """
    return any(
        each.has(Trait.ORDERED)
        or any(
            effect.memory is None or resolve(effect.memory) is memory
            for effect in each.effects()
        )
        for each in walk_op(op)
    )


class _Merger:
    """Merges the writes of one region."""

    def __init__(self, region: Region, known: RegionFacts, widest: int) -> None:
        self._region = region
        self._known = known
        self._widest = widest
        self._points = LanePoints.of(known.geometry)
        self._order: dict[Op, int] = {}

    def run(self, family: list[Member]) -> int:
        """Merge what lies side by side; how many writes went."""
        if len(family) < 2:
            return 0
        merged = 0
        for window in windows(family, self._holds):
            if len(window) > 1 and self._may_move(window):
                _merge(window, max((m.op for m in window), key=self._order.__getitem__))
                merged += len(window) - 1
        return merged

    def _holds(self, window: list[Member]) -> bool:
        count = window[0].access.registers * len(window)
        served = fits(window, self._widest, self._known, self._region)
        return served and self._apart(window[0], count)

    def _apart(self, first: Member, count: int) -> bool:
        """Whether windows of two lanes that share an element are the same."""
        place = first.access.coordinates[-1].subs({REGISTER: constant(0)})
        facts = self._known.facts(self._region, first.access.registers)
        return facts.divisor(place) % count == 0

    def _may_move(self, window: list[Member]) -> bool:
        """Whether all may move down to the last, past other writes of the memory."""
        ops = list(self._region.ops)
        self._order = {op: position for position, op in enumerate(ops)}
        members = dict.fromkeys(m.op for m in window)
        last = max(self._order[op] for op in members)
        for member in window:
            memory = resolve(member.op.memory)
            for op in ops[self._order[member.op] + 1 : last]:
                if op in members or not isinstance(op, Write):
                    continue
                if resolve(op.memory) is memory and not self._disjoint(member.op, op):
                    return False
        return True

    def _disjoint(self, one: Op, other: Op) -> bool:
        """Whether two writes of a memory are proved to have no element in common."""
        facts = self._region.graph.facts
        rows = [facts.get(ACCESS, op) for op in (one, other)]
        found = [self._places(row) for row in rows if row is not None]
        return any(
            a is not None and b is not None and a[0] is b[0] and not a[1] & b[1]
            for a, b in zip(*found, strict=True)
        )

    def _places(self, access: Access) -> list[tuple[Expr, set[int]] | None]:
        """Along each dimension: what all lanes share, and all values of the rest."""
        found: list[tuple[Expr, set[int]] | None] = []
        for coordinate in access.coordinates:
            halves = self._points.split(coordinate)
            if halves is None:
                found.append(None)
                continue
            values = self._points.values(halves[1], access.registers)
            found.append((halves[0], set(values.ravel().tolist())))
        return found


def _merge(window: list[Member], last: Op) -> None:
    first, facts = window[0], region_of(last).graph.facts
    registers = first.access.registers
    wide = registers * len(window)
    assert isinstance(last, Write), "windows are of writes"
    picks = tuple((n // registers, n % registers) for n in range(wide))
    value = Assemble(tuple(m.value for m in window), picks, first.shape)
    insert_before(last, value)
    facts.put(PLACEMENT, value, _row(first.row, wide))
    write = Write(value, last.memory, (), last.mapping, flags=last.flags)
    write.tags = frozenset[str]().union(*(m.op.tags for m in window))
    insert_before(last, write)
    facts.put(ACCESS, write, first.widened(wide))
    for member in window:
        erase(member.op)


def _row(row: Placement, registers: int) -> Placement:
    """Only the lanes' part: the elements of a window may be of several tiles."""
    layout = row.layout
    digits = {dim: list(layout.lane_digits(dim)) for dim in layout.dims}
    return Placement(Layout.make(layout.lanes, registers, digits), (), row.origin)

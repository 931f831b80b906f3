"""Reads of neighbouring elements become one wide read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.ir import (
    ACCESS,
    PLACEMENT,
    insert_before,
    regions,
    replace,
    resolve,
    walk_op,
)
from wave_core.ops.control import SetSymbol
from wave_core.ops.memory import Allocate, Read
from wave_core.ops.shape import Assemble
from wave_core.ops.traits import EffectKind, Trait
from wave_core.passes import Pass, option
from wave_passes_memory.accesses.windows import (
    Member,
    added_digits,
    families,
    fits,
    widened,
    windows,
)

if TYPE_CHECKING:
    from wave_core.analysis.region_facts import RegionFacts
    from wave_core.ir import Graph, Region
    from wave_core.ops.base import Op
    from wave_core.ops.memory import Write
    from wave_core.passes import PassContext


@dataclass(frozen=True)
class MergeContiguousReads(Pass):
    """Read neighbouring elements of one memory with one access.

    Needs expanded tiles. Reads of a region whose places differ by a constant along
    the innermost dimension, with equal conditions, become one read of a power of two
    of elements, as wide as the target allows, if the place of the first is proved to
    be aligned; the others take their registers from it. Nothing that may change the
    memory stands between them.

    Example::

          kernel "k" target "generic" {
            constraint #HardwareConstraint(threads_per_wave = 64)
            constraint #WorkgroupConstraint(dim = M, tile_size = `64`,
                workgroup_dim = 0)
            %a = argument parameter "a" : mem<M, global, f16>
            %b = argument parameter "b" : mem<M, global, f16>
        -   %x = read %a, [] {shape = [M]} : reg<M, f16>
        -       @access(coordinates = [8*$LANE + $REG], registers = 4)
        -       @placement(layout = #layout(64x4 {M: 8*(lane/1%64) + (reg/1%4)}),
        -       origin = [["M", `0`]])
        -   %y = read %a, [] {shape = [M]} : reg<M, f16>
        -       @access(coordinates = [8*$LANE + $REG + 4], registers = 4)
        -       @placement(layout = #layout(64x4 {M: 8*(lane/1%64) + (reg/1%4)}),
        -       origin = [["M", `4`]])
        -   %s = add %x, %y : reg<M, f16>
        +   %0 = read %a, [] {shape = [M]} : reg<M, f16>
        +       @access(coordinates = [8*$LANE + $REG], registers = 8)
        +       @placement(layout = #layout(64x8 {M: 8*(lane/1%64) + (reg/1%8)}),
        +       origin = [["M", `0`]])
        +   %1 = assemble [%0] {picks = [[0, 0], [0, 1], [0, 2], [0, 3]], shape = [M]} :
        +       reg<M, f16>
        +       @placement(layout = #layout(64x4 {M: 8*(lane/1%64) + (reg/1%4)}),
        +       origin = [["M", `0`]])
        +   %2 = assemble [%0] {picks = [[0, 4], [0, 5], [0, 6], [0, 7]], shape = [M]} :
        +       reg<M, f16>
        +       @placement(layout = #layout(64x4 {M: 8*(lane/1%64) + (reg/1%4)}),
        +       origin = [["M", `4`]])
        +   %s = add %1, %2 : reg<M, f16>
            write %s, %b, [] @access(coordinates = [4*$LANE + $REG], registers = 4)
            yield []
          }
    """

    max_bits: int = option(
        0, "the widest access of one lane; 0 is the widest of the target", at_least=0
    )

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Merge the reads of every region."""
        known = context.region_facts(graph)
        widest = self.max_bits or context.target.memory.max_access_bits
        merged = 0
        for region in list(regions(graph.body)):
            for family in families(region, Read, _separates):
                merged += _Merger(region, known, widest).run(family)
        context.count("merged_reads", merged)
        return merged > 0


def _separates(op: Op, memory: Op) -> bool:
    """Whether a read below ``op`` may give something else than one above."""
    if isinstance(op, SetSymbol) or (
        op.has(Trait.ORDERED) and isinstance(memory, Allocate)
    ):
        return True
    return any(
        effect.kind not in (EffectKind.READ, EffectKind.ALLOCATE)
        and (effect.memory is None or resolve(effect.memory) is memory)
        for each in walk_op(op)
        for effect in each.effects()
    )


class _Merger:
    """Merges the reads of one region."""

    def __init__(self, region: Region, known: RegionFacts, widest: int) -> None:
        self._region = region
        self._known = known
        self._widest = widest

    def run(self, family: list[Member]) -> int:
        """Merge what lies side by side; how many reads went."""
        if len(family) == 1:
            return 0
        merged = 0
        order = {member.op: position for position, member in enumerate(family)}
        for window in windows(family, self._holds):
            if len(window) > 1:
                front = min(window, key=lambda m: order[m.op])
                self._merge(window, front.op)
                merged += len(window) - 1
        return merged

    def _holds(self, window: list[Member]) -> bool:
        served = fits(window, self._widest, self._known, self._region)
        return served and added_digits(window) is not None

    def _merge(self, window: list[Member], front: Read | Write) -> None:
        first = window[0]
        registers = first.access.registers
        wide = registers * len(window)
        shape, op = first.shape, first.op
        memory = front.memory
        merged = Read(memory, (), op.mapping, shape, flags=op.flags)
        merged.tags = frozenset[str]().union(*(m.op.tags for m in window))
        insert_before(front, merged)
        facts = self._region.graph.facts
        facts.put(ACCESS, merged, first.widened(wide))
        added = added_digits(window)
        assert added is not None, "the window was checked"
        facts.put(PLACEMENT, merged, widened(first.row, added, wide))
        for position, member in enumerate(window):
            picks = tuple((0, position * registers + r) for r in range(registers))
            part = Assemble((merged,), picks, shape)
            insert_before(member.op, part)
            facts.put(PLACEMENT, part, member.row)
            facts.drop(ACCESS, member.op)
            replace(member.op, part)

"""The pass that shares copies to LDS out among all threads of a workgroup."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.analysis.runs import access_count
from wave_core.analysis.symbol_uses import symbols_set
from wave_core.ir import ACCESS, Access, erase
from wave_core.ops.memory import Allocate, Read
from wave_core.passes import Pass, option
from wave_core.symbols import eq, logical_and
from wave_passes_memory.copies.find import copies
from wave_passes_memory.copies.gathered import (
    Gathers,
    Source,
    drop_unused,
    index_reads,
)
from wave_passes_memory.copies.lane_points import LanePoints
from wave_passes_memory.copies.loads import Branches, Loads, store
from wave_passes_memory.copies.prove import bare_readers, prove
from wave_passes_memory.copies.share import Sharer

if TYPE_CHECKING:
    from wave_core.analysis.region_facts import RegionFacts
    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.passes import PassContext
    from wave_core.symbols import Expr
    from wave_passes_memory.copies.find import Copy
    from wave_passes_memory.copies.prove import Box
    from wave_passes_memory.copies.share import Piece, Sharing


@dataclass(frozen=True)
class MinimizeGlobalLoads(Pass):
    """Let all threads of a workgroup copy a tile to LDS with the fewest accesses.

    Needs expanded tiles. A group of reads of global memory whose values are only
    written to one buffer is replaced, if it is proved to copy a box of the memory
    whole: each thread then takes an equal share, neighbours side by side, as wide as
    an access can be. Elements that do not exist become zeros in the buffer where
    every read of it leaves them out; those reads then need no condition. Elements out
    of the bounds of a mapping become zeros, too, where whole rows are. Where only
    the launch decides whether rows begin and end between wide accesses, the loads
    are wide under that condition, and one by one otherwise. Nothing happens where
    the reads and writes would not become fewer.

    Example::

          kernel "k" target "generic" {
            bind M = 128
            constraint #HardwareConstraint(threads_per_wave = 64)
            constraint #WorkgroupConstraint(dim = M, tile_size = `128`,
                workgroup_dim = 0)
            %a = argument parameter "a" : mem<M, global, f32>
            %b = argument parameter "b" : mem<M, global, f32>
            %t = allocate {shape = [M], distributed_shape = [`128`], dtype = !f32} :
                mem<M, shared, f32, physical[128]>
        -   %x0 = read %a, [] : reg<M, f32>
        -       @access(coordinates = [$LANE], registers = 1)
        -       @placement(layout = #layout(64x1 {M: (lane/1%64)}), origin = [["M",
        -       `0`]])
        -   %x1 = read %a, [] : reg<M, f32>
        -       @access(coordinates = [$LANE + 64], registers = 1)
        -       @placement(layout = #layout(64x1 {M: (lane/1%64)}), origin = [["M",
        -       `64`]])
        -   write %x0, %t, [] @access(coordinates = [$LANE], registers = 1)
        -   write %x1, %t, [] @access(coordinates = [$LANE + 64], registers = 1)
        +   %0 = read %a, [] {shape = [M]} : reg<M, f32>
        +       @access(coordinates = [2*$LANE + $REG], registers = 2)
        +       @placement(layout = #layout(64x2 {M: 2*(lane/1%64) + (reg/1%2)}),
        +       origin = [["M", `0`]])
        +   write %0, %t, [] @access(coordinates = [2*$LANE + $REG], registers = 2)
            %y = read %t, [] : reg<M, f32>
                @access(coordinates = [127 - 2*$LANE], registers = 1)
            write %y, %b, [] @access(coordinates = [$LANE], registers = 1)
            yield []
          }
    """

    max_bits: int = option(
        0, "the widest access of one lane; 0 is the widest of the target", at_least=0
    )

    def should_run(self, graph: Graph) -> bool:
        """There is a buffer to copy to."""
        return any(isinstance(op, Allocate) for op in graph.body.ops)

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Replace the copies that become cheaper."""
        known = context.region_facts(graph)
        points = LanePoints.of(known.geometry)
        widest = self.max_bits or context.target.memory.max_access_bits
        branches, gathers = Branches(graph), Gathers(known)
        changed = False
        for copy in copies(graph, gathered=True):
            box = prove(copy, points, known)
            if box is None:
                context.count("copies_not_proved")
                continue
            found = _Replacement(copy, box, known, points, widest)
            changed |= found.run(context, branches, gathers)
        return changed


@dataclass(frozen=True)
class _Plan:
    """Loads and stores in place of a copy.

    Attributes:
        sharing: How the box is shared out.
        pieces: The accesses of each thread.
        guard: What must hold for whole pieces to exist; ``None`` where they do.
    """

    sharing: Sharing
    pieces: list[Piece]
    guard: Expr | None = None


class _Replacement:
    """Puts the accesses of all threads in place of one copy."""

    def __init__(
        self,
        copy: Copy,
        box: Box,
        known: RegionFacts,
        points: LanePoints,
        widest: int,
    ) -> None:
        self._copy = copy
        self._box = box
        self._known = known
        self._points = points
        self._widest = widest
        self._bits = copy.buffer.dtype.bits
        kind = copy.memory.memory_type
        self._shape = tuple(known.geometry.bind(e) for e in kind.storage_shape)

    def run(self, context: PassContext, branches: Branches, gathers: Gathers) -> bool:
        """Replace the copy if that is cheaper."""
        readers: dict[Read, Access] | None = {}
        if not self._box.fills:
            readers = bare_readers(self._copy, self._box, self._points, self._known)
        if readers is None and not self._box.skips:
            return False
        fill = readers is not None
        plan = self._plan(fill=fill)
        before = self._cost_before()
        if self._cost(plan.pieces, fill=fill) >= before:
            return False
        loads = Loads(self._copy, self._box, self._known, gathers)
        self._emit(plan, loads, branches, fill=fill)
        facts = self._copy.region.graph.facts
        for reader, row in (readers or {}).items():
            facts.put(ACCESS, reader, row)
        for read, write in self._copy.pairs:
            indices = read.indices
            erase(write)
            erase(read)
            drop_unused(indices)
        context.count("loads_before", before[0])
        context.count("loads", plan.sharing.count)
        if plan.guard is not None:
            context.count("guarded_copies", 1)
        return True

    def _plan(self, *, fill: bool) -> _Plan:
        """The fewest pieces; with a guard only where all of the buffer is filled."""
        sharer = self._sharer(None)
        sharing = sharer.choose(self._bits, self._widest)
        width = self._widest // self._bits
        while fill and sharing.width < width:
            guard = self._guard(width)
            if guard is None:
                break
            guarded = self._sharer(guard)
            found = guarded.choose(self._bits, self._widest)
            if found.count >= sharing.count:
                break
            if found.width == width:
                return _Plan(found, guarded.pieces(found), guard)
            width = found.width
        return _Plan(sharing, sharer.pieces(sharing))

    def _sharer(self, guard: Expr | None) -> Sharer:
        copy, known = self._copy, self._known
        read = copy.pairs[0][0]
        return Sharer(
            self._box,
            known.geometry,
            Source(read, known),
            lambda registers: known.facts(copy.region, registers, guard),
            self._shape,
        )

    def _guard(self, width: int) -> Expr | None:
        """The condition under which rows begin and end between accesses of a width."""
        own = symbols_set(self._copy.region.graph.body)
        found: list[Expr] = []
        for value in (self._shape[-1], self._box.limits[-1]):
            if value is None or value.is_constant:
                continue
            if any(s in own or s.name.startswith("$") for s in value.free_symbols):
                return None
            found.append(eq(value % width, 0))
        return logical_and(*found) if found else None

    def _cost(self, pieces: list[Piece], *, fill: bool) -> tuple[int, int]:
        masked = [
            p.store.mask is not None or (not fill and p.exists is not None)
            for p in pieces
        ]
        loads = len(pieces) * (1 + len(index_reads(self._copy.pairs[:1])))
        return loads, sum(2 if mask else 1 for mask in masked)

    def _cost_before(self) -> tuple[int, int]:
        """Loads and stores of a thread; a masked store counts twice."""
        facts = self._copy.region.graph.facts
        loads, stores = len(index_reads(self._copy.pairs)), 0
        for read, write in self._copy.pairs:
            source, target = facts.known(ACCESS, read), facts.known(ACCESS, write)
            most = self._widest // self._bits
            loads += access_count(source, most)
            masked = target.mask is not None
            stores += access_count(target, most) * (2 if masked else 1)
        return loads, stores

    def _emit(
        self, plan: _Plan, loads: Loads, branches: Branches, *, fill: bool
    ) -> None:
        if plan.guard is None:
            values = loads.emit(plan.pieces)
        else:
            values = loads.guarded(plan.pieces, plan.guard, branches)
        for piece, value in zip(plan.pieces, values, strict=True):
            self._store(piece, value, fill=fill)

    def _store(self, piece: Piece, value: Op, *, fill: bool) -> None:
        row = piece.store
        if not fill and piece.exists is not None:
            row = row.where(piece.exists)
        store(self._copy, value, row)

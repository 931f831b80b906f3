"""Waits for matrix products that go on after they are issued."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.analysis.dependences.accesses import shared_accesses
from wave_core.analysis.operands import row_of_product
from wave_core.ir import insert_before, resolve
from wave_core.ops.matrix import Mma
from wave_core.ops.sync import MEETINGS, MemoryCounterWait, WaveFence
from wave_core.ops.traits import Trait
from wave_core.passes import Pass

if TYPE_CHECKING:
    from wave_core.analysis.dependences.accesses import SharedAccess
    from wave_core.ir import Graph, Region
    from wave_core.ops.base import Op
    from wave_core.passes import PassContext


@dataclass(frozen=True)
class AwaitProducts(Pass):
    """Wait for matrix products before anything depends on their being done.

    Needs all barriers. Products of instructions with a counter go on after they are
    issued: each reads its operands in LDS, and writes its accumulator, until it is
    awaited. A product may add to the result of one that is under way, since those of
    one accumulator are done in order. All are awaited before anything else uses a
    result, before a barrier or a fence, behind which an operand may be overwritten,
    before the wave itself writes what they read, and at the ends of regions.

    Example::

          kernel "k" target "generic128" {
            constraint #HardwareConstraint(threads_per_wave = 128)
            %b = allocate {shape = [N, K], distributed_shape = [`8`, `16`],
                dtype = !f16} : mem<N, K, shared, f16, physical[8, 16]>
            %x = register {shape = [M, K], dtype = !f16, value = 1.0} : reg<M, K, f16>
            %z = register {shape = [M, N], dtype = !f32, value = 0.0} : reg<M, N, f32>
            %y = shared_tile %b : reg<N, K, f16>
                @access(coordinates = [$LANE // 16, $LANE % 16], registers = 1)
                @box(origin = [`0`, `0`], extents = [8, 16])
            %p = mma %x, %y, %z {mma_type = "F32_64x8x16_F16"} : reg<M, N, f32>
            %q = mma %x, %y, %p {mma_type = "F32_64x8x16_F16"} : reg<M, N, f32>
        +   memory_counter_wait {mma = 0}
            %r = neg %q : reg<M, N, f32>
            yield []
          }
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Insert the waits."""
        if not any(row.counter for row in context.target.matrix_instructions):
            return False
        waits = _Waits(graph, context)
        waits.region(graph.body)
        context.count("product_waits", waits.count)
        return waits.count > 0


class _Waits:
    """Inserts waits region by region; none leaves a product under way."""

    def __init__(self, graph: Graph, context: PassContext) -> None:
        self._target = context.target
        self._known = context.dependences(graph)
        self._accesses: dict[Op, list[SharedAccess]] = {}
        for access in shared_accesses(graph):
            self._accesses.setdefault(access.op, []).append(access)
        self.count = 0

    def region(self, region: Region) -> None:
        """Wait where the ops of a region depend on products before them."""
        results: set[Op] = set()
        for op in list(region.ops):
            if results and self._depends(op, results):
                insert_before(op, MemoryCounterWait(mma=0))
                self.count += 1
                results.clear()
            for nested in op.regions:
                self.region(nested)
            if isinstance(op, MemoryCounterWait) and op.mma == 0:
                results.clear()
            if self._goes_on(op):
                results.add(op)

    def _depends(self, op: Op, results: set[Op]) -> bool:
        """Whether ``op`` needs products to be done."""
        if op.regions or op.has(Trait.TERMINATOR):
            return True
        if isinstance(op, (*MEETINGS, WaveFence)):
            return True
        if any(self._overwrites(op, product) for product in results):
            return True
        used = {resolve(value) for value in op.operands}
        if self._goes_on(op) and isinstance(op, Mma):
            used = {resolve(value) for value in (op.lhs, op.rhs)}
        return not used.isdisjoint(results)

    def _overwrites(self, op: Op, product: Op) -> bool:
        """Whether lanes of a wave write what a product of that wave reads.

        Waves meet at a barrier before they write what others read.
        """
        reaches = (
            self._known.reach(read, access)
            for access in self._accesses.get(op, ())
            for read in self._accesses.get(product, ())
        )
        return any(reach.lane or reach.wave for reach in reaches)

    def _goes_on(self, op: Op) -> bool:
        """Whether ``op`` is a product that is not done when it is issued."""
        return isinstance(op, Mma) and bool(row_of_product(op, self._target).counter)

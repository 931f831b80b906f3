"""Waits for matrix products that go on after they are issued."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from wave_core.analysis.operands import row_of_product
from wave_core.builtin.synchronize.overwrites import Overwrites
from wave_core.builtin.synchronize.under_way import (
    UnderWay,
    behind,
    carried_in_place,
    later,
    product_of,
)
from wave_core.ir import insert_before, region_of
from wave_core.ops.control import Iterate
from wave_core.ops.matrix import Mma, SharedTile
from wave_core.ops.memory import Read
from wave_core.ops.structure import GetResult
from wave_core.ops.sync import (
    MEETINGS,
    MemoryCounterWait,
    SharedMemoryBarrier,
    WaveFence,
)
from wave_core.ops.traits import Trait
from wave_core.passes import Pass

if TYPE_CHECKING:
    from wave_core.ir import Graph, Region
    from wave_core.ops.base import Op
    from wave_core.passes import PassContext

    State = tuple[UnderWay, ...]
    """What may be under way, the first issued first."""

FAR = 4
"""Iterations after which a product is awaited at the latest."""


@dataclass(frozen=True)
class AwaitProducts(Pass):
    """Wait for matrix products before anything depends on their being done.

    Needs all barriers. Products of instructions with a counter go on after they are
    issued: each reads its operands in LDS, and writes its accumulator, until it is
    awaited. A product may add to the result of one that is under way, since those of
    one accumulator are done in order. Each is awaited before anything else uses its
    result, before the wave itself writes what it reads, and before the last barrier
    that other waves pass before they write that. Those that were issued later go on,
    also into the next iteration of a loop, where an accumulator stays in its place.
    All are awaited before fences, before ops with regions, and at the ends of others.
    Behind a loop, what is read and computed just before a wait comes after it.

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
        waits = _Waits(graph, context).insert()
        context.count("product_waits", waits)
        return waits > 0


class _Waits:
    """Which waits a graph needs, planned region by region, then inserted.

    In a loop, what is under way when an iteration begins is what the one before left;
    its body is planned again until that is what it leaves. In the first iterations
    there is less, which waits for the older products do not notice.
    """

    def __init__(self, graph: Graph, context: PassContext) -> None:
        self._graph = graph
        self._target = context.target
        self._overwrites = Overwrites(graph, context.dependences(graph))
        self._left: dict[Op, int] = {}

    def insert(self) -> int:
        """Plan and insert the waits; returns how many."""
        self._region(self._graph.body, ())
        for op, left in self._left.items():
            insert_before(_first_of_finish(op), MemoryCounterWait(mma=left))
        return len(self._left)

    def _region(self, region: Region, state: State) -> State:
        """Plan a region; returns what it leaves under way."""
        for op in region.ops:
            awaited = self._awaited(op, state)
            self._left.pop(op, None)
            if awaited:
                self._left[op] = len(state) - awaited
                state = state[awaited:]
            if isinstance(op, Iterate):
                state = self._loop(op)
            else:
                for nested in op.regions:
                    self._region(nested, ())
            if isinstance(op, MemoryCounterWait) and op.mma is not None:
                state = state[max(0, len(state) - op.mma) :]
            if isinstance(op, Mma) and self._goes_on(op):
                state = (*state, UnderWay(op))
        return state

    def _loop(self, loop: Iterate) -> State:
        """Plan a loop before which all was awaited."""
        left: State = ()
        while (found := self._region(loop.body, later(left))) != left:
            left = found
        return behind(left)

    def _awaited(self, op: Op, state: State) -> int:
        """How many of what is under way, from the first, has to be done before."""
        if not state:
            return 0
        if op.has(Trait.TERMINATOR):
            return self._awaited_at_end(op, state)
        meets = isinstance(op, (*MEETINGS, WaveFence))
        if op.regions or (meets and not isinstance(op, SharedMemoryBarrier)):
            return len(state)
        needed = self._overwrites.behind if meets else self._needs
        return max((at + 1 for at, e in enumerate(state) if needed(op, e)), default=0)

    def _awaited_at_end(self, end: Op, state: State) -> int:
        """The same at the end of a region: all, but where a loop goes on with them."""
        loop = region_of(end).parent
        if not isinstance(loop, Iterate) or not carried_in_place(loop, state):
            return len(state)
        return sum(each.ago >= FAR for each in state)

    def _needs(self, op: Op, entry: UnderWay) -> bool:
        """Whether ``op`` uses the result of a product, or writes what it reads."""
        used = op.operands
        if isinstance(op, Mma) and self._goes_on(op) and self._continues(op, entry):
            used = (op.lhs, op.rhs)
        if any(product_of(value) is entry.product for value in used):
            return True
        return self._overwrites.by_itself(op, entry)

    def _continues(self, op: Mma, entry: UnderWay) -> bool:
        """Whether one instruction can add to what the other makes, without a wait.

        What something else uses, too, has to be copied first.
        """
        if len(entry.product.users) > 1:
            return False
        rows = (row_of_product(each, self._target) for each in (op, entry.product))
        one, other = rows
        return one.shape == other.shape

    def _goes_on(self, op: Mma) -> bool:
        """Whether a product is not done when it is issued."""
        return bool(row_of_product(op, self._target).counter)


def _first_of_finish(op: Op) -> Op:
    """Where to wait behind a loop for the sums that ``op`` uses.

    What is read and computed just before, like a residual that is added to them, waits,
    too: code generators move nothing across a wait, and it would be in registers beside
    all of the sums.
    """
    before = list(takewhile(lambda other: other is not op, region_of(op).ops))
    if not any(isinstance(each, Iterate) for each in before):
        return op
    for each in reversed(before):
        if not (isinstance(each, Read) or _computes(each)):
            return op
        op = each
    return op


def _computes(op: Op) -> bool:
    """Whether an op has to do with registers alone, and not with products."""
    return op.has(Trait.PURE) and not isinstance(op, Mma | SharedTile | GetResult)

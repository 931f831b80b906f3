"""Reads no earlier than registers allow; see `DelayReads`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from wave_core.analysis.dependences.storage import sharing_buffers
from wave_core.analysis.effects import written_by, written_memories
from wave_core.analysis.symbol_uses import mentions, symbols_set
from wave_core.ir import move_before, resolve, walk
from wave_core.ops.control import Iterate
from wave_core.ops.memory import Allocate, Read, Write
from wave_core.ops.shape import Assemble
from wave_core.ops.structure import Argument
from wave_core.ops.traits import Trait
from wave_core.passes import Pass
from wave_passes_memory.hoisting.pressure import crowded_loops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.passes import PassContext
    from wave_core.symbols import Expr


@dataclass(frozen=True)
class DelayReads(Pass):
    """Read after an exchange through LDS what is used after it.

    The code generator moves no read across an exchange (writes of LDS, then reads), so
    what is read before one is in registers all through it. In a loop whose values take
    more registers than the target can spare, by the estimate of `hoisting.pressure`,
    reads move behind the last exchange before their first use: of global memory that
    the kernel does not write, and of LDS that nothing in between writes. Needs accesses
    of one instruction each. Does nothing to volatile reads, to reads that depend on a
    symbol set in the loop, and where registers suffice.

    Example::

          kernel "k" target "gfx942" {
            %a = argument parameter "a" : mem<M, global, f32>
            %b = argument parameter "b" : mem<M, global, f32>
            %t = allocate {shape = [M], distributed_shape = [`64`], dtype = !f32} :
                mem<M, shared, f32, physical[64]>
            %l = iterate [], [%a, %b, %t] {axis = N, induction = $IV:N,
                count = `4`} body {
              %m = argument capture "a" : mem<M, global, f32>
              %n = argument capture "b" : mem<M, global, f32>
              %u = argument capture "t" : mem<M, shared, f32, physical[64]>
        -     %x = read %m, [] : reg<M, f32>
        -         @access(coordinates = [1024*$LANE + $REG], registers = 1024)
        -         @placement(layout = #layout(64x1024 {M:
        -         1024*(lane/1%64) + (reg/1%1024)}))
              %o = register {shape = [M], dtype = !f32, value = 1.0} : reg<M, f32>
                  @placement(layout = #layout(64x1 {}))
              write %o, %u, [] @access(coordinates = [$LANE], registers = 1)
              %y = read %u, [] : reg<M, f32>
                  @access(coordinates = [63 - $LANE], registers = 1)
        +     %x = read %m, [] : reg<M, f32>
        +         @access(coordinates = [1024*$LANE + $REG], registers = 1024)
        +         @placement(layout = #layout(64x1024 {M:
        +         1024*(lane/1%64) + (reg/1%1024)}))
              write %x, %n, []
                  @access(coordinates = [1024*$LANE + $REG], registers = 1024)
              write %y, %n, [] @access(coordinates = [$LANE], registers = 1)
              yield []
            }
            yield []
          }
    """

    def should_run(self, graph: Graph) -> bool:
        """There is a loop."""
        return any(isinstance(op, Iterate) for op in graph.walk())

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Look at each loop by itself."""
        crowded = crowded_loops(graph, context.target.registers)
        loops = [op for op in walk(graph.body) if op in crowded]
        moved = sum(_Delay(graph, loop).run() for loop in loops)
        context.count("delayed_reads", moved)
        return moved > 0


class _Delay:
    """Moves reads of one loop."""

    def __init__(self, graph: Graph, loop: Op) -> None:
        (body,) = loop.regions
        self._graph = graph
        self._body = body
        self._ops = list(body.ops)
        self._place: dict[Op, float] = dict(zip(self._ops, count(), strict=False))
        self._written = written_memories(graph.body)
        self._sharing = sharing_buffers(graph)
        self._fences = [i for i, op in enumerate(self._ops) if _is_fence(op)]
        self._written_at = _places_of_writes(self._ops)
        touched = [_shared(op) for op in self._ops]
        self._reads = [i for i, kind in enumerate(touched) if kind is Read]
        self._writes = [i for i, kind in enumerate(touched) if kind is Write]

    def run(self) -> int:
        """Move what can wait, users first; how many reads."""
        anchors = {i: self._ops[i + 1] for i in self._reads}
        moved = 0
        for op in reversed(self._movable()):
            behind = self._exchange(op)
            if behind is not None:
                move_before(anchors[behind], op)
                anchors[behind] = op
                self._place[op] = behind + 0.5
                moved += isinstance(op, Read)
        return moved

    def _exchange(self, op: Op) -> int | None:
        """The last exchange that the op can wait for, by the place of its read."""
        start = self._place[op]
        used = min((self._place[user] for user in op.users), default=start)
        written = next((i for i in self._writes if i > start), used)
        behind = [i for i in self._reads if written < i < used]
        stops = self._stops(op)
        fine = [i for i in behind if not any(start < s <= i for s in stops)]
        return fine[-1] if fine else None

    def _stops(self, op: Op) -> list[int]:
        """Places that the op may not pass: what it reads may change there."""
        if not isinstance(op, Read) or isinstance(resolve(op.memory), Argument):
            return []
        near = self._sharing[resolve(op.memory)]
        return [*self._fences, *(i for m in near for i in self._written_at.get(m, ()))]

    def _movable(self) -> list[Op]:
        """Reads that may wait, and what only names their registers anew."""
        moving = symbols_set(self._body)
        found: dict[Op, None] = {}
        for op in self._body.ops:
            if isinstance(op, Assemble):
                movable = all(source in found for source in op.sources)
            else:
                movable = isinstance(op, Read) and self._may_wait(op, moving)
            if movable:
                found[op] = None
        return list(found)

    def _may_wait(self, op: Read, moving: frozenset[Expr]) -> bool:
        memory = resolve(op.memory)
        known = isinstance(memory, Allocate) or memory not in self._written
        return known and op.flags == "none" and not mentions(self._graph, op, moving)


def _shared(op: Op) -> type[Op] | None:
    """Whether an op reads or writes LDS."""
    if isinstance(op, Read | Write) and isinstance(resolve(op.memory), Allocate):
        return type(op)
    return None


def _is_fence(op: Op) -> bool:
    """Whether no read may pass, whatever it reads."""
    return bool(op.regions) or op.has(Trait.ORDERED)


def _places_of_writes(ops: Sequence[Op]) -> dict[Op, list[int]]:
    """Where each memory is written, by the numbers of the ops."""
    found: dict[Op, list[int]] = {}
    for place, op in enumerate(ops):
        for memory in written_by(op):
            found.setdefault(memory, []).append(place)
    return found

"""Moves what is the same in each iteration out of loops; see `HoistLoopInvariants`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.analysis.dependences.storage import sharing_buffers
from wave_core.analysis.effects import touches, written_by, written_memories
from wave_core.analysis.symbol_uses import mentions, symbols_set
from wave_core.constraints.machine import REGISTER
from wave_core.ir import (
    ACCESS,
    capture,
    captured_value,
    clone_into,
    eliminate_dead_code,
    erase,
    region_of,
    replace_uses,
    resolve,
    walk,
)
from wave_core.ops.base import Op
from wave_core.ops.constant import Scalar, Splat
from wave_core.ops.control import Iterate
from wave_core.ops.memory import Allocate, Read, Write
from wave_core.ops.structure import Argument
from wave_core.ops.traits import Trait
from wave_core.passes import Pass
from wave_core.symbols import as_expr, ge, lt
from wave_passes_memory.hoisting.pressure import LoopPressure, affordable, budget

if TYPE_CHECKING:
    from wave_core.constraints.geometry import Geometry
    from wave_core.ir import Access, Graph
    from wave_core.passes import PassContext

ROUNDS = 8
"""Most times that one loop is looked at: a copy takes three."""

_FREE = (Splat, Scalar)
"""Ops that cost nothing: they move only along with what uses them."""


@dataclass(frozen=True)
class HoistLoopInvariants(Pass):
    """Compute and read once what is the same in each iteration of a loop.

    Moves pure ops whose operands and indices do not change within the loop, and reads
    of memory that the loop does not write (global memory: that the kernel does not
    write). A copy to LDS that is the same in each iteration moves as a whole, where
    nothing outside the loop touches the buffer. From inner loops to outer ones. A read
    that would touch memory though the loop has no iteration is masked by there being
    one, unless it is proved to be in bounds anyway. What is read stays in the loop
    where holding it through all iterations would take more registers than the target
    can spare, by the estimate of `hoisting.pressure`. Needs expanded tiles; does
    nothing to volatile reads, and to ops within conditionals.

    Example::

          kernel "k" target "generic" {
            constraint #HardwareConstraint(threads_per_wave = 64)
            %a = argument parameter "a" : mem<M, global, f32>
            %b = argument parameter "b" : mem<M, global, f32>
        -   %l = iterate [], [%a, %b] {axis = N, induction = $IV:N, count = `4`} body {
        -     %m = argument capture "a" : mem<M, global, f32>
        +   %0 = read %a, [] : reg<M, f32> @access(coordinates = [$LANE], registers = 1)
        +   %1 = exp2 %0 : reg<M, f32>
        +   %l = iterate [], [%b, %1] {axis = N, induction = $IV:N, count = `4`} body {
              %n = argument capture "b" : mem<M, global, f32>
        -     %x = read %m, [] : reg<M, f32>
        -         @access(coordinates = [$LANE], registers = 1)
        -     %y = exp2 %x : reg<M, f32>
        -     write %y, %n, [] @access(coordinates = [64*$IV:N + $LANE], registers = 1)
        +     %2 = argument capture "exp2" : reg<M, f32>
        +     write %2, %n, [] @access(coordinates = [64*$IV:N + $LANE], registers = 1)
              yield []
            }
            yield []
          }
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Work from the innermost loops outwards."""
        loops = [op for op in walk(graph.body) if isinstance(op, Iterate)]
        if not loops:
            return False
        geometry = context.geometry(graph)
        file = context.target.registers
        limit = None if file is None else budget(file)
        hoister = _Hoister(graph, geometry, limit)
        moved = [op for loop in reversed(loops) for op in hoister.hoist(loop)]
        reads = sum(op == Read.op_name for op in moved)
        context.count("hoisted_reads", reads)
        context.count("hoisted_ops", len(moved) - reads)
        context.count("left_for_registers", hoister.left)
        if moved:
            eliminate_dead_code(graph)
        return bool(moved)


class _Hoister:
    """Moves ops; counts those ``left`` in loops since registers are few."""

    def __init__(self, graph: Graph, geometry: Geometry, limit: int | None) -> None:
        self.left = 0
        self._limit = limit
        self._graph = graph
        self._geometry = geometry
        self._sharing = sharing_buffers(graph)
        self._written = written_memories(graph.body)

    def hoist(self, loop: Iterate) -> list[str]:
        """Move what can move out of one loop; the names of the ops."""
        moved: list[str] = []
        for _ in range(ROUNDS):
            found = _Invariants(self._graph, loop, self._written, self._sharing).find()
            kept = self._affordable(loop, found)
            if not kept:
                self.left += len(found)
                break
            found = kept
            moved.extend(op.op_name for op in found)
            self._move(loop, found)
        return moved

    def _affordable(self, loop: Iterate, ops: list[Op]) -> list[Op]:
        if self._limit is None or not any(isinstance(op, Read) for op in ops):
            return ops
        return affordable(LoopPressure(self._graph, loop), ops, self._limit)

    def _move(self, loop: Iterate, ops: list[Op]) -> None:
        body, outer = loop.body, region_of(loop)
        values: dict[Op, Op] = {
            argument: captured_value(loop, argument)
            for argument in body.arguments
            if argument.role == "capture"
        }
        for op in ops:
            copy = clone_into(op, values, outer, before=loop)
            if isinstance(copy, Read | Write):
                self._make_safe(copy, loop)
        for op in reversed(ops):
            if op.users:
                replace_uses(op, capture(body, values[op]))
            erase(op)

    def _make_safe(self, op: Read | Write, loop: Iterate) -> None:
        """Mask an access that may leave its memory where the loop has no iteration."""
        assert loop.count is not None, "expanded loops have a count"
        count = as_expr(loop.count).subs(self._graph.bindings)
        access = self._graph.facts.known(ACCESS, op)
        if self._geometry.facts.prove_nonnegative(count - 1):
            return
        if isinstance(op, Write) or not self._in_bounds(op, access):
            self._graph.facts.put(ACCESS, op, access.where(ge(count, 1)))

    def _in_bounds(self, op: Read, access: Access) -> bool:
        memory = op.memory.memory_type
        facts = self._geometry.facts.with_range(REGISTER, 0, access.registers - 1)
        if access.mask is not None:
            facts = facts.with_assumption(access.mask)
        return all(
            facts.prove(ge(place, 0)) and facts.prove(lt(place, self._geometry.bind(e)))
            for place, e in zip(access.coordinates, memory.storage_shape, strict=True)
        )


class _Invariants:
    """Ops that one loop repeats alike in each iteration."""

    def __init__(
        self,
        graph: Graph,
        loop: Iterate,
        written: set[Op],
        sharing: dict[Op, frozenset[Op]],
    ) -> None:
        self._graph = graph
        self._loop = loop
        self._body = loop.body
        self._everywhere = written
        self._sharing = sharing
        self._written = written_memories(self._body)
        self._moving = symbols_set(self._body)
        if loop.induction is not None:
            self._moving |= {loop.induction}
        self._known = set[Op]()
        self._known.update(a for a in self._body.arguments if a.role == "capture")

    def find(self) -> list[Op]:
        """The ops that can move, in program order."""
        found = [op for op in self._body.ops if self._stays_same(op)]
        writes = [op for op in found if isinstance(op, Write)]
        kept = set(self._movable_writes(writes))
        movable = [op for op in found if not isinstance(op, Write) or op in kept]
        wanted: set[Op] = set()
        for op in reversed(movable):
            if op in wanted or not isinstance(op, _FREE):
                wanted.add(op)
                wanted.update(op.operands)
        return [op for op in movable if op in wanted]

    def _stays_same(self, op: Op) -> bool:
        if op.regions or op.has(Trait.TERMINATOR):
            return False
        if not all(value in self._known for value in op.operands):
            return False
        if mentions(self._graph, op, self._moving):
            return False
        if isinstance(op, Write):
            return op.flags == "none"
        if op.has(Trait.PURE) or (isinstance(op, Read) and self._reads_same(op)):
            self._known.add(op)
            return True
        return False

    def _reads_same(self, op: Read) -> bool:
        memory = resolve(op.memory)
        if op.flags != "none":
            return False
        if isinstance(memory, Allocate):
            return self._written.isdisjoint(self._sharing[memory])
        # Elsewhere barriers within the loop may order other waves' writes.
        return isinstance(memory, Argument) and memory not in self._everywhere

    def _movable_writes(self, writes: list[Write]) -> list[Write]:
        """Writes to buffers that each iteration fills alike, before reading them."""
        fine = set[Op]()
        for op in writes:
            buffer = resolve(op.memory)
            if isinstance(buffer, Allocate) and self._filled(buffer, writes):
                fine.add(buffer)
        return [op for op in writes if resolve(op.memory) in fine]

    def _filled(self, buffer: Allocate, writes: list[Write]) -> bool:
        if len(self._sharing[buffer]) > 1:
            return False
        own = set[Op]()
        own.update(op for op in writes if resolve(op.memory) is buffer)
        inside = [op for op in walk(self._body) if touches(op, buffer)]
        everywhere = [op for op in self._graph.walk() if touches(op, buffer)]
        first, rest = inside[: len(own)], inside[len(own) :]
        kept = not any(buffer in written_by(op) for op in rest)
        return len(inside) == len(everywhere) and set(first) == own and kept

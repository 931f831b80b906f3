"""Shuffles that no instruction does go through LDS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.builtin.legalize.slots import Slots
from wave_core.constraints.machine import LANE
from wave_core.ir import erase, replace_uses
from wave_core.ops.reduce import Shuffle
from wave_core.passes import Pass
from wave_core.symbols import constant, ge, lt, select, total

if TYPE_CHECKING:
    from wave_core.ir import Graph
    from wave_core.passes import PassContext
    from wave_core.symbols import Expr


@dataclass(frozen=True)
class ExchangeWideShuffles(Pass):
    """Let a shuffle between lanes out of each other's reach go through LDS.

    Needs expanded tiles. Each lane writes its registers to a place of its own, and
    reads those of its partner; what orders the two is for the passes that place
    barriers. Does nothing where all lanes of a wave can shuffle.

    Example::

          kernel "k" target "generic128" {
            constraint #HardwareConstraint(threads_per_wave = 64)
            %a = argument parameter "a" : mem<N, global, f32>
        +   %0 = allocate {shape = [$WAVE, $LANE_SLOT, $REG_SLOT],
        +       distributed_shape = [`1`, `64`, `1`], dtype = !f32} : mem<$WAVE,
        +       $LANE_SLOT, $REG_SLOT, shared, f32, physical[1, 64, 1]>
            %x = read %a, [] : reg<N, f32>
                @access(coordinates = [$LANE], registers = 1)
                @placement(layout = #layout(64x1 {N: (lane/1%64)}))
        -   %s = shuffle %x {offset = 32, width = 64} : reg<N, f32>
        -       @placement(layout = #layout(64x1 {N: (lane/1%64)}))
        -   write %s, %a, [] @access(coordinates = [$LANE], registers = 1)
        +   write %x, %0, [] {mapping = #AccessMapping(register_dims = ["N"],
        +       coordinates = [$WAVE, $LANE_SLOT, $REG_SLOT])}
        +       @access(coordinates = [`0`, $LANE, $REG], registers = 1)
        +   %1 = read %0, [] {mapping = #AccessMapping(register_dims = ["N"],
        +       coordinates = [$WAVE, $LANE_SLOT, $REG_SLOT]), shape = [N]} : reg<N,
        +       f32>
        +       @access(coordinates = [`0`, $LANE - 64*($LANE // 32 % 2) + 32, $REG],
        +       registers = 1)
        +       @placement(layout = #layout(64x1 {N: (lane/1%64)}))
        +   write %1, %a, [] @access(coordinates = [$LANE], registers = 1)
            yield []
          }
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Replace the shuffles of ``graph`` that reach too far."""
        geometry = context.geometry(graph)
        far = [
            op
            for op in graph.walk()
            if isinstance(op, Shuffle) and op.reaches_over(geometry.in_reach)
        ]
        for op in far:
            slots = Slots(graph, geometry, op, op.value)
            replace_uses(op, slots.read({}, _partner(op)))
            erase(op)
            context.count("shuffles")
        return bool(far)


def _partner(op: Shuffle) -> Expr:
    """The lane whose value a lane gets."""
    place, offset = LANE % op.width, op.offset
    if op.mode == "idx":
        inside = offset < op.width
        return LANE - place + offset if inside else LANE
    if op.mode == "xor":
        return _exclusive_or(offset) if offset < op.width else LANE
    if op.mode == "up":
        return select(ge(place, offset), LANE - offset, LANE)
    return select(lt(place, op.width - offset), LANE + offset, LANE)


def _exclusive_or(offset: int) -> Expr:
    """The lane's number with the bits of ``offset`` turned round."""
    bits = [1 << place for place in range(offset.bit_length()) if offset >> place & 1]
    return total((LANE, *(constant(bit) - LANE // bit % 2 * (2 * bit) for bit in bits)))

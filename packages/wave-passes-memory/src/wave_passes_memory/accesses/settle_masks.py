"""Conditions of accesses that hold for neighbouring elements alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.analysis.runs import contiguous_run
from wave_core.constraints.machine import REGISTER
from wave_core.ir import ACCESS, Access, region_of
from wave_core.ops.memory import Read, Write
from wave_core.passes import Pass, option
from wave_core.symbols import Kind, conjuncts, constant, logical_and

if TYPE_CHECKING:
    from wave_core.ir import Graph
    from wave_core.passes import PassContext
    from wave_core.symbols import Expr, Facts


@dataclass(frozen=True)
class SettleAccessMasks(Pass):
    """Let neighbouring elements exist together where they are proved to.

    Needs expanded tiles. An access whose condition differs from register to register
    is one access for each element. Where the elements of a run begin at a multiple
    of its length, and the dimension ends at one, the condition of the first holds for
    all of them, and one instruction touches them.

    Example::

          kernel "k" target "generic" {
            bind M = 200
            constraint #HardwareConstraint(threads_per_wave = 64)
            %a = argument parameter "a" : mem<M, global, f32>
            %b = argument parameter "b" : mem<M, global, f32>
        -   %x = read %a, [] : reg<M, f32>
        -       @access(coordinates = [4*$LANE + $REG], registers = 4,
        -       mask = 4*$LANE + $REG < 200)
        -   write %x, %b, []
        -       @access(coordinates = [4*$LANE + $REG], registers = 4,
        -       mask = 4*$LANE + $REG < 200)
        +   %x = read %a, [] : reg<M, f32>
        +       @access(coordinates = [4*$LANE + $REG], registers = 4,
        +       mask = $LANE < 50)
        +   write %x, %b, []
        +       @access(coordinates = [4*$LANE + $REG], registers = 4,
        +       mask = $LANE < 50)
            yield []
          }
    """

    max_bits: int = option(
        0, "the widest access of one lane; 0 is the widest of the target", at_least=0
    )

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Settle the conditions of all reads and writes."""
        known = context.region_facts(graph)
        widest = self.max_bits or context.target.memory.max_access_bits
        settled = 0
        for op in graph.walk():
            access = graph.facts.get(ACCESS, op)
            if not isinstance(op, Read | Write) or access is None:
                continue
            if access.mask is None or REGISTER not in access.mask.free_symbols:
                continue
            facts = known.facts(region_of(op), access.registers)
            mask = _settled(access, widest // op.memory.memory_type.dtype.bits, facts)
            if mask is not access.mask:
                row = Access(access.coordinates, access.registers, mask)
                graph.facts.put(ACCESS, op, row)
                settled += 1
        context.count("settled_masks", settled)
        return settled > 0


def _settled(access: Access, widest: int, facts: Facts) -> Expr | None:
    """The mask with one value for each of the longest runs that have one."""
    run = contiguous_run(access)
    while run > widest:
        run //= 2
    while run > 1:
        first = constant(0) if run == access.registers else REGISTER // run * run
        found = [_at_first(c, run, first, facts) for c in conjuncts(access.mask)]
        same = [condition for condition in found if condition is not None]
        if len(same) == len(found):
            return logical_and(*same)
        run //= 2
    return access.mask


def _at_first(condition: Expr, run: int, first: Expr, facts: Facts) -> Expr | None:
    """A condition at the first register of each run, if that decides for all.

    ``value >= 0`` with a value that falls by one from register to register holds at
    all registers of a run or at none, if ``value + 1`` is a multiple of the run's
    length where the run begins.
    """
    if REGISTER not in condition.free_symbols:
        return condition
    if condition.kind is not Kind.GE:
        return None
    rest = condition.args[0] + REGISTER
    if REGISTER in rest.free_symbols or not facts.prove_divisible(rest + 1, run):
        return None
    return condition.subs({REGISTER: first})

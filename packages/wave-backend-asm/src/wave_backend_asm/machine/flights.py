"""What is on its way from memory where operations are put in an order.

Nothing is moved across a barrier or a jump, but what was loaded in front of one lands
behind it: who reads it there had better come late.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

from wave_backend_asm.machine.forms import form_of
from wave_backend_asm.machine.instruction import Instruction
from wave_backend_asm.machine.prices import price_of

if TYPE_CHECKING:
    from wave_backend_asm.allocate.liveness import Flow
    from wave_backend_asm.code import Operation

_ISSUE = 4
"""Cycles from one operation to the next where none waits. Source: `Cost.issue`."""


class Flight(NamedTuple):
    """Something that was loaded and that nobody has read.

    Attributes:
        bits: its registers, as `Flow` has them.
        cycles: until it is there.
    """

    bits: int
    cycles: int


class Flights:
    """What is on its way, in the order that was given and without a wait."""

    def __init__(self, flow: Flow, chip: str, sharing: int, *, alone: bool) -> None:
        """Follow what blocks load to the blocks behind them, around loops once.

        Args:
            flow: the program.
            chip: a key of `CHIPS`.
            sharing: waves that ask memory for the same at the same time.
            alone: no other wave of the SIMD works while one waits. Where others do,
                who reads in a loop is not to come late: its own readers wait behind
                it. In a program without loops all waves are at the same place.
        """
        self._flow, self._chip, self._sharing = flow, chip, sharing
        self._counts = alone or not any(block.depth for block in flow.blocks)
        self._into: list[list[Flight]] = [[] for _ in flow.blocks]
        for _ in range(_TIMES):
            for number, block in enumerate(flow.blocks):
                (left,) = self.at(number, [len(block.operations)])
                for each in block.following:
                    known = [flight.bits for flight in self._into[each]]
                    self._into[each] += [f for f in left if f.bits not in known]

    def at(self, number: int, places: Sequence[int]) -> list[list[Flight]]:
        """In front of some operations of a block, in their order."""
        touched, found = self._flow.touched[number], list[list[Flight]]()
        # Cycles count from the start of the block, so that few operations change them.
        flying, begin, now = [*self._into[number]], 0, 0
        bits, soonest = _watched(flying)
        for place in places:
            for operation, defined, used in touched[begin:place]:
                now += _ISSUE
                if soonest <= now or (defined | used) & bits:
                    flying = _left(flying, defined | used, now)
                    bits, soonest = _watched(flying)
                if self._counts and defined and _loads(operation):
                    flying.append(Flight(defined, now + self._wait(operation)))
                    bits, soonest = _watched(flying)
            begin = place
            found.append([Flight(each.bits, each.cycles - now) for each in flying])
        return found

    def _wait(self, load: Instruction) -> int:
        """Half of what a load takes: it will go earlier, and some of it is in L2."""
        return price_of(load, self._chip, self._sharing).wait // 2


_NEVER = 1 << 62
_TIMES = 2
"""So that what the end of a loop loads is known at its start."""


def _watched(flying: Sequence[Flight]) -> tuple[int, int]:
    """All registers that are on their way, and when the first of them are there."""
    bits, soonest = 0, _NEVER
    for each in flying:
        bits |= each.bits
        soonest = min(soonest, each.cycles)
    return bits, soonest


def _left(flying: Sequence[Flight], touched: int, now: int) -> list[Flight]:
    """What is still on its way behind an operation."""
    return [each for each in flying if each.cycles > now and not each.bits & touched]


def _loads(operation: Operation) -> TypeGuard[Instruction]:
    """Whether an operation loads from memory to lanes."""
    loads = isinstance(operation, Instruction)
    return loads and form_of(operation.name).unit == "vmem"

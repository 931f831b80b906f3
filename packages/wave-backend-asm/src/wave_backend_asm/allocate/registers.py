"""Gives every value its registers.

Webs are placed one after the other at the lowest registers that nobody beside them has.
In the order of their first definition that is the least for values of one register;
for tuples, the widest first may be less, and where VGPRs do not suffice, what may live
nowhere else has to come before what may live in AGPRs. These are tried until one needs
no more than are live at once. There is no spilling: what does not fit is refused, with
who needs most.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from wave_backend_asm.allocate.budget import granted
from wave_backend_asm.allocate.files import Files, Place, Rows
from wave_backend_asm.allocate.least import Least
from wave_backend_asm.allocate.liveness import Flow
from wave_backend_asm.allocate.points import Points
from wave_backend_asm.allocate.pressure import NoRoomError, peak_of
from wave_backend_asm.allocate.ranges import Ranges
from wave_backend_asm.allocate.webs import Web, webs_of

if TYPE_CHECKING:
    from wave_backend_asm.allocate.budget import Budget
    from wave_backend_asm.code import Block, Operation, Value


@dataclass(frozen=True)
class Allocation:
    """Registers of all values.

    Attributes:
        places: by value.
        used: registers of each file, up to the last one that is used.
    """

    places: Mapping[Value, Place]
    used: Mapping[str, int]

    @property
    def vectors(self) -> int:
        """VGPRs and AGPRs, which begin behind a multiple of four VGPRs."""
        lanes, accumulators = (self.used.get(file, 0) for file in "va")
        return -(-lanes // 4) * 4 + accumulators if accumulators else lanes

    @property
    def total(self) -> int:
        """Registers of all files."""
        return sum(self.used.values())

    def idle(self, operation: Operation) -> bool:
        """Whether an operation copies registers to themselves."""
        if not operation.copies:
            return False
        result, operand = operation.defines[0], operation.uses[0]
        one, two = self.places[result.value], self.places[operand.value]
        start = one.first + result.first, two.first + operand.first
        return one.file == two.file and start[0] == start[1]


def allocate(
    blocks: Sequence[Block],
    budget: Budget,
    fixed: Mapping[Value, Place] | None = None,
    spread: Collection[Value] = (),
    most: int | None = None,
) -> Allocation:
    """Registers for the values of a program.

    Args:
        blocks: the program, the first block first.
        budget: registers of a wave.
        fixed: values whose registers are given, as those that a wave starts with.
        spread: values of lanes that may live in AGPRs, too.
        most: vector registers with which the result would be of use.

    Raises:
        NoRoomError: they do not fit, or need more than ``most`` wherever they are.
    """
    flow = Flow.of(blocks)
    ranges = Ranges.of(flow)
    count, given = len(ranges.operations), fixed or {}
    webs, peak = webs_of(flow, ranges.spans, given, spread), peak_of(ranges)
    free = [web for web in webs if web.values[0] not in given]
    still = [web for web in webs if web.values[0] in given]
    least = Least.of(free, count)
    if not least.within(budget) or (most is not None and least.vectors > most):
        vectors = replace(least, scalars=0).within(budget)
        of_scalars = vectors and least.scalars > budget.scalar
        raise NoRoomError(ranges, budget, of_scalars=of_scalars)
    points = Points(count)
    covers = {web: _rows(web, points) for web in webs}
    best: Allocation | None = None
    last: Allocation | Web | None = None
    tried: list[list[Web]] = []
    for order in _ORDERS:
        ordered = sorted(free, key=order)
        if ordered in tried:
            continue  # where all may live in the same files, and are as wide
        tried.append(ordered)
        below = best.total if best is not None else _ANY
        files = Files(budget, points, covers)
        found = _placed(still, ordered, files, given, below)
        best = found if isinstance(found, Allocation) else best
        last = found
        if best is not None and granted(best.vectors) <= granted(peak.vectors):
            break
    if best is None:
        of_scalars = isinstance(last, Web) and last.files == ("s",)
        raise NoRoomError(ranges, budget, of_scalars=of_scalars)
    return best


def _rows(web: Web, points: Points) -> list[Rows]:
    """Where the registers of a web live, those together that do so alike."""
    if not web.split:
        return [Rows(points.cover(web.spans[0]), web.width)]
    alike = [(span, len([*spans])) for span, spans in groupby(web.spans)]
    return [Rows(points.cover(span), count) for span, count in alike]


_ANY = 1 << 30
"""More registers than there are."""

_Order = Callable[[Web], tuple[int, ...]]

_ORDERS: tuple[_Order, ...] = (
    lambda web: (web.start,),
    lambda web: (-web.width, web.start),
    lambda web: (len(web.files), web.start),
    lambda web: (len(web.files), -web.width, web.start),
)


def _placed(
    still: Sequence[Web], free: Sequence[Web], files: Files,
    fixed: Mapping[Value, Place], below: int,
) -> Allocation | Web | None:  # fmt: skip
    """Webs placed one after the other, beside those that stay where they are.

    That which does not fit, where one does not; ``None`` where all need ``below``
    registers, or more.
    """
    places = {**fixed}
    for web in still:
        files.take(web, fixed[web.values[0]])
    for web in free:
        place = files.place(web)
        if place is None:
            return web
        if files.total >= below:
            return None
        places |= dict.fromkeys(web.values, place)
    return Allocation(places, files.used) if files.fits else None

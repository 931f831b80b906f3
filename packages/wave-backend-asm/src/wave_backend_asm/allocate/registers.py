"""Gives every value its registers.

Webs are placed one after the other at the lowest registers that nobody beside them has.
In the order of their first definition that is the least for values of one register;
for tuples, the widest first may be less, and where VGPRs do not suffice, what may live
nowhere else has to come before what may live in AGPRs. All are tried. There is no
spilling: what does not fit is refused, with who needs most.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_backend_asm.allocate.interference import Interference, coalesce
from wave_backend_asm.allocate.pressure import NoRoomError, peak_of
from wave_backend_asm.code import Block, Operation, Value

if TYPE_CHECKING:
    from wave_backend_asm.allocate.budget import Budget


@dataclass(frozen=True)
class Place:
    """The registers of a value: a file and the number of the first."""

    file: str
    first: int


@dataclass(frozen=True)
class Allocation:
    """Registers of all values.

    Attributes:
        places: by value.
        used: registers of each file, up to the last one that is used.
    """

    places: Mapping[Value, Place]
    used: Mapping[str, int]

    def idle(self, operation: Operation) -> bool:
        """Whether an operation copies registers to themselves."""
        if not operation.copies:
            return False
        result, operand = operation.defines[0], operation.uses[0]
        one, two = self.places[result.value], self.places[operand.value]
        start = one.first + result.first, two.first + operand.first
        return one.file == two.file and start[0] == start[1]


def allocate(
    blocks: Sequence[Block], budget: Budget, fixed: Mapping[Value, Place] | None = None
) -> Allocation:
    """Registers for the values of a program.

    Args:
        blocks: the program, the first block first.
        budget: registers of a wave.
        fixed: values whose registers are given, as those that a wave starts with.

    Raises:
        NoRoomError: they do not fit.
    """
    webs = Interference(blocks)
    coalesce(blocks, webs, fixed or {})
    tries = [_place(webs, order, budget, fixed or {}) for order in _ORDERS]
    fitting = [places for places in tries if places is not None]
    if not fitting:
        raise NoRoomError(peak_of(blocks), budget)
    found = [Allocation(_of_values(webs, p), _used(webs, p)) for p in fitting]
    return min(found, key=lambda each: sum(each.used.values()))


_Order = Callable[[Interference, Value], tuple[int, ...]]

_ORDERS: tuple[_Order, ...] = (
    lambda webs, web: (webs.start[web],),
    lambda webs, web: (-web.width, webs.start[web]),
    lambda webs, web: (-len(webs.near(web)), -web.width, webs.start[web]),
    lambda webs, web: (len(webs.files(web)), webs.start[web]),
    lambda webs, web: (len(webs.files(web)), -web.width, webs.start[web]),
)


def _place(
    webs: Interference, order: _Order, budget: Budget, fixed: Mapping[Value, Place]
) -> dict[Value, Place] | None:
    """Places by web; ``None`` where one does not fit."""
    places = {webs.web(value): place for value, place in fixed.items()}
    waiting = sorted(webs.webs.keys() - places.keys(), key=lambda w: order(webs, w))
    for web in waiting:
        found = _lowest(webs, web, budget, places)
        if found is None:
            return None
        places[web] = found
    used = _used(webs, places)
    total = -(-used.get("v", 0) // 4) * 4 + used["a"] if "a" in used else 0
    return None if total > budget.vector else places


def _lowest(
    webs: Interference, web: Value, budget: Budget, places: Mapping[Value, Place]
) -> Place | None:
    near = [(other, places[other]) for other in webs.near(web) if other in places]
    for file in webs.files(web):
        taken = 0
        for other, place in near:
            if place.file == file:
                taken |= ((1 << other.width) - 1) << place.first
        mask, align = (1 << web.width) - 1, webs.align(web)
        for first in range(0, budget.limit(file) - web.width + 1, align):
            if not taken >> first & mask:
                return Place(file, first)
    return None


def _of_values(webs: Interference, places: Mapping[Value, Place]) -> dict[Value, Place]:
    return {v: places[web] for web, values in webs.webs.items() for v in values}


def _used(webs: Interference, places: Mapping[Value, Place]) -> dict[str, int]:
    used: dict[str, int] = {}
    for web in webs.webs:
        place = places[web]
        used[place.file] = max(used.get(place.file, 0), place.first + web.width)
    return used

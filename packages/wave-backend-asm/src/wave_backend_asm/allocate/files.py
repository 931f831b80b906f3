"""The registers of a wave while values are placed in them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from wave_backend_asm.allocate.points import Held

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wave_backend_asm.allocate.budget import Budget
    from wave_backend_asm.allocate.points import Cover, Points
    from wave_backend_asm.allocate.webs import Web


_ALL: tuple[str, ...] = ("v", "a", "s")


class Rows(NamedTuple):
    """Consecutive registers that live at the same points.

    Attributes:
        cover: the points.
        width: how many they are.
    """

    cover: Cover
    width: int


class Place(NamedTuple):
    """The registers of a value: a file and the number of the first."""

    file: str
    first: int


class Files:
    """Which registers hold something at which points of the program."""

    def __init__(
        self, budget: Budget, points: Points, covers: Mapping[Web, Sequence[Rows]]
    ) -> None:
        """Nothing is held; ``covers`` stand for where the registers of webs live."""
        self._budget, self._covers = budget, covers
        self._held = {file: Held(points) for file in _ALL}
        self._used = dict.fromkeys(_ALL, 0)

    @property
    def used(self) -> dict[str, int]:
        """Registers of each file up to the last that is used, without unused files."""
        return {file: count for file, count in self._used.items() if count}

    @property
    def total(self) -> int:
        """Registers of all files up to the last that is used of each."""
        return sum(self._used.values())

    @property
    def fits(self) -> bool:
        """Whether VGPRs and AGPRs together are no more than a wave has."""
        return self._used["a"] <= self._budget.limit("a", self._used["v"])

    def place(self, web: Web) -> Place | None:
        """The lowest registers that are free wherever a web is live, now taken."""
        for file in web.files:
            first = self._lowest(file, web)
            if first is not None:
                place = Place(file, first)
                self.take(web, place)
                return place
        return None

    def take(self, web: Web, place: Place) -> None:
        """Hold registers for a web."""
        held, number = self._held[place.file], place.first
        for cover, count in self._covers[web]:
            held.hold(cover, ((1 << count) - 1) << number)
            number += count
        end = place.first + web.width
        self._used[place.file] = max(self._used[place.file], end)

    def _lowest(self, file: str, web: Web) -> int | None:
        """The first register of the lowest that are free."""
        free = _starts(self._budget.limit(file) - web.width + 1, web.align)
        number = 0
        for cover, count in self._covers[web]:
            held = self._held[file].during(cover)
            for each in range(number, number + count):
                free &= ~(held >> each)
            number += count
        return (free & -free).bit_length() - 1 if free else None


@cache
def _starts(end: int, align: int) -> int:
    """The numbers in front of an end at which a tuple may begin, as bits."""
    return sum(1 << number for number in range(0, end, align))

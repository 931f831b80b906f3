"""The registers of a wave while values are placed in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wave_backend_asm.allocate.budget import Budget
    from wave_backend_asm.allocate.webs import Web


_ALL: tuple[str, ...] = ("v", "a", "s")


@dataclass(frozen=True)
class Place:
    """The registers of a value: a file and the number of the first."""

    file: str
    first: int


class Files:
    """At which points of the program each register holds something."""

    def __init__(self, budget: Budget) -> None:
        """Nothing is held."""
        self._budget = budget
        self._held = {file: [0] * budget.limit(file) for file in _ALL}
        self._used = dict.fromkeys(_ALL, 0)

    @property
    def used(self) -> dict[str, int]:
        """Registers of each file up to the last that is used, without unused files."""
        return {file: count for file, count in self._used.items() if count}

    @property
    def fits(self) -> bool:
        """Whether VGPRs and AGPRs together are no more than a wave has."""
        return self._used["a"] <= self._budget.limit("a", self._used["v"])

    def place(self, web: Web) -> Place | None:
        """The lowest registers that are free wherever a web is live, now taken."""
        for file in web.files:
            first = _lowest(self._held[file], web)
            if first is not None:
                place = Place(file, first)
                self.take(web, place)
                return place
        return None

    def take(self, web: Web, place: Place) -> None:
        """Hold registers for a web."""
        held, end = self._held[place.file], place.first + web.width
        for number, span in enumerate(web.spans, place.first):
            held[number] |= span
        self._used[place.file] = max(self._used[place.file], end)


def _lowest(held: list[int], web: Web) -> int | None:
    """The first register of the lowest that are free."""
    spans, width, align = web.spans, web.width, web.align
    first, last = 0, len(held) - width
    while first <= last:
        for number in range(first + width - 1, first - 1, -1):
            if held[number] & spans[number - first]:
                first = number + align - number % align
                break
        else:
            return first
    return None

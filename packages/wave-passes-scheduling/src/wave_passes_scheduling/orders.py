"""Orders and least values under differences: what all schedulers here ask."""

from __future__ import annotations

from graphlib import TopologicalSorter
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

T = TypeVar("T")


def sorted_by(key: Mapping[T, Any], pairs: Iterable[tuple[T, T]]) -> list[T]:
    """The order that keeps all pairs, and takes the least key first.

    Args:
        key: One for each item, no two alike.
        pairs: Items of which the first has to stay before the second.

    Raises:
        CycleError: no order keeps them.
    """
    sorter = TopologicalSorter[T](dict.fromkeys(key, ()))
    for before, after in pairs:
        sorter.add(after, before)
    sorter.prepare()
    ready: list[tuple[Any, T]] = []
    found: list[T] = []
    while sorter.is_active():
        for item in sorter.get_ready():
            heappush(ready, (key[item], item))
        _, item = heappop(ready)
        found.append(item)
        sorter.done(item)
    return found


def raise_to(values: list[int], waits: Collection[tuple[int, int, int]]) -> bool:
    """Raise values as little as it takes for all of ``waits`` to hold.

    Of ``(before, after, wait)`` holds that ``values[after]`` is at least
    ``values[before] + wait``.

    Returns:
        Whether all of them hold now; they never do where waits add up in a circle.
    """
    for _ in range(len(values) + 1):
        settled = True
        for before, after, wait in waits:
            if values[before] + wait > values[after]:
                values[after] = values[before] + wait
                settled = False
        if settled:
            return True
    return False

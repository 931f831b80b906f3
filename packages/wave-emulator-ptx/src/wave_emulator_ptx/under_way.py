"""Asynchronous work that nobody has waited for, as much as there is room for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar

MOST_BYTES = 1 << 26
"""That the host keeps of one kind of work of a batch. Copies to shared memory that are
for different bytes of it have room, and all products between two waits."""
LEAST_BYTES = 1 << 11
"""For which each work counts, so that fewer than 2^15 are kept: how many read a place
in shared memory is counted in 16 bits."""


class Work(Protocol):
    """What is kept."""

    @property
    def kept_bytes(self) -> int:
        """Bytes of the host, more or less."""
        ...


T = TypeVar("T", bound=Work)


class UnderWay(Generic[T]):
    """Works in the order in which they began.

    They are over as late as the ISA permits, so that early uses are found. A loop that
    begins some and never waits would fill the host's memory: where there is no more
    room, the older half is over at once, as it may be at any time.

    Attributes:
        works: these.
    """

    def __init__(self) -> None:
        """Nothing has begun."""
        self.works: list[T] = []
        self._bytes = 0

    def begin(self, work: T) -> list[T]:
        """Keep a work; those that are over, to make room, and are kept no more."""
        self.works.append(work)
        self._bytes += _bytes(work)
        if self._bytes < MOST_BYTES:
            return []
        half = -(-len(self.works) // 2)
        over = self.works[:half]
        self.leave(self.works[half:])
        return over

    def take(self, number: int) -> T:
        """Keep one no more."""
        work = self.works.pop(number)
        self._bytes -= _bytes(work)
        return work

    def leave(self, works: Iterable[T]) -> None:
        """Keep these and no others."""
        self.works = list(works)
        self._bytes = sum(map(_bytes, self.works))


def _bytes(work: Work) -> int:
    return max(work.kept_bytes, LEAST_BYTES)

"""Shares a box out among all threads of a workgroup: fewest and widest accesses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.analysis.runs import contiguous_run
from wave_core.analysis.waves import thread_number
from wave_core.constraints.machine import REGISTER
from wave_core.ir import Access
from wave_core.symbols import Expr, constant, logical_and, lt, total

if TYPE_CHECKING:
    from collections.abc import Callable

    from wave_core.constraints.geometry import Geometry
    from wave_core.symbols import Facts
    from wave_passes_memory.copies.gathered import Source
    from wave_passes_memory.copies.prove import Box

    FactsFor = Callable[[int], Facts]

WORD_BITS = 32
"""Narrower accesses of one lane cost as much as one of this width."""

_FIRST = {REGISTER: constant(0)}


@dataclass(frozen=True)
class Piece:
    """One access of every thread.

    Attributes:
        index: The logical index, by dimension of the buffer.
        load: Of global memory.
        store: Of the buffer, without the condition that the element exists.
        exists: Where the elements exist; ``None`` is everywhere.
    """

    index: tuple[Expr, ...]
    load: Access
    store: Access
    exists: Expr | None


@dataclass(frozen=True)
class Sharing:
    """How a box is shared out.

    Attributes:
        width: Elements that a thread moves at once.
        count: Accesses of a thread.
        threads: Threads of the workgroup.
    """

    width: int
    count: int
    threads: int


class Sharer:
    """Shares one box out."""

    def __init__(
        self,
        box: Box,
        geometry: Geometry,
        source: Source,
        facts: FactsFor,
        shape: tuple[Expr, ...],
    ) -> None:
        """``shape`` is the memory's, in storage."""
        self._box = box
        self._source = source
        self._facts = facts
        self._shape = shape
        self._threads = geometry.waves_per_workgroup * geometry.lanes
        self._thread = thread_number(geometry)

    def choose(self, bits: int, widest_bits: int) -> Sharing:
        """The fewest accesses, then all threads busy, then the widest.

        ``bits`` is the width of an element.
        """
        width = 1
        while width * 2 * bits <= widest_bits:
            width *= 2
        while width > 1 and not self._fits(width):
            width //= 2
        count = self._count(width)
        while (
            width > 1
            and width * bits > WORD_BITS
            and self._chunks(width) % self._threads
            and self._count(width // 2) == count
        ):
            width //= 2
        return Sharing(width, count, self._threads)

    def pieces(self, sharing: Sharing) -> list[Piece]:
        """The accesses of each thread."""
        return [self._piece(sharing, number) for number in range(sharing.count)]

    def _chunks(self, width: int) -> int:
        return self._box.elements // width

    def _count(self, width: int) -> int:
        return -(-self._chunks(width) // self._threads)

    def _fits(self, width: int) -> bool:
        """Whether ``width`` elements lie side by side, aligned, and exist together."""
        box = self._box
        if box.extents[-1] % width or not box.ends_between(width, self._facts(width)):
            return False
        load = self._piece(Sharing(width, 1, self._threads), 0).load
        first = flat_offset(load.coordinates, self._shape).subs(_FIRST)
        return (
            contiguous_run(load) >= width and self._facts(1).divisor(first) % width == 0
        )

    def _piece(self, sharing: Sharing, number: int) -> Piece:
        facts, width = self._facts(sharing.width), sharing.width
        chunk = self._thread + number * sharing.threads
        local = [facts.simplify(place) for place in self._local(chunk, width)]
        store = [s + x for s, x in zip(self._box.shared, local, strict=True)]
        index = [b + c for b, c in zip(self._box.base, store, strict=True)]
        named = dict(zip(self._box.dims, index, strict=True))
        load = [facts.simplify(c) for c in self._source.addresses(named)]
        exists = self._exists(tuple(index), facts)
        tail = self._tail(chunk, width, facts)
        first = {dim: place.subs(_FIRST) for dim, place in named.items()}
        bounds = map(facts.simplify, self._source.bounds(first))
        return Piece(
            tuple(index),
            Access(tuple(load), width, _all(exists, *bounds, tail)),
            Access(tuple(store), width, tail),
            exists,
        )

    def _local(self, chunk: Expr, width: int) -> list[Expr]:
        """The first element of a chunk in the box, the last dimension fastest."""
        *outer, inner = self._box.extents
        row = inner // width
        found = [chunk % row * width + (REGISTER if width > 1 else constant(0))]
        rest = chunk // row
        for position, extent in enumerate(reversed(outer), 1):
            last = position == len(outer)
            found.append(rest if last else rest % extent)
            rest = rest // extent
        return found[::-1]

    def _exists(self, index: tuple[Expr, ...], facts: Facts) -> Expr | None:
        """The condition at the first element of a chunk: it holds for all of them."""
        conditions = self._box.exists(tuple(place.subs(_FIRST) for place in index))
        if not conditions:
            return None
        # What is known of a size that the launch decides never holds for a part alone.
        return logical_and(
            *(
                facts.simplify(condition) if limit.is_constant else condition
                for condition, limit in zip(conditions, self._box.ends, strict=True)
            )
        )

    def _tail(self, chunk: Expr, width: int, facts: Facts) -> Expr | None:
        """The threads that still have something to copy; ``None`` is all."""
        return unless_proved(lt(chunk, self._chunks(width)), facts)


def unless_proved(condition: Expr, facts: Facts) -> Expr | None:
    """A condition in simple form; ``None`` where it always holds."""
    return None if facts.prove(condition) else facts.simplify(condition)


def flat_offset(coordinates: tuple[Expr, ...], shape: tuple[Expr, ...]) -> Expr:
    """The position of an element of a memory, in elements."""
    stride = constant(1)
    parts: list[Expr] = []
    for place, extent in reversed(list(zip(coordinates, shape, strict=True))):
        parts.append(place * stride)
        stride = stride * extent
    return total(parts)


def _all(*conditions: Expr | None) -> Expr | None:
    """All conditions that there are; ``None`` without any."""
    present = [c for c in conditions if c is not None]
    return logical_and(*present) if present else None

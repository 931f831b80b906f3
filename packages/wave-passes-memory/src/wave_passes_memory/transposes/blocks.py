"""Shares a box out in blocks, some rows of some elements, and copies it by them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from wave_core.analysis.runs import contiguous_run
from wave_core.analysis.waves import thread_number
from wave_core.constraints.machine import REGISTER
from wave_core.ir import PLACEMENT, Access, Placement, erase, insert_before
from wave_core.ops.shape import Assemble
from wave_core.symbols import constant, logical_and, lt
from wave_passes_memory.copies.loads import load, store
from wave_passes_memory.copies.rows import Rows
from wave_passes_memory.copies.share import unless_proved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_core.analysis.region_facts import RegionFacts
    from wave_core.constraints.geometry import Geometry
    from wave_core.symbols import Expr
    from wave_passes_memory.copies.find import Copy
    from wave_passes_memory.copies.gathered import Source
    from wave_passes_memory.copies.prove import Box
    from wave_passes_memory.copies.share import FactsFor

WORD_BITS = 32
"""Writes of less take as long as writes of this."""

LINE_BYTES = 64
"""Bytes that neighbouring lanes read together. Source: AMD CDNA3 ISA, vector memory:
a quarter of a wave, 4 bytes a lane."""

CHUNK_BYTES = 16
"""Bytes of a row in LDS that neighbouring lanes write together: the widest access."""


@dataclass(frozen=True)
class Shape:
    """The elements that a thread moves.

    Attributes:
        width: Elements of a row that it loads at once.
        rows: Rows of a block: elements that it writes at once.
        count: Blocks of a thread.
    """

    width: int
    rows: int
    count: int


@dataclass(frozen=True)
class Part:
    """One load or one write of a block: the logical index, and the access."""

    index: dict[str, Expr]
    access: Access


@dataclass(frozen=True)
class Block:
    """The loads of a block, one for each row, and its writes, one for each column."""

    loads: list[Part]
    writes: list[Part]


class Blocks:
    """Shares one box out.

    Args:
        box: What is copied.
        across: The position of the dimension that becomes the contiguous one.
        geometry: How many threads there are.
        source: Where in memory the element of a logical index is.
        facts: What holds for vectors of so many registers.
        bits: The width of an element.
    """

    def __init__(
        self,
        box: Box,
        across: int,
        geometry: Geometry,
        source: Source,
        facts: FactsFor,
        bits: int,
    ) -> None:
        self._box = box
        self._across = across
        self._source = source
        self._facts = facts
        self._bits = bits
        self._threads = geometry.waves_per_workgroup * geometry.lanes
        self._thread = thread_number(geometry)

    def choose(self, widest_bits: int, *, idle: bool) -> Shape | None:
        """Writes of whole words by all threads, then the widest loads.

        Of those the fewest loads, then the fewest writes. With ``idle`` half of the
        threads may have nothing to do.
        """
        most = max(1, widest_bits // self._bits)
        shapes = [
            self._shape(width, rows)
            for width in _powers(most, self._box.extents[-1])
            if self._fits(width)
            for rows in _powers(most, self._box.extents[self._across])
            if rows > 1
        ]
        return min(shapes, key=lambda s: self._cost(s, idle=idle), default=None)

    def blocks(self, shape: Shape) -> Iterator[Block]:
        """The blocks of each thread."""
        for number in range(shape.count):
            yield self._block(shape, number)

    def order(self) -> tuple[int, ...]:
        """The dimensions as the buffer is stored once it is transposed."""
        rest = [d for d in range(len(self._box.dims)) if d != self._across]
        return (*rest, self._across)

    def _shape(self, width: int, rows: int) -> Shape:
        blocks = self._box.elements // (width * rows)
        return Shape(width, rows, -(-blocks // self._threads))

    def _cost(self, shape: Shape, *, idle: bool) -> tuple[int, ...]:
        narrow = shape.rows * self._bits < WORD_BITS
        busy = self._box.elements // (shape.width * shape.rows)
        few, some = 2 * busy < self._threads, busy < self._threads
        loads, writes = shape.count * shape.rows, shape.count * shape.width
        return narrow, few, some and not idle, -shape.width, some, loads, writes

    def _fits(self, width: int) -> bool:
        """Whether ``width`` elements of a row lie side by side and exist together."""
        if not self._box.ends_between(width, self._facts(width)):
            return False
        shape = Shape(width, 1, 1)
        load = self._load(self._start(self._thread, shape), 0, shape, None)
        return contiguous_run(load.access) >= width

    def _block(self, shape: Shape, number: int) -> Block:
        chunk = self._thread + number * self._threads
        start = self._start(chunk, shape)
        tail = self._tail(chunk, shape)
        loads = [self._load(start, r, shape, tail) for r in range(shape.rows)]
        writes = [self._write(start, j, shape, tail) for j in range(shape.width)]
        return Block(loads, writes)

    def _start(self, chunk: Expr, shape: Shape) -> list[Expr]:
        """The first element of a block in the box.

        Lanes go along a row for a line, then down for a chunk of LDS, then along
        the row to its end, then down, then through the other dimensions.
        """
        last, down = len(self._box.dims) - 1, self._across
        extents = list(self._box.extents)
        extents[last] //= shape.width
        extents[down] //= shape.rows
        size = self._bits // 8
        along = _power_within(LINE_BYTES // (shape.width * size), extents[last])
        below = _power_within(CHUNK_BYTES // (shape.rows * size), extents[down])
        steps = [(last, along), (down, below)]
        steps += [(last, extents[last] // along), (down, extents[down] // below)]
        outer = [d for d in range(last) if d != down]
        steps += [(d, extents[d]) for d in reversed(outer)]
        unit = {last: shape.width, down: shape.rows}
        found = [constant(0)] * len(extents)
        for place, (dim, count) in enumerate(steps):
            ends = prod(n for _, n in steps[place + 1 :]) == 1
            found[dim] = found[dim] + (chunk if ends else chunk % count) * unit.get(
                dim, 1
            )
            unit[dim] = unit.get(dim, 1) * count
            chunk = constant(0) if ends else chunk // count
        return found

    def _tail(self, chunk: Expr, shape: Shape) -> Expr | None:
        """The threads that still have a block; ``None`` is all."""
        blocks = self._box.elements // (shape.width * shape.rows)
        return unless_proved(lt(chunk, blocks), self._facts(1))

    def _load(
        self, start: list[Expr], row: int, shape: Shape, tail: Expr | None
    ) -> Part:
        facts, box = self._facts(shape.width), self._box
        local = self._moved(start, row, _ordinal(shape.width))
        index = [b + s + x for b, s, x in zip(box.base, box.shared, local, strict=True)]
        index = [facts.simplify(place) for place in index]
        named = dict(zip(box.dims, index, strict=True))
        places = tuple(facts.simplify(c) for c in self._source.addresses(named))
        first = tuple(place.subs({REGISTER: constant(0)}) for place in index)
        bounds = self._source.bounds(dict(zip(box.dims, first, strict=True)))
        conditions = [*box.exists(first), *bounds, *([] if tail is None else [tail])]
        mask = facts.simplify(logical_and(*conditions)) if conditions else None
        return Part(named, Access(places, shape.width, mask))

    def _write(
        self, start: list[Expr], column: int, shape: Shape, tail: Expr | None
    ) -> Part:
        facts, box = self._facts(shape.rows), self._box
        local = self._moved(start, _ordinal(shape.rows), column)
        places = [s + x for s, x in zip(box.shared, local, strict=True)]
        places = [facts.simplify(place) for place in places]
        index = [b + p for b, p in zip(box.base, places, strict=True)]
        stored = tuple(places[d] for d in self.order())
        named = dict(zip(box.dims, index, strict=True))
        return Part(named, Access(stored, shape.rows, tail))

    def _moved(
        self, start: list[Expr], down: Expr | int, along: Expr | int
    ) -> list[Expr]:
        found = list(start)
        found[self._across] = found[self._across] + down
        found[-1] = found[-1] + along
        return found


def _ordinal(count: int) -> Expr:
    return REGISTER if count > 1 else constant(0)


def _powers(most: int, extent: int) -> list[int]:
    """Powers of two that divide ``extent``, up to ``most``."""
    found = [1]
    while found[-1] * 2 <= most and extent % (found[-1] * 2) == 0:
        found.append(found[-1] * 2)
    return found


def _power_within(most: int, extent: int) -> int:
    return _powers(max(1, most), extent)[-1]


def emit_blocks(copy: Copy, blocks: list[Block], known: RegionFacts) -> None:
    """All loads where the copy begins, then all writes where it ends."""
    rows, (front, _), (_, last) = (
        Rows(known.geometry.lanes),
        copy.pairs[0],
        copy.pairs[-1],
    )

    def placement(part: Part) -> Placement:
        return rows.placement(part.index, part.access.registers)

    loaded = [
        [load(copy, part.access, placement(part), front) for part in block.loads]
        for block in blocks
    ]
    for block, values in zip(blocks, loaded, strict=True):
        for column, part in enumerate(block.writes):
            picks = tuple((row, column) for row in range(len(values)))
            value = Assemble(tuple(values), picks, copy.buffer.memory_type.shape)
            insert_before(last, value)
            copy.region.graph.facts.put(PLACEMENT, value, placement(part))
            store(copy, value, part.access)
    for read, write in copy.pairs:
        erase(write)
        erase(read)

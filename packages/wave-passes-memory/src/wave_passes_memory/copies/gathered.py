"""Copies whose addresses come from index registers, read anew for each thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.constraints.machine import REGISTER
from wave_core.ir import (
    ACCESS,
    PLACEMENT,
    Access,
    capture,
    captured_value,
    erase,
    insert_before,
    region_of,
    resolve,
)
from wave_core.ir.rewrite import set_captures
from wave_core.ops.control import Conditional, Iterate, While
from wave_core.ops.memory import Read
from wave_core.ops.structure import Argument
from wave_core.symbols import conjuncts, constant, eq, logical_and, lt
from wave_core.types import iterator_symbol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wave_core.analysis.region_facts import RegionFacts
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr, Facts
    from wave_passes_memory.copies.find import Copy
    from wave_passes_memory.copies.prove import Box
    from wave_passes_memory.copies.rows import Rows
    from wave_passes_memory.copies.share import Piece

    Index = Mapping[str, Expr]


def plain_source(value: Op) -> Read | None:
    """The read that an index register is, if it has no index registers of its own."""
    read = resolve(value)
    if not isinstance(read, Read) or read.indices:
        return None
    if read.is_volatile or has_bounds(read):
        return None
    return read if isinstance(resolve(read.memory), Argument) else None


def has_bounds(read: Read) -> bool:
    """Whether elements within the memory's extents may not exist."""
    return read.mapping is not None and read.mapping.exists is not None


def bounded_along(read: Read, dim: str) -> bool:
    """Whether it depends on the index along ``dim`` if an element is within bounds."""
    mapping = read.mapping
    if mapping is None or mapping.exists is None or dim not in mapping.register_dims:
        return False
    place = iterator_symbol(mapping.register_dims.index(dim))
    return place in mapping.exists.free_symbols


@dataclass(frozen=True)
class Source:
    """Where a read finds the element of a logical index.

    Attributes:
        read: One of the reads of a copy, which all address their memory alike.
        known: What is known of the kernel.
    """

    read: Read
    known: RegionFacts

    def addresses(self, index: Index) -> tuple[Expr, ...]:
        """The coordinates, as the read maps the index."""
        mapping = self.read.mapping
        if mapping is None:
            return tuple(index[dim] for dim in self.read.memory.memory_type.dims)
        return tuple(self.known.geometry.bind(c) for c in mapping.apply(index))

    def bounds(self, index: Index) -> list[Expr]:
        """The conditions under which the author says that there is an element."""
        mapping = self.read.mapping
        condition = None if mapping is None else mapping.condition(index)
        if condition is None:
            return []
        return list(conjuncts(self.known.geometry.bind(condition)))


def same_places(
    found: tuple[Expr, ...], wanted: tuple[Expr, ...], facts: Facts
) -> bool:
    """Whether coordinates are proved to be the ones that are wanted."""
    pairs = zip(found, wanted, strict=True)
    return all(one is other or facts.prove(eq(one, other)) for one, other in pairs)


def follows(
    read: Read, index: Index, inner: str, facts: Facts, known: RegionFacts
) -> bool:
    """Whether each element of ``read`` takes the index registers of its own place.

    ``index`` is the logical index of the element at each lane and register. The index
    registers are the same along ``inner``, and hold one element a lane.
    """
    for value in read.indices:
        source = plain_source(value)
        if source is None or not _is_at(source, index, inner, facts, known):
            return False
    return True


def _is_at(
    source: Read, index: Index, inner: str, facts: Facts, known: RegionFacts
) -> bool:
    graph = region_of(source).graph
    row, access = graph.facts.get(PLACEMENT, source), graph.facts.get(ACCESS, source)
    if row is None or access is None or access.registers != 1:
        return False
    dims = [dim for dim, _ in row.origin]
    if inner in dims or any(dim not in index for dim in dims):
        return False
    # The same in all registers, or elements of one access would need several.
    at = {dim: index[dim] for dim in dims}
    if any(REGISTER in place.free_symbols for place in at.values()):
        return False
    return same_places(access.coordinates, Source(source, known).addresses(at), facts)


class Gathers:
    """Reads the index registers of a copy for other elements than it did."""

    def __init__(self, copy: Copy, box: Box, known: RegionFacts, rows: Rows) -> None:
        self._box = box
        self._known = known
        self._rows = rows
        self._front = copy.pairs[0][0]
        self._memo: dict[tuple[int, tuple[Expr, ...], Expr | None], Read] = {}

    def indices(self, piece: Piece, before: Op) -> tuple[Op, ...]:
        """The index registers of a piece, for a read that stands before an op."""
        index = dict(zip(self._box.dims, piece.index, strict=True))
        region = region_of(before)
        return tuple(
            capture(region, self._read(value, index, piece.store.mask))
            for value in self._front.indices
        )

    def _read(self, value: Op, index: Index, tail: Expr | None) -> Read:
        source = plain_source(value)
        assert source is not None, "the proof has looked at it"
        facts = region_of(source).graph.facts
        row = facts.known(PLACEMENT, source)
        at = {dim: index[dim].subs({REGISTER: constant(0)}) for dim, _ in row.origin}
        key = source.ident, tuple(at.values()), tail
        if key not in self._memo:
            new = Read(
                source.memory, (), source.mapping, source.shape, flags=source.flags
            )
            new.tags = source.tags
            insert_before(source, new)
            mask = self._mask(at, tail)
            facts.put(
                ACCESS, new, Access(Source(source, self._known).addresses(at), 1, mask)
            )
            facts.put(PLACEMENT, new, self._rows.placement(at, 1))
            self._memo[key] = new
        return self._memo[key]

    def _mask(self, at: Index, tail: Expr | None) -> Expr | None:
        """Where elements with this part of their index exist."""
        ends = zip(self._box.dims, self._box.limits, strict=True)
        found = [lt(at[d], end) for d, end in ends if end is not None and d in at]
        if tail is not None:
            found.append(tail)
        return logical_and(*found) if found else None


def drop_unused(values: Iterable[Op]) -> None:
    """Erase reads that nothing uses any more, with what captures them."""
    for value in values:
        if value.owner is None or value.users:
            continue
        if isinstance(value, Argument):
            drop_unused([_uncaptured(value)])
        elif isinstance(value, Read):
            erase(value)


def _uncaptured(argument: Argument) -> Op:
    """The value that an argument captured, which it does no more."""
    region = region_of(argument)
    parent = region.parent
    assert isinstance(parent, Iterate | While | Conditional), "these ops capture"
    value = captured_value(parent, argument)
    region.remove_argument(region.arguments.index(argument))
    kept = tuple(each for each in parent.captures if each is not value)
    set_captures(parent, kept)
    return value

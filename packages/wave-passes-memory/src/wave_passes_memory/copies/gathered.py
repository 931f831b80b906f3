"""Copies whose addresses come from index registers, read anew for each thread."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from wave_core.constraints.machine import REGISTER
from wave_core.ir import (
    ACCESS,
    PLACEMENT,
    Access,
    Placement,
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
from wave_passes_memory.copies.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from wave_core.analysis.region_facts import RegionFacts
    from wave_core.ops.base import Op
    from wave_core.ops.memory import Write
    from wave_core.symbols import Expr, Facts
    from wave_passes_memory.copies.find import Copy
    from wave_passes_memory.copies.prove import Box

    Index = Mapping[str, Expr]


def plain_source(value: Op) -> Read | None:
    """The read that an index register is, if it has no index registers of its own."""
    read = resolve(value)
    if not isinstance(read, Read) or read.indices:
        return None
    if read.is_volatile:
        return None
    return read if isinstance(resolve(read.memory), Argument) else None


def index_reads(pairs: Sequence[tuple[Read, Write]]) -> set[Op]:
    """The index registers of a copy that are read in its region."""
    values = {resolve(value) for read, _ in pairs for value in read.indices}
    return {value for value in values if value.owner is pairs[0][0].owner}


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
    return all(map(partial(_same, facts), found, wanted))


def _same(facts: Facts, one: Expr, other: Expr) -> bool:
    """Nearly all differences are 0 as soon as they are simple, and need no proof."""
    if one is other or facts.simplify(one - other) is constant(0):
        return True
    return facts.prove(eq(one, other))


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
    """Reads the index registers of copies for other elements than they did.

    Copies that take the same from one table share what is read of it.
    """

    def __init__(self, known: RegionFacts) -> None:
        self._known = known
        self._rows = Rows(known.geometry.lanes)
        self._memo: dict[tuple[int, tuple[Expr, ...], Expr | None], Read] = {}

    def indices(
        self,
        copy: Copy,
        box: Box,
        places: tuple[Expr, ...],
        tail: Expr | None,
        before: Op,
    ) -> tuple[Op, ...]:
        """The index registers of what a copy has before an op.

        ``places`` is the logical index of what each lane accesses there, ``tail``
        where it accesses something.
        """
        index = dict(zip(box.dims, places, strict=True))
        limits = dict(zip(box.dims, box.limits, strict=True))
        facts = self._known.facts(copy.region)
        region = region_of(before)
        found: list[Op] = []
        for value in copy.pairs[0][0].indices:
            source = plain_source(value)
            assert source is not None, "the proof has looked at it"
            dims = [dim for dim, _ in self._placement(source).origin]
            at = {dim: index[dim].subs({REGISTER: constant(0)}) for dim in dims}
            ends = {dim: limits[dim] for dim in dims}
            mask = self._mask(source, at, ends, tail, facts)
            found.append(capture(region, self._read(source, at, mask)))
        return tuple(found)

    def _read(self, source: Read, at: Index, mask: Expr | None) -> Read:
        key = source.ident, tuple(at.values()), mask
        if key not in self._memo:
            facts = region_of(source).graph.facts
            new = Read(
                source.memory, (), source.mapping, source.shape, flags=source.flags
            )
            new.tags = source.tags
            insert_before(source, new)
            places = Source(source, self._known).addresses(at)
            facts.put(ACCESS, new, Access(places, 1, mask))
            facts.put(PLACEMENT, new, self._rows.placement(at, 1))
            self._memo[key] = new
        return self._memo[key]

    def _mask(
        self,
        source: Read,
        at: Index,
        ends: Mapping[str, Expr | None],
        tail: Expr | None,
        facts: Facts,
    ) -> Expr | None:
        """Where elements with this part of their index exist."""
        found = [lt(at[dim], end) for dim, end in ends.items() if end is not None]
        found += Source(source, self._known).bounds(at)
        if tail is not None:
            found.append(tail)
        left = [each for each in found if not facts.prove(each)]
        return logical_and(*left) if left else None

    def _placement(self, source: Read) -> Placement:
        return region_of(source).graph.facts.known(PLACEMENT, source)


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

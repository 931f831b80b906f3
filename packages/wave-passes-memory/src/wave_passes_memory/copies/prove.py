"""Proves what a copy does, and which reads of its buffer need no condition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from wave_core.analysis.effects import touches
from wave_core.constraints.machine import LANE, REGISTER
from wave_core.ir import ACCESS, PLACEMENT, Access, Region, region_of
from wave_core.ops.memory import Read
from wave_core.symbols import Kind, conjuncts, constant, ge, le, logical_and, lt
from wave_core.types import RegisterType
from wave_passes_memory.copies.gathered import (
    Source,
    bounded_along,
    follows,
    same_places,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wave_core.analysis.region_facts import RegionFacts
    from wave_core.ops.base import Op
    from wave_core.ops.memory import Write
    from wave_core.symbols import Expr, Facts
    from wave_passes_memory.copies.find import Copy
    from wave_passes_memory.copies.lane_points import Array, LanePoints


@dataclass(frozen=True)
class Box:
    """A box of memory that a copy is proved to move.

    Element ``x`` of the box lies in the buffer at ``shared + x``. It is the element
    of the memory whose index is ``base + shared + x``, or 0 where that does not
    exist. What exists and is out of the bounds that the author gave is 0 as well.

    Attributes:
        dims: The buffer's dimensions, in order.
        extents: Elements of the box along each.
        shared: What all points add to a coordinate of the buffer.
        base: What more an index of the memory has.
        limits: For each dimension along which elements may not exist, the first
            index that does not.
        fills: Whether the copy writes zeros for elements that do not exist.
        skips: Whether it leaves them unwritten.
    """

    dims: tuple[str, ...]
    extents: tuple[int, ...]
    shared: tuple[Expr, ...]
    base: tuple[Expr, ...]
    limits: tuple[Expr | None, ...]
    fills: bool = True
    skips: bool = True

    @property
    def elements(self) -> int:
        """How many elements are copied."""
        return prod(self.extents)

    @property
    def ends(self) -> list[Expr]:
        """The limits that an element must lie below to exist."""
        return [limit for limit in self.limits if limit is not None]

    def ends_between(self, width: int, facts: Facts) -> bool:
        """Whether rows end between runs of ``width`` elements from the first on."""
        limit = self.limits[-1]
        start = self.base[-1] + self.shared[-1]
        return limit is None or facts.prove_divisible(limit - start, width)

    def exists(self, index: tuple[Expr, ...]) -> list[Expr]:
        """The conditions under which the element at ``index`` exists."""
        return [
            lt(place, limit)
            for place, limit in zip(index, self.limits, strict=True)
            if limit is not None
        ]


def prove(copy: Copy, points: LanePoints, known: RegionFacts) -> Box | None:
    """The box that the copy moves; ``None`` where it is not proved to be one."""
    return _Proof(copy, points, known).box()


def index_of(op: Read) -> dict[str, Expr] | None:
    """The logical index of each element of a read, by dimension."""
    row = region_of(op).graph.facts.get(PLACEMENT, op)
    if row is None or not isinstance(op.type, RegisterType):
        return None
    found: dict[str, Expr] = {}
    for dim in op.type.dims:
        origin = row.origin_of(dim)
        if origin is None:
            return None
        within = constant(0)
        if dim in row.layout.dims:
            within = row.layout.expr(dim, LANE, REGISTER)
        found[dim] = origin + within
    return found


class _Proof:
    """The steps of one proof."""

    def __init__(self, copy: Copy, points: LanePoints, known: RegionFacts) -> None:
        self._copy = copy
        self._points = points
        self._known = known
        kind = copy.buffer.memory_type
        self._dims = kind.dims
        self._storage = [e.constant_value for e in kind.storage_shape if e.is_constant]
        self._facts = copy.region.graph.facts

    def box(self) -> Box | None:
        """The box, if all steps succeed."""
        if len(self._storage) != len(self._dims):
            return None
        if bounded_along(self._copy.pairs[0][0], self._dims[-1]):
            return None  # Neighbours would not exist together.
        rows = [self._row(read, write) for read, write in self._copy.pairs]
        places = {row.place for row in rows if row is not None}
        if None in rows or len(places) != 1:
            return None
        known = [row for row in rows if row is not None]
        extents = self._covered(known)
        if extents is None:
            return None
        shared, base = known[0].place
        limits = self._limits(shared, base, extents)
        if limits is None:
            return None
        box = Box(self._dims, extents, shared, base, limits)
        return self._with_conditions(box, known)

    def _row(self, read: Read, write: Write) -> _Row | None:
        """Where one pair moves its elements, and under which conditions."""
        source = self._facts.get(ACCESS, read)
        target = self._facts.get(ACCESS, write)
        index = index_of(read)
        if source is None or target is None or index is None:
            return None
        if set(index) != set(self._dims) or source.registers != target.registers:
            return None
        facts = self._known.facts(self._copy.region, source.registers)
        own = Source(read, self._known)
        if not same_places(source.coordinates, own.addresses(index), facts):
            return None
        if not follows(read, index, self._dims[-1], facts, self._known):
            return None
        halves = [self._points.split(c) for c in target.coordinates]
        if None in halves:
            return None
        known = [half for half in halves if half is not None]
        base = tuple(
            self._uniform(index[dim] - place, facts)
            for dim, place in zip(self._dims, target.coordinates, strict=True)
        )
        if None in base:
            return None
        place = (tuple(h[0] for h in known), tuple(b for b in base if b is not None))
        parts = tuple(h[1] for h in known)
        return _Row(source, target, place, parts, facts, tuple(own.bounds(index)))

    def _uniform(self, value: Expr, facts: Facts) -> Expr | None:
        """``value`` in a form that no point changes."""
        for form in (value, facts.simplify(value)):
            if form.free_symbols.isdisjoint(self._points.symbols):
                return form
        return None

    def _covered(self, rows: list[_Row]) -> tuple[int, ...] | None:
        """The extents of the box, if the writes fill one from its first element on."""
        covered = np.zeros(self._storage, dtype=np.bool_)
        for row in rows:
            chosen = row.chosen(self._points)
            if chosen is None:
                return None
            places = [
                self._points.values(own, row.target.registers)[chosen]
                for own in row.own
            ]
            for place, extent in zip(places, self._storage, strict=True):
                if place.size and (place.min() < 0 or place.max() >= extent):
                    return None
            covered[tuple(places)] = True
        filled = np.argwhere(covered)
        if not filled.size:
            return None
        extents = tuple(int(n) + 1 for n in filled.max(axis=0))
        whole = covered[tuple(slice(0, n) for n in extents)].all()
        return extents if bool(whole) else None

    def _limits(
        self,
        shared: tuple[Expr, ...],
        base: tuple[Expr, ...],
        extents: tuple[int, ...],
    ) -> tuple[Expr | None, ...] | None:
        """The limit of each dimension that the box is not proved to keep within."""
        region: Region = self._copy.region
        facts = self._known.facts(region)
        found: list[Expr | None] = []
        for dim, start, more, extent in zip(
            self._dims, shared, base, extents, strict=True
        ):
            limit = self._known.limit(dim, region)
            inside = facts.prove(le(start + more + extent, limit))
            if not inside and not limit.free_symbols.isdisjoint(self._points.symbols):
                return None
            found.append(None if inside else limit)
        return tuple(found)

    def _with_conditions(self, box: Box, rows: list[_Row]) -> Box | None:
        """The box, if all pairs move elements just where it says that they exist."""
        fills = skips = True
        for row in rows:
            index = [
                more + place
                for more, place in zip(box.base, row.target.coordinates, strict=True)
            ]
            found = self._conditions(box.exists(tuple(index)), row)
            if found is None:
                found = self._conditions(_exist_together(box, index, row), row)
            if found is None:
                return None
            fills, skips = fills and found[0], skips and found[1]
        return replace(box, fills=fills, skips=skips)

    def _conditions(self, wanted: list[Expr], row: _Row) -> tuple[bool, bool] | None:
        """Whether a pair writes elements that do not exist, and whether it need not.

        ``None`` where it does not move just those elements that are ``wanted``.
        """
        decided, read = self._points.conditions(row.source.mask)
        mine, written = self._points.conditions(row.target.mask)
        facts, alone = row.facts, [*decided, *mine]
        if not equivalent(read, [*wanted, *row.bounds], facts, alone):
            return None
        if not implied(wanted, written, facts, alone):
            return None
        return not written, implied(written, wanted, facts, alone)


def _exist_together(box: Box, index: list[Expr], row: _Row) -> list[Expr]:
    """Where elements exist, decided by the first of each run that a limit spares."""
    count, found = row.source.registers, list(index)
    for axis, (place, limit) in enumerate(zip(index, box.limits, strict=True)):
        first = place.subs({REGISTER: constant(0)})
        if limit is None or place - first is not REGISTER:
            continue
        if all(row.facts.prove_divisible(e, count) for e in (first, limit)):
            found[axis] = first
    return box.exists(tuple(found))


@dataclass(frozen=True)
class _Row:
    """One pair: accesses, the shared parts of coordinate and index, the own part.

    ``bounds`` are the conditions that the author gave for its elements.
    """

    source: Access
    target: Access
    place: tuple[tuple[Expr, ...], tuple[Expr, ...]]
    own: tuple[Expr, ...]
    facts: Facts
    bounds: tuple[Expr, ...]

    def chosen(self, points: LanePoints) -> Array | None:
        """The points that write; ``None`` where some of them write no element."""
        registers = self.target.registers
        writes = self._where(points, points.conditions(self.target.mask)[0], registers)
        reads = self._where(points, points.conditions(self.source.mask)[0], registers)
        return writes if bool((reads | ~writes).all()) else None

    def _where(
        self, points: LanePoints, conditions: list[Expr], registers: int
    ) -> Array:
        return points.values(logical_and(*conditions), registers) != 0


def alike(one: list[Expr], other: list[Expr], facts: Facts) -> bool:
    """Whether two sets of conditions are the same but for the form of what they say."""
    return set(one) == set(other) or _normal(one, facts) == _normal(other, facts)


def equivalent(
    one: list[Expr], other: list[Expr], facts: Facts, alone: list[Expr] | None = None
) -> bool:
    """Whether two sets of conditions are proved to hold together."""
    return implied(one, other, facts, alone) and implied(other, one, facts, alone)


def implied(
    given: list[Expr], wanted: list[Expr], facts: Facts, alone: list[Expr] | None = None
) -> bool:
    """Whether the conditions ``wanted`` are proved to hold where ``given`` do.

    ``alone`` are more conditions that hold, of another kind.
    """
    missing = set(wanted) - set(given)
    if missing:
        missing = _normal(missing, facts) - _normal(given, facts)
    if missing:
        missing = _simple(missing, facts) - _simple(given, facts)
    if not missing:
        return True
    for condition in (*given, *(alone or ())):
        facts = facts.with_assumption(condition)
    return all(facts.prove(condition) for condition in missing)


def _normal(conditions: Iterable[Expr], facts: Facts) -> set[Expr]:
    """The same conditions of simple expressions; cheap, since none is proved."""
    return {
        ge(facts.simplify(c.args[0]), 0) if c.kind is Kind.GE else c for c in conditions
    }


def _simple(conditions: Iterable[Expr], facts: Facts) -> set[Expr]:
    """The same conditions as simple as the facts allow, without what always holds."""
    found = {part for c in conditions for part in conjuncts(facts.simplify(c))}
    return {part for part in found if not (part.is_constant and part.constant_value)}


def bare_readers(
    copy: Copy, box: Box, points: LanePoints, known: RegionFacts
) -> dict[Read, Access] | None:
    """The reads of the buffer with the access that each needs when it is filled whole.

    Filled whole, the buffer holds zeros for the elements of the box that do not
    exist. ``None`` where some access of the buffer could see the difference: it
    stands before the copy, does not read, or does not leave such elements out.
    """
    found: dict[Read, Access] = {}
    members = copy.members
    last = copy.pairs[-1][1]
    for op in copy.region.graph.walk():
        if op in members or not touches(op, copy.buffer):
            continue
        if not isinstance(op, Read) or not _follows(op, last, copy.region):
            return None
        row = _bare(op, box, points, known)
        if row is None:
            return None
        found[op] = row
    return found


def _follows(op: Op, last: Op, region: Region) -> bool:
    """Whether ``op`` runs after ``last``, which is an op of ``region``, each time."""
    while op.owner is not region:
        parent = region_of(op).parent
        if parent is None:
            return False
        op = parent
    order = {each: position for position, each in enumerate(region.ops)}
    return order[op] > order[last]


def _ends_by(
    place: Expr, extent: int, registers: int, points: LanePoints, facts: Facts
) -> bool:
    """Whether a coordinate is below an extent, by its form or at every point."""
    if facts.prove(le(place + 1, extent)):
        return True
    halves = points.split(place)
    if halves is None:
        return False
    shared, own = halves
    most = int(points.own_values(own, registers).max())
    return facts.prove(le(shared + most + 1, extent))


def _bare(
    read: Read, box: Box, points: LanePoints, known: RegionFacts
) -> Access | None:
    """The access of a read without the condition that the element exists."""
    row = region_of(read).graph.facts.get(ACCESS, read)
    index = index_of(read)
    if row is None or index is None or read.indices or set(index) != set(box.dims):
        return None
    facts = known.facts(region_of(read), row.registers)
    places = tuple(index[dim] for dim in box.dims)
    for place, coordinate, base in zip(places, row.coordinates, box.base, strict=True):
        if facts.simplify(place - coordinate - base) is not constant(0):
            return None
    mine, others = points.conditions(row.mask)
    for condition in mine:
        facts = facts.with_assumption(condition)
    ends = zip(row.coordinates, box.extents, strict=True)
    if not all(_ends_by(*end, row.registers, points, facts) for end in ends):
        # Elements beyond the box hold no zeros: the condition leaves them out.
        return row if implied(others, box.exists(places), facts) else None
    exists = box.exists(places)
    if not alike(others, exists, facts):
        if not implied(others, exists, facts, mine):
            return None
        if not implied(exists, others, facts, mine):
            return row
    return Access(row.coordinates, row.registers, logical_and(*mine) if mine else None)

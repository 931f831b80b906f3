"""Puts loads of shared-out boxes into a region; in two branches where a guard is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.analysis.symbol_uses import symbols_set
from wave_core.constraints.machine import REGISTER
from wave_core.ir import (
    ACCESS,
    PLACEMENT,
    Access,
    Placement,
    capture,
    insert_before,
    region_of,
    set_operands,
)
from wave_core.ir.rewrite import end_region, place_like
from wave_core.ops.constant import Splat
from wave_core.ops.control import Conditional
from wave_core.ops.memory import Read, Write
from wave_core.ops.shape import Assemble
from wave_core.ops.structure import GetResult
from wave_core.symbols import constant, logical_and, logical_not, lt
from wave_passes_memory.copies.gathered import Source
from wave_passes_memory.copies.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wave_core.analysis.region_facts import RegionFacts
    from wave_core.ir import Graph, Region
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr
    from wave_passes_memory.copies.find import Copy
    from wave_passes_memory.copies.gathered import Gathers
    from wave_passes_memory.copies.prove import Box
    from wave_passes_memory.copies.share import Piece

    Emit = Callable[[Op], list[Op]]
    """Inserts ops before an op; the values that they are for."""


class Branches:
    """The branches of one kernel; copies of a region that ask alike share one."""

    def __init__(self, graph: Graph) -> None:
        # Where a symbol changes, loads stay where they are.
        self._apart = bool(symbols_set(graph.body))
        self._known: dict[tuple[int, Expr], tuple[_Branch, _Branch]] = {}

    def add(
        self, guard: Expr, front: Read, zeros: Emit, narrow: Emit, wide: Emit
    ) -> list[Op]:
        """The values of ``wide`` where ``guard`` holds, else those of ``narrow``.

        The results stand before ``front``; the loads there too, or before what stands
        before it and asked for the same guard.
        """
        key = id(region_of(front)), guard
        found = self._known.get(key)
        apart = self._apart or bool(front.indices)
        if found is None or apart or not _stands_before(found[1].op, front):
            found = _Branch(logical_not(guard), front), _Branch(guard, front)
            self._known[key] = found
        no, yes = found
        slow = no.add(zeros(no.op), narrow, yes.op)
        return yes.add(slow, wide, front)


def _stands_before(one: Op, other: Op) -> bool:
    return next(op for op in region_of(one).ops if op in (one, other)) is one


class _Branch:
    """A conditional that gets more results."""

    def __init__(self, condition: Expr, before: Op) -> None:
        self._body: Region = region_of(before).graph.region()
        self.op = Conditional.build((None, (), ()), {"expr": condition}, (self._body,))
        insert_before(before, self.op)
        self._end = end_region(self._body, (), before)

    def add(self, otherwise: Sequence[Op], emit: Emit, before: Op) -> list[Op]:
        """More results, inserted ``before`` an op: of ``emit``, or the other values."""
        count = len(self._end.operands)
        values = emit(self._end)
        set_operands(self._end, ((*self._end.operands, *values),))
        others = (*self.op.else_values, *otherwise)
        set_operands(self.op, (None, self.op.captures, others))
        found: list[Op] = []
        for position, value in enumerate(values, count):
            result = insert_before(before, GetResult(self.op, position))
            place_like(result, value)
            found.append(result)
        return found


_FIRST = {REGISTER: constant(0)}


def load(
    copy: Copy,
    access: Access,
    row: Placement,
    before: Op,
    indices: tuple[Op, ...] = (),
) -> Read:
    """Insert a read of the copy's memory, like those that it has."""
    front = copy.pairs[0][0]
    memory = capture(region_of(before), copy.memory)
    shape = copy.buffer.memory_type.shape
    made = Read(memory, indices, copy.mapping, shape, flags=front.flags)
    made.tags = front.tags
    insert_before(before, made, front)
    copy.region.graph.facts.put(ACCESS, made, access)
    copy.region.graph.facts.put(PLACEMENT, made, row)
    return made


def store(copy: Copy, value: Op, access: Access) -> None:
    """Insert a write to the copy's buffer, before the last one that it has."""
    last = copy.pairs[-1][1]
    made = Write(value, capture(copy.region, copy.buffer), ())
    made.tags = last.tags
    insert_before(last, made)
    copy.region.graph.facts.put(ACCESS, made, access)


class Loads:
    """The loads of one copy."""

    def __init__(
        self, copy: Copy, box: Box, known: RegionFacts, gathers: Gathers
    ) -> None:
        self._copy = copy
        self._box = box
        self._shape = copy.buffer.memory_type.shape
        self._rows = Rows(known.geometry.lanes)
        self._gathers = gathers
        self._front = copy.pairs[0][0]
        self._source = Source(self._front, known)
        self._facts = copy.region.graph.facts

    def emit(self, pieces: list[Piece]) -> list[Op]:
        """The values of all pieces, loaded before the first read of the copy."""
        return self._each(self._wide, pieces)(self._front)

    def guarded(self, pieces: list[Piece], guard: Expr, branches: Branches) -> list[Op]:
        """The same where no piece is known to exist as a whole.

        Where ``guard`` holds, each does; else the elements are loaded one by one.
        """
        versions = (self._zeros, self._narrow, self._wide)
        emits = [self._each(version, pieces) for version in versions]
        return branches.add(guard, self._front, *emits)

    def _each(
        self, emit: Callable[[Piece, Op], Op], pieces: list[Piece]
    ) -> Callable[[Op], list[Op]]:
        return lambda before: [emit(piece, before) for piece in pieces]

    def _zeros(self, piece: Piece, before: Op) -> Op:
        zeros = Splat(self._shape, self._copy.buffer.dtype, 0)
        insert_before(before, zeros, self._front)
        self._facts.put(PLACEMENT, zeros, self._placement(piece))
        return zeros

    def _wide(self, piece: Piece, before: Op) -> Op:
        return self._load(piece, piece.load, self._placement(piece), before)

    def _narrow(self, piece: Piece, before: Op) -> Op:
        """The elements one by one, each where it exists."""
        width = piece.load.registers
        first = [place.subs(_FIRST) for place in piece.index]
        *outer, inner = first
        *around, end = self._box.limits
        present = [
            lt(place, limit)
            for place, limit in zip(outer, around, strict=True)
            if limit is not None
        ]
        named = dict(zip(self._box.dims, first, strict=True))
        present += self._source.bounds(named)
        if piece.store.mask is not None:
            present.append(piece.store.mask)
        row = self._row((*outer, inner), 1)
        parts: list[Op] = []
        for register in range(width):
            last = [] if end is None else [lt(inner + register, end)]
            mask = logical_and(*present, *last) if present or last else None
            access = Access(_at(piece.load.coordinates, register), 1, mask)
            parts.append(self._load(piece, access, self._next(row, register), before))
        picks = tuple((register, 0) for register in range(width))
        whole = Assemble(tuple(parts), picks, self._shape)
        insert_before(before, whole, self._front)
        self._facts.put(PLACEMENT, whole, self._placement(piece))
        return whole

    def _next(self, row: Placement, steps: int) -> Placement:
        """The placement of what lies some steps further along the last dimension."""
        last = self._box.dims[-1]
        origin = (
            (dim, start + steps if dim == last else start) for dim, start in row.origin
        )
        return Placement(row.layout, row.steps, tuple(origin))

    def _load(self, piece: Piece, access: Access, row: Placement, before: Op) -> Op:
        tail = piece.store.mask
        indices = self._gathers.indices(
            self._copy, self._box, piece.index, tail, before
        )
        return load(self._copy, access, row, before, indices)

    def _placement(self, piece: Piece) -> Placement:
        return self._row(piece.index, piece.load.registers)

    def _row(self, index: tuple[Expr, ...], registers: int) -> Placement:
        named = dict(zip(self._box.dims, index, strict=True))
        return self._rows.placement(named, registers)


def _at(coordinates: tuple[Expr, ...], register: int) -> tuple[Expr, ...]:
    where = {REGISTER: constant(register)}
    return tuple(
        place.subs(where) if REGISTER in place.free_symbols else place
        for place in coordinates
    )

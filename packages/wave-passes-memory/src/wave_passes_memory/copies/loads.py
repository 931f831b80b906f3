"""Puts loads of shared-out boxes into a region; also where a guard makes them wide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.constraints.machine import REGISTER
from wave_core.ir import (
    ACCESS,
    PLACEMENT,
    Access,
    Placement,
    capture,
    insert_before,
    region_of,
)
from wave_core.ops.constant import Splat
from wave_core.ops.memory import Read
from wave_core.ops.shape import Assemble
from wave_core.symbols import constant, logical_and, lt
from wave_passes_memory.copies.gathered import Gathers
from wave_passes_memory.copies.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from wave_core.analysis.region_facts import RegionFacts
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr
    from wave_passes_memory.copies.branches import Branches
    from wave_passes_memory.copies.find import Copy
    from wave_passes_memory.copies.prove import Box
    from wave_passes_memory.copies.share import Piece

_FIRST = {REGISTER: constant(0)}


class Loads:
    """The loads of one copy."""

    def __init__(self, copy: Copy, box: Box, known: RegionFacts) -> None:
        kind = copy.buffer.memory_type
        self._copy = copy
        self._box = box
        self._shape = kind.shape
        self._rows = Rows(known.geometry.lanes)
        self._gathers = Gathers(copy, box, known, self._rows)
        self._front = copy.pairs[0][0]
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
        *outer, inner = (place.subs(_FIRST) for place in piece.index)
        *around, end = self._box.limits
        present = [
            lt(place, limit)
            for place, limit in zip(outer, around, strict=True)
            if limit is not None
        ]
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
        copy, front = self._copy, self._front
        memory = capture(region_of(before), copy.memory)
        indices = self._gathers.indices(piece, before)
        load = Read(memory, indices, copy.mapping, self._shape, flags=front.flags)
        load.tags = front.tags
        insert_before(before, load, front)
        self._facts.put(ACCESS, load, access)
        self._facts.put(PLACEMENT, load, row)
        return load

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

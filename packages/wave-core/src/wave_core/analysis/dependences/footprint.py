"""The bytes that each lane of each wave of a workgroup touches in one access."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from wave_core.analysis.dependences.storage import static_bytes
from wave_core.analysis.dependences.uniform import Uniformity
from wave_core.constraints import wave_symbol
from wave_core.constraints.machine import LANE, REGISTER
from wave_core.ir import ACCESS, LANDING, resolve
from wave_core.ops.atomic import Atomic
from wave_core.ops.control import Conditional, symbols_set_by
from wave_core.ops.matrix import Mma
from wave_core.ops.memory import GatherToLDS, Read, Write
from wave_core.symbols import Expr, combine, conjuncts, constant, dot, evaluate

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from wave_core.analysis.dependences.accesses import SharedAccess
    from wave_core.constraints.geometry import Geometry
    from wave_core.ir import Access, Graph
    from wave_core.ops.base import Op
    from wave_core.ops.memory import Allocate
    from wave_core.types import MemoryType

    Owners = npt.NDArray[np.int16]

NOBODY = -1
"""Marks bytes that no lane touches."""

SEVERAL = -2
"""Marks bytes that several lanes of a wave touch, or that any lane may."""


@dataclass(frozen=True, eq=False)
class Footprint:
    """The bytes of an access: a pattern of the threads, moved by a uniform base.

    Attributes:
        base: Bytes by which the pattern moves; the same for all waves.
        low: The byte of the first column. Units: ``unit`` bytes a column.
        owners: For each wave and column the lane that touches it. Shape: [waves,
            columns].
        exact: Whether all of it is touched for sure. Otherwise it is an upper bound.
    """

    base: Expr
    low: int
    unit: int
    owners: Owners
    exact: bool

    @property
    def high(self) -> int:
        """The byte after the last one."""
        return self.low + self.owners.shape[1] * self.unit

    @cached_property
    def touched(self) -> npt.NDArray[np.bool_]:
        """Which columns each wave touches."""
        return cast("npt.NDArray[np.bool_]", self.owners != NOBODY)

    def finer(self, unit: int) -> Footprint:
        """The same with smaller columns, of a ``unit`` that divides the own one."""
        if unit == self.unit:
            return self
        owners = np.repeat(self.owners, self.unit // unit, axis=1)
        return Footprint(self.base, self.low, unit, owners, self.exact)


class Columns(NamedTuple):
    """Which waves touch each column of a pattern of bytes.

    Attributes:
        owners: As those of a footprint.
        waves: A bit for each wave that touches the column, in rows of eight waves.
        several: Whether more than one does.
    """

    owners: Owners
    waves: npt.NDArray[np.uint8]
    several: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, footprint: Footprint, unit: int) -> Columns:
        """Columns of a ``unit`` that divides the footprint's."""
        finer = footprint.finer(unit)
        touched = finer.touched
        waves = np.packbits(touched, axis=0)
        return cls(finer.owners, waves, np.count_nonzero(touched, axis=0) > 1)

    def within(self, columns: slice) -> Columns:
        """Some of the columns."""
        part = np.s_[:, columns]
        return Columns(self.owners[part], self.waves[part], self.several[columns])

    def meet(self, other: Columns) -> tuple[bool, bool]:
        """Whether different waves touch a column, and whether one wave does twice."""
        # Of two waves unless it is one wave, and the same one.
        differ = (self.waves != other.waves).any(axis=0) | self.several
        both = self.waves.any(axis=0) & other.waves.any(axis=0)
        return bool((both & differ).any()), bool((self.waves & other.waves).any())


class Patterns:
    """Who touches what by the numbers of threads alone.

    That is the same however a graph changes, as long as its geometry does not.

    Attributes:
        waves: Waves on each axis.
        columns: Columns of owners, by the `id` of these, which stay as long as this
            does, their unit, and a unit that divides it.
    """

    def __init__(self, geometry: Geometry) -> None:
        """The waves of ``geometry``; nothing is known."""
        self.waves = tuple(geometry.waves)
        self.columns: dict[tuple[int, int, int], Columns] = {}
        self._lanes = geometry.lanes
        self._known: dict[object, tuple[int, Owners]] = {}
        self._unknown: dict[int, Owners] = {}

    @property
    def wave_count(self) -> int:
        """Waves of a workgroup."""
        return prod(self.waves)

    def owners(
        self,
        offset: Expr,
        registers: int,
        conditions: tuple[Expr, ...],
        *,
        together: bool,
    ) -> tuple[int, Owners]:
        """The least place that is touched, and who touches each place from there on.

        Args:
            offset: What threads add to the place of an access.
            registers: Elements of each lane.
            conditions: What decides which of them are touched.
            together: Whether a wave touches all of them as one.
        """
        key = (offset, registers, conditions, together)
        found = self._known.get(key)
        if found is None:
            low, owners = self._found(offset, registers, conditions)
            if together:
                owners[owners != NOBODY] = SEVERAL
            found = self._known[key] = low, owners
        return found

    def anyone(self, count: int) -> Owners:
        """So many places, each of which any thread may touch."""
        if count not in self._unknown:
            owners = np.full((self.wave_count, count), SEVERAL, np.int16)
            self._unknown[count] = owners
        return self._unknown[count]

    def _found(
        self, offset: Expr, registers: int, conditions: tuple[Expr, ...]
    ) -> tuple[int, Owners]:
        env = self._environment(registers)
        full = (self.wave_count, self._lanes, registers)
        places = np.broadcast_to(np.asarray(evaluate(offset, env)), full)
        wave, lane, _ = np.indices(full, np.int16, sparse=True)
        wave, lane = np.broadcast_to(wave, full), np.broadcast_to(lane, full)
        if conditions:
            chosen = np.ones(full, np.bool_)
            for condition in conditions:
                chosen &= np.asarray(evaluate(condition, env)) != 0
            places, wave, lane = places[chosen], wave[chosen], lane[chosen]
        return _by_column(places.ravel(), wave.ravel(), lane.ravel(), full[0])

    def _environment(self, registers: int) -> dict[Expr, Any]:
        env: dict[Expr, Any] = {
            LANE: np.arange(self._lanes).reshape(1, -1, 1),
            REGISTER: np.arange(registers).reshape(1, 1, -1),
        }
        wave = np.arange(self.wave_count).reshape(-1, 1, 1)
        for axis, count in enumerate(self.waves):
            env[wave_symbol(axis)] = wave % count
            wave = wave // count
        return env


class Footprints:
    """Footprints of the accesses of one graph; patterns that recur are shared."""

    def __init__(self, graph: Graph, patterns: Patterns) -> None:
        """Look at the waves of ``patterns``."""
        self._graph = graph
        self._made = patterns
        self._unsteady = {s for op in graph.walk() for s in symbols_set_by(op)}
        self._local = {LANE, REGISTER, *map(wave_symbol, range(len(patterns.waves)))}
        self._uniformity = Uniformity(graph)
        self._known: dict[tuple[Op, Allocate], Footprint] = {}

    def of(self, access: SharedAccess) -> Footprint:
        """Bytes that ``access`` may touch, relative to its memory."""
        key = access.op, access.buffer
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._find(access)
        return found

    def steady(self, expr: Expr) -> bool:
        """Whether an expression has one value throughout a workgroup's run."""
        return self._steady(expr.free_symbols)

    def _find(self, access: SharedAccess) -> Footprint:
        memory = access.buffer.memory_type
        start = access.buffer.offset or 0
        size = memory.dtype.bytes
        row = self._row(access)
        split = None if row is None else self._split(memory, row)
        if row is None or split is None:
            return self._anywhere(access, start, size)
        first, base, pattern = split
        conditions, exact = self._conditions(access, row)
        # A matrix unit reads for the whole wave.
        together = isinstance(access.op, Mma)
        low, owners = self._made.owners(
            pattern, row.registers, conditions, together=together
        )
        return Footprint(base * size, start + (first + low) * size, size, owners, exact)

    def _row(self, access: SharedAccess) -> Access | None:
        """The coordinates, where those of the op are coordinates in the buffer."""
        if isinstance(access.op, Read | Write | Atomic):
            return self._graph.facts.get(ACCESS, access.op)
        if isinstance(access.op, GatherToLDS):
            return self._graph.facts.get(LANDING, access.op)
        if isinstance(access.op, Mma):
            tiles = access.op.shared_tiles
            own = [t for t in tiles if resolve(t.memory) is access.buffer]
            return self._graph.facts.get(ACCESS, own[0]) if len(own) == 1 else None
        return None

    def _anywhere(self, access: SharedAccess, start: int, size: int) -> Footprint:
        count = static_bytes(access.buffer, self._graph.bindings) // size
        owners = self._made.anyone(max(count, 1))
        return Footprint(constant(0), start, size, owners, exact=False)

    def _split(self, memory: MemoryType, row: Access) -> tuple[int, Expr, Expr] | None:
        """The element offset as constant, uniform part and part of the threads."""
        offset, step = constant(0), constant(1)
        parts: list[tuple[Expr, Expr]] = []
        extents = reversed(memory.storage_shape)
        for place, extent in zip(reversed(row.coordinates), extents, strict=True):
            parts.append((place, step))
            step = step * extent.subs(self._graph.bindings)
        offset = dot(parts).subs(self._graph.bindings)
        first, terms = offset.linear()
        base: list[tuple[Expr, int]] = []
        pattern: list[tuple[Expr, int]] = []
        for term, factor in terms:
            symbols = term.free_symbols
            if symbols <= self._local:
                pattern.append((term, factor))
            elif symbols.isdisjoint(self._local) and self._steady(symbols):
                base.append((term, factor))
            else:
                return None
        return first, combine(base), combine(pattern)

    def _steady(self, symbols: Iterable[Expr]) -> bool:
        """Whether all waves agree on the symbols, however far they got."""
        return not any(
            s in self._unsteady or s.name.startswith(("$dynamic_val", "$ARG"))
            for s in symbols
        )

    def _conditions(
        self, access: SharedAccess, row: Access
    ) -> tuple[tuple[Expr, ...], bool]:
        """The conditions that thread numbers decide, and whether these are all."""
        exact = True
        parts: list[Expr] = []
        for op in access.around:
            if isinstance(op, Conditional) and op.expr is not None:
                around = [c for c in conjuncts(op.expr) if not self._same_for_all(c)]
                parts.extend(around)
            elif not self._uniformity.together(op):
                exact = False
        if row.mask is not None:
            parts.extend(conjuncts(row.mask.subs(self._graph.bindings)))
        kept = tuple(part for part in parts if part.free_symbols <= self._local)
        return kept, exact and len(kept) == len(parts)

    def _same_for_all(self, condition: Expr) -> bool:
        """Whether all waves agree on a condition around an access."""
        symbols = condition.free_symbols
        return symbols.isdisjoint(self._local) and self._steady(symbols)


def _by_column(
    places: npt.NDArray[Any],
    wave: npt.NDArray[Any],
    lane: npt.NDArray[Any],
    waves: int,
) -> tuple[int, Owners]:
    """The least place, and who touches each place from there on."""
    if not places.size:
        return 0, np.full((waves, 0), NOBODY, np.int16)
    low = int(places.min())
    columns = places - low
    owners = np.full((waves, int(columns.max()) + 1), NOBODY, np.int16)
    owners[wave, columns] = lane
    again = owners[wave, columns] != lane
    owners[wave[again], columns[again]] = SEVERAL
    return low, owners

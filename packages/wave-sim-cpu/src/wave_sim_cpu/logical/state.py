"""The state of a simulation on whole tiles."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from wave_core.types import RegisterType
from wave_sim_cpu.arrays import misfit
from wave_sim_cpu.expressions import Number, evaluate
from wave_sim_cpu.meetings import Meetings

if TYPE_CHECKING:
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr
    from wave_sim_cpu.arrays import Array, Bits
    from wave_sim_cpu.journal import Journal
    from wave_sim_cpu.launch import Launch, Units
    from wave_sim_cpu.memory import Buffer
    from wave_sim_cpu.rule_table import RuleTable
    from wave_sim_cpu.together import Strand

Dims = tuple["Expr", ...]
TileRule = Callable[[Any, "State"], None]


class State:
    """Tiles of all waves of one chunk of workgroups.

    Shapes: a value has one axis for the units (of extent 1 if all hold the same) and
    one for each dimension of its type, in that order; extents of 1 broadcast.

    Attributes:
        values: Tiles by the ``ident`` of the op that defines them.
        results: Results of loops and conditions by the op's ``ident``.
        buffers: Memories by ``ident``.
        loops: The induction symbols of the loops around, by axis name.
        conditions: The conditions around: truth values with their dims.
        meetings: Who came to barriers.
        strand: The only workgroup, where others wait for what it does.
    """

    def __init__(
        self,
        launch: Launch,
        units: Units,
        buffers: dict[int, Buffer],
        rules: RuleTable[TileRule],
        journal: Journal,
    ) -> None:
        self.launch = launch
        self.units = units
        self.buffers = buffers
        self.rules = rules
        self.journal = journal
        self.values: dict[int, Array] = {}
        self.results: dict[int, tuple[Array, ...]] = {}
        self.loops: dict[str, Expr] = {}
        self.conditions: list[tuple[Bits, Dims]] = []
        self.meetings = Meetings(units, journal.reporter)
        self.strand: Strand | None = None
        self._answers: dict[tuple[object, ...], Expr] = {}
        self._symbols: dict[Expr, Number] = {
            **launch.symbols,
            **{
                s: v.reshape(-1) if isinstance(v, np.ndarray) else v
                for s, v in units.symbols(1).items()
            },
        }

    def fault_of(self, op: Op, found: object) -> str:
        """The fault of the value that a rule has left for ``op``."""
        del found
        if not isinstance(op.type, RegisterType):
            return ""
        value = self.values.get(op.ident)
        if not isinstance(value, np.ndarray):
            return f"it leaves {value!r:.40} as the value"
        tile = [self.tile(dim) for dim in op.type.shape]
        return misfit(op, value, (self.units.count, *tile))

    def set(self, symbol: Expr, value: Number) -> None:
        """Give a symbol a value: one for all, or one for each unit."""
        self._symbols[symbol] = value

    def get(self, symbol: Expr) -> Number | None:
        """The value of a symbol, if it has one."""
        return self._symbols.get(symbol)

    def uniform(self, expr: Expr) -> Number:
        """The value of an expression of uniform symbols: a number, or ``[units]``."""
        return evaluate(expr, self._symbols)

    def over(self, expr: Expr, rank: int, more: dict[Expr, Number]) -> Number:
        """The value of an expression over tiles of ``rank`` axes, units included."""
        values: dict[Expr, Number] = dict(more)
        for symbol in expr.free_symbols - more.keys():
            values[symbol] = spread(self._symbols[symbol], rank)
        return evaluate(expr, values)

    def _geometry(self, question: str, dim: Expr) -> Expr:
        """The constraints' answer about ``dim`` here; asked for once in each loop."""
        key = (question, dim, *self.loops.values())
        found = self._answers.get(key)
        if found is None:
            ask = getattr(self.launch.geometry, question)
            found = self._answers[key] = ask(str(dim), self.loops)
        return found

    def tile(self, dim: Expr) -> int:
        """Elements of ``dim`` that one wave holds here."""
        size = self.uniform(self._geometry("tile", dim))
        return int(size.max()) if isinstance(size, np.ndarray) else int(size)

    def index(
        self, dim: Expr, rank: int, axis: int, extent: int | None = None
    ) -> Array:
        """The global index of the tile's elements along ``dim``, on ``axis``.

        ``extent`` is how many there are: those of a tile by default.
        """
        base = self.uniform(self._geometry("base", dim))
        count = self.tile(dim) if extent is None else extent
        return self.along(base, count, rank, axis)

    def along(self, base: Number, extent: int, rank: int, axis: int) -> Array:
        """``base`` of each unit plus 0, 1, 2, ... on ``axis``."""
        shape = [1] * rank
        shape[axis] = extent
        return np.asarray(spread(base, rank) + np.arange(extent).reshape(shape))

    def exists(
        self, dim: Expr, rank: int, axis: int, extent: int | None = None
    ) -> Bits | None:
        """Which elements along ``dim`` exist; ``None`` if all do."""
        limit = spread(self.uniform(self._geometry("limit", dim)), rank)
        bits = self.index(dim, rank, axis, extent) < limit
        return None if bits.all() else bits

    @contextmanager
    def own(self, symbols: Iterable[Expr]) -> Generator[None]:
        """Run a body; what it sets has the values from before again after it."""
        before = {s: self._symbols[s] for s in symbols if s in self._symbols}
        try:
            yield
        finally:
            self._symbols.update(before)

    @contextmanager
    def inside(self, axis: str, induction: Expr | None) -> Generator[None]:
        """Run within a loop; one over no axis has no induction symbol."""
        before = self.loops
        if induction is not None:
            self.loops = {**before, axis: induction}
        try:
            yield
        finally:
            self.loops = before

    @contextmanager
    def where(self, bits: Bits | None, dims: Dims) -> Generator[None]:
        """Run under a condition."""
        if bits is not None:
            self.conditions.append((bits, dims))
        try:
            yield
        finally:
            if bits is not None:
                self.conditions.pop()

    def active(self, dims: Dims) -> Bits | None:
        """Where the conditions around hold, over ``dims``; ``None``: everywhere."""
        found: Bits | None = None
        for bits, own in self.conditions:
            here = condition_over(bits, own, dims)
            found = here if found is None else found & here
        return found


def spread(value: Number, rank: int) -> Number:
    """A number, or one for each unit, as an array of ``rank`` axes."""
    if not isinstance(value, np.ndarray):
        return value
    return value.reshape(-1, *(1,) * (rank - 1))


def aligned(data: Array, dims: Dims, wanted: Dims) -> Array:
    """A tile over ``dims`` with its axes in the order of ``wanted``.

    Dims that it lacks become axes of extent 1; it has no other dims.
    """
    if dims == wanted:
        return data
    order = [0, *(1 + dims.index(d) for d in wanted if d in dims)]
    moved = data.transpose(order)
    extents = iter(moved.shape[1:])
    return moved.reshape(
        moved.shape[0], *(next(extents) if d in dims else 1 for d in wanted)
    )


def condition_over(bits: Bits, dims: Dims, wanted: Dims) -> Bits:
    """A condition seen over other dims: true where it holds for any of the rest."""
    lost = tuple(1 + i for i, d in enumerate(dims) if d not in wanted)
    kept = tuple(d for d in dims if d in wanted)
    held = np.asarray(bits.any(axis=lost)) if lost else bits
    return aligned(held, kept, wanted)

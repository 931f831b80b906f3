"""Fact tables: what analyses know about ops, beside the ops and not on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from wave_core.symbols import logical_and

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wave_core.ops.base import Op
    from wave_core.symbols import Expr, Layout

T = TypeVar("T")


@dataclass(frozen=True)
class FactKind(Generic[T]):
    """The declaration of one fact table."""

    name: str
    row: type[T]
    """The class of a row, a frozen dataclass: what the text form prints and reads."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the elements of a register value sit.

    Lane ``l``, register ``r`` holds the element whose index along dimension ``d``
    is ``origin[d] + layout.offset(d, l, r)``. Dimensions of the value that the
    layout gives no digit are replicated: every lane and register has that one
    index. ``layout.registers`` is the length of the vector in each lane.

    Before expansion ``steps`` says how often the layout repeats along each
    dimension: ``(dim, count, extent)``, outermost first; the elements of step
    ``k`` lie ``k * extent`` further. After expansion it is empty, and ``origin``
    is set. Units: elements.
    """

    layout: Layout
    steps: tuple[tuple[str, int, int], ...] = ()
    origin: tuple[tuple[str, Expr], ...] = ()

    def origin_of(self, dim: str) -> Expr | None:
        """The origin along ``dim``, or ``None`` where it is not set."""
        for name, value in self.origin:
            if name == dim:
                return value
        return None


@dataclass(frozen=True, slots=True)
class Access:
    """Which elements of a memory an access touches, per lane and register.

    ``coordinates`` has one expression for each dimension of the memory as stored
    (the allocation's physical shape for LDS), over the uniform symbols (workgroup,
    wave, induction, sizes), ``$LANE``, ``$REG`` and ``$dynamic_valN`` for index
    registers. ``mask`` is a boolean expression over the same symbols plus the
    register index; where it is false a read gives zero and a write does nothing.
    ``None`` means always true. ``registers`` elements are touched by each lane.
    """

    coordinates: tuple[Expr, ...]
    registers: int
    mask: Expr | None = None

    def where(self, condition: Expr) -> Access:
        """The same elements, but only where ``condition`` holds, too."""
        both = condition if self.mask is None else logical_and(self.mask, condition)
        return Access(self.coordinates, self.registers, both)

    def mapped(self, change: Callable[[Expr], Expr]) -> Access:
        """The same with each expression changed."""
        coordinates = tuple(change(place) for place in self.coordinates)
        mask = None if self.mask is None else change(self.mask)
        return Access(coordinates, self.registers, mask)


@dataclass(frozen=True, slots=True)
class Box:
    """A block of a buffer in LDS that all lanes of a wave share.

    Attributes:
        origin: The first element along each dimension of the buffer as stored, before
            its layout moves chunks: expressions that all lanes agree on.
        extents: Elements along each dimension.
        panels: How many such blocks there are, which continue each other's rows.
        apart: Rows of the buffer from one of them to the next; 0 where there is one.
    """

    origin: tuple[Expr, ...]
    extents: tuple[int, ...]
    panels: int = 1
    apart: int = 0

    def mapped(self, change: Callable[[Expr], Expr]) -> Box:
        """The same with each expression changed."""
        return replace(self, origin=tuple(change(place) for place in self.origin))


PLACEMENT = FactKind("placement", Placement)
ACCESS = FactKind("access", Access)
LANDING = FactKind("landing", Access)
"""Where a copy from global memory to LDS arrives; its access row says what it reads.
Where the mask of the landing is false nothing is written; where that of the access is,
zeros are. The lanes of a wave land side by side, in order, but for targets whose copies
take pointers."""

BOX = FactKind("box", Box)
"""What a shared tile covers; its access row says where each element lies."""

FACT_KINDS: Mapping[str, FactKind[Any]] = {
    kind.name: kind for kind in (PLACEMENT, ACCESS, LANDING, BOX)
}


class FactTables:
    """All tables of one graph, keyed by fact and by the op's ``ident``."""

    def __init__(self) -> None:
        self.edits = 0
        """How often a row was set or removed."""
        self._tables: dict[str, dict[int, object]] = {}
        self._kinds: dict[str, FactKind[Any]] = {}

    @property
    def kinds(self) -> tuple[FactKind[Any], ...]:
        """The facts that have a table, by name."""
        return tuple(self._kinds[name] for name in sorted(self._kinds))

    def table(self, kind: FactKind[T]) -> Mapping[int, T]:
        """All rows of one fact, by ``ident``."""
        return self._tables.get(kind.name, {})  # pyright: ignore[reportReturnType] - one type a table

    def get(self, kind: FactKind[T], op: Op) -> T | None:
        """The row of ``op``, or ``None``."""
        table = self._tables.get(kind.name)
        return None if table is None else table.get(op.ident)  # pyright: ignore[reportReturnType] - one type a table

    def known(self, kind: FactKind[T], op: Op) -> T:
        """The row of an op that has one."""
        row = self.get(kind, op)
        assert row is not None, f"`{op.op_name}` has its row of {kind.name}"
        return row

    def put(self, kind: FactKind[T], op: Op, value: T) -> None:
        """Set the row of ``op``."""
        assert op.ident >= 0, "only an op of a graph has facts"
        self.edits += 1
        self._kinds[kind.name] = kind
        self._tables.setdefault(kind.name, {})[op.ident] = value

    def drop(self, kind: FactKind[T], op: Op) -> None:
        """Remove the row of ``op``, if there is one."""
        self.edits += 1
        self._tables.get(kind.name, {}).pop(op.ident, None)

    def erased(self, op: Op) -> None:
        """Forget everything about an op that left the graph."""
        self.edits += 1
        for table in self._tables.values():
            table.pop(op.ident, None)

    def replaced(self, old: Op, new: Op) -> None:
        """Hand the rows of ``old`` to ``new``, where it has none."""
        self.edits += 1
        for table in self._tables.values():
            if old.ident in table:
                table.setdefault(new.ident, table[old.ident])

    def copied(self, old: Op, tables: FactTables, new: Op) -> None:
        """Copy the rows of ``old`` to ``new`` in ``tables``, where it has none."""
        for name, table in self._tables.items():
            kind = self._kinds[name]
            if old.ident in table and tables.get(kind, new) is None:
                tables.put(kind, new, table[old.ident])

    def rows(self, op: Op) -> dict[str, object]:
        """All facts about ``op`` by name, for printing."""
        return {
            name: table[op.ident]
            for name, table in sorted(self._tables.items())
            if op.ident in table
        }

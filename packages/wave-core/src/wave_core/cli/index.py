"""The table of ``wave inspect --what index``: who holds what, and its address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.ir.facts import ACCESS, PLACEMENT

if TYPE_CHECKING:
    from wave_core.ir.facts import Access, Placement
    from wave_core.ir.graph import Graph
    from wave_core.ops.base import Op


@dataclass(frozen=True)
class IndexRow:
    """One value or access.

    Attributes:
        key: The op's key in its graph.
        op: The op.
        type: The type of the value.
        layout: Which element each lane and register holds, by dimension.
        address: Origin of the tile, or address of the access, by dimension.
        mask: Where an access takes place; empty for everywhere.
        line: The user's line.
    """

    key: int
    op: str
    type: str
    layout: str
    address: str
    mask: str
    line: str

    def cells(self) -> tuple[str, ...]:
        """The row for a table."""
        address = f"{self.address} if {self.mask}" if self.mask else self.address
        return (str(self.key), self.op, self.type, self.layout, address, self.line)


def index_rows(graph: Graph) -> list[IndexRow]:
    """A row for each op that has a layout or an address, in program order."""
    rows: list[IndexRow] = []
    for op in graph.walk():
        placement = graph.facts.get(PLACEMENT, op)
        access = graph.facts.get(ACCESS, op)
        if placement is not None or access is not None:
            rows.append(_row(op, placement, access))
    return rows


def _row(op: Op, placement: Placement | None, access: Access | None) -> IndexRow:
    address = ", ".join(map(str, access.coordinates)) if access is not None else ""
    if placement is not None and access is None:
        address = ", ".join(f"{dim}: {expr}" for dim, expr in placement.origin)
    return IndexRow(
        op.ident,
        op.op_name,
        "" if op.type is None else str(op.type),
        "" if placement is None else _layout(placement),
        address,
        "" if access is None or access.mask is None else str(access.mask),
        "" if op.location is None else f"{op.location.line}",
    )


def _layout(placement: Placement) -> str:
    steps = ", ".join(
        f"{dim}: {count} steps of {extent}" for dim, count, extent in placement.steps
    )
    return f"{placement.layout}; {steps}" if steps else str(placement.layout)

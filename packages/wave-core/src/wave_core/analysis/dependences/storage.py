"""Where buffers of shared memory lie, and how many bytes they take together."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error
from wave_core.ops.memory import Allocate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr


@dataclass(frozen=True, slots=True)
class AddressRange:
    """Bytes ``start`` to ``end`` (exclusive) of the workgroup's packed memory."""

    start: int
    end: int

    def meets(self, other: AddressRange) -> bool:
        """Whether some byte belongs to both."""
        return self.start < other.end and other.start < self.end


def static_bytes(op: Allocate, bindings: Mapping[Expr, int]) -> int:
    """Bytes of one buffer.

    Raises:
        UserError: WV0407 for an extent that is not known at compile time.
    """
    memory = op.memory_type
    size = memory.dtype.bytes
    for extent in memory.storage_shape:
        bound = extent.subs(bindings)
        if not bound.is_constant:
            raise user_error(
                "WV0407",
                f"an LDS buffer has an extent `{extent}` that is not known at "
                "compile time",
                at=op.location,
                help=("bind its symbols in WaveCompileOptions(subs={...})",),
            )
        size *= bound.constant_value
    return size + op.tail_padding * memory.dtype.bytes


def address_range(op: Allocate, bindings: Mapping[Expr, int]) -> AddressRange | None:
    """The bytes of a packed buffer; ``None`` for one that has its own memory."""
    if op.offset is None:
        return None
    return AddressRange(op.offset, op.offset + static_bytes(op, bindings))


def lds_bytes(buffers: Iterable[Allocate], bindings: Mapping[Expr, int]) -> int:
    """Bytes of all buffers: the packed ones up to the last end, and the others."""
    packed, own = 0, 0
    for op in buffers:
        where = address_range(op, bindings)
        if where is None:
            own += static_bytes(op, bindings)
        else:
            packed = max(packed, where.end)
    return packed + own


def buffers_of(graph: Graph) -> list[Allocate]:
    """All buffers of a graph."""
    return [op for op in graph.walk() if isinstance(op, Allocate)]


def sharing_buffers(graph: Graph) -> dict[Op, frozenset[Op]]:
    """For each buffer of a graph those that have a byte in common with it."""
    buffers = buffers_of(graph)
    found: dict[Op, set[Op]] = defaultdict(set)
    for op in buffers:
        found[op].add(op)
    ranges = ((address_range(op, graph.bindings), op) for op in buffers)
    open_: list[tuple[AddressRange, Allocate]] = []
    packed = [(where, op) for where, op in ranges if where is not None]
    for where, op in sorted(packed, key=lambda row: row[0].start):
        open_ = [row for row in open_ if row[0].end > where.start]
        for other, one in open_:
            if where.meets(other):
                found[op].add(one)
                found[one].add(op)
        open_.append((where, op))
    return {op: frozenset(near) for op, near in found.items()}

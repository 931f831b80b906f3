"""Operands of matrix ops whose contracted elements lie side by side in each lane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeGuard

from wave_core.analysis.matrix import matrix_roles
from wave_core.ir import PLACEMENT, Placement, regions, resolve
from wave_core.ops.matrix import Mma, ScaledMma
from wave_core.ops.memory import Allocate, Read, Write
from wave_core.passes import Pass
from wave_core.symbols import Digit, Layout
from wave_core.types import RegisterType, iterator_symbol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.passes import PassContext

Use = tuple[Mma, str]
"""A matrix op, and the dimension that it contracts."""


@dataclass(frozen=True)
class PackMatrixOperands(Pass):
    """Give each lane contracted elements that lie side by side in memory.

    Needs layouts. A product is the same in whatever order its contracted elements
    come, if both operands agree: where both are only read for matrix ops, and
    perhaps written, the elements that a lane takes in all steps along K become
    neighbours, so that one access can read several steps. Happens for an even number
    of steps, where K is the fastest dimension of one of the memories, or can become
    that of a buffer, where the elements of one step do not fill an access by
    themselves, and where no index register varies along K.

    Example::

          kernel "k" target "gfx942" {
            %a = argument parameter "a" : mem<M, K, global, f16>
            %b = argument parameter "b" : mem<N, K, global, f16>
            %z = register {shape = [M, N], dtype = !f32, value = 0.0} : reg<M, N, f32>
        -   %x = read %a, [] : reg<M, K, f16>
        -       @placement(layout = #layout(64x4 {K: 4*(lane/16%4) + (reg/1%4), M:
        -       (lane/1%16)}), steps = [["K", 2, 16]])
        -   %y = read %b, [] : reg<N, K, f16>
        -       @placement(layout = #layout(64x4 {K: 4*(lane/16%4) + (reg/1%4), N:
        -       (lane/1%16)}), steps = [["K", 2, 16]])
        +   %x = read %a, [] : reg<M, K, f16>
        +       @placement(layout = #layout(64x4 {K: 8*(lane/16%4) + (reg/1%4), M:
        +       (lane/1%16)}), steps = [["K", 2, 4]])
        +   %y = read %b, [] : reg<N, K, f16>
        +       @placement(layout = #layout(64x4 {K: 8*(lane/16%4) + (reg/1%4), N:
        +       (lane/1%16)}), steps = [["K", 2, 4]])
            %p = mma %x, %y, %z : reg<M, N, f32>
            yield []
          }
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Reorder K in the operands that belong together."""
        packed = 0
        for component in _components(graph):
            packed += _pack(graph, component, context.target.memory.max_access_bits)
        context.count("packed_operands", packed)
        return packed > 0


@dataclass(frozen=True)
class _Component:
    """Reads that matrix ops multiply with one another.

    Attributes:
        reads: The reads.
        writes: What writes the values that are read.
        dims: The dimensions that the matrix ops contract.
    """

    reads: frozenset[Read]
    writes: frozenset[Write]
    dims: frozenset[str]


def _components(graph: Graph) -> Iterator[_Component]:
    """Sets of reads that matrix ops use and writes, closed under multiplication."""
    operations = [op for op in graph.walk() if _packs(op)]
    writes = [op for op in graph.walk() if isinstance(op, Write)]
    groups: dict[Op, set[Op]] = {}
    for op in operations:
        pair = {resolve(op.lhs), resolve(op.rhs)}
        joined = pair.union(*(groups.get(value, set()) for value in pair))
        groups |= dict.fromkeys(joined, joined)
    other = _used_otherwise(graph)
    for members in {id(group): group for group in groups.values()}.values():
        reads = frozenset(value for value in members if isinstance(value, Read))
        if len(reads) == len(members) and not (members & other):
            written = frozenset(op for op in writes if resolve(op.value) in members)
            yield _Component(reads, written, _contracted(operations, members))


def _contracted(operations: list[Mma], members: set[Op]) -> frozenset[str]:
    """The dimensions along which the members are multiplied."""
    within = [op for op in operations if resolve(op.lhs) in members]
    return frozenset(matrix_roles(op).k for op in within)


def _packs(op: Op) -> TypeGuard[Mma]:
    """Whether ``op`` is a product in which K may have any order."""
    return isinstance(op, Mma) and not isinstance(op, ScaledMma)


def _used_otherwise(graph: Graph) -> set[Op]:
    """Values that something else takes as an operand than a matrix op or a write.

    A write puts each element in its place, whatever lane and register hold it; where
    index registers say the place, they must lie as the elements do: see `_gathers`.
    """
    found: set[Op] = set()
    for op in graph.walk():
        captured: tuple[Op, ...] = getattr(op, "captures", ())
        values = op.operands
        if _packs(op):
            values = [op.acc]
        elif isinstance(op, Write):
            values = op.indices
        found.update(resolve(v) for v in values if v not in captured)
    return found


def _pack(graph: Graph, component: _Component, widest_bits: int) -> int:
    """Pack the operands of one component; how many there are."""
    if len(component.dims) != 1 or _filled(graph, component) >= widest_bits:
        return 0
    (k,) = component.dims
    if any(_gathers(op, k) for op in (*component.reads, *component.writes)):
        return 0
    rows: dict[Read, Placement] = {}
    shapes: set[object] = set()
    for read in component.reads:
        row = graph.facts.get(PLACEMENT, read)
        if row is None or k not in row.layout.dims:
            return 0
        steps, lanes, registers = _structure(row, k)
        shapes.add((steps, lanes, registers))
        rows[read] = row
    contiguous = any(_may_follow(read, k) for read in component.reads)
    if len(shapes) != 1 or not contiguous:
        return 0
    changed = {read: _packed(row, k) for read, row in rows.items()}
    if any(row is None or row == rows[read] for read, row in changed.items()):
        return 0
    _store(graph, {read: row for read, row in changed.items() if row is not None})
    return len(changed)


def _gathers(op: Read | Write, k: str) -> bool:
    """Whether index registers, which have an order of their own, vary along K."""
    kinds = [value.type for value in op.indices]
    return any(isinstance(kind, RegisterType) and k in kind.dims for kind in kinds)


def _filled(graph: Graph, component: _Component) -> int:
    """The most bits that a lane takes in one step."""
    bits = [0]
    for read in component.reads:
        row, kind = graph.facts.get(PLACEMENT, read), read.type
        if row is not None and isinstance(kind, RegisterType):
            bits.append(row.layout.registers * kind.dtype.bits)
    return max(bits)


def _structure(row: Placement, k: str) -> tuple[object, object, object]:
    """The order of K that two operands must share."""
    layout = row.layout
    steps = tuple(step for step in row.steps if step[0] == k)
    return steps, layout.lane_digits(k), layout.reg_digits(k)


def _packed(row: Placement, k: str) -> Placement | None:
    """Registers innermost along K, then steps, then lanes."""
    layout = row.layout
    count = next((count for dim, count, _ in row.steps if dim == k), 1)
    if count % 2:
        return None
    digits = {dim: list(layout.digits(dim)) for dim in layout.dims if dim != k}
    place = 1
    found: list[Digit] = []
    for digit in sorted(layout.reg_digits(k), key=lambda d: d.div):
        found.append(Digit(place, "reg", digit.div, digit.mod))
        place *= digit.mod
    step = (k, count, place)
    place *= count
    for digit in layout.lane_digits(k):
        found.append(Digit(place, "lane", digit.div, digit.mod))
        place *= digit.mod
    digits[k] = found
    steps = [s for s in row.steps if s[0] != k]
    packed = Layout.make(layout.lanes, layout.registers, digits)
    return Placement(packed, tuple(sorted([*steps, step])), row.origin)


def _may_follow(read: Read, k: str) -> bool:
    """Whether elements along K lie side by side, or in LDS, where they can be so."""
    return fastest(read) == k or isinstance(resolve(read.memory), Allocate)


def fastest(op: Read | Write) -> str | None:
    """The register dimension that alone walks the memory's innermost dimension."""
    kind = op.memory.memory_type
    if op.mapping is None:
        return kind.dims[-1]
    last = op.mapping.coordinates[-1]
    for position, dim in enumerate(op.mapping.register_dims):
        if last is iterator_symbol(position):
            return dim
    return None


def _store(graph: Graph, rows: dict[Read, Placement]) -> None:
    """Change the rows of the reads and of all that stands for them."""
    for region in regions(graph.body):
        for op in (*region.arguments, *region.ops):
            read = resolve(op)
            if isinstance(read, Read) and read in rows:
                graph.facts.put(PLACEMENT, op, rows[read])

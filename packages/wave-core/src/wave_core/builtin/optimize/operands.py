"""Operands of matrix products stay in LDS where the instruction reads them there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.analysis.dependences.uniform import Uniformity
from wave_core.analysis.effects import written_by
from wave_core.analysis.matrix import matrix_roles
from wave_core.analysis.operands import (
    is_across,
    order_of,
    row_of_product,
    takes_shared,
    unturned,
)
from wave_core.analysis.waves import wave_number
from wave_core.constraints.machine import LANE, REGISTER
from wave_core.ir import (
    ACCESS,
    BOX,
    PLACEMENT,
    Access,
    Box,
    capture,
    eliminate_dead_code,
    insert_before,
    region_of,
    resolve,
    set_operands,
    walk_op,
)
from wave_core.ops.matrix import Mma, ScaledMma, SharedTile
from wave_core.ops.memory import Allocate, Read, Write
from wave_core.passes import Pass
from wave_core.symbols import Expr, Kind, conjuncts, constant, le, symbol
from wave_core.targets import REGISTER as IN_REGISTERS, SHARED
from wave_core.types import AccessMapping, iterator_symbol

if TYPE_CHECKING:
    from wave_core.ir import Graph, Region
    from wave_core.ops.base import Op
    from wave_core.passes import PassContext
    from wave_core.symbols import Facts, Layout
    from wave_core.targets import MatrixInstruction
    from wave_core.types import BufferLayout


@dataclass(frozen=True)
class FetchMatrixOperands(Pass):
    """Leave operands in LDS where a matrix instruction reads them there by itself.

    Needs expanded tiles. A plain read of LDS becomes a shared tile if its elements are
    proved to be a box of the buffer, in an order that the instruction knows. Its
    condition may say which rows or columns of the product exist, and nothing about what
    is summed up. An operand that the instruction does not take from registers goes
    through a buffer of its own otherwise, which is slow, and right for whatever value.
    Does nothing for instructions that take all operands from registers.

    Example::

          kernel "k" target "generic128" {
            bind N = 8
            constraint #WorkgroupConstraint(dim = M, tile_size = `64`,
                workgroup_dim = 0)
            constraint #HardwareConstraint(threads_per_wave = 128)
            %c = argument parameter "c" : mem<M, N, global, f32>
            %b = allocate {shape = [N, K], distributed_shape = [`8`, `16`],
                dtype = !f16} : mem<N, K, shared, f16, physical[8, 16]>
            %x = register {shape = [M, K], dtype = !f16, value = 1.0} : reg<M, K, f16>
                @placement(layout = #layout(128x8 {K:
                8*(reg/4%2) + 2*(lane/1%4) + (reg/1%2), M:
                16*(lane/32%4) + 8*(reg/2%2) + (lane/4%8)}))
            %z = register {shape = [M, N], dtype = !f32, value = 0.0} : reg<M, N, f32>
                @placement(layout = #layout(128x4 {M:
                16*(lane/32%4) + 8*(reg/2%2) + (lane/4%8), N:
                2*(lane/1%4) + (reg/1%2)}))
        -   %y = read %b, [] : reg<N, K, f16>
        -       @access(coordinates = [$LANE // 16, $LANE % 16], registers = 1)
        -       @placement(layout = #layout(128x1 {K: (lane/1%16), N: (lane/16%8)}))
        -   %p = mma %x, %y, %z {mma_type = "F32_64x8x16_F16"} : reg<M, N, f32>
        -       @placement(layout = #layout(128x4 {M:
        -       16*(lane/32%4) + 8*(reg/2%2) + (lane/4%8), N:
        -       2*(lane/1%4) + (reg/1%2)}))
        +   %0 = shared_tile %b {shape = [N, K]} : reg<N, K, f16>
        +       @access(coordinates = [$LANE // 16, $LANE % 16], registers = 1)
        +       @box(origin = [`0`, `0`], extents = [8, 16])
        +       @placement(layout = #layout(128x1 {K: (lane/1%16), N: (lane/16%8)}))
        +   %p = mma %x, %0, %z {mma_type = "F32_64x8x16_F16"} : reg<M, N, f32>
        +       @placement(layout = #layout(128x4 {M:
        +       16*(lane/32%4) + 8*(reg/2%2) + (lane/4%8), N:
        +       2*(lane/1%4) + (reg/1%2)}))
            write %p, %c, []
                @access(coordinates = [$LANE // 2, $REG + 4*($LANE % 2)], registers = 4)
            yield []
          }
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Replace the operands of the products that ask for it."""
        if not takes_shared(context.target):
            return False
        fetcher = _Fetcher(graph, context)
        for op in list(graph.walk()):
            if isinstance(op, Mma) and not isinstance(op, ScaledMma):
                fetcher.product(op)
        context.count("tiles_in_place", fetcher.in_place)
        context.count("tiles_copied", fetcher.copied)
        if not fetcher.in_place + fetcher.copied:
            return False
        eliminate_dead_code(graph)
        return True


@dataclass(frozen=True)
class _Operand:
    """An operand of a product.

    Attributes:
        op: The product.
        value: The operand.
        across: The dim of the result that it has.
        along: The dim that is summed up.
        row: The instruction.
        layout: How the instruction would take it from registers, its dims named.
    """

    op: Mma
    value: Op
    across: str
    along: str
    row: MatrixInstruction
    layout: Layout

    @property
    def extents(self) -> dict[str, int]:
        """Elements of it along each dim."""
        return {dim: self.layout.extent(dim) for dim in (self.across, self.along)}


class _Fetcher:
    """Finds or makes shared tiles; remembers those of each value."""

    def __init__(self, graph: Graph, context: PassContext) -> None:
        self._graph = graph
        self._target = context.target
        self._known = context.region_facts(graph)
        self._uniformity = Uniformity(graph)
        self._position = {op: i for i, op in enumerate(graph.walk())}
        self._tiles: dict[tuple[Op, Region], SharedTile] = {}
        self._orders: dict[Allocate, BufferLayout] = {}
        self._written: dict[Op, list[int]] = {}
        for op, position in self._position.items():
            for memory in written_by(op):
                self._written.setdefault(memory, []).append(position)
        self.in_place = self.copied = 0

    def product(self, op: Mma) -> None:
        """Give one product the operands that its instruction takes."""
        row = row_of_product(op, self._target)
        roles = matrix_roles(op)
        slots: list[Op] = []
        for value, places, across, name, layout in (
            (op.lhs, row.lhs_in, roles.m, "M", row.lhs),
            (op.rhs, row.rhs_in, roles.n, "N", row.rhs),
        ):
            named = layout.rename({name: across, "K": roles.k})
            operand = _Operand(op, value, across, roles.k, row, named)
            slots.append(self._fetched(operand, places))
        if slots != [op.lhs, op.rhs]:
            set_operands(op, (*slots, op.acc))

    def _fetched(self, operand: _Operand, places: tuple[str, ...]) -> Op:
        """The operand as the instruction takes it."""
        value = operand.value
        if SHARED not in places or isinstance(value, SharedTile):
            return value
        region = region_of(operand.op)
        found = self._tiles.get((value, region))
        if found is not None and self._holds(found, operand):
            return found
        tile = self._in_place(operand)
        if tile is None and IN_REGISTERS in places:
            return value
        if tile is None:
            tile = self._copied(operand)
        self._tiles[value, region] = tile
        return tile

    def _holds(self, tile: SharedTile, operand: _Operand) -> bool:
        """Whether a tile that was made for another product is still what it was."""
        read = unturned(operand.value)
        if not isinstance(read, Read) or resolve(tile.memory) != resolve(read.memory):
            return True
        return self._unchanged(read, operand.op)

    # ---- operands that lie in LDS already

    def _in_place(self, operand: _Operand) -> SharedTile | None:
        read, op = unturned(operand.value), operand.op
        if type(read) is not Read or read.indices or read.flags != "none":
            return None
        buffer, access = resolve(read.memory), self._graph.facts.get(ACCESS, read)
        if not isinstance(buffer, Allocate) or access is None:
            return None
        if not self._unchanged(read, op):
            return None
        if not self._uniformity.reached_together(region_of(op)):
            return None
        box = self._box(buffer, access, operand)
        if box is None or not self._alike(access, box, buffer, operand):
            return None
        across = is_across(buffer, op)
        order = order_of(buffer, operand.row, box.extents[-1], across=across)
        if order is None or self._orders.setdefault(buffer, order) != order:
            return None
        self.in_place += 1
        bare = Access(access.coordinates, access.registers)
        return self._tile(operand, buffer, bare, box)

    def _unchanged(self, read: Read, op: Mma) -> bool:
        """Whether nothing writes the buffer from the read to the product."""
        region = region_of(op)
        first, last = self._position[read], self._position[op]
        while region is not region_of(read):
            parent = region.parent
            if parent is None:
                return False
            # A later iteration may write before the product of the one after.
            *_, inner = walk_op(parent)
            last = max(last, self._position.get(inner, last))
            region = region_of(parent)
        writes = self._written.get(resolve(read.memory), ())
        return not any(first < position < last for position in writes)

    def _box(self, buffer: Allocate, access: Access, operand: _Operand) -> Box | None:
        """The elements of a read as a box, if they are proved to be one."""
        dims = buffer.memory_type.dims
        layout, extents = operand.layout, operand.extents
        if access.registers != layout.registers or set(dims[-2:]) != set(extents):
            return None
        region = region_of(operand.op)
        facts = self._known.facts(region, access.registers)
        origin: list[Expr] = []
        for dim, place in zip(dims, access.coordinates, strict=True):
            base = place
            if dim in extents:
                base = place - facts.simplify(layout.expr(dim, LANE, REGISTER))
            if _moves(base):
                base = facts.simplify(base)
            if _moves(base) or not self._uniform(base):
                return None
            origin.append(base)
        box = Box(tuple(origin), tuple(extents.get(dim, 1) for dim in dims))
        return box if _fits(box, buffer, facts) else None

    def _uniform(self, place: Expr) -> bool:
        """Whether the lanes of a wave agree on a place."""
        return self._uniformity.own.isdisjoint(place.free_symbols) and not any(
            s.name.startswith("$dynamic_val") for s in place.free_symbols
        )

    def _alike(
        self, access: Access, box: Box, buffer: Allocate, operand: _Operand
    ) -> bool:
        """Whether what is masked is whole rows or columns of the result."""
        facts = self._known.facts(region_of(operand.op), access.registers)
        at = buffer.memory_type.dims.index(operand.across)
        place = access.coordinates[at] - box.origin[at]
        return all(_of_place(c, place, facts) for c in conjuncts(access.mask))

    def _tile(
        self, operand: _Operand, buffer: Op, access: Access, box: Box
    ) -> SharedTile:
        op, value = operand.op, operand.value
        memory = capture(region_of(op), buffer)
        tile = SharedTile(memory, value.register_type.shape)
        tile.tags = value.tags
        insert_before(op, tile, resolve(value))
        facts = self._graph.facts
        facts.put(ACCESS, tile, access)
        facts.put(BOX, tile, box)
        facts.put(PLACEMENT, tile, facts.known(PLACEMENT, value))
        return tile

    # ---- operands that registers hold

    def _copied(self, operand: _Operand) -> SharedTile:
        """Write the operand to a buffer with a part for each wave."""
        op, value, layout = operand.op, operand.value, operand.layout
        kind = value.register_type
        dims = (operand.across, operand.along)
        extents = [operand.extents[dim] for dim in dims]
        geometry = self._known.geometry
        names = (symbol("$WAVE"), *(symbol(f"$LOCAL:{dim}") for dim in dims))
        sizes = (geometry.waves_per_workgroup, *extents)
        buffer = Allocate(names, tuple(map(constant, sizes)), kind.dtype)
        buffer.tags = value.tags
        insert_before(next(iter(self._graph.body.ops)), buffer, value)
        wave = wave_number(geometry)
        places = tuple(layout.expr(dim, LANE, REGISTER) for dim in dims)
        access = Access((wave, *places), layout.registers)
        iterators = dict(zip(kind.dims, map(iterator_symbol, range(9)), strict=False))
        mapping = AccessMapping(
            kind.dims, (symbol("$WAVE"), *(iterators[dim] for dim in dims))
        )
        write = Write(value, capture(region_of(op), buffer), (), mapping)
        write.tags = value.tags
        insert_before(op, write, value)
        self._graph.facts.put(ACCESS, write, access)
        self.copied += 1
        zero = constant(0)
        return self._tile(
            operand, buffer, access, Box((wave, zero, zero), (1, *extents))
        )


def _moves(place: Expr) -> bool:
    """Whether a value may differ between lanes or registers."""
    return not place.free_symbols.isdisjoint((LANE, REGISTER))


def _fits(box: Box, buffer: Allocate, facts: Facts) -> bool:
    """Whether the box lies inside, in whole rows of eight and whole pieces of a row.

    An instruction may be larger than the tile; then there may be nothing beyond that.
    """
    shape = buffer.memory_type.storage_shape[-2:]
    whole = zip(box.origin[-2:], (8, box.extents[-1]), strict=True)
    ends = zip(box.origin[-2:], box.extents[-2:], shape, strict=True)
    return (
        shape[0].constant_value % 8 == 0
        and all(facts.prove_divisible(at, by) for at, by in whole)
        and all(facts.prove(le(at + extent, size)) for at, extent, size in ends)
    )


def _of_place(condition: Expr, place: Expr, facts: Facts) -> bool:
    """Whether a condition of lanes and registers is one of a place alone."""
    if not _moves(condition):
        return True
    if condition.kind is not Kind.GE:
        return False
    compared = condition.args[0]
    return any(not _moves(facts.simplify(compared + place * sign)) for sign in (1, -1))

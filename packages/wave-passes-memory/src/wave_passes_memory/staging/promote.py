"""Arguments that ask for staging are copied to LDS, a workgroup's tile at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.analysis.dependences.uniform import Uniformity
from wave_core.analysis.effects import written_memories
from wave_core.analysis.loops import loops_of
from wave_core.ir import (
    Region,
    capture,
    insert_before,
    region_of,
    replace,
    resolve,
    set_space,
)
from wave_core.ops.atomic import Atomic
from wave_core.ops.control import Iterate
from wave_core.ops.memory import Allocate, Read, Write
from wave_core.passes import Pass
from wave_core.types import AddressSpace, MemoryType, dim_name, iterator_symbol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.constraints.geometry import Geometry
    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.ops.structure import Argument
    from wave_core.passes import PassContext
    from wave_core.symbols import Expr


@dataclass(frozen=True)
class Tile:
    """The elements that the waves of a workgroup read together.

    Attributes:
        shape: Its dimensions, the one along which memory is contiguous last.
        extents: Elements along each of them.
        plain: Whether they are the memory's own dimensions, so that the buffer takes
            the place of the memory; else those of the register, and the memory's
            mapping is done with when the buffer is filled.
    """

    shape: tuple[Expr, ...]
    extents: tuple[Expr, ...]
    plain: bool

    @property
    def dims(self) -> frozenset[str]:
        """The names of the dimensions."""
        return frozenset(map(dim_name, self.shape))


def tile_of(read: Read, geometry: Geometry, loops: Mapping[str, Expr]) -> Tile | None:
    """The workgroup's tile of a read, or ``None`` where its size is not known."""
    plain = only_reorders(read)
    own, turned = read.memory.memory_type.shape, _contiguous_last(read)
    shape = own if plain else turned
    extents = {dim: _extent(dim_name(dim), geometry, loops) for dim in shape}
    known = {dim: extent for dim, extent in extents.items() if extent is not None}
    if len(known) < len(extents) or not shape:
        return None
    if plain and own != turned and _alike(own, turned, known):
        shape, plain = turned, False
    return Tile(shape, tuple(known[dim] for dim in shape), plain)


def _alike(
    one: tuple[Expr, ...], other: tuple[Expr, ...], extents: Mapping[Expr, Expr]
) -> bool:
    """Whether elements lie the same way: dims of one element may stand elsewhere.

    Products take tiles whose rows and columns are the last two dims.
    """
    wide = [
        [dim for dim in dims if extents[dim].constant_value != 1]
        for dims in (one, other)
    ]
    return wide[0] == wide[1]


def only_reorders(read: Read) -> bool:
    """Whether each dimension of the memory is one of the register's, by name."""
    memory = read.memory.memory_type
    mapping = read.mapping
    if mapping is None:
        return True
    if mapping.exists is not None:
        return False
    walked = {iterator_symbol(i): dim for i, dim in enumerate(mapping.register_dims)}
    found = tuple(walked.get(coordinate) for coordinate in mapping.coordinates)
    return found == memory.dims and len(walked) == len(found)


def _contiguous_last(read: Read) -> tuple[Expr, ...]:
    """The register's dimensions, the one that walks contiguous memory last."""
    shape = read.register_type.shape
    mapping = read.mapping
    if mapping is None:
        return shape
    last = mapping.coordinates[-1].free_symbols
    inner = [
        dim
        for position, dim in enumerate(mapping.register_dims)
        if iterator_symbol(position) in last
    ]
    if not inner:
        return shape
    rest = [dim for dim in shape if dim_name(dim) != inner[-1]]
    return (*rest, *(dim for dim in shape if dim_name(dim) == inner[-1]))


def _extent(dim: str, geometry: Geometry, loops: Mapping[str, Expr]) -> Expr | None:
    """Elements along ``dim`` that all waves of a workgroup hold at a time."""
    tile = geometry.tile(dim, loops)
    if not tile.is_constant or tile.constant_value < 1:
        return None
    if geometry.split_among_waves(dim) is None:
        return tile
    if geometry.loop_axis(dim) in loops:
        # The waves' tiles lie apart, with what later iterations read between them.
        return None
    start = geometry.local_base(dim, loops, tile)
    last = geometry.facts.bounds(start).hi
    return None if last is None else tile + last


@dataclass(frozen=True)
class PromoteShared(Pass):
    """Copy what is read of an argument in ``SHARED`` to a buffer in LDS first.

    Needs types and loop symbols. Each read becomes a read of global memory, a write
    to a buffer, and a read of the buffer; reads of one tile share them. The copies of
    a region stand together before its first read, outside the loops that they do not
    depend on. An argument that the kernel writes, a read that not all waves reach
    and a tile whose size is not known are left in global memory, with a warning for
    the latter two.

    Example::

          kernel "k" target "generic" {
            constraint #HardwareConstraint(threads_per_wave = 64)
            constraint #WorkgroupConstraint(dim = M, tile_size = `16`,
                workgroup_dim = 0)
        -   %a = argument parameter "a" : mem<M, shared, f32>
        +   %a = argument parameter "a" : mem<M, global, f32>
            %b = argument parameter "b" : mem<M, global, f32>
        -   %x = read %a, [] : reg<M, f32>
        -   write %x, %b, []
        +   %0 = allocate {shape = [M], distributed_shape = [`16`], dtype = !f32} :
        +       mem<M, shared, f32, physical[16]>
        +   %1 = read %a, [] : reg<M, f32>
        +   write %1, %0, []
        +   %2 = read %0, [] : reg<M, f32>
        +   write %2, %b, []
            yield []
          }
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Stage the arguments that ask for it."""
        asking = [p for p in graph.parameters if _asks(p)]
        if not asking:
            return False
        geometry = context.geometry(graph)
        _Promoter(graph, geometry, context).run(asking)
        set_space(graph, asking, AddressSpace.GLOBAL)
        return True


def _asks(parameter: Argument) -> bool:
    kind = parameter.type
    return isinstance(kind, MemoryType) and kind.space is AddressSpace.SHARED


@dataclass(frozen=True)
class _Request:
    """One read to be staged.

    Attributes:
        read: The read.
        tile: What the workgroup needs of the memory.
        region: Where the copy goes.
        anchor: The op of that region that the copy stands before.
        key: Equal for reads that one copy serves.
    """

    read: Read
    tile: Tile
    region: Region
    anchor: Op
    key: object


class _Promoter:
    """Replaces reads of arguments by reads of buffers."""

    def __init__(self, graph: Graph, geometry: Geometry, context: PassContext) -> None:
        self._graph = graph
        self._geometry = geometry
        self._context = context
        self._uniformity = Uniformity(graph, geometry)

    def run(self, asking: list[Argument]) -> None:
        """Stage all reads of the parameters ``asking``."""
        ops = list(self._graph.walk())
        written = written_memories(self._graph.body)
        wanted = [p for p in asking if p not in written]
        for op in ops:
            if isinstance(op, Atomic) and resolve(op.memory) in asking:
                self._decline(op, "an atomic updates it")
        requests = [
            request
            for read in ops
            if isinstance(read, Read)
            and resolve(read.memory) in wanted
            and (request := self._request(read)) is not None
        ]
        fronts: dict[int, Op] = {}
        for request in requests:
            fronts.setdefault(id(request.region), request.anchor)
        buffers = self._copies(requests, fronts)
        for request in requests:
            self._use(request, buffers[request.key])
        self._context.count("staged_reads", len(requests))
        self._context.count("staging_buffers", len(buffers))

    def _request(self, read: Read) -> _Request | None:
        region = region_of(read)
        tile = tile_of(read, self._geometry, loops_of(region))
        if tile is None:
            self._decline(read, "the size of its tile is not known at compile time")
        elif not self._uniformity.reached_together(region):
            self._decline(read, "not all waves of a workgroup come along")
        elif read.flags == "none":
            return self._placed(read, tile)
        return None

    def _placed(self, read: Read, tile: Tile) -> _Request:
        """Outside the loops that the tile does not depend on."""
        region, anchor = region_of(read), read
        exprs = () if read.mapping is None else read.mapping.expressions
        used = {s for expr in exprs for s in expr.free_symbols}
        alone = self._alone(read)
        while isinstance(region.parent, Iterate) and not alone:
            loop = region.parent
            moving = map(self._geometry.loop_axis, tile.dims)
            if str(loop.axis) in moving or loop.induction in used:
                break
            anchor, region = loop, region_of(loop)
        mapping = None if tile.plain else read.mapping
        memory = resolve(read.memory).ident
        key = memory, tile, mapping, tuple(v.ident for v in read.indices), id(region)
        return _Request(read, tile, region, anchor, key)

    def _alone(self, read: Read) -> bool:
        """Whether what it reads may change from place to place."""
        return bool(self._uniformity.own or read.indices)

    def _decline(self, op: Read | Atomic, why: str) -> None:
        memory = resolve(op.memory)
        label = memory.attributes["label"]
        does = "reads" if isinstance(op, Read) else "updates"
        self._context.collector.warn(
            "WV0408",
            f"`{label}` is not staged in shared memory here: {why}",
            at=op.location,
            label=f"{does} global memory instead",
            secondary=((memory.location, "asks to be staged"),),
            help=("bind the sizes of the tile, and read outside of conditionals",),
        )

    def _copies(
        self, requests: list[_Request], fronts: dict[int, Op]
    ) -> dict[object, Op]:
        """Fill one buffer for each key: all reads of a place, then all writes."""
        buffers: dict[object, Op] = {}
        fetched: list[tuple[_Request, Op, Read]] = []
        for request in requests:
            if request.key in buffers:
                continue
            buffer = buffers[request.key] = self._allocate(request)
            alone = self._alone(request.read)
            front = request.anchor if alone else fronts[id(request.region)]
            fetched.append((request, front, _fetch(request, front)))
            if alone:
                self._fill(*fetched.pop(), buffer)
        for request, front, value in fetched:
            self._fill(request, front, value, buffers[request.key])
        return buffers

    def _allocate(self, request: _Request) -> Op:
        kind = request.read.memory.memory_type
        buffer = Allocate(request.tile.shape, request.tile.extents, kind.dtype)
        buffer.tags = request.read.tags
        first = next(self._graph.body.ops)
        return insert_before(first, buffer, request.read)

    def _fill(self, request: _Request, front: Op, value: Op, buffer: Op) -> None:
        write = Write(value, capture(request.region, buffer), ())
        write.tags = request.read.tags
        insert_before(front, write, request.read)

    def _use(self, request: _Request, buffer: Op) -> None:
        read = request.read
        mapping = read.mapping if request.tile.plain else None
        shape = read.shape if request.tile.plain else read.register_type.shape
        new = Read(
            capture(region_of(read), buffer),
            (),
            mapping,
            shape,
            read.elements_per_thread,
        )
        replace(read, new)


def _fetch(request: _Request, front: Op) -> Read:
    """The read of global memory, in the order in which the buffer is stored."""
    read, tile = request.read, request.tile
    memory = capture(request.region, resolve(read.memory))
    if tile.plain:
        value = Read(memory, ())
    else:
        value = Read(memory, read.indices, read.mapping, tile.shape)
    value.tags = read.tags
    insert_before(front, value, read)
    return value

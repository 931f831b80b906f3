"""The tile of a memory that a workgroup needs at one point of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.types import MemoryType, dim_name, iterator_symbol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.constraints.geometry import Geometry
    from wave_core.ops.memory import Read
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
    shape = _memory(read).shape if plain else _contiguous_last(read)
    extents = [_extent(dim_name(dim), geometry, loops) for dim in shape]
    known = [e for e in extents if e is not None]
    if len(known) < len(extents) or not shape:
        return None
    return Tile(shape, tuple(known), plain)


def only_reorders(read: Read) -> bool:
    """Whether each dimension of the memory is one of the register's, by name."""
    memory = _memory(read)
    mapping = read.mapping
    if mapping is None:
        return True
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
    if dim in loops:
        # The waves' tiles lie apart, with what later iterations read between them.
        return None
    start = geometry.local_base(dim, loops, tile)
    last = geometry.facts.bounds(start).hi
    return None if last is None else tile + last


def _memory(read: Read) -> MemoryType:
    return read.memory.memory_type

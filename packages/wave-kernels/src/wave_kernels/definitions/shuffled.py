"""Memories of small floats and scales that lie as lanes take them.

A wave that multiplies 16 rows by 256 elements along K reads whole lines of such a
block, 16 bytes a lane, lane after lane: see `wave_kernels.microscaling` for the places.
Kernels read any tile of the matrix, so that constraints and bounds stay what they are.
"""

# Mappings and memories are made of symbols.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.microscaling import (
    BLOCK,
    block_shape,
    byte_place,
    scale_place,
)


@dataclass(frozen=True)
class Stored:
    """How a matrix of bytes lies in memory.

    Attributes:
        dims: The dimensions of the memory.
        mapping: From them to rows and columns; ``None`` where they are those.
    """

    dims: tuple[Any, ...]
    mapping: Any = None

    def memory(self, space: Any) -> Any:
        """What a kernel declares: a matrix in ``space``, blocks in global memory."""
        where = space if self.mapping is None else tkl.GLOBAL_ADDRESS_SPACE
        return tkl.Memory[*self.dims, where, tkl.i8]


def scales_in_blocks(rows: Any, k: Any) -> Stored:
    """The scales of ``rows`` rows of ``k`` elements, as `scale_place` says."""
    i, j = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
    return _stored(scale_place(i, j), rows, k / BLOCK, block_shape())


def elements_in_blocks(rows: Any, k: Any, bits: int) -> Stored:
    """``rows`` rows of ``k`` elements, as `byte_place` says."""
    i, j = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
    return _stored(byte_place(i, j, bits), rows, k * bits / 8, block_shape(bits))


def _stored(
    place: tuple[Any, Any, Any], rows: Any, columns: Any, block: tuple[int, int]
) -> Stored:
    height, width = block
    dims = _blocks(rows, height), _blocks(columns, width), height * width
    mapping = tkw.IndexMapping(
        num_iterators=2,
        inputs=dict(zip(dims, place, strict=True)),
        outputs={
            rows: tkw.IndexMapping.iterator(0),
            columns: tkw.IndexMapping.iterator(1),
        },
    )
    return Stored(dims, mapping)


def _blocks(count: Any, size: int) -> Any:
    """How many blocks of this size hold so many."""
    return (count + size - 1) // size

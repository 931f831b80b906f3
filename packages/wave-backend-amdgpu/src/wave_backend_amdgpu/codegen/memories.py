"""Memories of a kernel: bindings, buffers and LDS, each one flat array."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from wave_core.analysis.dependences.storage import lds_bytes
from wave_core.analysis.effects import written_memories
from wave_core.backends.emission import stored
from wave_core.backends.emission.memories import (
    copied_memories,
    extents,
    size,
    streamed_memories,
    strides,
)
from wave_core.ir import Graph, resolve
from wave_core.ops.atomic import Atomic
from wave_core.ops.memory import Allocate, Read, Write
from wave_core.symbols import Expr, constant
from wave_core.types.dtype import i8

if TYPE_CHECKING:
    from wave_core.types import DType

BUFFER_LIMIT = (1 << 31) - 16
"""Bytes below which a buffer instruction addresses; an offset at or above it is out of
bounds whatever the size of the buffer.

The widest access there still ends below 2 GiB: LLVM takes an offset that overflows 32
bits for one that no lane has, and drops the mask which chooses it.
"""

WIDEST_STEPPED = 32
"""Bits of the widest element that loads with a scalar offset know."""


class Space(Enum):
    """How a memory is accessed."""

    GLOBAL = "global"
    BUFFER = "buffer"
    LDS = "lds"


@dataclass(frozen=True)
class Memory:
    """A memory as the code sees it: one flat array.

    Attributes:
        name: The name of the memref.
        type: Its type.
        dtype: The element type.
        strides: Elements between neighbours along each dimension.
        space: How it is accessed.
        plain: Of a buffer that is loaded with scalar offsets alone, name and type of
            the memref that it is made of.
        count: How many elements it has; ``None`` where the launch decides.
    """

    name: str
    type: str
    dtype: DType
    strides: tuple[Expr, ...]
    space: Space
    plain: tuple[str, str] | None = None
    count: int | None = None

    @property
    def outside(self) -> int:
        """An index that a buffer instruction takes for out of bounds."""
        return BUFFER_LIMIT // self.dtype.bytes


def pointed_memories(graph: Graph) -> set[int]:
    """The memories with atomics or volatile accesses, which take pointers, by key."""
    return {
        resolve(op.memory).ident
        for op in graph.walk()
        if isinstance(op, Atomic) or (isinstance(op, Read | Write) and op.is_volatile)
    }


def stepped_memories(graph: Graph) -> set[int]:
    """The memories whose loads may all take what loops add as a scalar, by key.

    The compiler has one form of a buffer for loads with a scalar offset, and one for
    all other accesses. It dies where a memory has both and one access is at its
    start, so a memory has the first form for all its accesses, or the second.
    """
    written = {memory.ident for memory in written_memories(graph.body)}
    unfit = written | copied_memories(graph)
    for op in graph.walk():
        if isinstance(op, Read) and (
            op.flags != "none" or op.register_type.dtype.bits > WIDEST_STEPPED
        ):
            unfit.add(resolve(op.memory).ident)
    return streamed_memories(graph) - unfit


def choose_space(shape: tuple[Expr, ...], dtype: DType, *, wanted: bool) -> Space:
    """Buffer instructions where they are wanted and reach the whole memory.

    A size that the launch decides counts as small enough: the manifest says so, and
    a launch with a larger one is refused.
    """
    count = size(shape)
    small = not count.is_constant or (count.constant_value * dtype.bytes < BUFFER_LIMIT)
    return Space.BUFFER if wanted and small else Space.GLOBAL


def lds_memory(graph: Graph, op: Allocate, name: str) -> Memory:
    """The record of an allocation in LDS."""
    shape = extents(graph, op.memory_type)
    count = size(shape).constant_value + op.tail_padding
    kind = f"memref<{count}x{stored(op.dtype)}, #gpu.address_space<workgroup>>"
    return Memory(name, kind, op.dtype, strides(shape), Space.LDS)


def packed_memory(graph: Graph, name: str) -> Memory:
    """The bytes that all buffers with an offset lie in."""
    buffers = [op for op in graph.walk() if isinstance(op, Allocate)]
    packed = [op for op in buffers if op.offset is not None]
    count = lds_bytes(packed, graph.bindings)
    kind = f"memref<{count}xi8, #gpu.address_space<workgroup>>"
    return Memory(name, kind, i8, (constant(1),), Space.LDS)

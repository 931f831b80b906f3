"""Memories of a kernel: global arrays by pointers, shared memory as one array."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from wave_backend_nvgpu.codegen.types import scalar
from wave_core.analysis.dependences.storage import (
    address_range,
    buffers_of,
    lds_bytes,
    static_bytes,
)
from wave_core.backends.emission import stored
from wave_core.backends.emission.memories import extents, strides
from wave_core.ops.memory import GatherToLDS

if TYPE_CHECKING:
    from wave_backend_nvgpu.codegen.builder import Builder
    from wave_core.backends.emission.expressions import Expressions
    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.ops.memory import Allocate
    from wave_core.symbols import Expr
    from wave_core.types import DType

SHARED = "wave$shared"
"""The array of shared memory; its size comes with the launch. No kernel has a name with
a dollar, see `symbol_of`; LLVM renames points, but not of what it did not define."""

SHARED_ALIGNMENT = 1024
"""Bytes; the largest that anything in shared memory asks for."""

OWN_ALIGNMENT = 16
"""Bytes at which a buffer that is not packed with others starts."""


class Space(Enum):
    """Where a memory is: its address space, and the bits of its addresses."""

    GLOBAL = (1, 64)
    LDS = (3, 32)

    @property
    def pointer(self) -> str:
        """The type of its pointers."""
        return f"ptr addrspace({self.value[0]})"

    @property
    def addresses(self) -> tuple[str, int]:
        """The type of its pointers, and their bits."""
        return self.pointer, self.value[1]


@dataclass(frozen=True)
class Memory:
    """A memory as the code sees it: one flat array.

    Attributes:
        name: The pointer to its first byte, or to that of all shared memory.
        start: Bytes from there to its first element.
        dtype: The element type.
        strides: Elements between neighbours along each dimension.
        space: Where it is.
    """

    name: str
    start: int
    dtype: DType
    strides: tuple[Expr, ...]
    space: Space

    @property
    def item(self) -> str:
        """The type of an element there."""
        return scalar(stored(self.dtype))


class SharedLayout:
    """Where each buffer of a kernel lies in shared memory.

    Attributes:
        size: Bytes of all of them.
    """

    def __init__(self, graph: Graph) -> None:
        buffers = buffers_of(graph)
        packed = [op for op in buffers if op.offset is not None]
        self.size = lds_bytes(packed, graph.bindings)
        self._starts: dict[int, int] = {}
        for op in buffers:
            where = address_range(op, graph.bindings)
            if where is not None:
                self._starts[op.ident] = where.start
                continue
            alignment = OWN_ALIGNMENT if op.layout is None else op.layout.alignment
            start = -(-self.size // alignment) * alignment
            self._starts[op.ident] = start
            self.size = start + static_bytes(op, graph.bindings)

    def reserve(self, size: int) -> str:
        """The pointer to so many bytes more, at a multiple of `OWN_ALIGNMENT`."""
        start = -(-self.size // OWN_ALIGNMENT) * OWN_ALIGNMENT
        self.size = start + size
        return f"getelementptr (i8, {Space.LDS.pointer} @{SHARED}, i32 {start})"

    def memory(self, graph: Graph, op: Allocate) -> Memory:
        """The record of a buffer."""
        kind = op.memory_type
        shape = strides(extents(graph, kind))
        start = self._starts[op.ident]
        return Memory(f"@{SHARED}", start, kind.dtype, shape, Space.LDS)


def shared_definition() -> str:
    """The array of shared memory."""
    return (
        f"@{SHARED} = external addrspace(3) global [0 x i8], align {SHARED_ALIGNMENT}"
    )


def address(
    builder: Builder, indices: Expressions, memory: Memory, offset: Expr
) -> str:
    """A pointer to the element at an offset, whose alignment is that of the access.

    What differs by a constant shares an address, since the constant is part of the
    instruction.
    """
    const, _ = offset.linear()
    rest = offset - const
    bytes_ = memory.start + const * memory.dtype.bytes
    level, (pointer, width) = indices.level(rest), memory.space.addresses

    def moved() -> str:
        number = indices.number(rest, 64) if width == 64 else indices.wrapped(rest)
        return builder.op(
            f"getelementptr {memory.item}, {pointer} {memory.name}, i{width} {number}",
            level,
        )

    base = memory.name
    if not (rest.is_constant and rest.constant_value == 0):
        key = ("address", memory.name, memory.item, rest)
        base = builder.once(key, moved, level)
    if not bytes_:
        return base
    text = f"getelementptr i8, {pointer} {base}, i{width} {bytes_}"
    return builder.once(
        ("address", base, bytes_), lambda: builder.op(text, level), level
    )


def has_copies(graph: Graph) -> bool:
    """Whether threads copy something to shared memory past the registers."""
    return any(not op.box for op in _copies(graph))


def has_boxes(graph: Graph) -> bool:
    """Whether boxes are copied to shared memory."""
    return any(map(is_box, graph.walk()))


def is_box(op: Op) -> bool:
    """Whether an op is a copy of a box, which one thread makes."""
    return isinstance(op, GatherToLDS) and bool(op.box)


def _copies(graph: Graph) -> list[GatherToLDS]:
    return [op for op in graph.walk() if isinstance(op, GatherToLDS)]

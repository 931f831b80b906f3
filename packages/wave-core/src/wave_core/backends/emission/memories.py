"""The memories of a kernel: how large each is, and how it is accessed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.ir import ACCESS, Graph, resolve, walk
from wave_core.ops.control import Iterate
from wave_core.ops.memory import GatherToLDS, Read, Write
from wave_core.symbols import Expr, constant, product

if TYPE_CHECKING:
    from wave_core.types import MemoryType

PACKED = -1
"""The key of the memory that packed buffers lie in; those of ops are positive."""


def extents(graph: Graph, kind: MemoryType) -> tuple[Expr, ...]:
    """The extents in storage with what is known at compile time put in."""
    return tuple(extent.subs(graph.bindings) for extent in kind.storage_shape)


def strides(shape: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Row-major strides, in elements."""
    found: list[Expr] = []
    step = constant(1)
    for extent in reversed(shape):
        found.append(step)
        step = step * extent
    return tuple(reversed(found))


def size(shape: tuple[Expr, ...]) -> Expr:
    """The number of elements."""
    return product([constant(1), *shape])


def masked_memories(graph: Graph) -> set[int]:
    """The memories with an access that leaves elements out, by key."""
    found: set[int] = set()
    for op in graph.walk():
        if isinstance(op, Read | Write):
            access = graph.facts.get(ACCESS, op)
            if access is not None and access.mask is not None:
                found.add(resolve(op.memory).ident)
    return found


def copied_memories(graph: Graph) -> set[int]:
    """The memories that direct copies to LDS read, by key."""
    copies = [op for op in graph.walk() if isinstance(op, GatherToLDS)]
    return {resolve(op.source).ident for op in copies}


def streamed_memories(graph: Graph) -> set[int]:
    """The memories that loops read, by key."""
    loops = [op for op in graph.walk() if isinstance(op, Iterate)]
    bodies = [region for loop in loops for region in loop.regions]
    reads = [op for body in bodies for op in walk(body) if isinstance(op, Read)]
    return {resolve(op.memory).ident for op in reads}

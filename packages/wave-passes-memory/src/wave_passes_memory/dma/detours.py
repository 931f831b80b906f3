"""Tiles that reach LDS through registers because they change on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.ir import resolve
from wave_core.ops.memory import Allocate, Read, Write
from wave_core.ops.shape import Assemble
from wave_core.ops.structure import Argument

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_core.ir import Graph
    from wave_core.ops.base import Op


def detours(graph: Graph) -> dict[Allocate, Read]:
    """By buffer, a read of global memory whose elements it gets in another order.

    Buffers that the compiler made to exchange values between lanes do not count.
    """
    found: dict[Allocate, Read] = {}
    for op in graph.walk():
        if not isinstance(op, Write) or not isinstance(op.value, Assemble):
            continue
        buffer = resolve(op.memory)
        if isinstance(buffer, Allocate) and not _exchanges(buffer):
            for read in _reads(op.value):
                found.setdefault(buffer, read)
    return found


def _exchanges(buffer: Allocate) -> bool:
    kind = buffer.memory_type
    return any(dim.startswith("$") for dim in kind.dims)


def _reads(value: Op) -> Iterator[Read]:
    """The reads of parameters that a value is put together from."""
    if isinstance(value, Assemble):
        for source in value.sources:
            yield from _reads(source)
    elif isinstance(value, Read) and isinstance(resolve(value.memory), Argument):
        yield value

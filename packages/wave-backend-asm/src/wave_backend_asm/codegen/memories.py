"""Memories as instructions get at them: buffers by descriptors, LDS by bytes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from wave_backend_asm.code import Part
from wave_backend_asm.machine.operands import SCALARS, Virtual
from wave_core.backends.emission.memories import extents, size, strides
from wave_core.ops.atomic import Atomic
from wave_core.ops.memory import Allocate, Read, Write
from wave_core.ops.sync import Fence

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from wave_backend_asm.codegen.emitter import Emitter
    from wave_backend_asm.machine.operands import Operand
    from wave_core.ir import Graph
    from wave_core.ops.structure import Argument
    from wave_core.symbols import Expr
    from wave_core.types import DType

BUFFER_LIMIT = (1 << 31) - 16
"""Bytes below which a buffer instruction addresses here: an offset from here on is out
of bounds whatever is added to it, and takes no part."""

_RAW = 0x27000
"""The last word of a descriptor of bytes. Source: CDNA3 ISA, "Buffer resource
descriptor": 32-bit data in DATA_FORMAT, unsigned integers in NUM_FORMAT."""


@dataclass(frozen=True)
class Memory:
    """A memory as the code sees it: one flat array.

    Attributes:
        dtype: the element type.
        strides: elements between neighbours along each dimension.
        descriptor: of a buffer; ``None`` in LDS.
        start: bytes in front of it in LDS.
        count: elements, where they are known.
        steady: whether nobody writes it while the kernel runs.
        name: of a buffer of LDS, the same for all that share bytes.
        again: makes the descriptor where it is used; ``None`` where it is kept.
    """

    dtype: DType
    strides: tuple[Expr, ...]
    descriptor: Part | None = None
    start: int = 0
    count: int | None = None
    steady: bool = False
    name: str = ""
    again: Callable[[], Part] | None = None

    @property
    def outside(self) -> int:
        """A byte that a buffer takes for out of bounds."""
        return BUFFER_LIMIT


@dataclass(frozen=True)
class Descriptor:
    """The registers of a descriptor that lacks all but its address.

    Attributes:
        quad: where it will be.
        address: the words of the address: where a wave starts with them, or in `quad`,
            as soon as they are loaded.
        position: the number of the parameter.
    """

    quad: Virtual
    address: tuple[Part, ...]
    position: int


def address_of(emit: Emitter, argument: Argument, position: int) -> Descriptor:
    """The address of a parameter, asked for where a wave does not start with it."""
    quad = Virtual(4, SCALARS, f"descriptor of {argument.label}")
    found = emit.preloaded(2 * position, 2)
    if not found:
        found = quad.parts()[:2]
        emit.argument(8 * position, 2, Part(quad, 0, 2))
    return Descriptor(quad, found, position)


def buffer_of(
    emit: Emitter, argument: Argument, start: Descriptor, *, steady: bool
) -> Memory:
    """The record of a parameter, with the code that completes its descriptor.

    Addresses have 47 bits: of the second word, the bits where a descriptor has a stride
    and more of its own are zeros. Source: Linux, Documentation/arch/x86/x86_64/mm.rst,
    "user-space virtual memory".
    """
    kind = argument.memory_type
    shape = extents(emit.graph, kind)
    count = size(shape)
    records = emit.b.words(emit.indices.wrapped(count * kind.dtype.bytes))[0]
    records = emit.b.uniform(records)
    known = count.constant_value if count.is_constant else None
    return Memory(
        kind.dtype,
        strides(shape),
        _completed(emit, start, records),
        count=known,
        steady=steady,
        again=None if emit.keeps_descriptors else partial(_again, emit, start, records),
    )


def _completed(emit: Emitter, start: Descriptor, records: Operand) -> Part:
    """All of a descriptor, of which the address is known."""
    b = emit.b
    third, fourth = start.quad.parts()[2:]
    address = b.together(start.address, SCALARS)
    if address.value is not start.quad:
        b.copy(Part(start.quad, 0, 2), address)
    b.say("s_mov_b32", (third,), (records,))
    b.say("s_mov_b32", (fourth,), (_RAW,))
    return start.quad.all


def _again(emit: Emitter, start: Descriptor, records: Operand) -> Part:
    """Another one of the same parameter, whose address is loaded once more."""
    quad = Virtual(4, SCALARS, start.quad.name)
    emit.argument(8 * start.position, 2, Part(quad, 0, 2))
    return _completed(emit, Descriptor(quad, quad.parts()[:2], start.position), records)


def reaches(emit: Emitter, argument: Argument) -> bool:
    """Whether a descriptor reaches all of a memory, as far as its size is known."""
    kind = argument.memory_type
    count = size(extents(emit.graph, kind))
    known = count.is_constant
    return not known or count.constant_value * kind.dtype.bytes < BUFFER_LIMIT


def steady_memories(graph: Graph, written: Collection[int]) -> set[int]:
    """The parameters that stay as they are while the kernel runs, by key.

    They are those that it has not ``written``, and none where a workgroup may learn
    that others, or another device, have written something: caches of scalars would not
    know.
    """
    for op in graph.walk():
        if isinstance(op, Atomic | Fence):
            return set()
        if isinstance(op, Read | Write) and op.is_volatile:
            return set()
    every = {parameter.ident for parameter in graph.parameters}
    return every.difference(written)


def starts_in_lds(graph: Graph) -> dict[int, int]:
    """Where each buffer begins: those that are packed, then the others behind them."""
    buffers = [op for op in graph.walk() if isinstance(op, Allocate)]
    sizes = {op.ident: _bytes(graph, op) for op in buffers}
    starts = {op.ident: op.offset for op in buffers if op.offset is not None}
    end = max((start + sizes[key] for key, start in starts.items()), default=0)
    for op in buffers:
        if op.ident not in starts:
            starts[op.ident] = end
            end += sizes[op.ident]
    return starts


def _bytes(graph: Graph, op: Allocate) -> int:
    """Rounded up, so that the next one begins where wide accesses may."""
    count = size(extents(graph, op.memory_type)).constant_value + op.tail_padding
    return -(-count * op.dtype.bytes // 16) * 16


def lds_of(emit: Emitter, op: Allocate) -> Memory:
    """The record of an allocation in LDS."""
    shape = extents(emit.graph, op.memory_type)
    key = op.ident
    return Memory(
        op.dtype, strides(shape), start=emit.starts[key], name=emit.buffers[key]
    )


def names_in_lds(graph: Graph, starts: Mapping[int, int]) -> dict[int, str]:
    """A name for each buffer, by key; those that share bytes have the same one."""
    buffers = [op for op in graph.walk() if isinstance(op, Allocate)]
    keys = [op.ident for op in buffers]
    ends = {op.ident: starts[op.ident] + _bytes(graph, op) for op in buffers}
    return shared_names([(starts[key], ends[key], key) for key in keys])


def shared_names(ranges: Sequence[tuple[int, int, int]]) -> dict[int, str]:
    """Names by key, of ranges as start, end and key: one for all that overlap."""
    found: dict[int, str] = {}
    name, last = "", 0
    for start, end, key in sorted(ranges):
        if start >= last:
            name = f"{key}"
        last = max(last, end)
        found[key] = name
    return found

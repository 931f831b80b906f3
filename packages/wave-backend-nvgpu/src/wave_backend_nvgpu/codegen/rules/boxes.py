"""Copies of boxes from global to shared memory: `cp.async.bulk.tensor`."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from wave_core.backends.emission import BoxedMemory
from wave_core.backends.emission.memories import extents
from wave_core.constraints import wave_symbol
from wave_core.constraints.machine import LANE, REGISTER
from wave_core.diagnostics import internal_error
from wave_core.ir import resolve
from wave_core.ops.memory import Allocate
from wave_core.ops.structure import Argument
from wave_core.symbols import conjuncts, constant, logical_and, select, total

if TYPE_CHECKING:
    from wave_backend_nvgpu.codegen.emitter import Emitter
    from wave_core.ir import Access
    from wave_core.ops.memory import GatherToLDS
    from wave_core.symbols import Expr

SWIZZLES = (32, 64, 128)
"""Bytes of the rows whose chunks of 16 change places. Source: PTX ISA, tensors."""


def copy_box(op: GatherToLDS, emit: Emitter, row: Access, landing: Access) -> None:
    """One copy, by one thread; the first lane's first element says where it begins.

    What of the box lies outside of the memory becomes zeros, and so does all of it
    where the copy's condition, which is that of all threads, does not hold: it then
    begins behind the memory's end.
    """
    source, buffer = resolve(op.source), resolve(op.destination)
    if not isinstance(source, Argument) or not isinstance(buffer, Allocate):
        raise internal_error("WV9905", "a box of no parameter", at=op.location)
    if emit.boxes is None or buffer.layout is None:
        raise emit.unsupported(op, "its buffer has an order that no tensor map names")
    if buffer.layout.panel not in SWIZZLES:
        raise emit.unsupported(op, f"rows are {buffer.layout.panel} bytes")
    start = [_first(emit, place) for place in row.coordinates]
    runs = _shared_condition(emit, row)
    if runs is not None:
        end = extents(emit.graph, op.source.memory_type)[0]
        start[0] = emit.expr(select(runs, start[0], end))
    memory = emit.memories[buffer.ident]
    rows = zip(landing.coordinates, memory.strides, strict=True)
    place = _first(emit, total([at * stride for at, stride in rows]))
    size = prod(op.box) * memory.dtype.bytes
    lands = _shared_condition(emit, landing)
    boxed = BoxedMemory(source.label, op.box, buffer.layout.panel)
    target = emit.address(memory, place)
    words = [emit.indices.wrapped(each) for each in start]
    if lands is None:
        emit.boxes.copy(boxed, target, words, size)
        return
    test = emit.indices.truth(lands)
    with emit.builder.region() as block:
        emit.boxes.copy(boxed, target, words, size)
    emit.builder.branch(test, block)


def _first(emit: Emitter, value: Expr) -> Expr:
    """A value in the first lane of the first wave."""
    return emit.expr(value.subs(dict.fromkeys(_own(emit), constant(0))))


def _own(emit: Emitter) -> list[Expr]:
    """What differs between the threads, and the elements of one."""
    axes = range(len(emit.geometry.waves))
    return [LANE, REGISTER, *[wave_symbol(axis) for axis in axes]]


def _shared_condition(emit: Emitter, row: Access) -> Expr | None:
    """The part of a mask that is the same in all threads.

    The others say which elements exist, and these are the memory's.
    """
    if row.mask is None:
        return None
    own = set(_own(emit))
    found = [c for c in conjuncts(row.mask) if own.isdisjoint(c.free_symbols)]
    return emit.expr(logical_and(*found)) if found else None

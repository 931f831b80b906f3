"""Buffers: kernel arguments and LDS, addressed by cells.

A cell is one element. A buffer of LDS holds the cells of all simulated workgroups,
one workgroup after the other; a kernel argument is addressed through its strides, so
nothing is copied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import as_strided

from wave_sim_cpu.copies import Copies
from wave_sim_cpu.races import RaceTracker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from wave_core.ops.base import Op
    from wave_core.types import DType
    from wave_sim_cpu.arrays import Array, Bits, Index


@dataclass
class Buffer:
    """A memory that a kernel accesses.

    Units: ``strides`` and ``cells_per_workgroup`` count elements; the latter is 0
    for memory that all workgroups share.
    """

    label: str
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    cells: Array
    """All cells, one axis; a view of the argument where it is one."""
    cells_per_workgroup: int = 0
    origin: int = 0
    """The cell of the element at all-zero coordinates."""
    valid: Bits | PooledValidity | None = None
    """Which cells hold a value; ``None`` once all do."""
    tracker: RaceTracker | None = None
    tracked_parts: int = 1
    """Cells of the tracker that one cell here is: buffers may share memory."""
    copies: Copies | None = None
    """Copies to LDS that read or write it, where races are looked for."""
    writes: int = 0
    """How many accesses may have changed it."""

    @property
    def is_lds(self) -> bool:
        """Whether each workgroup has its own."""
        return self.cells_per_workgroup > 0

    @property
    def element_bytes(self) -> int:
        """Bytes of one cell."""
        return self.cells.dtype.itemsize

    def take(self, cells: Index, mask: Bits | None) -> Array:
        """The elements of cells, zeros where ``mask`` does not hold."""
        if mask is None:
            return self.cells.take(cells)
        data = self.cells.take(np.where(mask, cells, 0))
        return np.where(mask, data, np.zeros((), data.dtype))

    def holds(self, cells: Index, mask: Bits | None) -> Bits | None:
        """Which of these elements have a value, zeros included; ``None`` if all do."""
        if self.valid is None:
            return None
        if mask is None:
            return self.valid.take(cells)
        return self.valid.take(np.where(mask, cells, 0)) | ~mask

    def put(
        self, cells: Index, mask: Bits | None, data: Array, held: Bits | None = None
    ) -> None:
        """Write elements where ``mask`` holds; those not ``held`` have no value.

        Shapes: all broadcast to that of ``data``.
        """
        cells = np.broadcast_to(cells, data.shape)
        if mask is not None:
            chosen = np.broadcast_to(mask, data.shape)
            cells, data = cells[chosen], data[chosen]
            held = None if held is None else np.broadcast_to(held, chosen.shape)[chosen]
        self.writes += 1
        self.cells[cells] = data
        if self.valid is not None:
            self.valid[cells] = True if held is None else held

    def update(
        self,
        cells: Index,
        mask: Bits | None,
        combined: Callable[..., Array],
        operands: Sequence[Array],
    ) -> Array:
        """Combine elements where ``mask`` holds, one after the other; the old ones.

        Shapes: all broadcast to that of the operands. ``combined`` takes the elements
        before and those of each operand.
        """
        full = operands[0].shape
        chosen = np.broadcast_to(True if mask is None else mask, full)
        place = np.broadcast_to(cells, full)[chosen]
        given = [operand[chosen] for operand in operands]
        self.writes += 1
        old = np.zeros(full, self.cells.dtype)
        found = np.zeros(place.shape, self.cells.dtype)
        with np.errstate(all="ignore"):
            for members in _rounds(place):
                here = place[members]
                found[members] = self.cells[here]
                parts = [operand[members] for operand in given]
                self.cells[here] = combined(found[members], *parts)
        old[chosen] = found
        return old

    def spoil(self, cells: Index, mask: Bits | None, poison: Bits) -> None:
        """Elements that were updated by a value without a meaning have none."""
        chosen = poison if mask is None else poison & mask
        if self.valid is not None:
            self.valid[np.broadcast_to(cells, chosen.shape)[chosen]] = False

    def describe(self) -> str:
        """Name, element type and shape, for messages."""
        space = "LDS " if self.is_lds else ""
        return f"{space}`{self.label}` of shape {list(self.shape)} ({self.dtype})"


def _rounds(cells: Index) -> Iterator[Index]:
    """Positions of ``cells`` in rounds: no cell twice in one, each in order."""
    order = np.argsort(cells, kind="stable")
    ordered = cells[order]
    first = np.ones(ordered.shape, np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(first)
    rank = np.arange(ordered.size) - np.repeat(
        starts, np.diff(np.append(starts, ordered.size))
    )
    by_rank = order[np.argsort(rank, kind="stable")]
    ends = np.cumsum(np.bincount(rank))
    yield from np.split(by_rank, ends[:-1]) if ends.size else ()


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a dense array, in elements."""
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def argument_buffer(label: str, dtype: DType, array: Array) -> Buffer:
    """A buffer over an argument; strides are kept, nothing is copied."""
    itemsize = array.dtype.itemsize
    assert not any(stride % itemsize for stride in array.strides), "whole elements"
    strides = tuple(stride // itemsize for stride in array.strides)
    reversed_axes = tuple(
        slice(None, None, -1) if stride < 0 else slice(None) for stride in strides
    )
    origin = array[reversed_axes]
    last = sum((n - 1) * abs(s) for n, s in zip(origin.shape, strides, strict=True))
    span = 0 if 0 in origin.shape else 1 + last
    # As plain bits: numpy cannot restride all element types of extensions.
    bits = as_strided(origin.view(f"V{itemsize}"), shape=(span,), strides=(itemsize,))
    cells = bits.view(array.dtype)
    first = sum(
        -stride * (extent - 1)
        for stride, extent in zip(strides, array.shape, strict=True)
        if stride < 0 and extent
    )
    return Buffer(label, dtype, array.shape, strides, cells, origin=first)


def lds_buffer(
    label: str, dtype: DType, shape: tuple[int, ...], workgroups: int
) -> Buffer:
    """LDS of ``workgroups`` workgroups."""
    size = int(np.prod(shape, dtype=np.int64))
    cells = np.zeros(size * workgroups, dtype.numpy())
    return Buffer(label, dtype, shape, row_major(shape), cells, max(size, 1))


class PooledValidity:
    """Which cells of a buffer hold what was written through it, in shared memory.

    ``owners`` has for each byte of all workgroups the key of the buffer that it was
    last written through, 0 at the start.
    """

    def __init__(self, owners: Array, key: int, element_bytes: int) -> None:
        """Cells of ``element_bytes`` bytes, of the buffer with this key."""
        self._owners = owners.reshape(-1, element_bytes)
        self._key = key

    def take(self, cells: Index) -> Bits:
        """Whether each of the cells holds a value."""
        return np.asarray((self._owners[cells] == self._key).all(axis=-1))

    def __setitem__(self, cells: Index, held: Bits | bool) -> None:
        """The cells were written, with values or (where not ``held``) without."""
        keys = np.where(held, self._key, 0).astype(self._owners.dtype)
        self._owners[cells] = keys[..., None]

    def all(self) -> bool:
        """Never for good: another buffer may take the cells."""
        return False


@dataclass(frozen=True)
class Pool:
    """The packed LDS of ``workgroups`` workgroups: one piece of memory for each.

    Units: ``size`` bytes a workgroup, a multiple of every element; ``unit`` bytes,
    one cell of the race tracker.
    """

    size: int
    unit: int
    memory: Array
    owners: Array
    tracker: RaceTracker | None
    copies: Copies

    def buffer(
        self, key: int, label: str, dtype: DType, shape: tuple[int, ...], offset: int
    ) -> Buffer:
        """The buffer at byte ``offset``."""
        cells = self.memory.view(dtype.numpy())
        item = cells.dtype.itemsize
        buffer = Buffer(label, dtype, shape, row_major(shape), cells, self.size // item)
        buffer.origin = offset // item
        buffer.valid = PooledValidity(self.owners, key, item)
        buffer.tracker, buffer.tracked_parts = self.tracker, item // self.unit
        buffer.copies = self.copies
        return buffer


def lds_pool(size: int, unit: int, workgroups: int, strands: int) -> Pool:
    """Packed LDS; contents start as poison, races are tracked with ``strands`` > 1."""
    count = size * workgroups
    tracker = None
    if strands > 1:
        tracker = RaceTracker(count // unit, strands, shared=False)
    memory, owners = np.zeros(count, np.uint8), np.zeros(count, np.int16)
    copies = Copies(count // unit)
    return Pool(size, unit, memory, owners, tracker, copies)


def lds_label(op: Op) -> str:
    """The name of an allocation in messages: its tags, or its dims."""
    return ", ".join(sorted(op.tags)) or f"allocate({', '.join(op.memory_type.dims)})"

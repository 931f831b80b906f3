"""Bulk copies, of tensors too (PTX ISA, section 9.7.9.27).

A copy to shared memory arrives when nothing can go on without it, or in a random order
sooner; one from shared memory, when its thread waits for its group. Until then every
use of the bytes that the ISA forbids is reported.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from wave_emulator_ptx import floats
from wave_emulator_ptx.batch import LANES, Batch, Reader, Step
from wave_emulator_ptx.flights import Arriving, Leaving
from wave_emulator_ptx.isa.access import MESSAGES, PARAMETERS, SHARED, tell
from wave_emulator_ptx.isa.descriptors import CHUNK, swizzled
from wave_emulator_ptx.isa.forms import groups_left
from wave_emulator_ptx.isa.mbarrier import known, settle
from wave_emulator_ptx.isa.stops import stops
from wave_emulator_ptx.memory import rows
from wave_emulator_ptx.syntax import Address, Instruction, Operand
from wave_emulator_ptx.tensor_maps import ELEMENTS, MARK, PlacedMap
from wave_emulator_ptx.types import TYPES

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Bytes, Ints, Selection
    from wave_emulator_ptx.scope import Scope

U64, U32, S32 = TYPES["u64"], TYPES["u32"], TYPES["s32"]
DIMENSIONS = re.compile(r"([1-5])d")
ALIGNMENT = 128
"""Of a box in shared memory, in bytes."""
WORDS = frozenset({"u32", "s32", "u64", "s64"})
REDUCED = {
    "add": frozenset({"u32", "s32", "u64", "f16", "bf16", "f32", "f64"}),
    **dict.fromkeys(("min", "max"), WORDS | {"f16", "bf16"}),
    **dict.fromkeys(("and", "or", "xor"), WORDS),
}
"""Elements that a reduction takes. Source: section 9.7.9.27, ``cp.reduce.async.bulk``;
a card stops at minima and maxima of f32."""
REDUCTIONS: dict[str, Any] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
FLOAT_REDUCTIONS: dict[str, Any] = {
    "add": np.add,
    "min": floats.lesser,
    "max": floats.greater,
}
"""A number beats NaN, and no sum is flushed, as was seen on an H200."""


def bind(instruction: Instruction, scope: Scope) -> Step:
    """``cp.async.bulk`` and ``cp.reduce.async.bulk``."""
    words = instruction.modifiers
    if "commit_group" in words:
        return _commit
    if "wait_group" in words:
        return _bind_wait(instruction, only_read="read" in words)
    if "prefetch" in words:
        return _do_nothing
    tensor = "tensor" in words
    if "bulk_group" not in words:
        return _bind_arriving(instruction, scope, tensor=tensor)
    operation = next((each for each in words if each in REDUCTIONS), "")
    return _bind_leaving(instruction, scope, operation, tensor=tensor)


def _do_nothing(batch: Batch, chosen: Selection) -> None:
    """A hint."""
    del batch, chosen


# ------------------------------------------------------------------ groups


def _commit(batch: Batch, chosen: Selection) -> None:
    groups = batch.flights.committed
    for thread in batch.ordinals(chosen).tolist():
        groups[thread] = groups.get(thread, 0) + 1


def _bind_wait(instruction: Instruction, *, only_read: bool) -> Step:
    """All groups but the last so many have read, or are done."""
    groups = groups_left(instruction)

    def step(batch: Batch, chosen: Selection) -> None:
        waiting = set(batch.ordinals(chosen).tolist())
        flights, left = batch.flights, list[Leaving]()
        for each in flights.leaving.works:
            last = flights.committed.get(each.thread, 0) - groups
            if each.thread in waiting and each.group < last:
                _has_read(batch, each)
                if not only_read:
                    each.write()
            if not (each.is_put and each.is_read):
                left.append(each)
        flights.leaving.leave(left)

    return step


def _has_read(batch: Batch, flight: Leaving) -> None:
    if not flight.is_read and batch.checks:
        warps = np.array([flight.thread // LANES])
        line = flight.instruction.line
        batch.shared.end_reading(warps, flight.chunks[None], line)
    flight.is_read = True


def end(batch: Batch, threads: Ints) -> None:
    """Threads end: what they copy from shared memory has to be read by then."""
    ended = set(threads.tolist())
    for each in batch.flights.leaving.works:
        if each.thread in ended and not each.is_read:
            message = "its thread ends before it waits for shared memory to be read"
            batch.report(each.instruction, "EP0507", message, np.array([each.thread]))


# ------------------------------------------------------------------ landing


def land_some(batch: Batch, source: np.random.Generator) -> None:
    """By chance, a copy arrives now."""
    flights = batch.flights
    arriving, leaving = flights.arriving, flights.leaving
    if arriving.works and source.random() < flights.haste:
        _land(batch, arriving.take(int(source.integers(len(arriving.works)))))
    if leaving.works and source.random() < flights.haste:
        leaving.works[int(source.integers(len(leaving.works)))].write()


def land_next(batch: Batch) -> bool:
    """The oldest copy to each workgroup arrives; whether there was one."""
    arriving, first = batch.flights.arriving, dict[int, Arriving]()
    for each in arriving.works:
        first.setdefault(each.barrier[0], each)
    arriving.leave(
        each for each in arriving.works if each is not first[each.barrier[0]]
    )
    for each in first.values():
        _land(batch, each)
    return bool(first)


def finish(batch: Batch) -> None:
    """All threads have ended: what they copied to global memory arrives there."""
    for each in batch.flights.leaving.works:
        each.write()


def _land(batch: Batch, flight: Arriving) -> None:
    rows(batch.shared.data, CHUNK)[flight.chunks] = flight.fetch()
    barrier = batch.barriers.find(flight.barrier)
    if barrier is None:
        message = "the barrier of this copy was invalidated before it arrived"
        batch.report(flight.instruction, "EP0514", message, np.array([flight.thread]))
        return
    if batch.checks:
        clock = batch.barriers.stamp(barrier)
        line = flight.instruction.line
        batch.shared.end_bulk(flight.chunks, barrier.column, clock, line)
    settle(batch, barrier, flight.size)


# ------------------------------------------------------------------ operands


class _Box:
    """The operand ``[map, {coordinates}]``."""

    def __init__(
        self, instruction: Instruction, scope: Scope, operand: Operand
    ) -> None:
        assert isinstance(operand, Address), "so its form has it"
        self.at = instruction
        self._map = scope.read(Address(operand.base, operand.offset), U64, instruction)
        self._start = [
            scope.read(each, S32, instruction) for each in operand.coordinates
        ]
        self._rank = int(
            next(m[0] for m in instruction.modifiers if DIMENSIONS.fullmatch(m))
        )

    def of(self, batch: Batch, thread: int) -> tuple[PlacedMap, tuple[int, ...]]:
        """The tensor, and where the box begins.

        Raises:
            ExecutionError: EP0305, where hardware stops.
        """
        found = _map_at(batch, int(_one(self._map, batch, thread)))
        if found is None or not len(found.map.extents) == self._rank == len(
            self._start
        ):
            raise stops(self.at, "there is no tensor map of these dimensions here")
        words = [_one(each, batch, thread) for each in self._start]
        start = tuple(int(each.view(np.int32)) for each in words)
        self._check(found, start)
        return found, start

    def _check(self, found: PlacedMap, start: tuple[int, ...]) -> None:
        """Apply the rules of a copy to where it begins and to what is in the tensor."""
        if start[0] * found.map.size % CHUNK:
            message = (
                f"the innermost coordinate {start[0]} begins at byte"
                f" {start[0] * found.map.size}, which is no multiple of 16"
            )
            raise stops(self.at, message)
        if "bulk_group" not in self.at.modifiers:
            return
        if min(start) < 0:
            message = (
                f"a copy to global memory begins at {', '.join(map(str, start))}: an"
                " index below zero; copies from there may, these may not"
            )
            raise stops(self.at, message)
        for name, kinds in REDUCED.items():
            if name in self.at.modifiers and found.map.dtype not in kinds:
                message = (
                    f"hardware has no {name} of elements that are {found.map.dtype}"
                )
                raise stops(self.at, message)


def _one(read: Reader, batch: Batch, thread: int) -> Any:
    """The value of one thread."""
    return read(batch, np.array([thread]))[0]


def _map_at(batch: Batch, address: int) -> PlacedMap | None:
    offset = address - PARAMETERS
    if not 0 <= offset <= len(batch.parameters) - 2 * U64.bytes:
        return None
    data = batch.parameters[offset : offset + 2 * U64.bytes]
    mark, number = data.copy().view(np.uint64)
    return batch.flights.maps[int(number)] if int(mark) == MARK else None


def _chunks_of(
    batch: Batch, at: Instruction, thread: int, first: int, size: int, swizzle: int
) -> Ints:
    """Chunks of shared memory that a copy touches; none where it cannot."""
    wanted = CHUNK
    if "tensor" in at.modifiers:
        wanted = max(ALIGNMENT, 8 * swizzle)
    who = np.array([thread])
    if first % wanted:
        message = f"its place in shared memory is no multiple of {wanted} bytes"
        batch.report(at, "EP0509", message, who, address=first)
        return np.zeros(0, np.int64)
    if not SHARED <= first <= SHARED + batch.shared.size - size:
        message = f"{size} bytes where there is no shared memory"
        batch.report(at, "EP0503", message, who, address=first)
        return np.zeros(0, np.int64)
    addresses = swizzled(first + np.arange(0, size, CHUNK), swizzle)
    base = int(batch.workgroup(who)[0]) * batch.shared.size
    return (base + addresses - SHARED) // CHUNK


# ------------------------------------------------------------------ global memory


def _fetch(
    batch: Batch, at: Instruction, box: tuple[PlacedMap, tuple[int, ...]]
) -> Bytes:
    """The bytes of a box; zeros outside of the tensor."""
    tensor, start = box
    found, inside, where = _bytes_of(tensor, start)
    data = batch.memory.fetch(where)
    _missed(batch, at, data.outside, data.unwritten)
    found[np.ix_(inside, tensor.map.columns(start[0]))] = data.values
    return found.reshape(-1, CHUNK)


def _put(
    batch: Batch,
    at: Instruction,
    box: tuple[PlacedMap, tuple[int, ...]],
    data: Bytes,
    operation: str,
) -> None:
    """Write a box; what lies outside of the tensor is left out."""
    tensor, start = box
    found, inside, where = _bytes_of(tensor, start)
    values = data.reshape(found.shape)[np.ix_(inside, tensor.map.columns(start[0]))]
    if operation:
        values = _combined(
            batch.memory.fetch(where).values, values, tensor.map.dtype, operation
        )
    outside = batch.memory.put(where, values)
    _missed(batch, at, outside, unwritten=False)


def _bytes_of(tensor: PlacedMap, start: tuple[int, ...]) -> tuple[Bytes, Ints, Ints]:
    """Zeros for a box, its rows inside of the tensor, and their bytes' addresses."""
    addresses, good = tensor.map.rows(tensor.address, start)
    inside = np.flatnonzero(good)
    where = addresses[inside][:, None] + tensor.map.columns(start[0])
    return np.zeros((len(addresses), tensor.map.row_bytes), np.uint8), inside, where


def _missed(batch: Batch, at: Instruction, outside: bool, unwritten: bool) -> None:  # noqa: FBT001
    nobody = np.zeros(1, np.int64)
    if outside:
        message = "a tensor reaches beyond its array"
        batch.report(at, "EP0503", message, nobody)
    if unwritten:
        batch.report(at, "EP0505", MESSAGES["EP0505"], nobody)


def _combined(old: Bytes, new: Bytes, name: str, operation: str) -> Bytes:
    kind: Any = ml_dtypes.bfloat16 if name == "bf16" else ELEMENTS[name]
    pair: list[Any] = [np.ascontiguousarray(each).view(kind) for each in (old, new)]
    is_float = "f" in name
    function = (FLOAT_REDUCTIONS if is_float else REDUCTIONS)[operation]
    with np.errstate(all="ignore"):
        found = function(*pair)
    bits: Bytes = (floats.one_nan(found) if is_float else found).view(np.uint8)
    return bits


# ------------------------------------------------------------------ copies


def _bind_arriving(instruction: Instruction, scope: Scope, *, tensor: bool) -> Step:
    """``[to], [map, {..}], [barrier]`` or ``[to], [from], size, [barrier]``."""
    operands = instruction.operands
    to = scope.read(operands[0], U64, instruction)
    box = _Box(instruction, scope, operands[1]) if tensor else None
    plain = [] if tensor else [
        scope.read(operands[1], U64, instruction),
        scope.read(operands[2], U32, instruction),
    ]  # fmt: skip
    barrier = scope.read(operands[2 if tensor else 3], U64, instruction)

    def step(batch: Batch, chosen: Selection) -> None:
        for thread in batch.ordinals(chosen).tolist():
            first, size, swizzle, fetch = int(_one(to, batch, thread)), 0, 0, None
            if box:
                where = box.of(batch, thread)
                size, swizzle = where[0].map.box_bytes, where[0].map.swizzle
                fetch = partial(_fetch, batch, instruction, where)
            else:
                source, size = (int(_one(each, batch, thread)) for each in plain)
                _check_plain(instruction, source, size)
                fetch = partial(_fetch_plain, batch, instruction, source, size)
            chunks = _chunks_of(batch, instruction, thread, first, size, swizzle)
            if not len(chunks):
                fetch = partial(np.zeros, (0, CHUNK), np.uint8)
            key = _barrier_of(
                batch, instruction, thread, int(_one(barrier, batch, thread))
            )
            _begin(
                batch, Arriving(instruction, thread, key, chunks, fetch, size), first
            )

    return step


def _begin(batch: Batch, flight: Arriving, first: int) -> None:
    if batch.checks and len(flight.chunks):
        at, who = flight.instruction, np.array([flight.thread])
        found = batch.shared.begin_bulk(flight.thread, flight.chunks, at.line)
        tell(batch, at, who, np.array([first]), found)
    for each in batch.flights.arriving.begin(flight):
        _land(batch, each)


def _barrier_of(
    batch: Batch, at: Instruction, thread: int, address: int
) -> tuple[int, int]:
    who = np.array([thread])
    key = int(batch.workgroup(who)[0]), address
    barrier = known(batch, at, key, who)
    if barrier and batch.checks and not barrier.published:
        message = "no fence is between the barrier's initialisation and this copy"
        batch.report(at, "EP0514", message, who, address=address)
    return key


def _check_plain(at: Instruction, source: int, size: int) -> None:
    if source % CHUNK or size % CHUNK:
        raise stops(at, "its address and its size are no multiples of 16 bytes")


def _fetch_plain(batch: Batch, at: Instruction, source: int, size: int) -> Bytes:
    data = batch.memory.fetch(source + np.arange(size)[None])
    _missed(batch, at, data.outside, data.unwritten)
    return data.values.reshape(-1, CHUNK)


def _bind_leaving(
    instruction: Instruction, scope: Scope, operation: str, *, tensor: bool
) -> Step:
    """``[map, {..}], [from]`` or ``[to], [from], size``."""
    operands = instruction.operands
    box = _Box(instruction, scope, operands[0]) if tensor else None
    source = scope.read(operands[1], U64, instruction)
    plain = [] if tensor else [
        scope.read(operands[0], U64, instruction),
        scope.read(operands[2], U32, instruction),
    ]  # fmt: skip

    def step(batch: Batch, chosen: Selection) -> None:
        for thread in batch.ordinals(chosen).tolist():
            first, swizzle = int(_one(source, batch, thread)), 0
            if box:
                where = box.of(batch, thread)
                size, swizzle = where[0].map.box_bytes, where[0].map.swizzle
                put = partial(_put, batch, instruction, where)
            else:
                to, size = (int(_one(each, batch, thread)) for each in plain)
                _check_plain(instruction, to, size)
                put = partial(_put_plain, batch, instruction, to)
            chunks = _chunks_of(batch, instruction, thread, first, size, swizzle)
            if len(chunks):
                data = rows(batch.shared.data, CHUNK)[chunks]
                finish = partial(put, data, operation)
                _leave(batch, instruction, thread, chunks, finish, first)

    return step


def _put_plain(
    batch: Batch, at: Instruction, to: int, data: Bytes, operation: str
) -> None:
    del operation
    outside = batch.memory.put(to + np.arange(data.size)[None], data.reshape(1, -1))
    _missed(batch, at, outside, unwritten=False)


def _leave(
    batch: Batch,
    at: Instruction,
    thread: int,
    chunks: Ints,
    put: Any,
    first: int,
) -> None:
    if batch.checks:
        who = np.array([thread])
        warps = who[None] // LANES
        found = batch.shared.begin_reading(warps, chunks[None], at.line, who)
        tell(batch, at, who, np.array([first]), found)
    group = batch.flights.committed.get(thread, 0)
    for each in batch.flights.leaving.begin(Leaving(at, thread, group, chunks, put)):
        _has_read(batch, each)
        each.write()

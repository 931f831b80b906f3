"""The state of workgroups that run together: threads, registers, memories."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from wave_emulator_ptx.arrays import Array, Bools, Bytes, Ints, Selection
from wave_emulator_ptx.errors import Report
from wave_emulator_ptx.under_way import UnderWay

if TYPE_CHECKING:
    from wave_emulator_ptx.clocks import Clocks
    from wave_emulator_ptx.flights import Flights
    from wave_emulator_ptx.memory import GlobalMemory
    from wave_emulator_ptx.memory_barriers import MemoryBarriers
    from wave_emulator_ptx.products import Products
    from wave_emulator_ptx.shared import SharedMemory
    from wave_emulator_ptx.syntax import Instruction

LANES = 32
GROUP = 4 * LANES
"""Threads of a warpgroup: four warps, the first one's number divisible by four."""
DONE = np.iinfo(np.int64).max
"""The place of a thread that has ended."""

CLUSTER = 0
"""The address of a cluster's barrier among those in memory, where none can be."""
REGISTERS = 1 << 40
"""What threads sleep for that want registers, in place of a barrier's number."""

Size: TypeAlias = "tuple[int, int, int]"


@dataclass(frozen=True)
class Arrival:
    """How many threads passed a barrier without waiting, and what they had seen."""

    threads: int
    told: Ints


@dataclass(frozen=True)
class Copy:
    """An asynchronous copy in flight.

    Attributes:
        threads: who began it.
        groups: for each thread the group that its copy belongs to.
        where: bytes of shared memory, [threads, bytes].
        values: what goes there.
        line: of the instruction.
    """

    threads: Ints
    groups: Ints
    where: Ints
    values: Bytes
    line: int

    @property
    def kept_bytes(self) -> int:
        """Of the host: two numbers of each thread, an address and a value a byte."""
        return self.threads.nbytes * 2 + self.where.nbytes + self.values.nbytes

    def part(self, chosen: Bools) -> Copy:
        """That of some of the threads."""
        return Copy(
            self.threads[chosen],
            self.groups[chosen],
            self.where[chosen],
            self.values[chosen],
            self.line,
        )


@dataclass(frozen=True)
class Shape:
    """The launch: workgroups, threads of each, and which workgroups are here."""

    grid: Size
    block: Size
    workgroups: Ints

    @property
    def warps(self) -> int:
        """Of a workgroup; the last one may be part empty."""
        threads = self.block[0] * self.block[1] * self.block[2]
        return -(-threads // LANES)

    @property
    def threads(self) -> int:
        """Of all workgroups here, with those that fill up the last warps."""
        return len(self.workgroups) * self.warps * LANES


@dataclass
class Batch:
    """Workgroups in one state; threads are numbered through all of them.

    Attributes:
        shape: of the launch.
        registers: bits by slot, each for every thread.
        memory: global memory.
        shared: shared memory of all workgroups.
        parameters: bytes of the kernel's parameters.
        local: bytes of each thread, [threads, bytes].
        clocks: what warps know of each other.
        products: asynchronous ones of warpgroups.
        barriers: those in shared memory.
        flights: bulk copies under way.
        checks: whether hazards are looked for.
        place: the next instruction of each thread.
        waits: the barrier at which a thread waits, or -1.
        wanted: threads for which that barrier waits, 0 for the whole workgroup.
        arrived: threads that only announced themselves, and what they had seen by
            then, by workgroup and barrier.
        asleep: the number of the barrier in memory that a thread waits for, or -1.
        refused: the barrier in memory whose wait gave false the last time, or -1.
        roused_at: the version of the barriers in memory when all who slept were roused
            last, since nothing else could go on.
        limits: registers that a thread of each warp may use, once one asked for others.
        arrived_in: the phase of the cluster's barrier in which a thread arrived.
        group: the group of copies that each thread fills, counted from 0.
        copies: of single threads in flight.
        reports: hazards, by instruction and code.
    """

    shape: Shape
    registers: list[Array]
    memory: GlobalMemory
    shared: SharedMemory
    parameters: Bytes
    local: Bytes
    clocks: Clocks
    products: Products
    barriers: MemoryBarriers
    flights: Flights
    checks: bool
    place: Ints = field(init=False)
    waits: Ints = field(init=False)
    wanted: Ints = field(init=False)
    arrived: dict[tuple[int, int], Arrival] = field(
        default_factory=dict[tuple[int, int], Arrival]
    )
    asleep: Ints = field(init=False)
    refused: Ints = field(init=False)
    roused_at: int = -1
    limits: Ints = field(init=False)
    arrived_in: Ints = field(init=False)
    group: Ints = field(init=False)
    copies: UnderWay[Copy] = field(default_factory=UnderWay[Copy])
    reports: dict[tuple[str, int], Report] = field(
        default_factory=dict[tuple[str, int], Report]
    )

    def __post_init__(self) -> None:
        """All threads are at the first instruction; those that fill up have ended."""
        count = self.shape.threads
        self.all = np.arange(count)
        x, y, z = self.shape.block
        self.within = self.all % (self.shape.warps * LANES)
        self.place = np.where(self.within < x * y * z, 0, DONE)
        self.waits = np.full(count, -1, np.int64)
        self.wanted = np.zeros(count, np.int64)
        self.asleep = np.full(count, -1, np.int64)
        self.arrived_in = np.zeros(count, np.int64)
        self.limits = np.zeros(count // LANES, np.int64)
        self.refused = np.full(count, -1, np.int64)
        self.group = np.zeros(count, np.int64)

    def ordinals(self, selection: Selection) -> Ints:
        """The threads of a selection."""
        return self.all if isinstance(selection, slice) else selection

    def workgroup(self, threads: Ints) -> Ints:
        """The ordinals in this batch of the workgroups of threads."""
        return threads // (self.shape.warps * LANES)

    def lanes_of(self, threads: Ints) -> Ints:
        """For each thread those of its warp, [threads, 32]."""
        return (threads // LANES * LANES)[:, None] + np.arange(LANES)

    def report(
        self,
        instruction: Instruction,
        code: str,
        message: str,
        threads: Ints,
        *,
        address: int | None = None,
        other_line: int | None = None,
    ) -> None:
        """Note a hazard; an instruction's second one of a code only counts."""
        if not len(threads):
            return
        key = code, instruction.line
        before = self.reports.get(key)
        if before:
            count = before.count + len(threads)
            self.reports[key] = replace(before, count=count)
            return
        first = threads[:1]
        self.reports[key] = Report(
            code,
            message,
            str(instruction),
            instruction.line,
            instruction.source,
            int(self.shape.workgroups[self.workgroup(first)[0]]),
            int(self.within[first[0]]),
            address,
            len(threads),
            other_line,
        )


#: What an instruction does to the selected threads of a batch.
Step: TypeAlias = Callable[[Batch, Selection], None]
#: Values of an operand, one for each selected thread, or one for all.
Reader: TypeAlias = Callable[[Batch, Selection], Array]
#: Stores the bits of a result.
Writer: TypeAlias = Callable[[Batch, Selection, Array], None]
#: Which selected threads a guard lets through.
Guard: TypeAlias = Callable[[Batch, Selection], Bools]

"""What warpgroups with roles and clusters of one workgroup need.

``setmaxnreg`` moves registers between warpgroups by a pool of their workgroup (PTX ISA,
section 9.7.20.5). Instructions for clusters find one of a single workgroup.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_ptx.batch import (
    CLUSTER,
    DONE,
    LANES,
    REGISTERS,
    Batch,
    Step,
)
from wave_emulator_ptx.isa.matrix import whole_groups, whole_warps
from wave_emulator_ptx.isa.mbarrier import wake
from wave_emulator_ptx.isa.stops import stops
from wave_emulator_ptx.syntax import Instruction, Kernel, Number
from wave_emulator_ptx.types import TYPES

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Ints, Selection
    from wave_emulator_ptx.memory_barriers import MemoryBarrier
    from wave_emulator_ptx.scope import Scope

FILE = 65_536
"""Registers of a multiprocessor."""
FEWEST, MOST, STEP = 24, 256, 8
"""Registers of a thread that can be asked for."""


def entry_registers(kernel: Kernel) -> int:
    """Registers of a thread when a kernel begins; 0 where it does not say its block.

    The assembler takes all that so many threads can have, or what it is told.
    """
    if kernel.threads is None:
        return 0
    able = FILE // (kernel.threads * kernel.residents) // STEP * STEP
    return min(kernel.most_registers or able, MOST)


def bind_registers(instruction: Instruction, scope: Scope) -> Step:
    """``setmaxnreg.inc`` and ``.dec``: an increase waits until the pool has enough."""
    (number,) = instruction.operands
    grows = instruction.modifiers[0] == "inc"
    if not isinstance(number, Number) or number.value % STEP:
        raise ValueError(number)
    wanted = number.value
    if not FEWEST <= wanted <= MOST:
        raise ValueError(wanted)
    entry = entry_registers(scope.kernel)

    def step(batch: Batch, chosen: Selection) -> None:
        warps = whole_warps(batch, instruction, chosen)
        if not entry:
            message = "the kernel does not say its block with .maxntid or .reqntid"
            batch.report(instruction, "EP0515", message, warps.ravel())
            return
        if not batch.limits.any():
            batch.limits[:] = entry
        for group in whole_groups(batch, instruction, warps):
            _change(batch, instruction, group, wanted, entry, grows=grows)

    return step


def _change(
    batch: Batch,
    at: Instruction,
    threads: Ints,
    wanted: int,
    entry: int,
    *,
    grows: bool,
) -> None:
    warps = np.unique(threads // LANES)
    before = int(batch.limits[warps[0]])
    if (wanted < before) == grows and wanted != before:
        message = f"from {before} registers to {wanted}"
        batch.report(at, "EP0515", message, threads)
        return
    count = batch.shape.warps
    mine = slice(int(warps[0]) // count * count, (int(warps[0]) // count + 1) * count)
    used = int(batch.limits[mine].sum())
    free = entry * count - used
    if (wanted - before) * len(warps) > free:
        batch.asleep[threads] = REGISTERS
        batch.place[threads] -= 1
        return
    batch.limits[warps] = wanted
    sleepers = np.flatnonzero(batch.asleep == REGISTERS)
    batch.asleep[sleepers[sleepers // (count * LANES) == mine.start // count]] = -1


# ------------------------------------------------------------------ clusters


def bind_map(instruction: Instruction, scope: Scope) -> Step:
    """``mapa``: an address as that workgroup of the cluster has it."""
    kind = TYPES[instruction.modifiers[-1]]
    result, address, rank = instruction.operands
    write = scope.write(result, kind, instruction)
    read = scope.read(address, kind, instruction)
    ranks = scope.read(rank, TYPES["u32"], instruction)

    def step(batch: Batch, chosen: Selection) -> None:
        _only_one(instruction, int(ranks(batch, chosen).max(initial=0)))
        write(batch, chosen, read(batch, chosen))

    return step


def bind_rank(instruction: Instruction, scope: Scope) -> Step:
    """``getctarank``: which workgroup of the cluster an address belongs to."""
    write = scope.write(instruction.operands[0], TYPES["u32"], instruction)
    return lambda batch, chosen: write(batch, chosen, np.zeros(1, np.uint32))


def _only_one(at: Instruction, rank: int) -> None:
    if rank:
        raise stops(at, f"workgroup {rank} of a cluster of one")


def bind_cluster_barrier(instruction: Instruction) -> Step:
    """``barrier.cluster.arrive`` and ``wait``: of all threads of the workgroup."""
    return _wait if "wait" in instruction.modifiers else _arrive


def _arrive(batch: Batch, chosen: Selection) -> None:
    for barrier, threads in _cluster_barriers(batch, chosen):
        batch.arrived_in[threads] = barrier.phase
        told = batch.clocks.announce(np.unique(threads // LANES))
        if batch.barriers.arrive(barrier, len(threads), told):
            wake(batch, barrier)


def _wait(batch: Batch, chosen: Selection) -> None:
    for barrier, threads in _cluster_barriers(batch, chosen):
        over = batch.arrived_in[threads] < barrier.phase
        if over.any():
            batch.clocks.hear(np.unique(threads[over] // LANES), barrier.heard[0])
        batch.asleep[threads[~over]] = barrier.number
        batch.place[threads[~over]] -= 1


def _cluster_barriers(
    batch: Batch, chosen: Selection
) -> Iterator[tuple[MemoryBarrier, Ints]]:
    """The barrier of each workgroup, and the threads that come to it."""
    threads = batch.ordinals(chosen)
    groups = batch.workgroup(threads)
    for group in np.unique(groups).tolist():
        found = batch.barriers.find((group, CLUSTER))
        if found is None:
            everyone = batch.workgroup(batch.all) == group
            live = int((everyone & (batch.place != DONE)).sum())
            batch.barriers.begin((group, CLUSTER), live, int(threads[0]))
            found = batch.barriers.find((group, CLUSTER))
        assert found is not None, "it has just begun"
        yield found, threads[groups == group]

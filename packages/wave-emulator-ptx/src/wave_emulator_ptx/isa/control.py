"""Branches, ends and barriers (sections 9.7.12 and 9.7.13)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_ptx.batch import DONE, LANES, Arrival, Batch, Step
from wave_emulator_ptx.errors import UnknownInstructionError
from wave_emulator_ptx.isa import bulk
from wave_emulator_ptx.isa.matrix import whole_warps
from wave_emulator_ptx.isa.roles import bind_cluster_barrier
from wave_emulator_ptx.syntax import Instruction, Name
from wave_emulator_ptx.types import TYPES

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Selection
    from wave_emulator_ptx.scope import Scope

U32 = TYPES["u32"]


def bind_branch(instruction: Instruction, scope: Scope) -> Step:
    """``bra`` to a label; a guard has chosen the threads before."""
    target = instruction.operands[0]
    if not isinstance(target, Name) or target.text not in scope.kernel.labels:
        raise UnknownInstructionError(f"{instruction}: no such label", instruction.line)
    place = scope.kernel.labels[target.text]

    def step(batch: Batch, chosen: Selection) -> None:
        batch.place[chosen] = place

    return step


def bind_end(instruction: Instruction, scope: Scope) -> Step:
    """``ret`` of an entry, and ``exit``."""
    del instruction, scope

    def step(batch: Batch, chosen: Selection) -> None:
        batch.place[chosen] = DONE
        if batch.checks and batch.flights.leaving:
            bulk.end(batch, batch.ordinals(chosen))

    return step


def bind_nothing(instruction: Instruction, scope: Scope) -> Step:
    """Hints: memory is ordered here as the threads execute."""
    del instruction, scope
    return lambda _batch, _chosen: None


def bind_fence(instruction: Instruction, scope: Scope) -> Step:
    """``fence``: that of the asynchronous proxy tells what it may read."""
    shows = instruction.modifiers[:2] == ("proxy", "async")
    if not shows and instruction.modifiers[0] != "mbarrier_init":
        return bind_nothing(instruction, scope)

    def step(batch: Batch, chosen: Selection) -> None:
        if batch.checks:
            batch.barriers.publish(batch.ordinals(chosen))
            if shows:
                batch.shared.proxy_fence(batch.ordinals(chosen))

    return step


def bind_barrier(instruction: Instruction, scope: Scope) -> Step:
    """``bar.sync`` and ``bar.arrive``, also spelled ``barrier``; of clusters too."""
    if instruction.modifiers[0] == "cluster":
        return bind_cluster_barrier(instruction)
    words = [m for m in instruction.modifiers if m not in {"cta", "aligned"}]
    # Source: PTX ISA, bar: `bar` is `barrier.aligned`, which whole warps execute.
    aligned = instruction.opcode == "bar" or "aligned" in instruction.modifiers
    if words not in (["sync"], ["arrive"]):
        raise UnknownInstructionError(str(instruction), instruction.line)
    operands = instruction.operands
    number = scope.read(operands[0], U32, instruction)
    count = scope.read(operands[1], U32, instruction) if operands[1:] else None
    waits = words == ["sync"]

    def step(batch: Batch, chosen: Selection) -> None:
        if aligned and batch.checks:
            whole_warps(batch, instruction, chosen)
        threads = batch.ordinals(chosen)
        numbers = np.broadcast_to(number(batch, chosen), threads.shape)
        wanted = count(batch, chosen) if count else np.zeros(1, np.uint32)
        if waits:
            batch.waits[threads] = numbers
            batch.wanted[threads] = wanted
            return
        groups = batch.workgroup(threads)
        for group, barrier in np.unique(np.stack([groups, numbers]), axis=1).T:
            mine = threads[(groups == group) & (numbers == barrier)]
            told = batch.clocks.announce(np.unique(mine // LANES))
            key = int(group), int(barrier)
            batch.arrived.setdefault(key, []).append(Arrival(mine, told))

    return step

"""Branches, ends and barriers (sections 9.7.12 and 9.7.13)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_ptx.batch import DONE, LANES, Arrival, Batch, Step
from wave_emulator_ptx.errors import UnknownInstructionError
from wave_emulator_ptx.isa import bulk
from wave_emulator_ptx.isa.matrix import whole_warps
from wave_emulator_ptx.isa.roles import bind_cluster_barrier
from wave_emulator_ptx.isa.stops import stops
from wave_emulator_ptx.isa.warp import bind_converge
from wave_emulator_ptx.syntax import Instruction, Name, Number
from wave_emulator_ptx.types import TYPES

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Array, Selection
    from wave_emulator_ptx.scope import Scope

U32 = TYPES["u32"]
BARRIERS = 16
"""Of a workgroup."""


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
        if batch.checks and batch.flights.leaving.works:
            bulk.end(batch, batch.ordinals(chosen))

    return step


def bind_nothing(instruction: Instruction, scope: Scope) -> Step:
    """Hints: memory is ordered here as the threads execute."""
    del instruction, scope
    return lambda _batch, _chosen: None


def bind_fence(instruction: Instruction, scope: Scope) -> Step:
    """``fence``: that of the asynchronous proxy tells what it may read."""
    words = instruction.modifiers
    shows = words[:2] == ("proxy", "async") and words[2:] != ("global",)
    if not shows and words[0] != "mbarrier_init":
        return bind_nothing(instruction, scope)

    def step(batch: Batch, chosen: Selection) -> None:
        if batch.checks:
            batch.barriers.publish(batch.ordinals(chosen))
            if shows:
                batch.shared.proxy_fence(batch.ordinals(chosen))

    return step


def bind_barrier(instruction: Instruction, scope: Scope) -> Step:
    """``bar.sync`` and ``bar.arrive``, also spelled ``barrier``; of other scopes too.

    Raises:
        UnknownInstructionError: EP0301, for a number that no barrier has.
        ExecutionError: EP0305, likewise, while executing.
    """
    if instruction.modifiers[0] == "cluster":
        return bind_cluster_barrier(instruction)
    if instruction.modifiers[0] == "warp":
        return bind_converge(instruction, scope)
    # Source: PTX ISA, bar: `bar` is `barrier.aligned`, which whole warps execute.
    aligned = instruction.opcode == "bar" or "aligned" in instruction.modifiers
    operands = instruction.operands
    number = scope.read(operands[0], U32, instruction)
    count = scope.read(operands[1], U32, instruction) if operands[1:] else None
    waits = "sync" in instruction.modifiers
    wrong = _wrong(
        *(
            np.array([each.value if isinstance(each, Number) else 0])
            for each in (*operands, Number(0))[:2]
        )
    )
    if wrong:
        raise UnknownInstructionError(str(instruction), instruction.line, wrong)

    def step(batch: Batch, chosen: Selection) -> None:
        if aligned and batch.checks:
            whole_warps(batch, instruction, chosen)
        threads = batch.ordinals(chosen)
        numbers = np.broadcast_to(number(batch, chosen), threads.shape)
        wanted = count(batch, chosen) if count else np.zeros(1, np.uint32)
        wrong = _wrong(numbers, wanted)
        if wrong:
            raise stops(instruction, wrong)
        if waits:
            batch.waits[threads] = numbers
            batch.wanted[threads] = wanted
            return
        groups = batch.workgroup(threads)
        for group, barrier in np.unique(np.stack([groups, numbers]), axis=1).T:
            mine = threads[(groups == group) & (numbers == barrier)]
            told = batch.clocks.announce(np.unique(mine // LANES))
            _arrive(batch, (int(group), int(barrier)), Arrival(len(mine), told))

    return step


def _arrive(batch: Batch, key: tuple[int, int], new: Arrival) -> None:
    """Threads pass a barrier; of all who did only the sum is kept."""
    before = batch.arrived.get(key)
    if before:
        told = batch.clocks.joined([before.told, new.told])
        new = Arrival(before.threads + new.threads, told)
    batch.arrived[key] = new


def _wrong(numbers: Array, counts: Array) -> str:
    """What no barrier has among its number and the threads that it waits for."""
    if not 0 <= numbers.min() <= numbers.max() < BARRIERS:
        return f"barriers have the numbers 0 to {BARRIERS - 1}"
    if (counts % LANES).any():
        return "a barrier waits for whole warps"
    return ""

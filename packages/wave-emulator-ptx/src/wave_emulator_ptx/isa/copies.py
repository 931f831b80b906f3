"""Asynchronous copies from global to shared memory (section 9.7.9.25).

A copy reads when it is issued. Its bytes arrive when its thread waits for its group,
the latest time that the ISA permits; until then every use of them is reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_ptx.batch import Batch, Copy, Step
from wave_emulator_ptx.errors import UnknownInstructionError
from wave_emulator_ptx.isa import bulk
from wave_emulator_ptx.isa.access import (
    Place,
    in_shared,
    load,
    place,
    shared_bytes,
    tell,
)
from wave_emulator_ptx.isa.forms import groups_left
from wave_emulator_ptx.memory import rows
from wave_emulator_ptx.syntax import Instruction, Number
from wave_emulator_ptx.types import TYPES

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Bytes, Ints, Selection
    from wave_emulator_ptx.scope import Scope

U32 = TYPES["u32"]
SIZES = {"ca": (4, 8, 16), "cg": (16,)}
"""Bytes of a thread, by the caches that keep them."""


def bind(instruction: Instruction, scope: Scope) -> Step:
    """``cp.async`` and its groups."""
    words = instruction.modifiers
    if "bulk" in words:
        return bulk.bind(instruction, scope)
    if "commit_group" in words:
        return _commit
    if words[1] in SIZES:
        return _bind_copy(instruction, scope)
    return _bind_wait(instruction)


def _commit(batch: Batch, chosen: Selection) -> None:
    batch.group[chosen] += 1


def _bind_copy(instruction: Instruction, scope: Scope) -> Step:
    """``[to], [from], size, bytes``: what the source has not is zero.

    Raises:
        UnknownInstructionError: EP0301, for other sizes than it has.
    """
    to, source, size, *given = instruction.operands
    sizes = SIZES[instruction.modifiers[1]]
    if not isinstance(size, Number) or size.value not in sizes:
        reason = f"it copies {' or '.join(map(str, sizes))} bytes"
        raise UnknownInstructionError(str(instruction), instruction.line, reason)
    there = place(instruction, to, scope, size.value, space="shared")
    here = place(instruction, source, scope, size.value, space="global")
    hinted = "L2::cache_hint" in instruction.modifiers
    asked = given[: len(given) - hinted]
    known = [each.value for each in asked if isinstance(each, Number)]
    if not all(0 <= each <= size.value for each in known):
        reason = f"the source has 0 to {size.value} bytes"
        raise UnknownInstructionError(str(instruction), instruction.line, reason)
    count = scope.read(asked[0], U32, instruction) if asked else None

    def step(batch: Batch, chosen: Selection) -> None:
        threads, addresses = there.addresses(batch, chosen)
        wanted = np.full(len(threads), size.value)
        if count:
            wanted = np.broadcast_to(count(batch, chosen), threads.shape)
        values = _source(batch, here, chosen, wanted)
        good = in_shared(batch, there, threads, addresses)
        _begin(batch, there, threads[good], addresses[good], values[good])

    return step


def _source(batch: Batch, here: Place, chosen: Selection, wanted: Ints) -> Bytes:
    """The first bytes of each thread, then zeros; no read where none is wanted."""
    threads, addresses = here.addresses(batch, chosen)
    values = np.zeros((len(threads), here.size), np.uint8)
    some = wanted > 0
    if some.any():
        values[some] = load(batch, here, threads[some], addresses[some])
    values[np.arange(here.size) >= wanted[:, None]] = 0
    return values


def _begin(
    batch: Batch, there: Place, threads: Ints, addresses: Ints, values: Bytes
) -> None:
    if not len(threads):
        return
    where = shared_bytes(batch, threads, addresses, there.size)
    line = there.instruction.line
    if batch.checks:
        found = batch.shared.begin_copy(threads, where, line)
        tell(batch, there.instruction, threads, addresses, found)
    new = Copy(threads, batch.group[threads], where, values, line)
    for each in batch.copies.begin(new):
        _land(batch, each)


def _bind_wait(instruction: Instruction) -> Step:
    """Copies of all groups but the last so many are done; ``wait_all``: all."""
    left = groups_left(instruction) if instruction.operands else -1

    def step(batch: Batch, chosen: Selection) -> None:
        waiting = np.zeros(len(batch.all), np.bool_)
        waiting[chosen] = True
        flying: list[Copy] = []
        for copy in batch.copies.works:
            last = batch.group[copy.threads] - left
            done = waiting[copy.threads] & ((copy.groups < last) | (left < 0))
            _land(batch, copy.part(done))
            flying.append(copy.part(~done))
        batch.copies.leave(each for each in flying if len(each.threads))

    return step


def _land(batch: Batch, copy: Copy) -> None:
    if not len(copy.threads):
        return
    size = copy.where.shape[1]
    rows(batch.shared.data, size)[copy.where[:, 0] // size] = copy.values
    if batch.checks:
        batch.shared.end_copy(copy.threads, copy.where, copy.line)

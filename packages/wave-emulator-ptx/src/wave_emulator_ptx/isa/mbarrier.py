"""Barriers in shared memory (PTX ISA, section 9.7.13.15).

A wait gives false the first time, where nothing orders it behind the end of its phase:
it might have come before. Threads that ask again sleep at their instruction until the
phase is complete, or until nothing else can go on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_ptx.batch import LANES, Batch, Reader, Step, Writer
from wave_emulator_ptx.errors import UnknownInstructionError
from wave_emulator_ptx.isa.access import SHARED, Place, in_shared, place
from wave_emulator_ptx.memory_barriers import (
    MOST_ARRIVALS,
    MOST_BYTES,
    MOST_PLACES,
    MemoryBarrier,
)
from wave_emulator_ptx.syntax import SINK, Instruction
from wave_emulator_ptx.types import TYPES

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Array, Bools, Ints, Selection
    from wave_emulator_ptx.scope import Scope

BYTES = 8
U32, U64, PRED = TYPES["u32"], TYPES["u64"], TYPES["pred"]
QUALIFIERS = frozenset(
    {"shared", "shared::cta", "shared::cluster", "b64", "release", "acquire",
     "relaxed", "cta", "cluster"}
)  # fmt: skip


def bind(instruction: Instruction, scope: Scope) -> Step:
    """``mbarrier``: what its words without qualifiers say."""
    words = tuple(m for m in instruction.modifiers if m not in QUALIFIERS)
    if words == ("init",):
        return _bind_begin(instruction, scope)
    if words == ("inval",):
        return _bind_end(instruction, scope)
    if words in {("arrive",), ("arrive", "expect_tx"), ("arrive", "noComplete")}:
        return _bind_arrive(instruction, scope, counts="expect_tx" not in words)
    if words in {("expect_tx",), ("complete_tx",)}:
        return _bind_bytes(instruction, scope, sign=1 if "expect_tx" in words else -1)
    return _bind_wait(instruction, scope, by_parity="parity" in words)


def sleeps(instruction: Instruction) -> bool:
    """Whether threads may stay at an instruction."""
    return instruction.opcode == "mbarrier" and bool(
        {"test_wait", "try_wait"}.intersection(instruction.modifiers)
    )


def wake(batch: Batch, barrier: MemoryBarrier) -> None:
    """Its phase is complete: threads that wait for it ask again."""
    batch.asleep[batch.asleep == barrier.number] = -1


def settle(batch: Batch, barrier: MemoryBarrier, size: int) -> None:
    """Bytes of a copy have arrived."""
    if batch.barriers.complete(barrier, size):
        wake(batch, barrier)


def known(
    batch: Batch, at: Instruction, key: tuple[int, int], threads: Ints
) -> MemoryBarrier | None:
    """The barrier of threads; what is wrong with their use of it is reported."""
    found = batch.barriers.find(key)
    if found is None:
        message = "no barrier was initialised here"
        batch.report(at, "EP0514", message, threads, address=key[1])
        return None
    late = [t for t in threads.tolist() if not batch.barriers.sees_beginning(found, t)]
    if late and batch.checks:
        message = "nothing orders this use of the barrier behind its initialisation"
        batch.report(at, "EP0514", message, np.array(late), address=key[1])
    return found


def _by_place(
    batch: Batch, at: Place, chosen: Selection
) -> Iterator[tuple[tuple[int, int], Ints, Bools]]:
    """Each barrier's key, the threads that use it, and where they are selected."""
    threads, addresses = at.addresses(batch, chosen)
    good = in_shared(batch, at, threads, addresses)
    groups = batch.workgroup(threads)
    pairs = np.stack([groups[good], addresses[good]])
    for group, address in np.unique(pairs, axis=1).T:
        mine = good & (groups == group) & (addresses == address)
        yield (int(group), int(address)), threads[mine], mine


def _bytes_of(batch: Batch, key: tuple[int, int]) -> slice:
    """Where a barrier is in the shared memory of the batch."""
    workgroup, address = key
    first = workgroup * batch.shared.size + address - SHARED
    return slice(first, first + BYTES)


def _spread(read: Reader | None, batch: Batch, chosen: Selection, default: int) -> Ints:
    """A number of each selected thread."""
    count = len(batch.ordinals(chosen))
    if read is None:
        return np.full(count, default, np.int64)
    return np.broadcast_to(read(batch, chosen).astype(np.int64), count)


def _bind_begin(instruction: Instruction, scope: Scope) -> Step:
    """``init [at], count``.

    Raises:
        UnknownInstructionError: EP0301, while executing: barriers are in more places
            than are kept track of.
    """
    at = place(instruction, instruction.operands[0], scope, BYTES, space="shared")
    count = scope.read(instruction.operands[1], U32, instruction)

    def step(batch: Batch, chosen: Selection) -> None:
        counts = _spread(count, batch, chosen, 1)
        for key, threads, mine in _by_place(batch, at, chosen):
            asked = counts[mine]
            wrong = _not_begun(batch, key, asked)
            if wrong:
                batch.report(instruction, "EP0514", wrong, threads, address=key[1])
            if not batch.barriers.has_room(key):
                reason = f"a workgroup has barriers in more than {MOST_PLACES} places"
                raise UnknownInstructionError(
                    str(instruction), instruction.line, reason
                )
            if 1 <= asked[0] <= MOST_ARRIVALS:
                batch.barriers.begin(key, int(asked[0]), int(threads[0]))
                batch.shared.hold(_bytes_of(batch, key), held=True)

    return step


def _not_begun(batch: Batch, key: tuple[int, int], counts: Ints) -> str:
    """Why threads cannot initialise a barrier, each with a count of its own."""
    bad = counts[(counts < 1) | (counts > MOST_ARRIVALS)]
    if bad.size:
        return f"a barrier counts 1 to {MOST_ARRIVALS} arrivals, not {bad[0]}"
    if len(counts) > 1:
        return "one thread initialises a barrier, and several do"
    if batch.barriers.find(key):
        return "a barrier is here already: mbarrier.inval comes first"
    return ""


def _bind_end(instruction: Instruction, scope: Scope) -> Step:
    at = place(instruction, instruction.operands[0], scope, BYTES, space="shared")

    def step(batch: Batch, chosen: Selection) -> None:
        for key, threads, _ in _by_place(batch, at, chosen):
            if known(batch, instruction, key, threads):
                batch.barriers.end(key)
                batch.shared.hold(_bytes_of(batch, key), held=False)

    return step


def _bind_arrive(instruction: Instruction, scope: Scope, *, counts: bool) -> Step:
    """``arrive state, [at], count`` or ``arrive.expect_tx state, [at], bytes``."""
    operands = instruction.operands
    write = scope.write(operands[0], U64, instruction)
    at = place(instruction, operands[1], scope, BYTES, space="shared")
    given = scope.read(operands[2], U32, instruction) if operands[2:] else None

    def step(batch: Batch, chosen: Selection) -> None:
        numbers = _spread(given, batch, chosen, 1)
        phases = np.zeros(len(numbers), np.uint64)
        for key, threads, mine in _by_place(batch, at, chosen):
            barrier = known(batch, instruction, key, threads)
            if barrier is None:
                continue
            phases[mine] = barrier.phase
            total = int(numbers[mine].sum())
            if not counts:
                _expect(batch, instruction, barrier, threads, total)
            _arrive(batch, instruction, barrier, threads,
                    total if counts else len(threads))  # fmt: skip
        if operands[0] != SINK:
            write(batch, chosen, phases)

    return step


def _arrive(
    batch: Batch, at: Instruction, barrier: MemoryBarrier, threads: Ints, count: int
) -> None:
    if count > barrier.pending:
        message = f"more arrive than the {barrier.count} that its phase counts"
        batch.report(at, "EP0514", message, threads, address=barrier.key[1])
        return
    if count == barrier.pending and "noComplete" in at.modifiers:
        message = "the last to arrive says that it is not the last"
        batch.report(at, "EP0514", message, threads, address=barrier.key[1])
    told = batch.clocks.announce(np.unique(threads // LANES))
    if batch.barriers.arrive(barrier, count, told):
        wake(batch, barrier)


def _expect(
    batch: Batch, at: Instruction, barrier: MemoryBarrier, threads: Ints, size: int
) -> None:
    batch.barriers.expect(barrier, size)
    if abs(barrier.expected) > MOST_BYTES:
        message = f"a phase cannot expect {barrier.expected} bytes"
        batch.report(at, "EP0514", message, threads, address=barrier.key[1])


def _bind_bytes(instruction: Instruction, scope: Scope, *, sign: int) -> Step:
    """``expect_tx [at], bytes`` and ``complete_tx``."""
    at = place(instruction, instruction.operands[0], scope, BYTES, space="shared")
    given = scope.read(instruction.operands[1], U32, instruction)

    def step(batch: Batch, chosen: Selection) -> None:
        sizes = _spread(given, batch, chosen, 0)
        for key, threads, mine in _by_place(batch, at, chosen):
            barrier = known(batch, instruction, key, threads)
            if barrier is None:
                continue
            size = int(sizes[mine].sum())
            if sign > 0:
                _expect(batch, instruction, barrier, threads, size)
            else:
                settle(batch, barrier, size)

    return step


def _bind_wait(instruction: Instruction, scope: Scope, *, by_parity: bool) -> Step:
    """``wait done, [at], parity or state``, with a time limit that is left out."""
    operands = instruction.operands
    write = scope.write(operands[0], PRED, instruction)
    at = place(instruction, operands[1], scope, BYTES, space="shared")
    asked = scope.read(operands[2], U32 if by_parity else U64, instruction)

    def step(batch: Batch, chosen: Selection) -> None:
        wanted = _spread(asked, batch, chosen, 0)
        threads = batch.ordinals(chosen)
        done, number = np.ones(len(threads), np.bool_), np.full(len(threads), -1)
        for key, mine_threads, mine in _by_place(batch, at, chosen):
            barrier = known(batch, instruction, key, mine_threads)
            if barrier is None:
                continue
            number[mine] = barrier.number
            over = _is_over(barrier, wanted[mine], by_parity=by_parity)
            again = batch.refused[mine_threads] == barrier.number
            done[mine] = over & (again | batch.barriers.is_seen(barrier, mine_threads))
            _hear(batch, barrier, threads[mine & done])
        _answer(batch, threads, done, number, write)

    return step


def _is_over(barrier: MemoryBarrier, wanted: Array, *, by_parity: bool) -> Bools:
    """Whether the phase that each thread asks for is complete."""
    if by_parity:
        return np.equal((barrier.phase - 1) % 2, wanted % 2)
    return np.less(wanted, barrier.phase)


def _hear(batch: Batch, barrier: MemoryBarrier, threads: Ints) -> None:
    if len(threads) and barrier.heard:
        batch.clocks.hear(np.unique(threads // LANES), barrier.heard[0])


def _answer(
    batch: Batch, threads: Ints, done: Bools, number: Ints, write: Writer
) -> None:
    """Threads whose phase is not over are told so, and sleep the next time."""
    stays = ~done & (batch.refused[threads] == number)
    batch.asleep[threads[stays]] = number[stays]
    batch.place[threads[stays]] -= 1
    batch.refused[threads] = np.where(done, -1, number)
    write(batch, threads[~stays], done[~stays])

"""Loads and stores by state space: where bytes are, and what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_ptx.errors import UnknownInstructionError
from wave_emulator_ptx.memory import FIRST, clashing, rows
from wave_emulator_ptx.syntax import Address, Instruction, Operand
from wave_emulator_ptx.types import TYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wave_emulator_ptx.arrays import Array, Bools, Bytes, Ints, Selection
    from wave_emulator_ptx.batch import Batch, Reader
    from wave_emulator_ptx.scope import Scope
    from wave_emulator_ptx.shared import Found

SHARED = 1024
"""The first address of shared memory: the hardware keeps the bytes below."""
LOCAL = 1 << 28
PARAMETERS = 1 << 30
"""The first addresses of the other spaces; each is its own in the generic space."""

MESSAGES = {
    "EP0501": "another thread touches these bytes, and nothing orders the two",
    "EP0505": "nobody wrote these bytes",
    "EP0506": "a copy into these bytes is in flight",
    "EP0507": "asynchronous work reads these bytes, and nothing waited for it",
    "EP0510": "these bytes were written with no proxy fence between",
    "EP0514": "a barrier is here, whose bytes are its own until mbarrier.inval",
}


@dataclass(frozen=True)
class Place:
    """Where an instruction finds its operand in memory.

    Attributes:
        instruction: whose operand it is.
        address: of each selected thread.
        size: bytes of a thread.
        spaces: in which it may be.
        atomic: whether other threads may do the same at the same time.
    """

    instruction: Instruction
    address: Reader
    size: int
    spaces: tuple[str, ...]
    atomic: bool = False

    def addresses(self, batch: Batch, chosen: Selection) -> tuple[Ints, Ints]:
        """The threads, and the address of each."""
        threads = batch.ordinals(chosen)
        found = self.address(batch, chosen).astype(np.int64)
        return threads, np.broadcast_to(found, threads.shape)


def place(
    instruction: Instruction,
    operand: Operand,
    scope: Scope,
    size: int,
    *,
    space: str = "",
    atomic: bool = False,
) -> Place:
    """The operand in brackets of an instruction.

    Args:
        instruction: whose operand it is.
        operand: of it.
        scope: its names.
        size: bytes of a thread.
        space: where it has to be; else as the words say, or in any.
        atomic: whether other threads may do the same at the same time.
    """
    if not isinstance(operand, Address):
        raise UnknownInstructionError(f"{instruction}: no address", instruction.line)
    read = scope.read(operand, TYPES["u64"], instruction)
    named = [word.partition("::")[0] for word in (space, *instruction.modifiers)]
    spaces = tuple(each for each in named if each in SPACES)[:1] or tuple(SPACES)
    return Place(instruction, read, size, spaces, atomic)


def load(batch: Batch, at: Place, threads: Ints, addresses: Ints) -> Bytes:
    """The bytes of each thread; zeros where there is no memory."""
    good = _aligned(batch, at, threads, addresses)
    found = np.zeros((len(threads), at.size), np.uint8)
    left = good.copy()
    for space in map(SPACES.__getitem__, at.spaces):
        here = left & space.inside(batch, addresses, at.size)
        if here.any():
            found[here] = space.load(batch, at, threads[here], addresses[here])
        left &= ~here
    _nowhere(batch, at, threads, addresses, left)
    return found


def load_used(batch: Batch, at: Place, threads: Ints, addresses: Ints) -> Bytes:
    """The bytes that the instruction says it uses; all others are ones.

    Compilers widen loads to a whole vector that lies beside a tensor's end: no page
    ends within an aligned vector, so what is not used may be anything.
    """
    good = _aligned(batch, at, threads, addresses)
    found = np.full((len(threads), at.size), 0xFF, np.uint8)
    for first, size in _runs(at.instruction.used_bytes or 0, at.size):
        piece = load(
            batch, replace(at, size=size), threads[good], addresses[good] + first
        )
        found[good, first : first + size] = piece
    return found


def _runs(used: int, size: int) -> Iterator[tuple[int, int]]:
    """Aligned runs of used bytes, as their first byte and their length."""
    whole = (1 << size) - 1
    if used & whole == whole:
        yield 0, size
    elif used & whole:
        half = size // 2
        yield from _runs(used, half)
        yield from ((first + half, each) for first, each in _runs(used >> half, half))


def store(
    batch: Batch, at: Place, threads: Ints, addresses: Ints, values: Bytes
) -> None:
    """Write the bytes of each thread; where there is no memory, nothing."""
    left = _aligned(batch, at, threads, addresses)
    for space in map(SPACES.__getitem__, at.spaces):
        if space.store is None:
            continue
        here = left & space.inside(batch, addresses, at.size)
        if here.any():
            space.store(batch, at, threads[here], addresses[here], values[here])
        left &= ~here
    _nowhere(batch, at, threads, addresses, left)


def shared_bytes(batch: Batch, threads: Ints, addresses: Ints, size: int) -> Ints:
    """Places in the shared memory of the batch, [threads, bytes]."""
    first = batch.workgroup(threads) * batch.shared.size + addresses - SHARED
    return first[:, None] + np.arange(size)


def in_shared(batch: Batch, at: Place, threads: Ints, addresses: Ints) -> Bools:
    """Threads with an aligned address of shared memory; the others are reported."""
    good = _aligned(batch, at, threads, addresses)
    inside = good & _in_shared(batch, addresses, at.size)
    _nowhere(batch, at, threads, addresses, good & ~inside)
    return inside


def tell(
    batch: Batch, at: Instruction, threads: Ints, addresses: Ints, found: list[Found]
) -> None:
    """Report the conflicts of an access of shared memory."""
    for each in found:
        first = int(np.flatnonzero(each.threads)[0])
        batch.report(
            at, each.code, MESSAGES[each.code], threads[each.threads],
            address=int(addresses[first]), other_line=int(each.lines[first]) or None,
        )  # fmt: skip


def _aligned(batch: Batch, at: Place, threads: Ints, addresses: Ints) -> Bools:
    good = addresses % at.size == 0
    if not good.all():
        batch.report(
            at.instruction, "EP0509", f"not a multiple of {at.size} bytes",
            threads[~good], address=int(addresses[~good][0]),
        )  # fmt: skip
    return good


def _nowhere(
    batch: Batch, at: Place, threads: Ints, addresses: Ints, left: Bools
) -> None:
    if left.any():
        which = f"{at.spaces[0]} memory" if len(at.spaces) == 1 else "memory"
        batch.report(
            at.instruction, "EP0503", f"{at.size} bytes where there is no {which}",
            threads[left], address=int(addresses[left][0]),
        )  # fmt: skip


def _apart(batch: Batch, at: Place, threads: Ints, where: Ints, values: Bytes) -> None:
    """Report threads of one instruction that write differently to one place."""
    clash = clashing(values, where)
    if clash.any() and not at.atomic:
        batch.report(
            at.instruction, "EP0508", "threads write different values to one place",
            threads[clash], address=int(where[clash][0]),
        )  # fmt: skip


# ------------------------------------------------------------------ spaces


def _in_shared(batch: Batch, addresses: Ints, size: int) -> Bools:
    offsets = addresses - SHARED
    return (offsets >= 0) & (offsets + size <= batch.shared.size)


def _in_local(batch: Batch, addresses: Ints, size: int) -> Bools:
    offsets = addresses - LOCAL
    return (offsets >= 0) & (offsets + size <= batch.local.shape[1])


def _in_parameters(batch: Batch, addresses: Ints, size: int) -> Bools:
    offsets = addresses - PARAMETERS
    return (offsets >= 0) & (offsets + size <= len(batch.parameters))


def _in_constants(batch: Batch, addresses: Ints, size: int) -> Bools:
    inside = (addresses >= FIRST) & (addresses < batch.memory.writable)
    return inside & batch.memory.inside(addresses, size)


def _in_global(batch: Batch, addresses: Ints, size: int) -> Bools:
    inside = batch.memory.inside(addresses, size)
    return (addresses >= batch.memory.writable) & inside


def _load_shared(batch: Batch, at: Place, threads: Ints, addresses: Ints) -> Bytes:
    where = shared_bytes(batch, threads, addresses, at.size)
    if batch.checks:
        note = batch.shared.update if at.atomic else batch.shared.read
        found = note(threads, where, at.instruction.line)
        tell(batch, at.instruction, threads, addresses, found)
    return rows(batch.shared.data, at.size)[where[:, 0] // at.size]


def _store_shared(
    batch: Batch, at: Place, threads: Ints, addresses: Ints, values: Bytes
) -> None:
    where = shared_bytes(batch, threads, addresses, at.size)
    if batch.checks:
        _apart(batch, at, threads, where[:, 0], values)
        line = at.instruction.line
        if at.atomic:
            found = batch.shared.update(threads, where, line)
        else:
            found = batch.shared.write(threads, where, line, values)
        tell(batch, at.instruction, threads, addresses, found)
    rows(batch.shared.data, at.size)[where[:, 0] // at.size] = values


def _load_parameters(batch: Batch, at: Place, threads: Ints, addresses: Ints) -> Bytes:
    del threads
    offsets = addresses - PARAMETERS
    return batch.parameters[offsets[:, None] + np.arange(at.size)]


def _local(threads: Ints, addresses: Ints, size: int) -> tuple[Array, Array]:
    return threads[:, None], (addresses - LOCAL)[:, None] + np.arange(size)


def _load_local(batch: Batch, at: Place, threads: Ints, addresses: Ints) -> Bytes:
    return batch.local[_local(threads, addresses, at.size)]


def _store_local(
    batch: Batch, at: Place, threads: Ints, addresses: Ints, values: Bytes
) -> None:
    batch.local[_local(threads, addresses, at.size)] = values


def _load_global(batch: Batch, at: Place, threads: Ints, addresses: Ints) -> Bytes:
    found, unwritten = batch.memory.load(addresses, at.size)
    if unwritten.any():
        batch.report(
            at.instruction, "EP0505", MESSAGES["EP0505"], threads[unwritten],
            address=int(addresses[unwritten][0]),
        )  # fmt: skip
    return found


def _store_global(
    batch: Batch, at: Place, threads: Ints, addresses: Ints, values: Bytes
) -> None:
    if batch.checks:
        _apart(batch, at, threads, addresses, values)
    batch.memory.store(addresses, values)


@dataclass(frozen=True)
class Space:
    """A state space.

    Attributes:
        inside: which addresses are in it.
        load: bytes of each thread.
        store: writes them; None where nothing is written.
    """

    inside: Callable[[Batch, Ints, int], Bools]
    load: Callable[[Batch, Place, Ints, Ints], Bytes]
    store: Callable[[Batch, Place, Ints, Ints, Bytes], None] | None = None


SPACES = {
    "shared": Space(_in_shared, _load_shared, _store_shared),
    "param": Space(_in_parameters, _load_parameters),
    "local": Space(_in_local, _load_local, _store_local),
    "const": Space(_in_constants, _load_global),
    "global": Space(_in_global, _load_global, _store_global),
}
"""By name. In one that an instruction names, no address of another is (section 5.1);
without a name an address may be in any."""

"""Loads, stores and atomic operations (sections 9.7.9 and 9.7.13)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from wave_emulator_ptx import floats
from wave_emulator_ptx.errors import UnknownInstructionError
from wave_emulator_ptx.isa.access import Place, load, load_used, place, store
from wave_emulator_ptx.isa.arithmetic import kind_of, values
from wave_emulator_ptx.memory import FIRST
from wave_emulator_ptx.syntax import SINK, Instruction, Operand, Tuple

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Array, Bytes, Ints, Selection, Two
    from wave_emulator_ptx.batch import Batch, Step
    from wave_emulator_ptx.scope import Scope
    from wave_emulator_ptx.types import Type

ORDERED = frozenset({"volatile", "relaxed", "acquire", "release", "mmio"})
"""Accesses that other threads may do at the same time."""
VECTORS = {"v2": 2, "v4": 4, "v8": 8}


def _count(instruction: Instruction) -> int:
    """Elements of a thread."""
    return next((VECTORS[m] for m in instruction.modifiers if m in VECTORS), 1)


def _parts(operand: Operand) -> tuple[Operand, ...]:
    return operand.parts if isinstance(operand, Tuple) else (operand,)


def _place(instruction: Instruction, operand: Operand, scope: Scope) -> Place:
    size = kind_of(instruction).bytes * _count(instruction)
    atomic = not ORDERED.isdisjoint(instruction.modifiers)
    return place(instruction, operand, scope, size, atomic=atomic)


def bind_load(instruction: Instruction, scope: Scope) -> Step:
    """``ld`` of one or several elements; a cache is none here."""
    fetch = load if instruction.used_bytes is None else load_used
    kind = kind_of(instruction)
    at = _place(instruction, instruction.operands[1], scope)
    writers = [
        scope.write(each, kind, instruction) for each in _parts(instruction.operands[0])
    ]

    def step(batch: Batch, chosen: Selection) -> None:
        threads, addresses = at.addresses(batch, chosen)
        found = fetch(batch, at, threads, addresses).view(kind.words)
        for number, write in enumerate(writers):
            write(batch, chosen, found[:, number])

    return step


def bind_store(instruction: Instruction, scope: Scope) -> Step:
    """``st`` of one or several elements."""
    kind = kind_of(instruction)
    at = _place(instruction, instruction.operands[0], scope)
    readers = [
        scope.read(each, kind, instruction) for each in _parts(instruction.operands[1])
    ]

    def step(batch: Batch, chosen: Selection) -> None:
        threads, addresses = at.addresses(batch, chosen)
        parts = [
            np.broadcast_to(read(batch, chosen), threads.shape) for read in readers
        ]
        store(batch, at, threads, addresses, _as_bytes(np.stack(parts, axis=-1)))

    return step


def _as_bytes(bits: Array) -> Bytes:
    """The bytes of each row."""
    return np.ascontiguousarray(bits).view(np.uint8).reshape(len(bits), -1)


# ------------------------------------------------------------------ atomics

Update = Callable[..., Any]


def _exchange(a: Array, b: Array) -> Array:
    del a
    return b


def _swap_where_equal(a: Array, b: Array, c: Array) -> Array:
    return np.where(a == b, c, a)


def _increment(a: Array, b: Array) -> Array:
    return np.where(a >= b, np.zeros_like(a), a + a.dtype.type(1))


def _decrement(a: Array, b: Array) -> Array:
    return np.where((a == 0) | (a > b), b, a - a.dtype.type(1))


UPDATES: dict[str, Two] = {
    "add": np.add,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "exch": _exchange,
    "inc": _increment,
    "dec": _decrement,
}


def _update(instruction: Instruction, kind: Type) -> Update:
    known = {**UPDATES, "cas": _swap_where_equal, "min": np.minimum, "max": np.maximum}
    name = next(each for each in instruction.modifiers if each in known)
    # Section 9.7.13: one float is added; the assembler refuses all else.
    if kind.kind == "f" and name != "add":
        reason = f"no chip has {name} of one float"
        raise UnknownInstructionError(str(instruction), instruction.line, reason)
    return known[name]


def bind_atomic(instruction: Instruction, scope: Scope) -> Step:
    """``atom`` and ``red``: threads one after the other, in their order."""
    kind = kind_of(instruction)
    operands = instruction.operands
    result, *rest = operands if instruction.opcode == "atom" else (SINK, *operands)
    at = place(instruction, rest[0], scope, kind.bytes, atomic=True)
    update = _update(instruction, kind)
    write = scope.write(result, kind, instruction)
    readers = [values(scope, each, kind, instruction) for each in rest[1:]]

    def step(batch: Batch, chosen: Selection) -> None:
        threads, addresses = at.addresses(batch, chosen)
        given = [_spread(read(batch, chosen), len(threads)) for read in readers]
        found = np.zeros(len(threads), kind.words)
        for turn in _turns(addresses):
            mine = threads[turn], addresses[turn]
            bits = load(batch, at, *mine).view(kind.words)[:, 0]
            found[turn] = bits
            old, rest = kind.decode(bits), [each[turn] for each in given]
            with np.errstate(all="ignore"):
                now = (
                    _sum(kind, old, rest[0], mine[1])
                    if kind.kind == "f"
                    else update(old, *rest)
                )
            store(batch, at, *mine, _as_bytes(kind.encode(np.asarray(now))[:, None]))
        write(batch, chosen, found)

    return step


def _sum(kind: Type, a: Array, b: Array, addresses: Ints) -> Array:
    """Sums of floats. Of f32, global memory alone flushes subnormal ones.

    Source: section 9.7.13.5 of the PTX ISA.
    """
    found = a + b
    if kind.name == "f32":
        flushed = floats.flush(floats.flush(a) + floats.flush(b))
        found = np.where(addresses >= FIRST, flushed, found)
    return floats.one_nan(found)


def _spread(given: Array, threads: int) -> Array:
    return np.broadcast_to(given, (threads, *given.shape[1:]))


def _turns(addresses: Ints) -> list[Ints]:
    """Threads in groups with no address twice, each address's in their order."""
    order = np.argsort(addresses, kind="stable")
    there = addresses[order]
    new = np.r_[True, there[1:] != there[:-1]]
    started = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    rank = np.arange(len(order)) - started
    return [order[rank == turn] for turn in range(int(rank.max(initial=0)) + 1)]

"""Instructions that lanes of a warp execute together (sections 9.7.9 and 9.7.13)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from wave_emulator_ptx.arrays import some
from wave_emulator_ptx.batch import DONE, LANES, Batch, Reader, Step
from wave_emulator_ptx.isa.arithmetic import kind_of, values
from wave_emulator_ptx.syntax import Instruction, Name, Operand, Pair
from wave_emulator_ptx.types import TYPES

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Array, Bools, Ints, Selection
    from wave_emulator_ptx.scope import Scope

U32, PRED = TYPES["u32"], TYPES["pred"]


def present(batch: Batch, threads: Ints) -> Bools:
    """For each thread which lanes of its warp are selected too, [threads, 32]."""
    here = np.zeros(len(batch.all), np.bool_)
    here[threads] = True
    return here[batch.lanes_of(threads)]


def named(threads: Ints, mask: Array) -> Bools:
    """For each thread which lanes of its warp a mask names, [threads, 32]."""
    wide = np.broadcast_to(mask, threads.shape)[:, None]
    return (wide >> np.arange(LANES, dtype=np.uint32)) & np.uint32(1) == 1


def meet(batch: Batch, at: Instruction, threads: Ints, mask: Array) -> None:
    """Report lanes that a mask names, that have not ended, and that are not here."""
    lanes = batch.lanes_of(threads)
    absent = named(threads, mask) & ~present(batch, threads)
    absent &= batch.place[lanes] != DONE
    bad = some(absent)
    if bad.any():
        message = "lanes that its mask names are elsewhere"
        batch.report(at, "EP0511", message, threads[bad])


def of_warps(batch: Batch, read: Reader, threads: Ints) -> Array:
    """Values of all lanes of the warps of threads, by thread of the batch."""
    warps = np.unique(threads // LANES)
    if len(warps) * LANES == len(batch.all):
        return np.broadcast_to(read(batch, slice(None)), batch.all.shape)
    lanes = (warps[:, None] * LANES + np.arange(LANES)).ravel()
    given = np.asarray(read(batch, lanes))
    found = np.zeros(len(batch.all), given.dtype)
    found[lanes] = given
    return found


def _results(operand: Operand) -> tuple[Operand, Name | None]:
    if isinstance(operand, Pair):
        return operand.first, operand.second
    return operand, None


def bind_shuffle(instruction: Instruction, scope: Scope) -> Step:
    """``shfl.sync``: the value of another lane, and whether that lane is in range."""
    mode = instruction.modifiers[1]
    result, valid = _results(instruction.operands[0])
    kind = TYPES["b32"]
    write = scope.write(result, kind, instruction)
    write_valid = scope.write(valid, PRED, instruction) if valid else None
    value = scope.read(instruction.operands[1], kind, instruction)
    step_by, clamp, mask = (
        scope.read(each, U32, instruction) for each in instruction.operands[2:5]
    )

    def step(batch: Batch, chosen: Selection) -> None:
        threads = batch.ordinals(chosen)
        meet(batch, instruction, threads, mask(batch, chosen))
        lane = (threads % LANES).astype(np.uint32)
        source, good = _source(mode, lane, step_by(batch, chosen), clamp(batch, chosen))
        every = of_warps(batch, value, threads)
        write(batch, chosen, every[threads // LANES * LANES + source])
        if write_valid:
            write_valid(batch, chosen, good)

    return step


def _source(mode: str, lane: Array, by: Array, clamp: Array) -> tuple[Array, Array]:
    """The lane that each reads, and whether it lies in the segment (9.7.9.6)."""
    by = (by & 31).astype(np.int64)
    segment = (clamp >> 8 & 31).astype(np.int64)
    limit = (clamp & 31).astype(np.int64)
    own = lane.astype(np.int64)
    least = own & segment
    most = least | (limit & ~segment)
    wanted = {
        "up": own - by,
        "down": own + by,
        "bfly": own ^ by,
        "idx": least | (by & ~segment),
    }[mode]
    good = wanted >= most if mode == "up" else wanted <= most
    return np.where(good, wanted, own), good


def bind_vote(instruction: Instruction, scope: Scope) -> Step:
    """``vote.sync``: all, any, uni or ballot of a predicate."""
    mode = instruction.modifiers[1]
    ballot = mode == "ballot"
    write = scope.write(instruction.operands[0], U32 if ballot else PRED, instruction)
    held = values(scope, instruction.operands[1], PRED, instruction)
    mask = scope.read(instruction.operands[2], U32, instruction)

    def step(batch: Batch, chosen: Selection) -> None:
        threads = batch.ordinals(chosen)
        given = mask(batch, chosen)
        meet(batch, instruction, threads, given)
        asked = named(threads, given) & present(batch, threads)
        every = of_warps(batch, held, threads)
        votes = every[batch.lanes_of(threads)]
        write(batch, chosen, _verdict(mode, votes, asked))

    return step


def _verdict(mode: str, votes: Bools, asked: Bools) -> Array:
    yes, no = votes & asked, ~votes & asked
    if mode == "ballot":
        weights = np.uint64(1) << np.arange(LANES, dtype=np.uint64)
        return (yes * weights).sum(axis=1).astype(np.uint32)
    if mode == "any":
        return some(yes)
    return ~some(no) if mode == "all" else ~(some(yes) & some(no))


REDUCTIONS: dict[str, Callable[..., Any]] = {
    "add": np.add.reduce,
    "min": np.minimum.reduce,
    "max": np.maximum.reduce,
    "and": np.bitwise_and.reduce,
    "or": np.bitwise_or.reduce,
    "xor": np.bitwise_xor.reduce,
}


def bind_reduce(instruction: Instruction, scope: Scope) -> Step:
    """``redux.sync``: one value of the lanes that a mask names."""
    kind = kind_of(instruction)
    name = instruction.modifiers[1]
    write = scope.write(instruction.operands[0], kind, instruction)
    value = values(scope, instruction.operands[1], kind, instruction)
    mask = scope.read(instruction.operands[2], U32, instruction)

    def step(batch: Batch, chosen: Selection) -> None:
        threads = batch.ordinals(chosen)
        given = mask(batch, chosen)
        meet(batch, instruction, threads, given)
        asked = named(threads, given)
        given_by = of_warps(batch, value, threads)
        neutral = _neutral(name, given_by[threads][:, None])
        lanes = np.where(asked, given_by[batch.lanes_of(threads)], neutral)
        found = REDUCTIONS[name](lanes, axis=1, dtype=kind.values)
        write(batch, chosen, kind.encode(found))

    return step


def _neutral(name: str, own: Array) -> Array:
    """What leaves a reduction as it is; each is named by its own mask."""
    if name == "and":
        return ~np.zeros_like(own)
    return own if name in {"min", "max"} else np.zeros_like(own)


def bind_elect(instruction: Instruction, scope: Scope) -> Step:
    """``elect.sync``: the lowest lane that the mask names leads."""
    result, leads = _results(instruction.operands[0])
    assert leads is not None, "so its form has it"
    write = scope.write(result, U32, instruction)
    write_leads = scope.write(leads, PRED, instruction)
    mask = scope.read(instruction.operands[1], U32, instruction)

    def step(batch: Batch, chosen: Selection) -> None:
        threads = batch.ordinals(chosen)
        given = mask(batch, chosen)
        meet(batch, instruction, threads, given)
        leader = named(threads, given).argmax(axis=1)
        write(batch, chosen, leader.astype(np.uint32))
        write_leads(batch, chosen, threads % LANES == leader)

    return step


def bind_active(instruction: Instruction, scope: Scope) -> Step:
    """``activemask``: the lanes that execute it."""
    write = scope.write(instruction.operands[0], U32, instruction)

    def step(batch: Batch, chosen: Selection) -> None:
        here = present(batch, batch.ordinals(chosen))
        write(batch, chosen, _verdict("ballot", here, here))

    return step


def bind_converge(instruction: Instruction, scope: Scope) -> Step:
    """``bar.warp.sync``: lanes meet, and see what each other did."""
    mask: Reader = scope.read(instruction.operands[0], U32, instruction)

    def step(batch: Batch, chosen: Selection) -> None:
        threads = batch.ordinals(chosen)
        meet(batch, instruction, threads, mask(batch, chosen))
        batch.clocks.converge(np.unique(threads // LANES))

    return step

"""Runs the threads of a batch to their ends.

Threads of a warp that are at different places take turns: those furthest back (see
`order`) go first, so that they come together again where their ways do. Warps go
together where they are at the same place, or in a random order that their barriers
permit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_ptx.batch import DONE, LANES, Batch
from wave_emulator_ptx.errors import ExecutionError

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Bools, Ints, Selection
    from wave_emulator_ptx.program import Program


def run(program: Program, batch: Batch, *, limit: int, order: list[int] | None) -> int:
    """Execute until all threads have ended.

    Args:
        program: what they execute.
        batch: the threads.
        limit: of warp-instructions.
        order: seeds of a random order of the warps; None for all together.

    Returns:
        Executed warp-instructions.

    Raises:
        ExecutionError: EP0303, the limit; EP0304, all threads wait for ever.
    """
    source = np.random.default_rng(order) if order is not None else None
    done = 0
    while True:
        _release(batch)
        able = (batch.place != DONE) & (batch.waits < 0)
        if not able.any():
            if (batch.place != DONE).any():
                raise _stuck(program, batch)
            return done
        done += _advance(program, batch, _next(program, batch, able, source))
        if done > limit:
            message = f"the kernel does not end in {limit:,} warp-instructions"
            raise ExecutionError("EP0303", message)


def _next(
    program: Program, batch: Batch, able: Bools, source: np.random.Generator | None
) -> Ints:
    """Threads of one or more warps that are at one place."""
    ranks = program.ranks[np.where(able, batch.place, 0)]
    places = np.where(able, ranks, DONE).reshape(-1, LANES)
    first = places.min(axis=1)
    if source is None:
        warps = first == first.min()
    else:
        some = np.flatnonzero(first != DONE)
        warps = first == first[source.choice(some)]
        warps &= source.random(len(warps)) < 0.5 if warps.sum() > 1 else True
        if not warps.any():
            warps[source.choice(some)] = True
            warps &= first == first[warps][0]
    here = (places == first[:, None]) & warps[:, None]
    return np.flatnonzero(here.ravel())


def _advance(program: Program, batch: Batch, threads: Ints) -> int:
    """Go on to where threads part, wait or may meet others; how many steps that was."""
    place = int(batch.place[threads[0]])
    start = place
    together = _whole_warps(batch, threads)
    chosen: Selection = slice(None) if len(threads) == len(batch.all) else threads
    warps = len(np.unique(threads // LANES))
    while place < len(program.steps):
        bound = program.steps[place]
        place += 1
        if bound.leaves:
            batch.place[threads] = place
            bound.step(batch, chosen)
            return (place - start) * warps
        bound.step(batch, chosen)
        if place in program.joins and not together:
            break
    batch.place[threads] = place if place < len(program.steps) else DONE
    return (place - start) * warps


def _whole_warps(batch: Batch, threads: Ints) -> bool:
    """Whether no other thread of their warps can still come to where they are."""
    live = (batch.place != DONE).reshape(-1, LANES).sum(axis=1)
    here = np.bincount(threads // LANES, minlength=len(live))
    return bool(((here == 0) | (here == live)).all())


# ------------------------------------------------------------------ barriers


def _release(batch: Batch) -> None:
    """Let threads go on whose barrier has all that it waits for."""
    waiting = np.flatnonzero(batch.waits >= 0)
    if not len(waiting):
        return
    pairs = np.stack([batch.workgroup(waiting), batch.waits[waiting]])
    for group, barrier in np.unique(pairs, axis=1).T:
        here = waiting[(pairs[0] == group) & (pairs[1] == barrier)]
        _release_one(batch, int(group), int(barrier), here)


def _release_one(batch: Batch, group: int, barrier: int, waiting: Ints) -> None:
    announced = batch.arrived.get((group, barrier), [])
    arrived = len(waiting) + sum(len(each.threads) for each in announced)
    wanted = int(batch.wanted[waiting].max())
    if not wanted:
        mine = batch.workgroup(batch.all) == group
        wanted = int((mine & (batch.place != DONE)).sum())
    if arrived < wanted:
        return
    batch.arrived.pop((group, barrier), None)
    batch.waits[waiting] = -1
    warps = np.unique(waiting // LANES)
    told = [batch.clocks.announce(warps), *(each.told for each in announced)]
    batch.clocks.hear(warps, np.maximum.reduce(told))


def _stuck(program: Program, batch: Batch) -> ExecutionError:
    waiting = np.flatnonzero(batch.place != DONE)
    places = np.unique(batch.place[waiting])
    lines = sorted({program.steps[max(int(p) - 1, 0)].instruction.line for p in places})
    shown = ", ".join(map(str, lines[:8]))
    return ExecutionError(
        "EP0304", f"{len(waiting)} threads wait for ever, at line {shown}"
    )

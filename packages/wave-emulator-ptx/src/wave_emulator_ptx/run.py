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
from wave_emulator_ptx.deadlock import stuck
from wave_emulator_ptx.errors import ExecutionError
from wave_emulator_ptx.isa import bulk

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Array, Bools, Ints, Selection
    from wave_emulator_ptx.program import Program


def run(
    program: Program, batch: Batch, *, done: int, limit: int, order: list[int] | None
) -> int:
    """Execute until all threads have ended.

    Args:
        program: what they execute.
        batch: the threads.
        done: warp-instructions that the launch has executed before.
        limit: of those of the launch.
        order: seeds of a random order of the warps; None for all together.

    Returns:
        Warp-instructions that the launch has executed now.

    Raises:
        ExecutionError: EP0303, the limit; EP0304, all threads wait for ever.
    """
    source = np.random.default_rng(order) if order is not None else None
    while True:
        _release(batch)
        if source is not None:
            bulk.land_some(batch, source)
        able = (batch.place != DONE) & (batch.waits < 0) & (batch.asleep < 0)
        threads = _next(program, batch, able, source)
        if not len(threads):
            if not (batch.place != DONE).any():
                bulk.finish(batch)
                return done
            if not (bulk.land_next(batch) or _rouse(batch)):
                raise stuck(program, batch)
            continue
        done += _advance(program, batch, threads)
        if done > limit:
            message = f"the kernel does not end in {limit:,} warp-instructions"
            raise ExecutionError("EP0303", message)


def _next(
    program: Program, batch: Batch, able: Bools, source: np.random.Generator | None
) -> Ints:
    """Threads of one or more warps that are at one place; none where none can go on."""
    ranks = program.ranks[np.where(able, batch.place, 0)]
    places = np.where(able, ranks, DONE).reshape(-1, LANES)
    first = _assembled(program, batch, places.min(axis=1))
    some = np.flatnonzero(first != DONE)
    if not len(some):
        return some
    if source is None:
        warps = first == first.min()
    else:
        warps = _some_of(program, batch, first, some, source)
    here = (places == first[:, None]) & warps[:, None]
    return np.flatnonzero(here.ravel())


def _some_of(
    program: Program,
    batch: Batch,
    first: Ints,
    some: Ints,
    source: np.random.Generator,
) -> Bools:
    """Warps at one place, by chance; those of a warpgroup together where they must."""
    place = first[source.choice(some)]
    there = first == place
    warps = there & (source.random(len(first)) < 0.5)
    if not warps.any():
        warps[source.choice(np.flatnonzero(there))] = True
    if program.groups[place]:
        warps = there & _per_warp(batch, _any_of(_by_group(batch, warps)))
    return warps


def _by_group(batch: Batch, warps: Array) -> Array:
    """Of each warp, by workgroup and warpgroup: [workgroups, groups, 4].

    Warps that a last warpgroup lacks are like none that can go on.
    """
    rows = warps.reshape(-1, batch.shape.warps)
    short = -batch.shape.warps % 4
    missing = DONE if rows.dtype != np.bool_ else False
    padded = np.pad(rows, ((0, 0), (0, short)), constant_values=missing)
    return padded.reshape(len(rows), -1, 4)


def _same(groups: Array) -> Bools:
    """Groups whose members are equal."""
    return np.logical_and.reduce(groups == groups[:, :, :1], axis=2)


def _any_of(groups: Bools) -> Bools:
    """Groups with a member of which it holds."""
    return np.logical_or.reduce(groups, axis=2)


def _per_warp(batch: Batch, groups: Bools) -> Bools:
    """What holds of warpgroups, by warp."""
    return groups.repeat(4, axis=1)[:, : batch.shape.warps].ravel()


def _assembled(program: Program, batch: Batch, first: Ints) -> Ints:
    """Where each warp goes on; nowhere where it needs warps that are not there yet."""
    known = np.where(first == DONE, len(program.groups) - 1, first)
    needs = program.groups[known]
    if not needs.any():
        return first
    groups = _by_group(batch, first)
    whole = _per_warp(batch, _same(groups))
    return np.where(needs & ~whole, DONE, first)


def _rouse(batch: Batch) -> bool:
    """Waits for barriers in memory give false; not again where nothing has changed."""
    sleeping = batch.asleep >= 0
    if not sleeping.any() or batch.roused_at == batch.barriers.version:
        return False
    batch.roused_at = batch.barriers.version
    batch.refused[sleeping] = -1
    batch.asleep[:] = -1
    return True


def _advance(program: Program, batch: Batch, threads: Ints) -> int:
    """Go on to where threads part, wait or may meet others; how many steps that was."""
    place = int(batch.place[threads[0]])
    start = place
    together = _whole_warps(batch, threads)
    grouped = not program.groups.any() or _whole_groups(batch, threads)
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
        if not grouped and program.groups[program.ranks[place]]:
            break
    batch.place[threads] = place if place < len(program.steps) else DONE
    return (place - start) * warps


def _whole_warps(batch: Batch, threads: Ints) -> bool:
    """Whether no other thread of their warps can still come to where they are."""
    live = (batch.place != DONE).reshape(-1, LANES).sum(axis=1)
    here = np.bincount(threads // LANES, minlength=len(live))
    return bool(((here == 0) | (here == live)).all())


def _whole_groups(batch: Batch, threads: Ints) -> bool:
    """Whether these are whole warpgroups."""
    here = np.zeros(len(batch.all) // LANES, np.bool_)
    here[threads // LANES] = True
    groups = _by_group(batch, here)
    return bool((groups.all(axis=2) | ~groups.any(axis=2)).all())


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
    announced = batch.arrived.get((group, barrier))
    arrived = len(waiting) + (announced.threads if announced else 0)
    wanted = int(batch.wanted[waiting].max())
    if not wanted:
        mine = batch.workgroup(batch.all) == group
        wanted = int((mine & (batch.place != DONE)).sum())
    if arrived < wanted:
        return
    batch.arrived.pop((group, barrier), None)
    batch.barriers.publish(waiting)
    batch.waits[waiting] = -1
    warps = np.unique(waiting // LANES)
    told = [batch.clocks.announce(warps), *([announced.told] if announced else [])]
    batch.clocks.hear(warps, batch.clocks.joined(told))

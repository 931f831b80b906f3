"""A loop replaced by its pipelined form, also where the trip count is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.ir import clone_op, region_of, set_attributes, set_operands
from wave_core.ir.rewrite import end_region
from wave_core.ops.control import Conditional, Iterate
from wave_core.symbols import as_expr, ge, select
from wave_passes_scheduling.rebuild.pipeline import PipelinedLoop, pipeline_loop
from wave_passes_scheduling.rebuild.shift import results_of, retire

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.ops.base import Op
    from wave_core.symbols import Expr, Facts
    from wave_passes_scheduling.loops.analysis import ScheduledLoop
    from wave_passes_scheduling.modulo.schedule import Schedule
    from wave_passes_scheduling.rebuild.ahead import Beyond
    from wave_passes_scheduling.rebuild.tail import Tail


FEW = "wave.few"
"""Marks a loop that runs where another has too few iterations; no other order
of it is worth anything."""


def replace_loop(
    analysed: ScheduledLoop,
    schedule: Schedule,
    facts: Facts,
    beyond: Beyond | None = None,
    tail: Tail | None = None,
) -> PipelinedLoop | None:
    """Put the pipelined form of a loop in its place.

    Where the loop surely has enough iterations, the form stands alone. Where that
    is not known, it stands under a guard, and a copy of the loop, or its tail, runs
    what the guard left out. Where it surely has not, nothing happens. A form without
    an epilogue needs no guard.

    Args:
        analysed: The loop and its problem.
        schedule: A right schedule of it.
        facts: What is known about the number of iterations.
        beyond: How to run iterations beyond the last, for a form without an epilogue.
        tail: What is left to do when the loop is through, or has not begun.

    Returns:
        The form; ``None`` where nothing happened.
    """
    loop = analysed.loop
    assert loop.count is not None, "loops are numbered"
    count, needed = as_expr(loop.count), schedule.depth - 1
    region = region_of(loop)
    if facts.prove_nonnegative(needed - 1 - count):
        return None
    if beyond is not None or facts.prove_nonnegative(count - needed):
        found = pipeline_loop(analysed, schedule, region, loop, beyond)
        results, done = found.results, count
    else:
        enough = ge(count, needed)
        guard = _guard(loop, enough)
        last = end_region(guard.body, (), loop)
        found = pipeline_loop(analysed, schedule, guard.body, last)
        set_operands(last, (found.results,))
        results, done = results_of(guard, loop), select(enough, count, 0)
        if tail is None:
            results = results_of(_remainder(loop, results, enough), loop)
    if tail is not None:
        results = results_of(tail.place(loop, results, done), loop)
    retire(loop, results)
    return found


def _guard(loop: Iterate, enough: Expr) -> Conditional:
    region = region_of(loop)
    body = region.graph.region()
    guard = Conditional.build((None, (), tuple(loop.inits)), {"expr": enough}, (body,))
    guard.location = loop.location
    region.insert_before(loop, guard)
    return guard


def _remainder(loop: Iterate, inits: Sequence[Op], enough: Expr) -> Iterate:
    """A copy of the loop for where there are too few iterations; else it is empty."""
    region = region_of(loop)
    copy = clone_op(loop, {}, region)
    copy.tags |= {FEW}
    region.insert_before(loop, copy)
    set_operands(copy, (tuple(inits), loop.captures))
    assert loop.count is not None, "loops are numbered"
    set_attributes(copy, count=select(enough, 0, as_expr(loop.count)))
    return copy

"""Carries out a pipeline: buffers, schedule, and what stands for the loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_passes_scheduling.files import save_schedule, schedule_file
from wave_passes_scheduling.files.storage import numbered
from wave_passes_scheduling.loops import analyse, profile_of
from wave_passes_scheduling.loops.private import private_buffers
from wave_passes_scheduling.manual.copies import multiply_buffers
from wave_passes_scheduling.manual.listing import slots_of
from wave_passes_scheduling.manual.pipelines import schedule_stages
from wave_passes_scheduling.rebuild import Beyond, replace_loop, unsafe_ahead

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.ops.control import Iterate
    from wave_core.passes import PassContext
    from wave_core.passes.manual import Step
    from wave_core.symbols import Facts
    from wave_passes_scheduling.loops import ScheduledLoop
    from wave_passes_scheduling.manual.tracking import Tracker
    from wave_passes_scheduling.manual.values import Stage
    from wave_passes_scheduling.modulo import Schedule
    from wave_passes_scheduling.rebuild import MultipliedBuffer, PipelinedLoop


@dataclass(frozen=True)
class Settings:
    """Settings from the options of the pass.

    Attributes:
        profile: The cost profile.
        buffers: Copies of LDS buffers, where the schedule does not say.
        hints: Scheduling barriers between ops of different units.
        dump: A file to write schedules to.
        no_epilogue: No epilogue, whatever the schedule says.
        rebuild: Whether loops are rebuilt, and not only looked at.
    """

    profile: str = "target"
    buffers: int | None = None
    hints: bool = False
    dump: str | None = None
    no_epilogue: bool = False
    rebuild: bool = True


@dataclass(frozen=True)
class ManualLoop:
    """A loop that a schedule pipelines.

    Attributes:
        analysed: The loop as a problem.
        schedule: Its schedule.
        copies: Its buffers that have copies, as the problem assumes.
        harmless: Accesses that iterations beyond the last may do, too.
    """

    analysed: ScheduledLoop
    schedule: Schedule
    copies: tuple[MultipliedBuffer, ...]
    harmless: frozenset[Op]


def schedule_loop(
    graph: Graph,
    context: PassContext,
    loop: Iterate,
    stages: Sequence[Stage],
    count: int | None,
    profile: str,
    step: Step,
) -> ManualLoop:
    """The schedule that stages ask for; buffers get the copies that it needs.

    Raises:
        UserError: WV0406, WV0502, WV0503 and WV0513 where it cannot be.
    """
    target = context.target
    slots = slots_of(loop, stages)
    known = context.dependences(graph)
    private = private_buffers(graph, loop, known)
    rows = [row for accesses in private.values() for row in accesses]
    harmless = frozenset(row.op for row in rows if not known.moves(row, loop))
    length = len(stages[0].places)
    copies = multiply_buffers(graph, loop, private, slots, length, count, target, step)
    costs = profile_of(profile, loop, target)
    analysed = analyse(graph, loop, context.dependences(graph), costs)
    schedule = schedule_stages(analysed, slots, stages, step)
    return ManualLoop(analysed, schedule, copies, harmless)


def replace_by_pipeline(
    graph: Graph,
    context: PassContext,
    found: ManualLoop,
    number: int,
    settings: Settings,
    tracker: Tracker,
    *,
    ahead: bool,
) -> PipelinedLoop | None:
    """The pipelined form in place of a loop; where there is none, all is as it was."""
    loop, depth = found.analysed.loop, found.schedule.depth
    if settings.dump is not None:
        file = schedule_file(found.analysed, found.schedule)
        save_schedule(file, numbered(settings.dump, number))
    why = "all ops are listed in one stage"
    if depth > 1:
        facts = context.geometry(graph).facts
        beyond = _beyond(found, facts, context) if ahead else None
        with tracker.through(loop) as copies:
            made = replace_loop(found.analysed, found.schedule, facts, beyond)
        if made is not None:
            tracker.hide_copies(copies, made.kernel)
            context.count("pipelined_loops")
            context.count("stages", depth)
            if found.copies:
                context.count("multiplied_buffers", len(found.copies))
            return made
        why = f"it has fewer iterations than {depth - 1}"
    for each in found.copies:
        each.undo(graph)
    leave_loop(loop, why, context)
    return None


def _beyond(found: ManualLoop, facts: Facts, context: PassContext) -> Beyond | None:
    """How to do without an epilogue, if that is surely right."""
    op = unsafe_ahead(found.analysed, found.schedule)
    if op is None:
        context.count("epilogues_eliminated")
        return Beyond(found.harmless, facts)
    context.collector.warn(
        "WV0507",
        f"the pipelined loop over {found.analysed.loop.axis} keeps its epilogue:"
        f" `{op.op_name}` cannot run in iterations beyond the last",
        at=op.location,
        label="this op is in a stage before the last",
    )
    return None


def leave_loop(loop: Iterate, why: str, context: PassContext) -> None:
    """Say why a loop is not pipelined."""
    context.count("loops_left")
    context.collector.warn(
        "WV0501",
        f"the loop over {loop.axis} is not pipelined: {why}",
        at=loop.location,
        label="this loop",
        notes="what the schedule does to its kernel is left out",
    )

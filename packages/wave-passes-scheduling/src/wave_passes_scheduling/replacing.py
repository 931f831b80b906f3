"""Loops replaced by their pipelined forms, as planned; and why one stays."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from wave_core.ops.control import symbols_set_by
from wave_passes_scheduling.files.match import schedule_file
from wave_passes_scheduling.files.storage import numbered, save_schedule
from wave_passes_scheduling.rebuild.ahead import Beyond, unsafe_ahead
from wave_passes_scheduling.rebuild.guard import replace_loop

if TYPE_CHECKING:
    from wave_core.ir import Graph
    from wave_core.ops.control import Iterate
    from wave_core.passes import PassContext
    from wave_passes_scheduling.modulo.schedule import Schedule
    from wave_passes_scheduling.planning import PlannedLoop
    from wave_passes_scheduling.rebuild.pipeline import PipelinedLoop


def replace_by_pipeline(
    graph: Graph,
    context: PassContext,
    plan: PlannedLoop,
    dump: str | None,
    *,
    endless: bool,
) -> PipelinedLoop | str:
    """The pipelined form in place of a loop; or why all is as it was.

    Args:
        graph: That of the loop.
        context: What is known about it, and where counts and warnings go.
        plan: The loop, its schedule, and its buffers that have copies.
        dump: The file to write the schedule to.
        endless: Whether to do without an epilogue where that is surely right.
    """
    if plan.schedule is None:
        made = plan.reason
    else:
        if dump is not None:
            path = numbered(dump, plan.number)
            save_schedule(schedule_file(plan.analysed, plan.schedule), path)
        made = _pipelined(graph, context, plan, plan.schedule, endless=endless)
    if isinstance(made, str) and plan.tail is not None:
        plan.tail.stand_for(plan.analysed.loop)
    return made


def _pipelined(
    graph: Graph,
    context: PassContext,
    plan: PlannedLoop,
    schedule: Schedule,
    *,
    endless: bool,
) -> PipelinedLoop | str:
    why = "all ops are in one stage"
    own = _symbols_of_iterations(plan.analysed.loop)
    if schedule.depth > 1 and own:
        why = f"each iteration sets `{own[0]}` for itself"
    elif schedule.depth > 1:
        facts = context.geometry(graph).facts
        beyond = None
        if plan.tail is not None:
            plan.tail.follow(graph)
        if endless and _may_run_on(plan, context):
            beyond = Beyond(plan.harmless, facts)
        made = replace_loop(plan.analysed, schedule, facts, beyond, plan.tail)
        if made is not None:
            context.count("pipelined_loops")
            context.count("stages", schedule.depth)
            if plan.copies:
                context.count("multiplied_buffers", len(plan.copies))
            if plan.tail is not None:
                context.count("tails")
            return made
        why = f"it has fewer iterations than {schedule.depth - 1}"
    plan.give_up(graph)
    return why


def _symbols_of_iterations(loop: Iterate) -> list[str]:
    """The symbols that the body of a loop sets.

    A symbol has one value at a time, and iterations in flight would have several.
    """
    return [str(symbol) for op in loop.body.ops for symbol in symbols_set_by(op)]


def _may_run_on(plan: PlannedLoop, context: PassContext) -> bool:
    """Whether early stages may run in iterations beyond the last; else a warning."""
    assert plan.schedule is not None, "only a schedule has stages"
    op = unsafe_ahead(plan.analysed, plan.schedule)
    if op is None:
        context.count("epilogues_eliminated")
        return True
    context.collector.warn(
        "WV0507",
        f"the pipelined loop over {plan.analysed.loop.axis} keeps its epilogue:"
        f" `{op.op_name}` cannot run in iterations beyond the last",
        at=op.location,
        label="this op is in a stage before the last",
    )
    return False


def warn_of_registers(plan: PlannedLoop, context: PassContext) -> None:
    """Say which strategies would have needed more registers than there are."""
    if plan.passed:
        loop = plan.analysed.loop
        context.collector.warn(
            "WV0508",
            f"the loop over {loop.axis} has another schedule than was asked for",
            at=loop.location,
            label="this loop",
            notes=plan.passed,
            help="smaller tiles, or more waves, leave more registers",
        )


def leave_loop(
    loop: Iterate,
    what: str,
    context: PassContext,
    *,
    code: str = "WV0501",
    notes: str | tuple[str, ...] = (),
    lost: str = "",
) -> None:
    """Say why a loop stays as it is: ``what`` it is not, and for which reason.

    ``lost`` names what makes this way to compile the kernel fast and is not had: it
    lacks registers, or nothing is left of the schedule. Other ways may be better.
    """
    context.count("loops_left")
    said = f"the loop over {loop.axis} is not {what}"
    warn = partial(context.collector.warn, code, said, at=loop.location)
    if lost:
        warn = partial(warn, lost=lost)
    warn(label="this loop", notes=notes)

"""Pipelines as schedules list them: from stages to a schedule of the loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error
from wave_core.ops.control import Iterate
from wave_passes_scheduling.manual import complaints
from wave_passes_scheduling.manual.gates import with_gates
from wave_passes_scheduling.manual.listing import listed_tasks
from wave_passes_scheduling.manual.times import all_stages, broken_chain
from wave_passes_scheduling.modulo import Schedule
from wave_passes_scheduling.strategies import staged_schedule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wave_core.diagnostics import UserError
    from wave_core.ops.base import Op
    from wave_core.passes.manual import Step
    from wave_passes_scheduling.loops import ScheduledLoop
    from wave_passes_scheduling.manual.listing import Slot
    from wave_passes_scheduling.manual.times import Listed
    from wave_passes_scheduling.manual.values import Selection, Stage
    from wave_passes_scheduling.problem import Dependence, LoopProblem


def loop_of(found: Selection, step: Step) -> Iterate:
    """The loop among selected ops.

    Raises:
        UserError: WV0514 where there is none, or several.
    """
    loops = [op for op in found.ops if isinstance(op, Iterate)]
    if len(loops) != 1:
        what = f"{len(loops)} loops are among the nodes, and one is needed"
        raise complaints.no_place(step, what, loops)
    return loops[0]


def schedule_stages(
    analysed: ScheduledLoop,
    slots: Mapping[Op, Slot],
    stages: Sequence[Stage],
    step: Step,
) -> Schedule:
    """The schedule in which listed ops are in their stages, in the order of places.

    Ops that are not listed go to the last stage that what needs them allows. On each
    unit, places follow each other; between units, only dependences wait.

    Raises:
        UserError: WV0502 where the stages put an op before what it depends on.
    """
    listed = listed_tasks(analysed.ops, slots, stages)
    chain = broken_chain(analysed.problem, listed)
    if chain:
        raise _broken(analysed, slots, chain, step)
    return schedule_listed(analysed.problem, listed)


def schedule_listed(problem: LoopProblem, listed: Listed) -> Schedule:
    """The schedule of a listing that breaks no dependence."""
    wider, stages = with_gates(problem, listed, all_stages(problem, listed))
    found = staged_schedule(wider, stages)
    return Schedule.of(problem, found.interval, found.cycles[: problem.size])


def _broken(
    analysed: ScheduledLoop,
    slots: Mapping[Op, Slot],
    chain: Sequence[Dependence],
    step: Step,
) -> UserError:
    problem = analysed.problem
    first, last = chain[0].source, chain[-1].target
    source, target = slots[analysed.ops[first]], slots[analysed.ops[last]]
    names = problem.tasks[first].name, problem.tasks[last].name
    iterations = sum(row.distance for row in chain)
    later = f" {iterations} iterations later" if iterations else ""
    return user_error(
        "WV0502",
        f"`{names[1]}` in {target.text}{later} comes before `{names[0]}` in"
        f" {source.text}, on which it depends",
        at=target.step.location,
        label=f"`{names[1]}` is listed here",
        secondary=(
            (source.step.location, f"`{names[0]}` is listed here"),
            (step.location, "the pipeline"),
            (analysed.ops[last].location, f"`{names[1]}`"),
            (analysed.ops[first].location, f"`{names[0]}`"),
        ),
        notes=[f"{problem.describe(row)}, {row.reason}" for row in chain],
        help=_advice(names, chain),
    )


def _advice(names: tuple[str, str], chain: Sequence[Dependence]) -> list[str]:
    found = [f"list `{names[0]}` earlier, or `{names[1]}` later"]
    if any(row.reason == "memory" and row.distance for row in chain):
        found.append(
            "or let iterations use copies of the buffer of their own:"
            " `pipeline(loop, multi_buffer_count=2)`"
        )
    return found

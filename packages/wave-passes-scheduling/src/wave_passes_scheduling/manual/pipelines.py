"""Pipelines as schedules list them: from stages to a schedule of the loop."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error
from wave_core.ir import Graph, walk
from wave_passes_scheduling.loops.analysis import analyse
from wave_passes_scheduling.loops.copies import private_buffers
from wave_passes_scheduling.loops.costs import profile_of
from wave_passes_scheduling.manual import complaints
from wave_passes_scheduling.manual.copies import multiply_buffers
from wave_passes_scheduling.manual.find import lifted
from wave_passes_scheduling.modulo.schedule import Schedule
from wave_passes_scheduling.orders import raise_to
from wave_passes_scheduling.planning import PlannedLoop
from wave_passes_scheduling.problem import Dependence, Task
from wave_passes_scheduling.strategies import staged_schedule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from wave_core.diagnostics import UserError
    from wave_core.ir import Region
    from wave_core.ops.base import Op
    from wave_core.ops.control import Iterate
    from wave_core.passes import PassContext
    from wave_core.passes.manual import Step
    from wave_passes_scheduling.loops.analysis import ScheduledLoop
    from wave_passes_scheduling.manual.values import Stage
    from wave_passes_scheduling.problem import LoopProblem


@dataclass(frozen=True)
class Listed:
    """Where a schedule puts the ops that it lists.

    Attributes:
        stages: By task.
        places: By task: the place within its stage, from 0.
        length: How many places a stage has.
        depth: How many stages there are.
    """

    stages: Mapping[int, int]
    places: Mapping[int, int]
    length: int
    depth: int

    def time(self, task: int) -> int:
        """The place of a task, counted through all stages."""
        return self.stages[task] * self.length + self.places[task]


def broken_chain(problem: LoopProblem, listed: Listed) -> list[Dependence]:
    """Dependences, one after the other, that lead back to an earlier place.

    The first one starts at a listed task and the last one ends at one; what lies
    between is not listed. Empty where all listed tasks keep their dependences, each
    place counted as one unit of time and an iteration as a stage.
    """
    reached: dict[int, int] = {task: listed.time(task) for task in listed.stages}
    through: dict[int, Dependence] = {}
    changed = True
    while changed:
        changed = False
        for row in problem.dependences:
            if row.source not in reached or row.source == row.target:
                continue
            earliest = reached[row.source] - row.distance * listed.length
            if earliest <= reached.get(row.target, earliest - 1):
                continue
            if row.target in listed.stages:
                return _chain(through, listed, row)
            reached[row.target], through[row.target] = earliest, row
            changed = True
    return []


def _chain(
    through: Mapping[int, Dependence], listed: Listed, last: Dependence
) -> list[Dependence]:
    rows = [last]
    while rows[-1].source not in listed.stages:
        rows.append(through[rows[-1].source])
    return rows[::-1]


def all_stages(problem: LoopProblem, listed: Listed) -> list[int]:
    """A stage for each task: the listed one, or the last that its users allow.

    Right where `broken_chain` finds nothing: bounds on differences that have a
    solution are met by the largest one.
    """
    last = listed.depth - 1
    # Stages are lowered: their negatives are raised.
    found = [-listed.stages.get(task, last) for task in range(problem.size)]
    rows = [row for row in problem.dependences if row.source not in listed.stages]
    raise_to(found, [(row.target, row.source, -row.distance) for row in rows])
    return [-stage for stage in found]


@dataclass(frozen=True)
class Slot:
    """Where an op is listed: stage and place from 0, and the line that says so."""

    stage: int
    place: int
    step: Step

    @property
    def text(self) -> str:
        """Stage and place, for messages."""
        return f"stage {self.stage}, place {self.place}"


def slots_of(loop: Iterate, stages: Sequence[Stage]) -> dict[Op, Slot]:
    """Where each listed op stands; a conditional stands for what it holds, once.

    Reads that a conditional holds together stay together, at the first of their places.

    Raises:
        UserError: WV0503 for a list without ops, WV0513 for an op that is listed twice
            or is not in the loop's own body.
    """
    found: dict[Op, Slot] = {}
    for op, slot in _listed(stages, loop.body):
        if op.owner is not loop.body:
            what = f"`{op.op_name}` is not in the body of the loop over {loop.axis}"
            raise complaints.misplaced(slot.step, what, op)
        if op in found and op.regions and found[op].stage == slot.stage:
            continue
        if op in found:
            what = f"{_named(op)} is at {found[op].text} and at {slot.text}"
            other = found[op].step.location
            raise complaints.misplaced(slot.step, what, op, other)
        found[op] = slot
    return found


def _named(op: Op) -> str:
    """An op for messages; a conditional with what it holds."""
    if not op.regions:
        return f"`{op.op_name}`"
    held = complaints.counted(each for each in walk(op.regions[0]) if each.tags)
    return f"the conditional around {held}, which is scheduled as one op,"


def _listed(stages: Sequence[Stage], body: Region) -> Iterator[tuple[Op, Slot]]:
    for number, stage in enumerate(stages):
        for place, selections in enumerate(stage.places):
            for selection in selections:
                if not selection.ops and not selection.excused:
                    raise complaints.nothing_there(selection, stage.step)
                for op in selection.ops:
                    slot = Slot(number, place, stage.step)
                    yield lifted(op, body) or op, slot


def listed_tasks(
    ops: Sequence[Op], slots: Mapping[Op, Slot], stages: Sequence[Stage]
) -> Listed:
    """The slots by number of task, the number being the op's place in ``ops``."""
    own = {task: slots[op] for task, op in enumerate(ops) if op in slots}
    return Listed(
        {task: slot.stage for task, slot in own.items()},
        {task: slot.place for task, slot in own.items()},
        len(stages[0].places),
        len(stages),
    )


def with_gates(
    problem: LoopProblem, listed: Listed, stages: Sequence[int]
) -> tuple[LoopProblem, list[int]]:
    """The problem with tasks between the places of each unit, and all their stages.

    Within an iteration of the loop, what uses a unit at one place starts before what
    uses it at later ones, whatever the iterations. Tasks on different units run beside
    each other, as their dependences let them.
    """
    tasks = list(problem.tasks)
    rows = list(problem.dependences)
    wait = problem.grain
    for groups in _groups(problem, listed):
        for before, after in pairwise(groups):
            gate = len(tasks)
            tasks.append(Task(f"gate_{gate}", "Gate"))
            # Distances undo the stages: both ends are in the same iteration.
            rows += [Dependence(t, gate, wait, stages[t], "place") for t in before]
            rows += [Dependence(gate, t, 0, -stages[t], "place") for t in after]
    gates = len(tasks) - problem.size
    wider = replace(problem, tasks=tuple(tasks), dependences=tuple(rows))
    return wider, [*stages, *([0] * gates)]


def _groups(problem: LoopProblem, listed: Listed) -> list[list[list[int]]]:
    """For each unit the listed tasks that use it, by place; empty places left out."""
    found: list[list[list[int]]] = []
    for resource in range(len(problem.resources)):
        by_place: list[list[int]] = [[] for _ in range(listed.length)]
        for task, place in listed.places.items():
            if any(use.resource == resource for use in problem.tasks[task].uses):
                by_place[place].append(task)
        found.append([tasks for tasks in by_place if tasks])
    return found


def schedule_loop(
    graph: Graph,
    context: PassContext,
    loop: Iterate,
    stages: Sequence[Stage],
    copies: int | None,
    profile: str,
    step: Step,
) -> PlannedLoop:
    """The schedule that stages ask for; buffers get the copies that it needs.

    Listed ops are in their stages, in the order of places; others go to the last stage
    that what needs them allows. On each unit, places follow each other; between units,
    only dependences wait. ``copies`` of each buffer are asked for; ``None`` for what is
    needed.

    Raises:
        UserError: WV0406, WV0502, WV0503 and WV0513 where it cannot be.
    """
    slots, known = slots_of(loop, stages), context.dependences(graph)
    private = private_buffers(graph, loop, known)
    rows = [row for accesses in private.values() for row in accesses]
    harmless = frozenset(row.op for row in rows if not known.moves(row, loop))
    length, target = len(stages[0].places), context.target
    made = multiply_buffers(graph, loop, private, slots, length, copies, target, step)
    costs = profile_of(profile, loop, target)
    analysed = analyse(graph, loop, context.dependences(graph), costs)
    listed = listed_tasks(analysed.ops, slots, stages)
    chain = broken_chain(analysed.problem, listed)
    if chain:
        raise _broken(analysed, slots, chain, step)
    schedule = schedule_listed(analysed.problem, listed)
    return PlannedLoop(0, analysed, schedule, made, harmless)


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

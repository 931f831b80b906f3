"""Carries out a schedule: its steps, one after the other, on a kernel's graph."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from wave_core.ops.control import Iterate
from wave_core.passes.manual import Ref
from wave_passes_scheduling.manual import find, orders
from wave_passes_scheduling.manual.copies import separate_iterations
from wave_passes_scheduling.manual.pipelines import schedule_loop
from wave_passes_scheduling.manual.tracking import Tracker
from wave_passes_scheduling.manual.values import (
    Cluster,
    Pipelined,
    Place,
    Selection,
    Stage,
)
from wave_passes_scheduling.rebuild.unroll import symbol_from_before, unroll_loop
from wave_passes_scheduling.reorder.groups import keep_order
from wave_passes_scheduling.reorder.stagger import TAG
from wave_passes_scheduling.replacing import leave_loop, replace_by_pipeline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.passes import PassContext
    from wave_core.passes.manual import ManualSchedule, Step
    from wave_passes_scheduling.manual.values import Value
    from wave_passes_scheduling.passes import ScheduleLoops
    from wave_passes_scheduling.planning import PlannedLoop
    from wave_passes_scheduling.rebuild.pipeline import PipelinedLoop


class ManualRun:
    """One schedule on one graph."""

    def __init__(
        self,
        graph: Graph,
        context: PassContext,
        options: ScheduleLoops,
        *,
        rebuild: bool,
    ) -> None:
        """Start before the first step; without ``rebuild`` loops are only planned."""
        self._graph, self._context, self._options = graph, context, options
        self._rebuild = rebuild
        self._tracker = Tracker(graph)
        self._values: list[Any] = []
        self._iterations: list[list[Op]] = []
        self._kernels: list[list[Op]] = []
        self.loops: list[PlannedLoop] = []
        """The pipelined loops, in order."""
        self.changed = False
        """Whether the graph changed."""

    def run(self, schedule: ManualSchedule) -> None:
        """Carry out all steps.

        Raises:
            UserError: WV0406, WV0502, WV0503, WV0513 and WV0514 where the kernel does
                not have what a step needs, with the line of the step.
        """
        schedule.run(self)
        if self._options.hints:
            for (kernel,) in self._kernels:
                assert isinstance(kernel, Iterate), "what is pipelined is a loop"
                hints = keep_order(kernel)
                self._context.count("scheduling_barriers", hints)

    def carry_out(self, step: Step) -> None:
        """Carry out one step; its value gets the next number."""
        self._values.append(_STEPS[step.name](self, step))

    def count(self, ref: Ref) -> int:
        """How many nodes a step has found, by now."""
        found: Selection = self._value(ref)
        return len(found.ops)

    # ------------------------------------------------------------------ finding ops

    def tagged(self, step: Step) -> Value:
        """Ops by tag."""
        ops = self._tracker.visible()
        rows = find.tagged(self._graph, ops, step, self._iterations)
        found = self._select(step, rows)
        found.excused = not found.ops
        return found

    def in_space(self, step: Step) -> Value:
        """Ops by address space."""
        source: Selection = self._value(step.arguments[0])
        _, space, part = step.arguments
        return self._select(step, find.in_space(source.ops, space, part), source)

    def along_dim(self, step: Step) -> Value:
        """Ops by their place along a dimension."""
        source: Selection = self._value(step.arguments[0])
        ops = find.along_dim(self._graph, source.ops, step) if source.ops else []
        return self._select(step, ops, source)

    def filtered(self, step: Step) -> Value:
        """Ops by where they stand and by type."""
        source: Selection = self._value(step.arguments[0])
        _, ref, kind = step.arguments
        place: Place | Selection | None = None if ref is None else self._value(ref)
        if isinstance(place, Selection):
            place = Place("kernel", [orders.loop_at(place, step)])
        found = self._select(step, find.filtered(source.ops, place, kind), source)
        found.excused |= place is not None and place.missing
        return found

    def picked(self, step: Step) -> Value:
        """Ops by their index."""
        source: Selection = self._value(step.arguments[0])
        ops = [] if source.excused else find.picked(source.ops, step)
        return self._select(step, ops, source)

    def joined(self, step: Step) -> Value:
        """Several lists as one."""
        sources = self._selections(step.arguments[0])
        ops = [op for source in sources for op in source.ops]
        return self._select(step, ops, *sources)

    def interleaved(self, step: Step) -> Value:
        """One list with others put between."""
        base = self._selections(step.arguments[0])
        rows = step.arguments[1]
        others = [self._selections(row) for row in rows]
        first = [op for each in base for op in each.ops]
        lists = [[op for each in row for op in each.ops] for row in others]
        ops = find.interleaved(first, lists, step)
        return self._select(step, ops, *base, *[x for row in others for x in row])

    def _select(self, step: Step, ops: list[Op], *sources: Selection) -> Selection:
        excused = bool(sources) and all(source.excused for source in sources)
        return Selection(self._tracker.watch(ops), step, excused)

    def _value(self, ref: Ref) -> Any:
        """The result of an earlier step, of the type that its kind has."""
        return self._values[ref.number]

    def _selections(self, refs: Iterable[Ref]) -> list[Selection]:
        return [self._value(ref) for ref in refs]

    # -------------------------------------------------------------------- pipelines

    def stage(self, step: Step) -> Value:
        """The operations at each place of a stage."""
        return Stage(
            tuple(tuple(self._selections(row)) for row in step.arguments), step
        )

    def pipeline(self, step: Step) -> Value:
        """Overlap the iterations of a loop."""
        ref, refs, ahead, count = step.arguments
        loop = orders.loop_at(self._value(ref), step)
        if find.is_idle(loop):
            return self._left(loop, "it has no iterations")
        stages = [self._value(each) for each in refs]
        options = self._options
        planned = schedule_loop(
            self._graph,
            self._context,
            loop,
            stages,
            count or options.buffers,
            options.profile,
            step,
        )
        plan = replace(planned, number=len(self.loops))
        self.loops.append(plan)
        if not self._rebuild:
            return _nothing(loop)
        endless = ahead or options.no_epilogue
        with self._tracker.through(loop) as copies:
            made = replace_by_pipeline(
                self._graph, self._context, plan, options.dump, endless=endless
            )
        if isinstance(made, str):
            return self._left(loop, made)
        self._tracker.hide_copies(copies, made.kernel)
        return self._parts(made)

    def _left(self, loop: Iterate, why: str) -> Pipelined:
        notes = "what the schedule does to its kernel is left out"
        leave_loop(loop, f"pipelined: {why}", self._context, notes=notes)
        return _nothing(loop)

    def _parts(self, made: PipelinedLoop) -> Pipelined:
        self.changed = True
        watch = self._tracker.watch
        loop = watch([made.kernel])
        self._kernels.append(loop)
        return Pipelined(
            {
                "kernel": Place("kernel", loop),
                "prologue": Place("prologue", loop, watch(list(made.prologue))),
                "epilogue": Place("epilogue", loop, watch(list(made.epilogue))),
            }
        )

    def part(self, step: Step) -> Value:
        """Kernel, prologue or epilogue."""
        made = self._value(step.arguments[0])
        return made.parts[step.arguments[1]]

    # ---------------------------------------------------------------------- changes

    def unroll(self, step: Step) -> Value:
        """Several iterations in one trip."""
        place: Place | Selection = self._value(step.arguments[0])
        if isinstance(place, Place) and place.missing:
            return None
        loop = orders.loop_at(place, step)
        factor = step.arguments[1]
        if isinstance(place, Selection):
            separate_iterations(self._graph, loop, factor, self._context)
        with self._tracker.through(loop) as copies:
            facts = self._context.geometry(self._graph).facts
            made = unroll_loop(loop, factor, facts)
        if made is None:
            if factor > 1:
                symbol = symbol_from_before(loop)
                why = f"it has fewer iterations than {factor}"
                if symbol is not None:
                    why = f"each iteration needs `{symbol}` as it is before the loop"
                leave_loop(loop, f"unrolled: {why}", self._context)
            return None
        self._tracker.hide_copies(copies, made.loop)
        self.changed = True
        self._context.count("unrolled_loops")
        self._iterations = [self._tracker.watch([*row.values()]) for row in made.copies]
        return None

    def cluster(self, step: Step) -> Value:
        """Ops in an order."""
        parts: list[Selection | Op] = []
        for item in step.arguments:
            if isinstance(item, Ref):
                value = self._value(item)
                inner = value.parts if isinstance(value, Cluster) else [value]
                parts += inner
            else:
                parts.append(orders.made_op(item))
        return Cluster(parts, step)

    def reorder(self, step: Step) -> Value:
        """The ops of a body in the order of clusters."""
        place: Place | Selection = self._value(step.arguments[0])
        refs = step.arguments[1]
        clusters = [self._value(ref) for ref in refs]
        moved = orders.reorder(self._graph, place, clusters, step, self._context)
        self._context.count("moved_ops", moved)
        self.changed |= moved > 0
        return None

    def insert(self, step: Step) -> Value:
        """A new op beside others."""
        where, ref, plain = step.arguments
        op = orders.made_op(plain)
        done = orders.insert(where, self._value(ref), op, step)
        self._context.count("inserted_ops", int(done))
        self.changed |= done
        return None

    def stagger(self, step: Step) -> Value:
        """Half of the waves a barrier behind; proved once all barriers stand."""
        place: Place | Selection = self._value(step.arguments[0])
        if not (isinstance(place, Place) and place.missing):
            orders.loop_at(place, step).tags |= {TAG}
            self.changed = True
        return None


def _nothing(loop: Op) -> Pipelined:
    """The parts of a loop that was not pipelined: nothing is there."""
    names = ("kernel", "prologue", "epilogue")
    return Pipelined({name: Place(name, [loop], missing=True) for name in names})


_STEPS: dict[str, Callable[[ManualRun, Step], Value]] = {
    name: method
    for name, method in vars(ManualRun).items()
    if name != "run" and not name.startswith("_")
}
"""The function that carries out each kind of step, by the name of the kind."""

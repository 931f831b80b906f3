"""The pass that schedules loops."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from wave_core.compile.scheduling import SchedulingType
from wave_core.diagnostics import user_error
from wave_core.passes import Pass, option
from wave_core.passes.selection import unknown_name
from wave_passes_scheduling.files.text import MAX_INTERVAL
from wave_passes_scheduling.loops.analysis import innermost_loops
from wave_passes_scheduling.manual.run import ManualRun
from wave_passes_scheduling.modulo.scheduler import modulo_schedule
from wave_passes_scheduling.planning import LoopPlanner, PlannedLoop
from wave_passes_scheduling.rebuild.guard import FEW
from wave_passes_scheduling.rebuild.tail import cut_off_tail
from wave_passes_scheduling.rebuild.unroll import unroll_loop
from wave_passes_scheduling.reorder.groups import keep_order
from wave_passes_scheduling.replacing import (
    leave_loop,
    replace_by_pipeline,
    warn_of_registers,
)
from wave_passes_scheduling.strategies import Strategy

if TYPE_CHECKING:
    from wave_core.ir import Graph
    from wave_core.ops.control import Iterate
    from wave_core.passes import PassContext

MANUAL = str(SchedulingType.MANUAL)
"""The word for a schedule that the author gives."""

OFF = frozenset({"off", str(SchedulingType.NONE)})
"""Words for no scheduling at all."""


@dataclass(frozen=True)
class ScheduleLoops(Pass):
    """Overlap the iterations of innermost loops.

    Needs an expanded graph. Each loop whose iterations can overlap becomes prologue,
    kernel and epilogue; buffers in LDS that every iteration fills anew get a copy for
    each iteration in flight. A loop that has too few iterations, whose dependences
    leave only one stage, or whose body sets a symbol, stays as it is with the buffers
    that it had, and a warning says why.

    Example, as `schedule-loops{strategy=prefetch}`::

          kernel "k" target "generic" {
            constraint #HardwareConstraint(threads_per_wave = 64)
            constraint #WorkgroupConstraint(dim = M, tile_size = `64`,
                workgroup_dim = 0)
            %a = argument parameter "a" : mem<M, global, f32>
            %b = argument parameter "b" : mem<M, global, f32>
        -   %l = iterate [], [%a, %b] {axis = N, induction = $IV:N, count = `4`} body {
        -     %m = argument capture "a" : mem<M, global, f32>
        -     %n = argument capture "b" : mem<M, global, f32>
        -     %x = read %m, [] : reg<M, f32>
        -         @access(coordinates = [64*$IV:N + $LANE], registers = 1)
        -     write %x, %n, [] @access(coordinates = [64*$IV:N + $LANE], registers = 1)
        -     yield []
        +   %0 = read %a, [] : reg<M, f32> @access(coordinates = [$LANE], registers = 1)
        +   %1 = iterate [%0], [%a, %b] {axis = N, induction = $IV:N, count = `3`} body
        +       {
        +     %2 = argument carried "read" : reg<M, f32>
        +     %3 = argument capture "a" : mem<M, global, f32>
        +     %4 = argument capture "b" : mem<M, global, f32>
        +     %5 = read %3, [] : reg<M, f32>
        +         @access(coordinates = [64*$IV:N + $LANE + 64], registers = 1)
        +     write %2, %4, [] @access(coordinates = [64*$IV:N + $LANE], registers = 1)
        +     yield [%5]
            }
        +   %6 = get_result %1 : reg<M, f32>
        +   write %6, %b, [] @access(coordinates = [$LANE + 192], registers = 1)
            yield []
          }
    """

    strategy: SchedulingType | str = option(
        SchedulingType.NONE, "off, or the name of a strategy: prefetch, modulo, ..."
    )
    buffers: int | None = option(
        None,
        "copies of each LDS buffer; by default what the strategy needs",
        at_least=1,
    )
    interval: int | None = option(
        None,
        "cycles from one iteration to the next, for `modulo`",
        at_least=1,
        at_most=MAX_INTERVAL,
    )
    profile: str = option("target", "latencies: of the `target`, or `unit`")
    override: str | None = option(None, "a schedule file to follow", reads_file=True)
    dump: str | None = option(None, "a file to write the schedule to", reports=True)
    hints: bool = option(False, "scheduling barriers between ops of different units")
    no_epilogue: bool = option(False, "run the kernel loop to the end, on masked loads")
    unroll: int = option(1, "iterations in one trip of each innermost loop", at_least=1)
    spare: int = option(
        0, "registers of a lane that schedules leave free beside the usual", at_least=0
    )

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Schedule, rebuild and unroll the loops."""
        if str(self.strategy) == MANUAL:
            return self._by_hand(graph, context, rebuild=True).changed
        plans = self.plan(graph, context)
        left = [(each, self._rebuild(graph, each, context)) for each in plans]
        nothing = all(why for _, why in left)
        for each, why in left:
            if why:
                lost = "registers" if each.passed else "schedule" if nothing else ""
                loop = each.analysed.loop
                leave_loop(loop, f"pipelined: {why}", context, lost=lost)
        return self._unroll(graph, context) or not nothing

    def plan(self, graph: Graph, context: PassContext) -> list[PlannedLoop]:
        """The schedules of the loops; only the buffers of those that get one change.

        Raises:
            UserError: WV0801 unknown strategy or profile, WV0502 to WV0505 a schedule
                file that does not fit, WV0406 copies that do not fit LDS.
        """
        if str(self.strategy) in OFF and self.override is None:
            return []
        if str(self.strategy) == MANUAL:
            return self._by_hand(graph, context, rebuild=False).loops
        planner = LoopPlanner(graph, context, self._strategy(context), self)
        loops = enumerate(innermost_loops(graph))
        return [self._plan(planner, loop, number) for number, loop in loops]

    def _plan(self, planner: LoopPlanner, loop: Iterate, number: int) -> PlannedLoop:
        """Of a loop without the masks that only its last iterations need.

        A schedule file is about the whole loop: it has to fit whatever the sizes are.
        """
        if self.no_epilogue or self.override is not None or self.dump is not None:
            return planner.plan(loop, number)
        geometry = planner.context.geometry(planner.graph)
        tail = cut_off_tail(planner.graph, loop, geometry)
        return replace(planner.plan(loop, number), tail=tail)

    def _by_hand(
        self, graph: Graph, context: PassContext, *, rebuild: bool
    ) -> ManualRun:
        """Carry out the author's schedule, or see what it does to loops.

        Raises:
            UserError: WV0512 where there is none, or an option says otherwise.
        """
        schedule = context.schedule
        others = {"override": self.override, "interval": self.interval}
        others |= {"unroll": None if self.unroll == 1 else self.unroll}
        given = [name for name, value in others.items() if value is not None]
        if schedule is None or given:
            names = f"option `{given[0]}` belongs to others" if given else ""
            raise user_error(
                "WV0512",
                "a manual schedule is asked for, and "
                + (names or "no schedule is given"),
                at=graph.location,
                label="this kernel",
                help="write `wave_compile(options, kernel, schedule)`, and all of it"
                " into the schedule",
            )
        run = ManualRun(graph, context, self, rebuild=rebuild)
        run.run(schedule)
        return run

    def _strategy(self, context: PassContext) -> Strategy:
        name = str(self.strategy)
        if name in OFF:
            return Strategy(lambda analysed: modulo_schedule(analysed.problem))
        if name in context.strategies:
            return cast("Strategy", context.strategies[name]())
        raise unknown_name("scheduling strategy", name, context.strategies)

    def _rebuild(self, graph: Graph, plan: PlannedLoop, context: PassContext) -> str:
        """Put a loop's pipelined form in its place, or say why it stays."""
        warn_of_registers(plan, context)
        made = replace_by_pipeline(
            graph, context, plan, self.dump, endless=self.no_epilogue
        )
        if isinstance(made, str):
            return made
        if self.hints:
            context.count("scheduling_barriers", keep_order(made.kernel))
        if not self.followed:
            graph.gives_way = True
        return ""

    @property
    def followed(self) -> bool:
        """Whether the user gives what schedules have to be like."""
        return self.override is not None or self.interval is not None

    def _unroll(self, graph: Graph, context: PassContext) -> bool:
        """Put several iterations into each trip of the innermost loops."""
        if self.unroll == 1:
            return False
        facts = context.geometry(graph).facts
        loops = [loop for loop in innermost_loops(graph) if FEW not in loop.tags]
        found = [unroll_loop(loop, self.unroll, facts) for loop in loops]
        context.count("unrolled_loops", sum(each is not None for each in found))
        return any(found)

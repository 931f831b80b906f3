"""Which schedule a loop gets, and which of its buffers get copies for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error
from wave_core.ops.matrix import Mma
from wave_passes_scheduling.files.match import follow_file, unchecked_schedule
from wave_passes_scheduling.files.storage import load_schedule, numbered
from wave_passes_scheduling.loops.analysis import analyse
from wave_passes_scheduling.loops.copies import (
    check_copies,
    copies_that_fit,
    copies_to_live,
    private_buffers,
)
from wave_passes_scheduling.loops.costs import profile_of
from wave_passes_scheduling.modulo.bounds import Infeasible
from wave_passes_scheduling.modulo.scheduler import modulo_schedule
from wave_passes_scheduling.rebuild.buffers import multiply_buffer
from wave_passes_scheduling.strategies import StageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.analysis.dependences.accesses import SharedAccess
    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.ops.control import Iterate
    from wave_core.ops.memory import Allocate
    from wave_core.passes import PassContext
    from wave_passes_scheduling.files.text import ScheduleFile
    from wave_passes_scheduling.loops.analysis import ScheduledLoop
    from wave_passes_scheduling.modulo.schedule import Schedule
    from wave_passes_scheduling.passes import ScheduleLoops
    from wave_passes_scheduling.rebuild.buffers import MultipliedBuffer
    from wave_passes_scheduling.rebuild.tail import Tail
    from wave_passes_scheduling.strategies import Strategy

    Private = Mapping[Allocate, list[SharedAccess]]
    """Buffers of which each iteration can have its own, with their accesses."""


@dataclass(frozen=True)
class PlannedLoop:
    """A loop and its schedule.

    Attributes:
        number: Which innermost loop of the kernel.
        analysed: The loop as a problem.
        schedule: Its schedule; ``None`` where there is none.
        copies: Its buffers that have copies, as the problem assumes.
        harmless: Accesses that iterations beyond the last may do, too.
        reason: Why there is no schedule.
        passed: The strategies that came first, and what they need, as text.
        tail: The last iterations, where the loop that is scheduled is for the others.
    """

    number: int
    analysed: ScheduledLoop
    schedule: Schedule | None
    copies: tuple[MultipliedBuffer, ...] = ()
    harmless: frozenset[Op] = frozenset()
    reason: str = ""
    passed: tuple[str, ...] = ()
    tail: Tail | None = None

    def give_up(self, graph: Graph) -> None:
        """Take the copies back: buffers are as they were, for the tail as well."""
        for each in self.copies:
            each.undo(graph)
        if self.tail is not None:
            self.tail.follow(graph)


@dataclass(frozen=True)
class LoopPlanner:
    """Plans the loops of one graph; what it changes are buffers alone.

    Attributes:
        graph: The graph.
        context: Target and analyses.
        strategy: Which schedule loops get, where no file says it.
        options: Those of the pass: what the user asks for.
    """

    graph: Graph
    context: PassContext
    strategy: Strategy
    options: ScheduleLoops

    def plan(self, loop: Iterate, number: int) -> PlannedLoop:
        """The schedule of a loop, and copies of its buffers as the schedule needs.

        Where the strategy needs more registers than there are, reads come later, or
        the strategy that it names comes instead. Files and intervals that the user
        gives are followed as they are.

        Raises:
            UserError: WV0502 to WV0505 a file or an interval that does not fit,
                WV0406 copies that do not fit LDS.
        """
        found = self._plan(loop, number)
        schedule = found.schedule
        if self.options.followed or schedule is None or schedule.fits:
            return found
        shorter = schedule.compact()
        if shorter.fits:
            return replace(found, schedule=shorter)
        found.give_up(self.graph)
        needed = f"`{self.strategy.name}` needs {shorter.needs()}"
        if self.options.spare:
            needed += f", {self.options.spare} more are left free"
        if self.strategy.instead is None:
            return PlannedLoop(number, found.analysed, None, reason=needed)
        other = replace(self, strategy=self.strategy.instead).plan(loop, number)
        return replace(other, passed=(needed, *other.passed))

    def _plan(self, loop: Iterate, number: int) -> PlannedLoop:
        """The loop under this strategy, whatever registers it needs."""
        override = self.options.override
        path = None if override is None else numbered(override, number)
        file = None if path is None else load_schedule(path)
        private, harmless = self._private(loop, file)
        count = self._count(loop, private, file, path)
        copies = tuple(
            multiply_buffer(self.graph, loop, buffer, [a.op for a in own], count)
            for buffer, own in (private.items() if count > 1 else ())
        )
        analysed = self._analysed(loop, file)
        found = PlannedLoop(number, analysed, None, copies, harmless)
        try:
            if path is None or file is None:
                schedule = self._schedule(analysed)
            else:
                schedule = follow_file(analysed, file, path)
        except (StageError, Infeasible) as error:
            found.give_up(self.graph)
            return PlannedLoop(number, analysed, None, reason=str(error))
        return PlannedLoop(number, analysed, schedule, copies, harmless)

    def _private(
        self, loop: Iterate, file: ScheduleFile | None
    ) -> tuple[Private, frozenset[Op]]:
        """Buffers that can have copies, and accesses that do no harm at the end."""
        most = max(self.strategy.buffers, self.strategy.in_flight)
        one = (self.options.buffers or most) == 1
        if one and file is None and not self.options.no_epilogue:
            return {}, frozenset()
        known = self.context.dependences(self.graph)
        private = private_buffers(self.graph, loop, known)
        rows = [row for own in private.values() for row in own]
        steady = frozenset(row.op for row in rows if not known.moves(row, loop))
        return private, steady

    def _analysed(self, loop: Iterate, file: ScheduleFile | None) -> ScheduledLoop:
        named = self.options.profile if file is None else file.profile or "unit"
        profile = profile_of(named, loop, self.context.target)
        known = self.context.dependences(self.graph)
        return analyse(self.graph, loop, known, profile, self.options.spare)

    def _count(
        self,
        loop: Iterate,
        private: Private,
        file: ScheduleFile | None,
        path: str | None,
    ) -> int:
        """How many copies: as asked for, as a file's schedule needs, or as fit.

        Raises:
            UserError: WV0406 for more than fit.
        """
        asked = self.options.buffers
        if asked is not None:
            check_copies(self.graph, loop, private, asked, self.context.target)
            return asked
        wanted = self._wanted(private)
        if file is not None and path is not None:
            ops = {row.op for own in private.values() for row in own}
            analysed = self._analysed(loop, file)
            schedule = unchecked_schedule(analysed, file, path)
            tasks = {task for task, op in enumerate(analysed.ops) if op in ops}
            wanted = max(wanted, copies_to_live(schedule, tasks))
        return copies_that_fit(self.graph, private, wanted, self.context.target)

    def _wanted(self, private: Private) -> int:
        """How many copies the strategy wants."""
        ops = (row.op for own in private.values() for row in own)
        in_place = any(isinstance(op, Mma) for op in ops)
        return self.strategy.in_flight if in_place else self.strategy.buffers

    def _schedule(self, analysed: ScheduledLoop) -> Schedule:
        if self.options.interval is None:
            return self.strategy.schedule(analysed)
        try:
            return modulo_schedule(analysed.problem, self.options.interval)
        except Infeasible as error:
            raise user_error(
                "WV0504",
                f"the loop has no schedule: {error}",
                at=analysed.loop.location,
                label="this loop",
                notes=f"latencies are those of profile `{analysed.problem.profile}`",
                help="leave `interval` out, and the smallest one is looked for",
            ) from error

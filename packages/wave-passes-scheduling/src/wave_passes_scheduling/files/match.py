"""Schedule files and loops: what a loop's schedule is as rows, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error
from wave_passes_scheduling.files.text import ScheduleFile, ScheduleRow
from wave_passes_scheduling.modulo.schedule import Schedule
from wave_passes_scheduling.orders import raise_to

if TYPE_CHECKING:
    from wave_core.diagnostics import Location
    from wave_passes_scheduling.loops.analysis import ScheduledLoop
    from wave_passes_scheduling.problem import LoopProblem

CARRIED = "IterArg"
"""The type of rows for carried values; they are no ops, and take no place of ours."""


def schedule_file(analysed: ScheduledLoop, schedule: Schedule) -> ScheduleFile:
    """The schedule of a loop, as rows in the order of their cycles.

    The sort key of an op is its place in the body, counted after the values that
    the loop carries.
    """
    problem, first = schedule.problem, len(analysed.loop.inits)
    users: list[list[int]] = [[] for _ in problem.tasks]
    for row in problem.dependences:
        if row.distance == 0 and row.target not in users[row.source]:
            users[row.source].append(row.target)
    rows = tuple(
        ScheduleRow(
            problem.tasks[task].name,
            problem.tasks[task].kind,
            (first + task,),
            schedule.cycles[task],
            tuple((first + user,) for user in sorted(users[task])),
        )
        for task in sorted(range(problem.size), key=lambda t: (schedule.cycles[t], t))
    )
    return ScheduleFile(
        schedule.interval,
        schedule.depth,
        tuple(resource.name for resource in problem.resources),
        tuple(tuple(row) for row in schedule.table.tolist()),
        rows,
        problem.profile,
    )


def follow_file(analysed: ScheduledLoop, file: ScheduleFile, path: str) -> Schedule:
    """The schedule that a file gives to a loop.

    Rows are matched by sort key, where the type agrees, then by name. A file that
    knows none of the names was made by another compiler: if it has as many rows of
    each type as the loop has ops, they are matched in order. Ops that only rename
    registers may be left out: they go as early as they can.

    Raises:
        UserError: WV0503 rows or ops that do not match, WV0502 a dependence that does
            not hold, WV0504 a resource that is overfull, WV0505 another number of
            stages than the rows fill.
    """
    follower = _Follower(analysed, file, path)
    schedule = follower.schedule()
    follower.check(schedule)
    return schedule


def unchecked_schedule(
    analysed: ScheduledLoop, file: ScheduleFile, path: str
) -> Schedule:
    """As `follow_file`, but whether the schedule is right is not looked at.

    Raises:
        UserError: WV0503 rows or ops that do not match.
    """
    return _Follower(analysed, file, path).schedule()


@dataclass
class _Follower:
    """Brings one file to one loop."""

    analysed: ScheduledLoop
    file: ScheduleFile
    path: str

    def __post_init__(self) -> None:
        self._rows = self._matched()

    @property
    def _problem(self) -> LoopProblem:
        return self.analysed.problem

    @property
    def _place(self) -> Location | None:
        return self.analysed.loop.location

    def schedule(self) -> Schedule:
        """Cycles from the file, and for what it leaves out."""
        given = {task: row.cycle for task, row in self._rows.items()}
        missing = [t for t in range(self._problem.size) if t not in given]
        for task in missing:
            if self._problem.tasks[task].uses:
                raise user_error(
                    "WV0503",
                    f"`{self.path}` has no row for `{self._name(task)}`",
                    at=self.analysed.ops[task].location,
                    label="this op is in the loop",
                    help="dump the schedule of this kernel, and edit that",
                )
        cycles = [given.get(task, 0) for task in range(self._problem.size)]
        # What the file leaves out starts as early as it can.
        waits = [
            (row.source, row.target, row.latency - row.distance * self.file.interval)
            for row in self._problem.dependences
            if row.target not in given
        ]
        raise_to(cycles, waits)
        return Schedule.of(self._problem, self.file.interval, cycles)

    def check(self, schedule: Schedule) -> None:
        """Refuse what breaks a dependence or overfills a resource."""
        for row in self._problem.dependences:
            earliest = schedule.cycles[row.source] + row.latency
            start = schedule.cycles[row.target] + row.distance * schedule.interval
            name = self._name(row.source)
            if start < earliest:
                names = f"{name} -> {self._name(row.target)}"
                far = f", {row.distance} iterations on" if row.distance else ""
                raise user_error(
                    "WV0502",
                    f"{self._where(row.target)}: the {row.reason} dependence {names}"
                    f" does not hold",
                    at=self.analysed.ops[row.target].location,
                    notes=(
                        f"{self._where(row.source)}: `{name}` takes {row.latency}{far}",
                        f"it would start at {start}, not before {earliest}",
                    ),
                    help=f"latencies are those of profile `{self._problem.profile}`",
                )
        overfull = [t for t in schedule.violations() if " of " in t]
        if overfull:
            raise user_error(
                "WV0504",
                f"`{self.path}` asks for more than the machine has: {overfull[0]}",
                at=self._place,
                notes=f"resources are those of profile `{self._problem.profile}`",
            )
        filled = 1 + max(row.cycle for row in self.file.rows) // self.file.interval
        if filled != self.file.stages:
            raise user_error(
                "WV0505",
                f"`{self.path}` says that there are {self.file.stages} stages; its rows"
                f" fill {filled}",
                at=self._place,
                help=f"write `Number of Stages: {filled}`, or move rows",
            )

    def _matched(self) -> dict[int, ScheduleRow]:
        rows = [row for row in self.file.rows if row.kind != CARRIED]
        by_name = {task.name: t for t, task in enumerate(self._problem.tasks)}
        if not any(row.name in by_name for row in rows):
            foreign = self._in_order(rows)
            if foreign is not None:
                return foreign
        first = len(self.analysed.loop.inits)
        found: dict[int, ScheduleRow] = {}
        for row in rows:
            task: int | None = row.key[0] - first if len(row.key) == 1 else None
            if not self._agrees(task, row):
                task = by_name.get(row.name)
            if task is None or task in found or not self._agrees(task, row):
                raise self._unknown(row)
            found[task] = row
        return found

    def _in_order(self, rows: list[ScheduleRow]) -> dict[int, ScheduleRow] | None:
        """The rows of each type, by sort key, for the ops of that type."""
        waiting: dict[str, list[ScheduleRow]] = {}
        for row in sorted(rows, key=lambda row: row.key, reverse=True):
            waiting.setdefault(row.kind, []).append(row)
        found: dict[int, ScheduleRow] = {}
        for number, task in enumerate(self._problem.tasks):
            if waiting.get(task.kind):
                found[number] = waiting[task.kind].pop()
            elif task.uses:
                return None
        return None if any(waiting.values()) else found

    def _unknown(self, row: ScheduleRow) -> Exception:
        return user_error(
            "WV0503",
            f"{_line(self.path, row)}: the loop has no {row.kind} `{row.name}` with"
            f" sort key {row.key}",
            at=self._place,
            label="this loop",
            help="rows are matched by sort key and type, then by name",
        )

    def _agrees(self, task: int | None, row: ScheduleRow) -> bool:
        tasks = self._problem.tasks
        return (
            task is not None and 0 <= task < len(tasks) and tasks[task].kind == row.kind
        )

    def _name(self, task: int) -> str:
        row = self._rows.get(task)
        return row.name if row else self._problem.tasks[task].name

    def _where(self, task: int) -> str:
        return _line(self.path, self._rows.get(task))


def _line(path: str, row: ScheduleRow | None) -> str:
    """Where a row stands; rows of JSON have no lines."""
    return f"`{path}`, line {row.line}" if row and row.line else f"`{path}`"

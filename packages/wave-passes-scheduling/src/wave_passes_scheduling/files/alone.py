"""A schedule file without its kernel: the loop that its own rows describe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_passes_scheduling.files.match import CARRIED
from wave_passes_scheduling.loops.kinds import OpKind
from wave_passes_scheduling.modulo import Schedule
from wave_passes_scheduling.problem import Dependence, LoopProblem, Task

if TYPE_CHECKING:
    from wave_passes_scheduling.files.rows import ScheduleFile
    from wave_passes_scheduling.loops.costs import CostProfile


def schedule_of(file: ScheduleFile, profile: CostProfile) -> Schedule:
    """The schedule of a file, with dependences from its users and a cost profile.

    A value that a row of type ``IterArg`` carries is used in the next iteration.

    Raises:
        ValueError: a type that is no kind of operation.
    """
    number = {row.key: i for i, row in enumerate(file.rows)}
    carried = [row.kind == CARRIED for row in file.rows]
    kinds = [
        OpKind.NOOP if row.kind == CARRIED else OpKind(row.kind) for row in file.rows
    ]
    tasks = tuple(
        Task(row.name, row.kind, profile.uses(kind))
        for row, kind in zip(file.rows, kinds, strict=True)
    )
    edges = tuple(
        Dependence(i, number[user], profile.latency(kinds[i]), int(carried[i]))
        for i, row in enumerate(file.rows)
        for user in row.users
        if user in number
    )
    problem = LoopProblem(tasks, profile.resources, edges, profile.name)
    return Schedule(problem, file.interval, tuple(row.cycle for row in file.rows))

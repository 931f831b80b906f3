"""Stages by kind of operation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_passes_scheduling.loops.costs import OpKind
from wave_passes_scheduling.orders import raise_to

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_passes_scheduling.loops.analysis import ScheduledLoop
    from wave_passes_scheduling.problem import Dependence

_COMPUTE = (OpKind.MMA, OpKind.SHUFFLE, OpKind.NESTED, OpKind.WRITE_GLOBAL)


def _stages(direct: int, write: int, read: int, last: int) -> Mapping[OpKind, int]:
    """Stages by kind: reads of global memory first, of what computes the ``last``.

    Args:
        direct: That of direct copies to LDS.
        write: That of writes to LDS.
        read: That of reads from LDS.
        last: That of all other ops.
    """
    return {
        OpKind.READ_GLOBAL: 0,
        OpKind.GLOBAL_TO_SHARED: direct,
        OpKind.WRITE_SHARED: write,
        OpKind.READ_SHARED: read,
        **dict.fromkeys(_COMPUTE, last),
    }


PREFETCH = _stages(direct=0, write=0, read=1, last=1)
"""Two stages: what the next iteration needs is fetched while this one computes."""

FETCH_AHEAD = _stages(direct=1, write=1, read=2, last=2)
"""Three stages: a read of global memory has a whole iteration of the loop to arrive."""

_ROOMY = 3
"""Buffers: for a copy on its way, for one that has to land next, for what is read."""

_READ = 2
"""Buffers that products read: those that go on, and those that follow."""

FOUR_STAGE = _stages(direct=0, write=1, read=2, last=3)
"""Four stages: global read, LDS write, LDS read, compute; each an iteration apart."""


def fetch_ahead_stages(analysed: ScheduledLoop) -> list[int]:
    """Three stages; of three buffers and more one is read, copies fill all others.

    As many copies are on their way as that: a loop that waits for memory alone takes
    as many bytes in a time as are under way in it.
    """
    buffers = buffers_of(analysed, OpKind.READ_SHARED)
    if buffers < _ROOMY:
        return stages_by_kind(analysed, FETCH_AHEAD)
    ahead = buffers - 1
    wanted = _stages(direct=0, write=ahead - 1, read=ahead, last=ahead)
    return stages_by_kind(analysed, wanted)


def in_flight_stages(analysed: ScheduledLoop) -> list[int] | None:
    """Stages where products read buffers in place and go on after they are issued.

    Copies are as many iterations ahead as buffers allow while the products of one
    iteration go on into the next: of ``n`` buffers one is read by those, one by the
    products that follow, and copies are on their way to all others. ``None`` where no
    product reads what is copied, or buffers are fewer than three.
    """
    ahead = buffers_of(analysed, OpKind.MMA) - _READ
    if ahead < 1:
        return None
    return stages_by_kind(analysed, _stages(direct=0, write=0, read=0, last=ahead))


def buffers_of(analysed: ScheduledLoop, reader: OpKind) -> int:
    """After how many iterations copies fill what a kind of tasks reads; 0 for none."""
    kinds = analysed.kinds
    reused = (
        row.distance
        for row in analysed.problem.dependences
        if kinds[row.source] is reader and kinds[row.target] is OpKind.GLOBAL_TO_SHARED
    )
    return min(reused, default=0)


def stages_by_kind(analysed: ScheduledLoop, wanted: Mapping[OpKind, int]) -> list[int]:
    """A stage for each task: that of its kind, or later where it has to wait."""
    kinds = enumerate(analysed.kinds)
    rows = {task: wanted[kind] for task, kind in kinds if kind in wanted}
    return settle_stages(analysed, rows, max(wanted.values()))


def settle_stages(
    analysed: ScheduledLoop, wanted: Mapping[int, int], last: int
) -> list[int]:
    """A stage for each task: the wanted one, or later where a dependence asks for it.

    Tasks without a wanted stage go where their values are used, so that they take
    no register across iterations.

    Args:
        analysed: The loop.
        wanted: Stages by task.
        last: The last stage.
    """
    problem = analysed.problem
    stages = [wanted.get(task, 0) for task in range(problem.size)]
    users: list[list[Dependence]] = [[] for _ in stages]
    for row in problem.dependences:
        if row.source != row.target:
            users[row.source].append(row)
    near = [(r.source, r.target, 0) for r in problem.dependences if r.distance == 0]
    raise_to(stages, near)
    for task in reversed(range(problem.size)):
        if task not in wanted:
            limits = [stages[row.target] + row.distance for row in users[task]]
            stages[task] = max(stages[task], min([last, *limits]))
    raise_to(stages, near)
    return stages

"""The dependences of a loop by the tasks at their ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_passes_scheduling.orders import raise_to, sorted_by

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_passes_scheduling.problem import Dependence, LoopProblem


@dataclass(frozen=True)
class Links:
    """What each task waits for, and what waits for it.

    Attributes:
        into: By task, the dependences on others.
        out: By task, the dependences of others on it.
    """

    into: list[list[Dependence]]
    out: list[list[Dependence]]

    @classmethod
    def of(cls, problem: LoopProblem) -> Links:
        """Those of a loop; what a task has to do with itself is not among them."""
        found = cls([[] for _ in problem.tasks], [[] for _ in problem.tasks])
        for row in problem.dependences:
            if row.source != row.target:
                found.into[row.target].append(row)
                found.out[row.source].append(row)
        return found

    def earliest(
        self, starts: Mapping[int, int], task: int, interval: int, begin: int
    ) -> int:
        """The first cycle that ``task`` may start in for those in ``starts``."""
        return max(
            (
                starts[row.source] + row.latency - row.distance * interval
                for row in self.into[task]
                if row.source in starts
            ),
            default=begin,
        )

    def latest(
        self, starts: Mapping[int, int], task: int, interval: int, end: int
    ) -> int:
        """The last cycle that ``task`` may start in for those in ``starts``."""
        return min(
            (
                starts[row.target] - row.latency + row.distance * interval
                for row in self.out[task]
                if row.target in starts
            ),
            default=end,
        )

    def order(self, *, backward: bool = False) -> list[int]:
        """Tasks after all that they wait for in an iteration, the urgent ones first.

        Urgent is what has the longest way to the end of the iteration; backward, to
        its start, and before all that it waits for.
        """
        near = [row for rows in self.out for row in rows if row.distance == 0]
        pairs = [(row.source, row.target, row.latency) for row in near]
        if backward:
            pairs = [(after, before, wait) for before, after, wait in pairs]
        ways = [0] * len(self.out)
        raise_to(ways, [(after, before, wait) for before, after, wait in pairs])
        sign = -1 if backward else 1
        keys = {task: (-way, sign * task) for task, way in enumerate(ways)}
        return sorted_by(keys, [(before, after) for before, after, _ in pairs])

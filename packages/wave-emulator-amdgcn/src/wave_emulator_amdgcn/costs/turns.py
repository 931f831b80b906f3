"""Long loops of a workgroup: some of their turns stand for the others.

A turn is what a wave executes from one arrival at the head of a loop to the next. Turns
of the same instructions cost the same once a loop is in its stride, so what a replay of
`MORE` turns takes longer than one of `FEW` is the time of the turns between.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wave_emulator_amdgcn.program import Bound

FEW, MORE = 8, 32
"""Turns that the two replays keep.

Waves drift against each other, so that no turn costs what the one before did. Of loops
of attention with 127 turns, 8 and 16 said up to 9 % more or 6 % less than a replay of
all of them, 8 and 32 up to 4 % more or 2 % less.
"""

_LONG = 48
"""Turns up to which all are replayed."""


@dataclass(frozen=True)
class _Run:
    """Equal turns in the path of a wave.

    Attributes:
        first: position of the first one.
        length: instructions of each.
        turns: how many there are.
    """

    first: int
    length: int
    turns: int


@dataclass(frozen=True)
class Turns:
    """The paths of a workgroup's waves, and the loop that takes most of them.

    Attributes:
        paths: what each wave executed.
        runs: the equal turns of each wave; empty where no loop is long, or waves go
            around different numbers of times.
    """

    paths: list[list[Bound]]
    runs: list[_Run]

    @property
    def count(self) -> int:
        """Turns of the long loop; 0 where there is none."""
        return self.runs[0].turns if self.runs else 0

    @property
    def turn(self) -> list[Bound]:
        """What the first wave executes in a turn of the long loop."""
        if not self.runs:
            return []
        run = self.runs[0]
        return self.paths[0][run.first : run.first + run.length]

    def keep(self, turns: int) -> list[list[Bound]]:
        """The paths with so many turns of the loop; all of it where it is short."""
        if not self.runs:
            return self.paths
        kept: list[list[Bound]] = []
        for path, run in zip(self.paths, self.runs, strict=True):
            left = run.first + run.length * turns
            kept.append(path[:left] + path[run.first + run.length * run.turns :])
        return kept


def find_turns(paths: list[list[Bound]]) -> Turns:
    """The loop that most of the waves' instructions are of, if it is long."""
    runs = [_longest(path) for path in paths]
    counts = {run.turns for run in runs}
    if len(counts) != 1 or counts.pop() <= _LONG:
        runs = []
    return Turns(paths, runs)


def _longest(path: list[Bound]) -> _Run:
    """The equal turns that hold the most instructions."""
    places: dict[Bound, list[int]] = {}
    previous = -1
    heads: set[Bound] = set()
    for at, bound in enumerate(path):
        places.setdefault(bound, []).append(at)
        if bound.instruction.pc <= previous:
            heads.add(bound)
        previous = bound.instruction.pc
    runs = [run for head in heads for run in _runs(path, places[head])]
    return max(runs, key=lambda run: (run.turns * run.length, -run.first),
               default=_Run(0, 0, 0))  # fmt: skip


def _runs(path: list[Bound], arrivals: list[int]) -> list[_Run]:
    """The rows of equal turns between arrivals at one head."""
    found: list[_Run] = []
    turns = [path[a:b] for a, b in pairwise(arrivals)]
    start = 0
    for k in range(1, len(arrivals)):
        if k < len(turns) and turns[k] == turns[start]:
            continue
        first, length = arrivals[start], len(turns[start])
        # The last turn leaves the loop, and arrives nowhere.
        behind = first + length * (k - start)
        again = path[behind : behind + length] == turns[start]
        found.append(_Run(first, length, k - start + again))
        start = k
    return found

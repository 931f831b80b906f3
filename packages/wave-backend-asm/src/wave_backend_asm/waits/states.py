"""Where wait states have to lie that the hardware does not keep itself, and how many.

For each point it is followed which instructions lie how many states back, at the least,
over all ways to it. The tables are those that the emulator checks.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from typing import NamedTuple

from wave_backend_asm.waits.issued import Run, preceding
from wave_isa_amdgcn.step import Sort, Step
from wave_isa_amdgcn.waitstates import ROWS, STATES, Row, States

_Back = dict[Step, int]
"""States between an instruction and a point, at the least."""


class _Rows(NamedTuple):
    """Rows that instructions of one sort begin and those of another end.

    Attributes:
        meeting: where one writes what the other touches.
        always: those of them that hold for any two.
        most: the largest number that one of them asks for.
    """

    meeting: list[Row]
    always: list[Row]
    most: int


@dataclass(frozen=True, eq=False)
class _Sort:
    """Instructions that begin the same rows and end the same.

    Attributes:
        begun: the rows whose first instruction they are.
        ended: the rows whose second instruction they are.
        known: what `rows_to` found, by the sort of the second instruction.
    """

    begun: frozenset[Row]
    ended: frozenset[Row]
    known: dict[_Sort, _Rows] = field(default_factory=dict["_Sort", _Rows])

    def rows_to(self, second: _Sort) -> _Rows:
        """Rows that they begin and others end."""
        rows = [row for row in self.begun if row in second.ended]
        always = [row for row in rows if not row.meets]
        most = max((row.most for row in rows), default=0)
        found = self.known[second] = _Rows(rows, always, most)
        return found


class _Tables:
    """The rows of one architecture, by sorts of instructions."""

    def __init__(self, architecture: str) -> None:
        self.chip: States = STATES[architecture]
        self._rows = [row for row in ROWS if architecture in row.architectures]
        self.most = max(row.most for row in self._rows)
        self._sorts: dict[Sort, _Sort] = {}
        self._same: dict[tuple[frozenset[Row], frozenset[Row]], _Sort] = {}

    def sort(self, step: Step) -> _Sort:
        """The sort of an instruction."""
        key = step.sort
        return self._sorts.get(key) or self._new(step, key)

    def _new(self, step: Step, key: Sort) -> _Sort:
        begun = frozenset([row for row in self._rows if row.producer(step)])
        ended = frozenset([row for row in self._rows if row.consumer(step)])
        found = self._same.setdefault((begun, ended), _Sort(begun, ended))
        self._sorts[key] = found
        return found


@cache
def _tables(architecture: str) -> _Tables:
    return _Tables(architecture)


class _Window:
    """The instructions behind a point that rows may still concern.

    They lie by their sorts, the oldest first: rows ask for sorts, and most sorts have
    none to the next instruction.
    """

    def __init__(self, tables: _Tables, back: _Back) -> None:
        self._tables = tables
        self._issued: defaultdict[_Sort, deque[tuple[Step, int]]] = defaultdict(deque)
        self.clock = 0
        for step, states in sorted(back.items(), key=lambda item: -item[1]):
            self._issued[tables.sort(step)].append((step, -states))

    def missing(self, step: Step, second: _Sort) -> int:
        """States that have to be added in front of an instruction of some sort."""
        tables, found = self._tables, 0
        if not second.ended:
            return 0
        for sort, issued in self._issued.items():
            rows = sort.known.get(second) or sort.rows_to(second)
            meeting, always, most = rows
            if not most:
                continue
            for first, at in reversed(issued):
                if at + most <= self.clock + found:
                    break  # and those in front of it lie further back
                for row in meeting if first.meets(step) else always:
                    if self._between(row, at):
                        states = row.needed(tables.chip, first, step)
                        found = max(found, states - (self.clock - at))
        return found

    def _between(self, row: Row, at: int) -> bool:
        """What a row asks to lie between may lie there."""
        if row.between is None:
            return True
        rows = chain.from_iterable(self._issued.values())
        return any(row.between(step) for step, n in rows if n > at)

    def advance(self, step: Step, sort: _Sort, added: int) -> None:
        """Go over an instruction in front of which states were added."""
        self.clock += added + step.states
        if sort.begun:
            issued = self._issued[sort]
            while issued and issued[0][1] <= self._gone:
                issued.popleft()
            issued.append((step, self.clock))

    @property
    def _gone(self) -> int:
        """What lies here or in front of it concerns no row any more."""
        return self.clock - self._tables.most

    @property
    def back(self) -> _Back:
        """What lies how many states back; the last of those that are there twice."""
        rows = chain.from_iterable(self._issued.values())
        return {step: self.clock - at for step, at in rows if at > self._gone}


class _Placing:
    """How many states each instruction needs in front of it, as far as is known."""

    def __init__(self, runs: Sequence[Run], architecture: str) -> None:
        self._tables = _tables(architecture)
        self._runs = runs
        self._out: list[_Back | None] = [None] * len(runs)
        self.added = [[0] * len(run.code) for run in runs]

    def pass_over(self, number: int, before: Sequence[int]) -> bool:
        """Go over a run; whether something else lies back at its end than before."""
        window = _Window(self._tables, _met(self._out[each] for each in before))
        added, known = self.added[number], self._out[number]
        for at, issued in enumerate(self._runs[number].code):
            if known is not None and window.clock >= self._tables.most:
                return False  # what came before the run no longer matters
            step = issued.step
            sort = self._tables.sort(step)
            added[at] = max(added[at], window.missing(step, sort))
            window.advance(step, sort, added[at])
        self._out[number] = window.back
        return window.back != known


def _met(backs: Iterator[_Back | None]) -> _Back:
    found: _Back = {}
    for back in backs:
        for step, states in (back or {}).items():
            found[step] = min(states, found.get(step, states))
    return found


def missing_states(runs: Sequence[Run], architecture: str) -> list[list[int]]:
    """By run and instruction: states that have to be added in front of it.

    Args:
        runs: the program, with the waits for memory in it.
        architecture: a key of `STATES`.
    """
    placing, before = _Placing(runs, architecture), preceding(runs)
    waiting = dict.fromkeys(range(len(runs)))
    while waiting:
        number = next(iter(waiting))
        del waiting[number]
        if placing.pass_over(number, before[number]):
            waiting |= dict.fromkeys(runs[number].following)
    return placing.added

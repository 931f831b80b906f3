"""Where wait states have to lie that the hardware does not keep itself, and how many.

For each point it is followed which instructions lie how many states back, at the least,
over all ways to it. The tables are those that the emulator checks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wave_backend_asm.waits.issued import Run, preceding
from wave_isa_amdgcn.step import Sort, Step
from wave_isa_amdgcn.waitstates import ROWS, STATES, Row, States

_Back = dict[Step, int]
"""States between an instruction and a point, at the least."""


class _Tables:
    """The rows of one architecture, and which of them instructions begin and end."""

    def __init__(self, architecture: str) -> None:
        self.chip: States = STATES[architecture]
        self.rows = [row for row in ROWS if architecture in row.architectures]
        self.most = max(row.most for row in self.rows)
        self._begun: dict[Sort, frozenset[Row]] = {}
        self._ended: dict[Sort, frozenset[Row]] = {}
        self._both: dict[tuple[Sort, Sort], tuple[list[Row], list[Row]]] = {}

    def begins(self, step: Step) -> frozenset[Row]:
        """The rows whose first instruction it is."""
        if step.sort not in self._begun:
            begun = frozenset([row for row in self.rows if row.producer(step)])
            self._begun[step.sort] = begun
        return self._begun[step.sort]

    def _ends(self, step: Step) -> frozenset[Row]:
        """The rows whose second instruction it is."""
        if step.sort not in self._ended:
            ended = frozenset([row for row in self.rows if row.consumer(step)])
            self._ended[step.sort] = ended
        return self._ended[step.sort]

    def between(self, first: Step, second: Step) -> list[Row]:
        """The rows that may ask for states between two."""
        key = first.sort, second.sort
        if key not in self._both:
            rows = self.begins(first) & self._ends(second)
            self._both[key] = [*rows], [row for row in rows if not row.meets]
        found = self._both[key]
        return found[not first.meets(second)]


class _Window:
    """The instructions behind a point that rows may still concern."""

    def __init__(self, tables: _Tables, back: _Back) -> None:
        self._tables = tables
        self._issued: dict[Step, int] = {step: -n for step, n in back.items()}
        self.clock = 0

    def missing(self, step: Step) -> int:
        """States that have to be added in front of an instruction."""
        return max(self._asked(step), default=0)

    def _asked(self, step: Step) -> Iterator[int]:
        chip, clock = self._tables.chip, self.clock
        for first, at in self._issued.items():
            for row in self._tables.between(first, step):
                if self._between(row, at):
                    yield row.needed(chip, first, step) - (clock - at)

    def _between(self, row: Row, at: int) -> bool:
        """What a row asks to lie between may lie there."""
        if row.between is None:
            return True
        return any(row.between(step) for step, n in self._issued.items() if n > at)

    def advance(self, step: Step, added: int) -> None:
        """Go over an instruction in front of which states were added."""
        self.clock += added + step.states
        gone = self.clock - self._tables.most
        for old in [old for old, at in self._issued.items() if at <= gone]:
            del self._issued[old]
        if self._tables.begins(step):
            self._issued[step] = self.clock

    @property
    def back(self) -> _Back:
        """What lies how many states back."""
        return {step: self.clock - at for step, at in self._issued.items()}


class _Placing:
    """How many states each instruction needs in front of it, as far as is known."""

    def __init__(self, runs: Sequence[Run], architecture: str) -> None:
        self._tables = _Tables(architecture)
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
            added[at] = max(added[at], window.missing(issued.step))
            window.advance(issued.step, added[at])
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

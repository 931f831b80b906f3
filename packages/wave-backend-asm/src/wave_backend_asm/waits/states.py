"""Where wait states have to lie that the hardware does not keep itself, and how many.

For each point it is followed which instructions lie how many states back, at the least,
over all ways to it. The tables are those that the emulator checks.
"""

from __future__ import annotations

from collections.abc import Sequence

from wave_backend_asm.waits.issued import Run, preceding
from wave_isa_amdgcn.step import Step
from wave_isa_amdgcn.waitstates import ROWS, STATES, Row, States

_Back = dict[Step, int]
"""States between an instruction and a point, at the least."""


class _Tables:
    """The rows of one architecture, and which of them an instruction begins."""

    def __init__(self, architecture: str) -> None:
        self.chip: States = STATES[architecture]
        self.rows = [row for row in ROWS if architecture in row.architectures]
        self.most = max(row.most for row in self.rows)
        self._begun: dict[Step, list[Row]] = {}
        self._ended: dict[Step, frozenset[Row]] = {}

    def begun(self, step: Step) -> list[Row]:
        """The rows whose first instruction it is."""
        if step not in self._begun:
            self._begun[step] = [row for row in self.rows if row.producer(step)]
        return self._begun[step]

    def _ends(self, step: Step) -> frozenset[Row]:
        """The rows whose second instruction it is."""
        if step not in self._ended:
            ended = frozenset(row for row in self.rows if row.consumer(step))
            self._ended[step] = ended
        return self._ended[step]

    def missing(self, back: _Back, step: Step) -> int:
        """States that have to be added in front of an instruction."""
        wanted = self._ends(step)
        return max(
            (
                row.needed(self.chip, first, step) - states
                for first, states in back.items()
                for row in self.begun(first)
                if row in wanted and _between(row, back, states)
            ),
            default=0,
        )

    def advance(self, back: _Back, step: Step, added: int) -> _Back:
        """What lies back behind an instruction in front of which states were added."""
        passed = added + step.states
        found = {s: n + passed for s, n in back.items() if n + passed < self.most}
        if self.begun(step):
            found[step] = 0
        return found


def _between(row: Row, back: _Back, states: int) -> bool:
    """What a row asks to lie between may lie there."""
    if row.between is None:
        return True
    return any(row.between(step) for step, n in back.items() if n < states)


def missing_states(runs: Sequence[Run], architecture: str) -> list[list[int]]:
    """By run and instruction: states that have to be added in front of it.

    Args:
        runs: the program, with the waits for memory in it.
        architecture: a key of `STATES`.
    """
    tables = _Tables(architecture)
    before = preceding(runs)
    out: list[_Back] = [{} for _ in runs]
    added = [[0] * len(run.code) for run in runs]
    changed = True
    while changed:
        changed = False
        for number, run in enumerate(runs):
            back = _met(out, before[number])
            for at, issued in enumerate(run.code):
                needed = max(added[number][at], tables.missing(back, issued.step))
                added[number][at] = needed
                back = tables.advance(back, issued.step, needed)
            changed |= back != out[number]
            out[number] = back
    return added


def _met(out: Sequence[_Back], before: Sequence[int]) -> _Back:
    back: _Back = {}
    for number in before:
        for step, states in out[number].items():
            back[step] = min(states, back.get(step, states))
    return back

"""Which line of assembly is which instruction that the emulator executed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wave_view.records import Code, Json

_NAME = re.compile(r"\s*([a-z]\w*)")
_ENCODING = re.compile(r"_(e32|e64|dpp|sdwa|e64_dpp)$")


def executed_lines(code: Code, instructions: Sequence[Json]) -> tuple[int, ...]:
    """For each line the number of its instruction; -1 for a line that did not run.

    Instructions are in the order of their addresses; those without a gap between them
    stand one below the other in the text, so each such run is looked for as a whole,
    behind the one before. Empty where a run is not found: a guess would put cycles
    beside the wrong instruction.
    """
    lines = [at for at, line in enumerate(code.lines) if line.instruction]
    names = [_name(code.lines[at].text) for at in lines]
    found = [-1] * len(code.lines)
    begin = 0
    for run in _runs(instructions):
        wanted = [_name(instructions[number]["text"]) for number in run]
        at = _find(names, wanted, begin)
        if at is None:
            return ()
        for line, number in zip(lines[at:], run, strict=False):
            found[line] = number
        begin = at + len(run)
    return tuple(found)


def _name(text: str) -> str:
    found = _NAME.match(text)
    return _ENCODING.sub("", found[1]) if found is not None else text


def _runs(instructions: Sequence[Json]) -> Iterator[list[int]]:
    """Numbers of instructions that follow each other in memory."""
    run: list[int] = []
    following = -1
    for number, row in enumerate(instructions):
        if run and row["pc"] != following:
            yield run
            run = []
        run.append(number)
        following = row["pc"] + row["bytes"]
    if run:
        yield run


def _find(names: list[str], wanted: list[str], begin: int) -> int | None:
    """Where ``wanted`` first stands in ``names``, from ``begin`` on."""
    last = len(names) - len(wanted)
    size = len(wanted)
    fitting = (at for at in range(begin, last + 1) if names[at : at + size] == wanted)
    return next(fitting, None)

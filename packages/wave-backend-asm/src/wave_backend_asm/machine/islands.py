"""Jumps that are too far for their instruction go by islands.

A jump counts words in 16 bits, to either side. An island is a jump to the same label,
nearer to it; code that comes to it from the front goes around. It needs no register
and changes none. Source: CDNA3 ISA, S_BRANCH.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

REACH = 120_000
"""Bytes that a jump spans here; it could 131,068, and islands take some."""

_LONG = "v_mfma_scale"
"""Instructions of four words; others have two at most."""

_JUMP = re.compile(r"(s_c?branch\w*) (\S+)")


class _Jump(NamedTuple):
    """A jump of the text: its line, and the line of its label."""

    line: int
    label: int


def within_reach(lines: Sequence[str], reach: int = REACH) -> list[str]:
    """The text of a program, whose jumps all reach their labels.

    Args:
        lines: Instructions, labels and directives.
        reach: Bytes that a jump may span.
    """
    if 2 * 4 * len(lines) <= reach:
        return [*lines]
    at = _places(lines)
    labels = {line[:-1]: number for number, line in enumerate(lines) if _is_label(line)}
    found = [*lines]
    added: dict[int, list[str]] = {}
    known: dict[tuple[int, int], str] = {}
    for jump in _far(lines, at, labels, reach):
        target = lines[jump.label][:-1]
        for point in _stops(jump, at, reach):
            island = known.get((jump.label, point))
            if island is None:
                island = known[jump.label, point] = f".Lisland{len(known) + 1}"
                added.setdefault(point, []).extend(_island(island, target))
            target = island
        found[jump.line] = lines[jump.line].replace(lines[jump.label][:-1], target)
    return [
        line
        for number, own in enumerate(found)
        for line in (*added.get(number, ()), own)
    ]


def _island(name: str, target: str) -> list[str]:
    return [f"s_branch {name}over", f"{name}:", f"s_branch {target}", f"{name}over:"]


def _is_label(line: str) -> bool:
    return line.endswith(":")


def _places(lines: Sequence[str]) -> list[int]:
    """Bytes in front of each line, at the most."""
    found, place = list[int](), 0
    for line in lines:
        found.append(place)
        if not line.startswith(".") and not _is_label(line):
            place += 16 if line.startswith(_LONG) else 8
    return found


def _far(
    lines: Sequence[str], at: Sequence[int], labels: dict[str, int], reach: int
) -> Iterator[_Jump]:
    """Jumps that may not reach their labels."""
    for number, line in enumerate(lines):
        match = _JUMP.fullmatch(line)
        if match is None or match[2] not in labels:
            continue
        label = labels[match[2]]
        if abs(at[label] - at[number]) > reach:
            yield _Jump(number, label)


def _stops(jump: _Jump, at: Sequence[int], reach: int) -> Iterator[int]:
    """Lines in front of which there is an island, from the label to the jump.

    They are counted from the label, so that jumps to one label share them.
    """
    step = 1 if jump.line > jump.label else -1
    last = at[jump.label]
    for number in range(jump.label + step, jump.line, step):
        if abs(at[jump.line] - last) <= reach:
            return
        if abs(at[number + step] - last) > reach:
            yield number
            last = at[number]

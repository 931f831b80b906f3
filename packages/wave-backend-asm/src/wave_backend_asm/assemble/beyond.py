"""Registers that a text names and that its kernel's descriptor does not ask for.

The assembler takes the number of the descriptor as it is given. What a text makes of
expressions and macros is not seen here, and left to the emulator.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_REGISTER = re.compile(
    r"(?<![\w.$@])([avs])(?:(\d+)\b|\[\s*(\d+)\s*(?::\s*(\d+)\s*)?\])"
)
"""One register, or neighbours of one file."""

_COMMENT = re.compile(r"/\*.*?\*/|//.*|;.*")

_NO_CODE = re.compile(r"\s*(\.|[\w.$]+\s*:|$)")
"""How lines begin that are directives, labels or empty."""


class Beyond(NamedTuple):
    """A register behind the last one of its file.

    Attributes:
        name: the register.
        line: where, from 1.
        column: where, from 1.
    """

    name: str
    line: int
    column: int


def first_beyond(text: str, name: str, registers: Mapping[str, int]) -> Beyond | None:
    """The first register in the code of a kernel that it does not get.

    Args:
        text: The assembly.
        name: The kernel.
        registers: How many it gets, by the letter of their file.
    """
    for number, row in _code(text, name):
        for found in _REGISTER.finditer(row):
            file, single, first, last = found.groups()
            highest = int(single or last or first)
            if highest >= registers[file]:
                return Beyond(f"{file}{highest}", number, found.start() + 1)
    return None


def _code(text: str, name: str) -> Iterator[tuple[int, str]]:
    """Lines with instructions of a kernel, and their numbers; comments are blanks."""
    begin = re.compile(rf"\s*{re.escape(name)}\s*:")
    end = re.compile(rf"\s*\.(size\s+{re.escape(name)}\b|amdhsa_kernel\b)")
    inside = False
    for number, row in enumerate(text.split("\n"), 1):
        inside = (inside or bool(begin.match(row))) and not end.match(row)
        if inside and not _NO_CODE.match(row):
            yield number, _COMMENT.sub(lambda m: " " * len(m[0]), row)

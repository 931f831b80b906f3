"""What the assembler says, with the line of the text that it means."""

from __future__ import annotations

import re
from dataclasses import dataclass

_MESSAGE = re.compile(
    r"^(?:error: )?<inline asm>:(\d+):(\d+): (?:error: )?(.+)$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Message:
    """A refusal: line and column in the text, from 1, and why."""

    line: int
    column: int
    why: str


class AssemblerError(Exception):
    """The assembler refused a text.

    Attributes:
        messages: what it refused; none where it said nothing about a line.
        said: all that it said.
    """

    def __init__(self, said: str) -> None:
        self.messages = tuple(
            Message(int(line), int(column), why)
            for line, column, why in _MESSAGE.findall(said)
        )
        self.said = said
        super().__init__(said or "no reason given")

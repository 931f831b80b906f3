"""The code in the documentation: fenced blocks of a Markdown page, and what they mean.

A `python` or `toml` block whose first line is a comment with a path, such as
`# wave_toy/fold.py`, is the contents of that file. Every other `python` block is run,
all of one page in order and in one namespace. The lines of a `sh` block that start with
`wave`, or with `python` and a file of the page, are run as commands. An `output` block
is what the block before it prints; `...` in it stands for anything.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

import check_links
import workspace

if TYPE_CHECKING:
    from pathlib import Path

_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^(?P=indent)```\s*$",
    re.MULTILINE | re.DOTALL,
)
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
_PATH = re.compile(r"# (?P<path>[\w./-]+\.(py|toml))")
_SETTING = re.compile(r"(?P<name>[A-Z_]+)=(?P<value>.*)")
_ANYTHING = re.compile(r" *\.\.\. *")


@dataclass(frozen=True)
class Block:
    """One fenced block.

    Attributes:
        language: The word after the fence.
        text: The lines between the fences.
        line: The number of the first of them, from 1.
    """

    language: str
    text: str
    line: int

    @property
    def file(self) -> str | None:
        """The file that the block is, if it is one."""
        found = _PATH.fullmatch(self.text.partition("\n")[0])
        is_code = self.language in ("python", "toml")
        return found["path"] if found and is_code else None

    @property
    def commands(self) -> list[Command]:
        """The commands of a `sh` block that are run: `wave`, and `python FILE`."""
        if self.language != "sh":
            return []
        found = (command_of(line) for line in self.text.splitlines())
        return [command for command in found if command is not None]


@dataclass(frozen=True)
class Command:
    """A command with the variables that are set for it.

    Attributes:
        program: `wave` or `python`.
        arguments: What follows.
        environment: Names and values.
    """

    program: str
    arguments: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]


def command_of(line: str) -> Command | None:
    """The command of a line, if it is one that is run."""
    words = shlex.split(line, comments=True)
    settings: list[tuple[str, str]] = []
    while words and (setting := _SETTING.fullmatch(words[0])):
        settings.append((setting["name"], setting["value"]))
        words = words[1:]
    program, *arguments = words or [""]
    is_file = program == "python" and arguments[0].endswith(".py")
    if program != "wave" and not is_file:
        return None
    return Command(program, tuple(arguments), tuple(settings))


def pages() -> list[Path]:
    """The pages that somebody reads: the documentation and what stands at the top."""
    root = workspace.ROOT
    own = [*root.glob("*.md"), *(root / "packages").glob("*/README.md")]
    return sorted([*own, *check_links.pages(root / "docs")])


def blocks_of(text: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    return [
        Block(
            match["language"],
            _dedent(match["text"], len(match["indent"])),
            text.count("\n", 0, match.start("text")) + 1,
        )
        for match in _FENCE.finditer(text)
    ]


def headings(text: str, line: int) -> tuple[str, str]:
    """The title of a page, and the nearest heading above a line of it."""
    above = "".join(text.splitlines(keepends=True)[: line - 1])
    # What is left of fences is the one in which the line stands.
    prose = _FENCE.sub("", above).partition("```")[0]
    found = _HEADING.findall(prose)
    return found[0], found[-1]


def _dedent(text: str, width: int) -> str:
    return "".join(line[width:] or "\n" for line in text.splitlines(keepends=True))


def as_module(blocks: list[Block]) -> str:
    """Blocks as one source text, each line at the number that it has in the page."""
    lines: list[str] = []
    for block in blocks:
        lines += [""] * (block.line - 1 - len(lines))
        lines += block.text.splitlines()
    return "\n".join(lines) + "\n"


def agrees(expected: str, printed: str) -> bool:
    """Whether a text prints as expected: blanks count once, `...` is anything."""
    first, *parts = _ANYTHING.split(_words(expected))
    rest = _words(printed)
    if not parts:
        return rest == first
    last = parts.pop()
    if not rest.startswith(first) or not rest.endswith(last):
        return False
    # The first place will do for each part: it leaves the most for those after it.
    end = len(rest) - len(last)
    position = len(first)
    for part in parts:
        found = rest.find(part, position, max(end, 0))
        if found < 0:
            return False
        position = found + len(part)
    return position <= end


def _words(text: str) -> str:
    return " ".join(text.split())

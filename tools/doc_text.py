"""Docstrings and rows as Markdown."""

from __future__ import annotations

import re
from inspect import cleandoc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_LISTED = ("Args:", "Attributes:", "Raises:")
_ENTRY = re.compile(r"    (?P<name>[\w*][\w., *]*): (?P<text>.*)")
_LITERAL = re.compile(r"``(.+?)``")
_INDENT = "    "
# A blank line after an opening fence or before a closing one.
_BLANK_IN_CODE = re.compile(r"(```(?:python|diff)\n)\n|\n(\n```)$", re.MULTILINE)
# How the example of a pass begins: a graph, between marks of a difference.
_GRAPH = re.compile(r" {4}[ +-] kernel ")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells may hold any text of one line."""
    lines = [_row(columns), _row(["---"] * len(columns))]
    return "\n".join([*lines, *map(_row, rows)]) + "\n"


def _row(cells: Sequence[str]) -> str:
    escaped = (cell.replace("|", "\\|").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(escaped)} |"


def code(value: object) -> str:
    """Text set as code; nothing for nothing."""
    text = str(value)
    return f"`{text}`" if text else ""


def codes(values: Iterable[object]) -> str:
    """Several, by commas."""
    return ", ".join(code(value) for value in values)


def first_sentence(doc: str | None) -> str:
    """The first line of a docstring."""
    return _inline(cleandoc(doc or "").partition("\n\n")[0].replace("\n", " "))


def markdown(doc: str | None) -> str:
    """A docstring in Google's form as Markdown."""
    text = "\n".join(_converted(cleandoc(doc or "").split("\n")))
    return _BLANK_IN_CODE.sub(r"\1\2", text).rstrip() + "\n"


def fields_of(doc: str | None, section: str = "Attributes:") -> dict[str, str]:
    """What a section of a docstring says, by name."""
    lines = cleandoc(doc or "").split("\n")
    if section not in lines:
        return {}
    found: dict[str, str] = {}
    name = ""
    for line in lines[lines.index(section) + 1 :]:
        if line and not line.startswith(_INDENT):
            break
        entry = _ENTRY.fullmatch(line)
        if entry is not None:
            name = entry["name"]
            found[name] = _inline(entry["text"])
        elif line:
            found[name] += " " + _inline(line.strip())
    return found


def _inline(text: str) -> str:
    return _LITERAL.sub(r"`\1`", text)


def _converted(lines: Sequence[str]) -> Iterator[str]:
    kind = ""
    for line, further in zip(lines, (*lines[2:], "", ""), strict=False):
        if kind and line and not line.startswith(_INDENT):
            yield from _end(kind)
            kind = ""
        if line in _LISTED:
            kind = "list"
            yield from (line, "")
        elif line.endswith("::"):
            kind = "code"
            language = "diff" if _GRAPH.match(further) else "python"
            yield from (line[:-1], "", f"```{language}")
        elif kind == "code":
            yield line.removeprefix(_INDENT)
        elif kind == "list":
            yield from _entry(line)
        else:
            yield _inline(line)
    yield from _end(kind)


def _entry(line: str) -> Iterator[str]:
    entry = _ENTRY.fullmatch(line)
    if entry is not None:
        yield f"* {code(entry['name'])}: {_inline(entry['text'])}"
    elif line:
        yield "  " + _inline(line.strip())


def _end(kind: str) -> Iterator[str]:
    if kind == "code":
        yield "```"
    if kind:
        yield ""

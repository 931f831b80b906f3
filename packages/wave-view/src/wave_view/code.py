"""Machine code as text, each line with the author's line that it comes from."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING

from wave_view.records import Code, CodeLine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_view.places import Places
    from wave_view.records import Place

_FILE = re.compile(r'\s*\.file\s+(\d+)\s+"([^"]*)"(?:\s+"([^"]*)")?')
_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)")
_DEBUGGERS = re.compile(
    r"\s*\.(cfi_|loc\b|file\b|ident\b)|\s*(\.Ltmp|\$L__tmp|[.$]L_*func_)"
)
_NOISE = re.compile(r"\s*[;/]|\s*\.(amd|text|globl|type|p2align|size)")
"""Comments about the whole file, and directives that say nothing about instructions."""

_SECTION = re.compile(r"\s*\.section\b")
_INSTRUCTION = re.compile(r"(?!\w+:(?!:))\s*(?:@!?%?\w+\s+)?[a-z]\w")
"""What is no label; LLVM indents instructions, the assembly path does not."""


def code_of(form: str, text: str, places: Places) -> Code:
    """The record of machine code whose ``.loc`` directives name lines.

    Reading stops at the first section of data for debuggers and loaders.
    """
    return Code(form, tuple(_lines(text, places)))


def _lines(text: str, places: Places) -> Iterator[CodeLine]:
    files = _files(text)
    place: Place | None = None
    for line in text.splitlines():
        if _SECTION.match(line):
            return
        if found := _LOC.match(line):
            number, row = found.groups()
            known = number in files and row != "0"
            place = places.of(files[number], int(row)) if known else None
        elif line.strip() and not (_DEBUGGERS.match(line) or _NOISE.match(line)):
            runs = bool(_INSTRUCTION.match(line))
            yield CodeLine(line.expandtabs(4), place if runs else None, runs)


def _files(text: str) -> dict[str, str]:
    """Names of files by number; PTX has them at its end."""
    rows = [found.groups() for found in map(_FILE.match, text.splitlines()) if found]
    return {
        number: str(PurePath(first, second)) if second else first
        for number, first, second in rows
    }

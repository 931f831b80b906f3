"""Words of PTX, each with its line (PTX ISA 8.3, section 4)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from wave_emulator_ptx.errors import PtxSyntaxError

WORD = re.compile(
    r"""
    (?P<skip>\s+|//[^\n]*|/\*.*?\*/)
  | (?P<string>"[^"\n]*")
  | (?P<number>0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|0[xX][0-9a-fA-F]+U?
              |0[bB][01]+U?|[0-9]+\.[0-9]+|[0-9]+U?)
  | (?P<name>[%$A-Za-z_][\w$]*(?:\.[\w:]+)*)
  | (?P<directive>\.[A-Za-z_][\w]*(?:::\w+)*)
  | (?P<sign>[{}\[\]()<>,;:@!|=+\-])
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Word:
    """A word: its kind (name, number, directive, string or sign), text and line."""

    kind: str
    text: str
    line: int


def words(text: str) -> list[Word]:
    """Cut a text into words; comments and white space are left out.

    Raises:
        PtxSyntaxError: EP0101, a character that begins no word.
    """
    found: list[Word] = []
    position, line = 0, 1
    while position < len(text):
        match = WORD.match(text, position)
        if match is None:
            raise PtxSyntaxError(f"nothing begins with {text[position]!r}", line)
        kind = match.lastgroup
        assert kind is not None, "every alternative is named"
        if kind != "skip":
            found.append(Word(kind, match.group(), line))
        line += match.group().count("\n")
        position = match.end()
    return found

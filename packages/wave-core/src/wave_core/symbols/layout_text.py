"""Text form of layouts: `64x4 {K: 4*(lane/16%4) + (reg/1%4), M: (lane/1%16)}`.

The head is lanes x registers; a dimension without digits prints as 0. A dimension
name with unusual characters prints as a JSON string.
"""

from __future__ import annotations

import json
import re
from typing import NoReturn

from wave_core.symbols.error import SymbolError
from wave_core.symbols.layout import Digit, Layout
from wave_core.symbols.text import PLAIN_NAME

_HEAD = re.compile(r"\s*(\d{1,9})x(\d{1,9})\s*\{\s*")
_NAME = re.compile(rf'("(?:[^"\\]|\\.)*"|{PLAIN_NAME.pattern})\s*:\s*')
_DIGIT = re.compile(
    r"(?:(-?\d{1,18})\s*\*\s*)?\(\s*(lane|reg)\s*/\s*(\d{1,9})\s*%\s*(\d{1,9})\s*\)\s*"
)
_ZERO = re.compile(r"0\s*")
_PLUS = re.compile(r"\+\s*")
_COMMA = re.compile(r",\s*")
_END = re.compile(r"\}\s*\Z")


def parse_layout(text: str) -> Layout:
    """The layout that `text` denotes.

    Raises:
        SymbolError: The text is malformed; the message says at which character.
    """
    return _LayoutParser(text).layout()


class _LayoutParser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.offset = 0

    def _fail(self, expected: str) -> NoReturn:
        msg = f"expected {expected} at character {self.offset} of {self.text!r}"
        raise SymbolError(msg)

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self.text, self.offset)
        if match is not None:
            self.offset = match.end()
        return match

    def layout(self) -> Layout:
        head = self._take(_HEAD)
        if head is None:
            self._fail("lanes x registers and an opening brace")
        table: dict[str, list[Digit]] = {}
        while self._take(_END) is None:
            if table and self._take(_COMMA) is None:
                self._fail("a comma or a closing brace")
            name = self._dimension()
            if name in table:
                self._fail(f"another dimension than {name}")
            table[name] = self._row()
        return Layout.make(int(head[1]), int(head[2]), table)

    def _dimension(self) -> str:
        match = self._take(_NAME)
        if match is None:
            self._fail("a dimension name and a colon")
        if not match[1].startswith('"'):
            return match[1]
        try:
            return json.loads(match[1])
        except json.JSONDecodeError:
            self._fail("a well-formed quoted name")

    def _row(self) -> list[Digit]:
        if self._take(_ZERO) is not None:
            return []
        row = [self._digit()]
        while self._take(_PLUS) is not None:
            row.append(self._digit())
        return row

    def _digit(self) -> Digit:
        match = self._take(_DIGIT)
        if match is None:
            self._fail("a digit such as 4*(lane/16%4)")
        source = "lane" if match[2] == "lane" else "reg"
        return Digit(int(match[1] or 1), source, int(match[3]), int(match[4]))

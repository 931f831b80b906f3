"""Terminal colours, and the width of text on a terminal."""

from __future__ import annotations

import unicodedata
from enum import Enum

_TAB = 4


class Style(Enum):
    """The part that a piece of a message plays, as ANSI SGR parameters."""

    ERROR = "1;31"
    WARNING = "1;33"
    NOTE = "1;36"
    TITLE = "1"
    GUTTER = "1;34"
    SECONDARY = "34"


class Paint:
    """Colours text, or leaves it alone."""

    def __init__(self, *, color: bool) -> None:
        self._color = color

    def __call__(self, style: Style, text: str) -> str:
        """The text in a style."""
        if not self._color or not text:
            return text
        return f"\033[{style.value}m{text}\033[0m"


def shown_text(text: str) -> tuple[str, list[int]]:
    """A source line as a terminal shows it, and where each character starts.

    Returns:
        The text with tabs expanded and control characters replaced, and the
        terminal column, from 0, of each character and of the end.
    """
    pieces: list[str] = []
    columns = [0]
    for character in text:
        piece = _shown_character(character, columns[-1])
        pieces.append(piece)
        columns.append(columns[-1] + sum(map(_character_width, piece)))
    return "".join(pieces), columns


def _shown_character(character: str, column: int) -> str:
    if character == "\t":
        return " " * (_TAB - column % _TAB)
    if unicodedata.category(character) in {"Cc", "Cs"}:
        return "\N{REPLACEMENT CHARACTER}"
    return character


def _character_width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) == "Cf":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1

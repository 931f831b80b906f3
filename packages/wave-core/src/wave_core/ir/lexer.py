"""Reading the text form piece by piece, with line and column in every complaint."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from typing import TYPE_CHECKING

from wave_core.diagnostics import Location, user_error

if TYPE_CHECKING:
    from collections.abc import Iterable

_SPACE = re.compile(r"[ \t\r\n]*")
_BLANKS = frozenset(" \t\r\n")
_COMMENT = re.compile(r"//[^\n]*")
_WORD = re.compile(r"[A-Za-z_][\w.]*", re.ASCII)
_VALUE = re.compile(r"%\w+", re.ASCII)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_SYMBOL = re.compile(r'sym"(?:[^"\\\n]|\\.)*"\??|[^\s"=`]+')
_QUOTED = re.compile(r"`(?:[^`\\\n]|\\.)*`")
_PLAIN = re.compile(r"""[^\n"`,()\[\]{}<>]+""")
_PLAIN_OR_ANGLES = re.compile(r"""[^\n"`,()\[\]{}]+""")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_SHOWN = 20

MAX_NESTING = 64
"""Brackets inside brackets, and regions inside regions, that the parser follows."""


class Reader:
    """A place in a text, and what may be read from there.

    Comments are lines that start with ``//``.

    Raises:
        UserError: WV9904 where the text does not fit; all methods.
    """

    def __init__(self, text: str, file: str = "<ir>") -> None:
        self.text = text
        self.file = file
        self.at = 0
        self._line_ends = [match.start() for match in re.finditer("\n", text)]
        self.skip_space()

    def skip_space(self) -> None:
        """Go on to the next thing to read."""
        at = self.at
        if self.text[at : at + 1] in _BLANKS:
            at = _end(_SPACE, self.text, at)
        while self.text.startswith("//", at) and self._starts_line(at):
            at = _end(_SPACE, self.text, _end(_COMMENT, self.text, at))
        self.at = at

    def _starts_line(self, at: int) -> bool:
        start = self.text.rfind("\n", 0, at) + 1
        return not self.text[start:at].strip()

    @property
    def at_end(self) -> bool:
        """Whether everything has been read."""
        return self.at == len(self.text)

    def sees(self, mark: str) -> bool:
        """Whether ``mark`` comes next."""
        return self.text.startswith(mark, self.at)

    def accept(self, mark: str) -> bool:
        """Read ``mark`` if it comes next."""
        found = self.text.startswith(mark, self.at)
        if found:
            self.at += len(mark)
            self.skip_space()
        return found

    def expect(self, mark: str) -> None:
        """Read ``mark``."""
        if not self.accept(mark):
            raise self.error(f"expected `{mark}`, found {self.found()}")

    def word(self, what: str) -> str:
        """Read a name; ``what`` says of what."""
        return self._take(_WORD, what)

    def accept_word(self, word: str) -> bool:
        """Read the keyword ``word`` if it comes next."""
        match = _WORD.match(self.text, self.at)
        if match is None or match[0] != word:
            return False
        self.at = match.end()
        self.skip_space()
        return True

    def peek_word(self) -> str:
        """The name that comes next; empty if there is none."""
        match = _WORD.match(self.text, self.at)
        return "" if match is None else match[0]

    def value_name(self) -> str:
        """Read a ``%name``."""
        return self._take(_VALUE, "a value such as `%0`")

    def string(self, what: str) -> str:
        """Read a string with JSON escapes."""
        start = self.at
        text = self._take(_STRING, f"{what} in double quotes")
        try:
            return str(json.loads(text))
        except ValueError:
            raise self.error("a string with a wrong escape", start) from None

    def quoted(self) -> str:
        """Read what stands between backquotes."""
        start = self.at
        text = self._take(_QUOTED, "an expression in backquotes")
        try:
            return unquote(text)
        except ValueError:
            raise self.error("an expression with a wrong escape", start) from None

    def symbol(self) -> str:
        """Read the text of a symbol."""
        return self._take(_SYMBOL, "a symbol")

    def _take(self, pattern: re.Pattern[str], what: str) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            raise self.error(f"expected {what}, found {self.found()}")
        self.at = match.end()
        self.skip_space()
        return match[0]

    def bare(self, *, angles: bool = True) -> str:
        """Read up to a comma or a closing bracket, brackets within balanced.

        With ``angles=False`` a ``<`` or ``>`` ends the text too.
        """
        start = self.at
        end = scan(self.text, start, angles=angles)
        found = self.text[start:end].rstrip()
        if not found:
            raise self.error(f"expected a value, found {self.found()}")
        self.at = end
        self.skip_space()
        return found

    def bracketed(self) -> str:
        """Read a text in parentheses; what stands between them."""
        if not self.sees("("):
            raise self.error(f"expected `(`, found {self.found()}")
        start = self.at + 1
        # To the parenthesis that closes, past commas.
        end = start
        while (end := scan(self.text, end)) < len(self.text):
            if self.text[end] != ",":
                break
            end += 1
        if self.text[end : end + 1] != ")":
            raise self.error("a `(` that is never closed")
        self.at = end + 1
        self.skip_space()
        return self.text[start:end].strip()

    def found(self) -> str:
        """The next token, for a message."""
        if self.at_end:
            return "the end of the text"
        shown = self.text[self.at : self.at + _SHOWN].split("\n")[0].split(" ")[0]
        return f"`{shown}`"

    def error(
        self,
        message: str,
        at: int | None = None,
        help: Iterable[str] | str = (),  # noqa: A002
    ) -> Exception:
        """A complaint about the text at position ``at``, by default here."""
        place = self.location(at)
        return user_error(
            "WV9904",
            f"line {place.line}, column {place.column}: {message}",
            at=place,
            help=help,
        )

    def location(self, at: int | None = None) -> Location:
        """Line and column of position ``at``, by default of this one."""
        at = self.at if at is None else at
        line = bisect_left(self._line_ends, at)
        start = self._line_ends[line - 1] + 1 if line else 0
        return Location.of_span(self.file, line + 1, at - start + 1)


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return at if match is None else match.end()


def scan(text: str, start: int, *, angles: bool = True) -> int:
    """Where a bare text that begins at ``start`` ends: see `Reader.bare`.

    It may go on in the next line within brackets.
    """
    pattern = _PLAIN_OR_ANGLES if angles else _PLAIN
    closers: list[str] = []
    at = start
    while at < len(text):
        match = (_PLAIN_OR_ANGLES if closers else pattern).match(text, at)
        at = at if match is None else match.end()
        mark = text[at : at + 1]
        if mark == '"':
            string = _STRING.match(text, at)
            if string is None:
                return at
            at = string.end()
            continue
        if mark in _CLOSING:
            closers.append(_CLOSING[mark])
        elif closers and mark == closers[-1]:
            closers.pop()
        elif not closers or not mark or mark not in ",\n":
            return at
        at += 1
    return at


def quote(text: str) -> str:
    """``text`` between backquotes."""
    escaped = text.replace("\\", "\\\\").replace("`", "\\`")
    return f"`{escaped}`"


def unquote(text: str) -> str:
    """The inverse of `quote`.

    Raises:
        ValueError: there is an escape that `quote` does not make.
    """
    inner = text[1:-1]
    pieces = re.split(r"\\(.)", inner)
    if any(piece not in ("\\", "`") for piece in pieces[1::2]):
        raise ValueError(text)
    return "".join(pieces)

"""Values of pass options as text: ``none true 64 0.5 word "any text" (1, 2)``."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from wave_core.diagnostics import UserError, user_error

if TYPE_CHECKING:
    from collections.abc import Callable

OptionValue: TypeAlias = "bool | int | float | str | tuple[OptionValue, ...] | None"
"""Values of options in text form."""

_KEYWORDS: dict[str, OptionValue] = {"none": None, "true": True, "false": False}
_WORD = re.compile(r"[A-Za-z_][\w.\-]*", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*")
          |(?P<number>[+-]?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|inf\b|nan\b))
          |(?P<word>[A-Za-z_][\w.\-]*)
          |(?P<mark>[{}(),=])
          |(?P<end>\Z)
          |(?P<bad>.))""",
    re.ASCII | re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Token:
    """One piece of text; ``column`` counts characters from 1."""

    kind: str
    text: str
    column: int


def _token(match: re.Match[str]) -> Token:
    kind = match.lastgroup or "bad"
    return Token(kind, match[kind], match.start(kind) + 1)


class Reader:
    """Reads tokens of one line of pipeline text.

    Raises:
        UserError: WV0802 where the text does not fit.
    """

    def __init__(self, text: str) -> None:
        """Split ``text``."""
        self._text = text
        self._tokens = [_token(match) for match in _TOKEN.finditer(text)]
        self._at = 0

    @property
    def token(self) -> Token:
        """The next token."""
        return self._tokens[self._at]

    def take(self, kind: str, expected: str) -> str:
        """The text of the next token, which has to be of ``kind``."""
        token = self.token
        if token.kind != kind:
            raise self.error(expected)
        self._at += 1
        return token.text

    def accept(self, mark: str) -> bool:
        """Whether the next token is ``mark``; if so it is consumed."""
        found = self.token.kind == "mark" and self.token.text == mark
        self._at += found
        return found

    def listed(self, close: str, item: Callable[[], None]) -> None:
        """Read items separated by commas up to and including ``close``."""
        while not self.accept(close):
            item()
            if not self.accept(",") and self.token.text != close:
                raise self.error(f"`,` or `{close}`")

    def value(self) -> OptionValue:
        """The next value."""
        if self.accept("("):
            items: list[OptionValue] = []
            self.listed(")", lambda: items.append(self.value()))
            return tuple(items)
        token = self.token
        if token.kind not in {"string", "number", "word"}:
            raise self.error("a value")
        self._at += 1
        return self._scalar(token)

    def _scalar(self, token: Token) -> OptionValue:
        if token.kind == "string":
            try:
                return str(json.loads(token.text, strict=False))
            except ValueError:
                self._at -= 1
                raise self.error("a string with JSON escapes") from None
        if token.kind == "number":
            whole = _INTEGER.fullmatch(token.text)
            return int(token.text) if whole else float(token.text)
        return _KEYWORDS.get(token.text, token.text)

    def error(self, expected: str) -> Exception:
        """The mistake at the next token."""
        token = self.token
        found = f"`{token.text}`" if token.text else "the end"
        return user_error(
            "WV0802",
            f"expected {expected} at column {token.column}, found {found}",
            notes=(self._text, " " * (token.column - 1) + "^"),
            help="the form is `first-pass, second-pass{option=1, other=(2, word)}`",
        )


def value_of(text: str) -> OptionValue:
    """The value that ``text`` is; text that has no form of a value is a string."""
    try:
        reader = Reader(text)
        value = reader.value()
        reader.take("end", "the end")
    except UserError:
        return text
    return value


def print_value(value: OptionValue) -> str:
    """The text that reads back as ``value``."""
    if isinstance(value, tuple):
        return f"({', '.join(map(print_value, value))})"
    if isinstance(value, str):
        return value if _is_plain_word(value) else json.dumps(value)
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return repr(value)


def _is_plain_word(text: str) -> bool:
    reserved = text in _KEYWORDS or text in {"inf", "nan"}
    return bool(_WORD.fullmatch(text)) and not reserved

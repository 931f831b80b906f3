"""Reads the text form of expressions; recursive descent with a depth limit."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from wave_core.symbols import logic
from wave_core.symbols.division import ceildiv, floordiv, mod
from wave_core.symbols.error import SymbolError
from wave_core.symbols.expr import constant, product, symbol, total
from wave_core.symbols.text import PLAIN_NAME

if TYPE_CHECKING:
    from collections.abc import Callable

    from wave_core.symbols.expr import Expr

MAX_NESTING = 100
"""Brackets inside brackets that the parser follows."""

MAX_DIGITS = 100
"""Digits of one number."""

_TOKEN = re.compile(
    rf"""\s*(?:(?P<quoted>sym"(?:[^"\\]|\\.)*"\??)|(?P<name>{PLAIN_NAME.pattern}\??)
    |(?P<number>[0-9]+)|(?P<sign>//|<=|>=|==|!=|[-+*%<>(),])|(?P<end>\Z))""",
    re.VERBOSE,
)

_FUNCTIONS: dict[str, tuple[Callable[..., Expr], int | None]] = {
    "and": (logic.logical_and, None),
    "or": (logic.logical_or, None),
    "min": (logic.minimum, None),
    "max": (logic.maximum, None),
    "xor": (logic.xor, None),
    "select": (logic.select, 3),
    "ceildiv": (ceildiv, 2),
}
"""Builder of each function name, and its number of arguments if that is fixed."""

_COMPARISONS: dict[str, Callable[[Expr, Expr], Expr]] = {
    "<": logic.lt,
    "<=": logic.le,
    ">": logic.gt,
    ">=": logic.ge,
    "==": logic.eq,
    "!=": logic.ne,
}


class _Token(NamedTuple):
    kind: str
    text: str
    position: int


def parse_expr(text: str) -> Expr:
    """The expression that `text` denotes.

    Raises:
        SymbolError: The text is malformed; the message says at which character.
    """
    parser = _Parser(text)
    value = parser.comparison()
    parser.expect("end", "")
    return value


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.depth = 0
        self.offset = 0
        self.token = self._next()

    def _next(self) -> _Token:
        match = _TOKEN.match(self.text, self.offset)
        if match is None or match.lastgroup is None:
            rest = self.text[self.offset :].lstrip()
            self._fail(f"unexpected {rest[:20]!r}", len(self.text) - len(rest))
        self.offset = match.end()
        kind = match.lastgroup
        return _Token(kind, match[kind], match.start(kind))

    def _fail(self, message: str, position: int | None = None) -> NoReturn:
        where = self.token.position if position is None else position
        shown = self.text if len(self.text) <= 80 else self.text[:77] + "..."
        msg = f"{message} at character {where} of {shown!r}"
        raise SymbolError(msg)

    def expect(self, kind: str, text: str) -> None:
        """Takes the next token, which must be this one."""
        if self.token.kind != kind or (text and self.token.text != text):
            self._fail(f"expected {text or kind}, found {self.token.text or 'end'!r}")
        if kind != "end":
            self.token = self._next()

    def _take(self, *signs: str) -> str | None:
        token = self.token
        if token.kind == "sign" and token.text in signs:
            self.token = self._next()
            return token.text
        return None

    def comparison(self) -> Expr:
        """A sum, or two of them compared."""
        left = self._sum()
        sign = self._take(*_COMPARISONS)
        if sign is None:
            return left
        return _COMPARISONS[sign](left, self._sum())

    def _sum(self) -> Expr:
        items = [self._product()]
        sign = self._take("+", "-")
        while sign is not None:
            item = self._product()
            items.append(-item if sign == "-" else item)
            sign = self._take("+", "-")
        return total(items)

    def _product(self) -> Expr:
        # Factors are multiplied together at once, as the printer's product was.
        factors = [self._unary()]
        sign = self._take("*", "//", "%")
        while sign is not None:
            position = self.token.position
            factor = self._unary()
            if sign == "*":
                factors.append(factor)
            elif factor.is_constant and factor.const == 0:
                self._fail("division by zero", position)
            else:
                divide = floordiv if sign == "//" else mod
                factors = [divide(product(factors), factor)]
            sign = self._take("*", "//", "%")
        return product(factors)

    def _unary(self) -> Expr:
        negative = False
        while True:
            sign = self._take("+", "-")
            if sign is None:
                break
            negative ^= sign == "-"
        value = self._atom()
        return -value if negative else value

    def _atom(self) -> Expr:
        token = self.token
        self.token = self._next() if token.kind != "end" else token
        if token.kind == "number":
            if len(token.text) > MAX_DIGITS:
                self._fail("number too long", token.position)
            return constant(int(token.text))
        if token.kind == "quoted":
            return self._quoted(token)
        if token.kind == "name":
            if token.text in _FUNCTIONS:
                return self._call(token)
            return symbol(token.text.rstrip("?"), not token.text.endswith("?"))
        if token.text == "(":
            return self._nested()[0]
        return self._fail(
            f"expected a value, found {token.text or 'end'!r}", token.position
        )

    def _quoted(self, token: _Token) -> Expr:
        quoted = token.text[3:].rstrip("?")
        try:
            name = json.loads(quoted)
        except json.JSONDecodeError:
            self._fail("malformed quoted name", token.position)
        return symbol(name, not token.text.endswith("?"))

    def _call(self, token: _Token) -> Expr:
        self.expect("sign", "(")
        args = self._nested(many=True)
        builder, count = _FUNCTIONS[token.text]
        if count not in (None, len(args)):
            self._fail(f"{token.text} takes {count} arguments", token.position)
        return builder(*args)

    def _nested(self, *, many: bool = False) -> list[Expr]:
        """The values from an opening bracket to its end."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            self._fail("brackets nested too deeply")
        values = [self.comparison()]
        while many and self._take(","):
            values.append(self.comparison())
        self.expect("sign", ")")
        self.depth -= 1
        return values

"""Integer expressions in text, evaluated without ``eval``.

The text form is that of the compiler: Python's operators ``+ - * // %`` and
comparisons, the functions ``and``, ``or``, ``min``, ``max``, ``xor``, ``select`` and
``ceildiv``, symbols as plain names (with a trailing ``?`` where they may be negative)
or as ``sym"..."`` with JSON escapes.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Mapping
from functools import reduce

from wave_runtime.errors import ArtifactError

MAX_TEXT = 10_000
"""Characters of one expression; longer ones come from no compiler."""

MAX_VALUE = 1 << 63
"""What no count or extent reaches; products of large sizes can."""

MAX_DEPTH = 100
"""Nesting of one expression."""

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>[0-9]{1,18})
  | (?P<quoted>sym"(?:[^"\\]|\\.)*")\??
  | (?P<name>[A-Za-z_$](?:[A-Za-z0-9_$.:]*[A-Za-z0-9_$])?)\??
  | (?P<sign>//|<=|>=|==|!=|[-+*%<>(),])
)""",
    re.VERBOSE,
)

Code = Callable[[Mapping[str, int]], int]


_SUMS = {"+": operator.add, "-": operator.sub}
_PRODUCTS: Mapping[str, Callable[[int, int], int]] = {
    "*": operator.mul,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
}
_COMPARISONS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def _select(condition: int, one: int, other: int) -> int:
    return one if condition else other


def _ceildiv(above: int, below: int) -> int:
    return -(-above // below)


_FUNCTIONS: Mapping[str, Callable[..., int]] = {
    "and": lambda *values: int(all(values)),
    "or": lambda *values: int(any(values)),
    "min": lambda *values: min(values),
    "max": lambda *values: max(values),
    "xor": lambda *values: reduce(lambda a, b: a ^ b, values),
    "select": _select,
    "ceildiv": _ceildiv,
}


class GridExpression:
    """A parsed expression.

    Attributes:
        text: As it was given.
        symbols: The names that need values.
    """

    def __init__(self, text: str) -> None:
        """Parse ``text``.

        Raises:
            ArtifactError: where it is no expression.
        """
        if len(text) > MAX_TEXT:
            raise ArtifactError(f"an expression of {len(text)} characters")
        self.text = text
        parser = _Parser(text)
        self._code = parser.parse()
        self.symbols = frozenset(parser.symbols)

    def __call__(self, values: Mapping[str, int]) -> int:
        """The value.

        Raises:
            ArtifactError: where a symbol has no value, a divisor is zero, or the value
                is beyond all counts.
        """
        try:
            found = self._code(values)
        except KeyError as error:
            raise ArtifactError(f"no value for {error.args[0]!r}") from None
        except (ZeroDivisionError, TypeError, RecursionError):
            raise ArtifactError(f"cannot evaluate {self.text!r}") from None
        if abs(found) >= MAX_VALUE:
            raise ArtifactError(f"{self.text!r} is beyond 64 bits")
        return found

    def __repr__(self) -> str:
        """The text."""
        return f"GridExpression({self.text!r})"


class _Parser:
    """Recursive descent over the tokens."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(self._split(text))
        self._at = 0
        self._depth = 0
        self.symbols: set[str] = set()

    def _split(self, text: str) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        place = 0
        while text[place:].strip():
            match = _TOKEN.match(text, place)
            if match is None:
                raise self._wrong()
            kind = match.lastgroup or ""
            found.append((kind, match.group(kind)))
            place = match.end()
        return found

    def _wrong(self) -> ArtifactError:
        return ArtifactError(f"{self._text!r} is no expression")

    def parse(self) -> Code:
        code = self._comparison()
        if self._at != len(self._tokens):
            raise self._wrong()
        return code

    def _peek(self) -> str:
        if self._at < len(self._tokens):
            kind, text = self._tokens[self._at]
            return text if kind == "sign" else ""
        return ""

    def _expect(self, sign: str) -> None:
        if self._peek() != sign:
            raise self._wrong()
        self._at += 1

    def _comparison(self) -> Code:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._wrong()
        left = self._chain(_SUMS, self._product)
        sign = self._peek()
        if sign in _COMPARISONS:
            self._at += 1
            test = _COMPARISONS[sign]
            left = _binary(test, left, self._chain(_SUMS, self._product))
        self._depth -= 1
        return left

    def _product(self) -> Code:
        return self._chain(_PRODUCTS, self._unary)

    def _chain(
        self,
        table: Mapping[str, Callable[[int, int], int]],
        operand: Callable[[], Code],
    ) -> Code:
        code = operand()
        while self._peek() in table:
            combine = table[self._peek()]
            self._at += 1
            code = _binary(combine, code, operand())
        return code

    def _unary(self) -> Code:
        if self._peek() == "-":
            self._at += 1
            value = self._atom()
            return lambda v: -value(v)
        return self._atom()

    def _atom(self) -> Code:
        if self._peek() == "(":
            self._at += 1
            code = self._comparison()
            self._expect(")")
            return code
        if self._at >= len(self._tokens):
            raise self._wrong()
        kind, text = self._tokens[self._at]
        self._at += 1
        if kind == "number":
            number = int(text)
            return lambda _: number
        if kind == "name" and self._peek() == "(":
            return self._call(text)
        if kind in ("name", "quoted"):
            return self._symbol(kind, text)
        raise self._wrong()

    def _symbol(self, kind: str, text: str) -> Code:
        name = text if kind == "name" else self._unquoted(text)
        self.symbols.add(name)
        return lambda values: values[name]

    def _unquoted(self, text: str) -> str:
        try:
            return str(json.loads(text[3:]))
        except json.JSONDecodeError:
            raise self._wrong() from None

    def _call(self, name: str) -> Code:
        if name not in _FUNCTIONS:
            raise self._wrong()
        self._expect("(")
        args = [self._comparison()]
        while self._peek() == ",":
            self._at += 1
            args.append(self._comparison())
        self._expect(")")
        function = _FUNCTIONS[name]
        return lambda values: function(*[arg(values) for arg in args])


def _binary(combine: Callable[[int, int], int], one: Code, other: Code) -> Code:
    return lambda values: int(combine(one(values), other(values)))

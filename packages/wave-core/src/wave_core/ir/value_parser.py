"""Reading values, types and expressions; see `attributes` for the grammar."""

from __future__ import annotations

from dataclasses import fields
from difflib import get_close_matches
from enum import Enum
from typing import TYPE_CHECKING, Any

from wave_core.constraints import BUILTIN_CONSTRAINTS
from wave_core.diagnostics import WaveError
from wave_core.ir.attributes import KEYWORDS, NUMBER, missing_fields, record_fields
from wave_core.ir.lexer import MAX_NESTING
from wave_core.symbols import Layout, SymbolError, parse_expr, parse_layout
from wave_core.targets import MMAType
from wave_core.types import (
    DTYPES,
    AccessMapping,
    AddressSpace,
    BufferLayout,
    DType,
    MemoryType,
    RegisterType,
    Usage,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wave_core.ir.lexer import Reader
    from wave_core.symbols import Expr
    from wave_core.types import Type

UNEXPECTED_OPERANDS = (
    TypeError,
    ValueError,
    LookupError,
    AttributeError,
    AssertionError,
)
"""Errors of constructors and type rules that trust their arguments."""

_MAX_NUMBER = 400
"""Characters of a number."""

_ENUMS: dict[str, type[Enum]] = {
    row.__name__: row for row in (AddressSpace, Usage, MMAType)
}
"""Enumerations whose members are values."""

_RECORDS: dict[str, type[Any]] = {
    row.__name__: row for row in (AccessMapping, BufferLayout, *BUILTIN_CONSTRAINTS)
}
"""Frozen dataclasses that are values."""


class ValueParser:
    """Reads values from a `Reader`; keeps what texts that come again stand for.

    Raises:
        UserError: WV9904 where the text does not fit; all methods.
    """

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self._exprs: dict[str, Expr] = {}
        self._layouts: dict[str, Layout] = {}
        self._types: dict[str, Type] = {}
        self._depth = 0

    def value(self) -> Any:
        """The next value."""
        reader = self.reader
        mark = reader.text[reader.at : reader.at + 1]
        if mark == '"':
            return reader.string("a string")
        if mark == "[":
            return self._nested(self._tuple)
        if mark == "#":
            return self._nested(self._object)
        if mark == "`":
            return self.expr()
        if reader.accept("!"):
            return self.type() if reader.peek_word() in _TYPES else self.dtype()
        return self._bare()

    def _nested(self, read: Any) -> Any:
        if self._depth == MAX_NESTING:
            raise self.reader.error(f"values nested more than {MAX_NESTING} deep")
        self._depth += 1
        try:
            return read()
        finally:
            self._depth -= 1

    def _bare(self) -> Any:
        start = self.reader.at
        text = self.reader.bare()
        if text in KEYWORDS:
            return KEYWORDS[text]
        number = NUMBER.fullmatch(text) if len(text) < _MAX_NUMBER else None
        if number is None:
            return self._parse_expr(text, start)
        whole = number["fraction"] is None and number["exponent"] is None
        return int(text) if whole else float(text)

    def _tuple(self) -> tuple[Any, ...]:
        self.reader.expect("[")
        return tuple(self.listed("]", self.value))

    def listed(self, close: str, read: Any) -> list[Any]:
        """Items separated by commas, up to and including ``close``."""
        items: list[Any] = []
        while not self.reader.accept(close):
            if items:
                self.reader.expect(",")
            items.append(read())
        return items

    def assignments(self, close: str, names: Iterable[str], of: str) -> dict[str, Any]:
        """``name = value`` items up to ``close``; ``of`` says whose names they are."""
        known = tuple(names)
        values: dict[str, Any] = {}

        def read() -> None:
            start = self.reader.at
            name = self.reader.word("a name")
            if name not in known or name in values:
                what = "given twice" if name in values else f"not a field of {of}"
                raise self.reader.error(f"`{name}` is {what}", start, near(name, known))
            self.reader.expect("=")
            values[name] = self.value()

        self.listed(close, read)
        return values

    def _object(self) -> Any:
        start = self.reader.at
        self.reader.expect("#")
        name = self.reader.word("a name")
        if name == "layout":
            return self._layout()
        if "." in name:
            return self._member(name, start)
        if name not in _RECORDS:
            hint = near(name, _RECORDS)
            raise self.reader.error(f"unknown class `{name}`", start, hint)
        return self.record(_RECORDS[name], start)

    def _member(self, text: str, start: int) -> Enum:
        name, _, member = text.partition(".")
        members = _ENUMS.get(name)
        if members is None:
            hint = near(name, _ENUMS)
            raise self.reader.error(f"unknown class `{name}`", start, hint)
        if member not in members.__members__:
            help_text = near(member, members.__members__)
            raise self.reader.error(f"`{name}` has no `{member}`", start, help_text)
        return members[member]

    def record(self, cls: type[Any], start: int) -> Any:
        """A record of class ``cls``, from ``(`` on."""
        self.reader.expect("(")
        names = [row.name for row in record_fields(cls)]
        given = self.assignments(")", names, f"`{cls.__name__}`")
        missing = missing_fields(cls, given)
        if missing:
            raise self.reader.error(f"`{cls.__name__}` needs `{missing[0]}`", start)
        if any(row.name == "location" for row in fields(cls)):
            given["location"] = self.reader.location(start)
        try:
            return cls(**given)
        except WaveError as error:
            raise self.reader.error(error.diagnostics[0].message, start) from error
        except UNEXPECTED_OPERANDS as error:
            message = f"these values do not make a `{cls.__name__}`"
            raise self.reader.error(message, start) from error

    def _layout(self) -> Layout:
        start = self.reader.at
        text = self.reader.bracketed()
        found = self._layouts.get(text)
        if found is None:
            try:
                found = self._layouts[text] = parse_layout(text)
            except SymbolError as error:
                raise self.reader.error(str(error), start) from error
        return found

    def expr(self, *, angles: bool = True) -> Expr:
        """An expression."""
        start = self.reader.at
        if self.reader.sees("`"):
            return self._parse_expr(self.reader.quoted(), start)
        return self._parse_expr(self.reader.bare(angles=angles), start)

    def symbol(self) -> Expr:
        """One symbol, which ends at a space."""
        start = self.reader.at
        is_quoted = self.reader.sees("`")
        text = self.reader.quoted() if is_quoted else self.reader.symbol()
        return self._parse_expr(text, start)

    def _parse_expr(self, text: str, start: int) -> Expr:
        found = self._exprs.get(text)
        if found is None:
            try:
                found = self._exprs[text] = parse_expr(text)
            except SymbolError as error:
                raise self.reader.error(str(error), start) from error
        return found

    def dtype(self) -> DType:
        """An element type."""
        start = self.reader.at
        return self._as_dtype((self.reader.word("an element type"), start, False))

    def type(self) -> Type:
        """A type."""
        reader = self.reader
        # A type without quotes in it ends at the first `>`; most texts come again.
        end = reader.text.find(">", reader.at) + 1
        text = reader.text[reader.at : end]
        found = self._types.get(text)
        if found is not None:
            reader.at = end
            reader.skip_space()
            return found
        start = reader.at
        found = self._type()
        if reader.text[start : reader.at].rstrip() == text:
            self._types[text] = found
        return found

    def _type(self) -> Type:
        start = self.reader.at
        kind = self.reader.word("a type such as `reg<M, f32>`")
        if kind not in _TYPES:
            raise self.reader.error(f"unknown type `{kind}`", start, near(kind, _TYPES))
        self.reader.expect("<")
        if kind == "reg":
            *shape, dtype = self._dims(start)
            self.reader.expect(">")
            return RegisterType(tuple(self._exprs_of(shape)), self._as_dtype(dtype))
        return self._memory(start)

    def _memory(self, start: int) -> MemoryType:
        parts = self._dims(start)
        if len(parts) < 2:
            raise self.reader.error("a memory has an address space and a dtype", start)
        *shape, space, dtype = parts
        physical = None
        if self.reader.accept_word("physical"):
            self.reader.expect("[")
            dims = self.listed("]", lambda: self.expr(angles=False))
            physical = tuple(dims)
        self.reader.expect(">")
        text, at, is_quoted = space
        named = text in {member.value for member in AddressSpace} and not is_quoted
        where = AddressSpace(text) if named else self._parse_expr(text, at)
        dims = tuple(self._exprs_of(shape))
        return MemoryType(dims, where, self._as_dtype(dtype), physical)

    def _dims(self, start: int) -> list[tuple[str, int, bool]]:
        """The items before ``>`` or ``physical``: text, position, in backquotes."""
        reader = self.reader
        items: list[tuple[str, int, bool]] = []
        while not reader.sees(">") and not reader.sees("physical["):
            at, is_quoted = reader.at, reader.sees("`")
            text = reader.quoted() if is_quoted else reader.bare(angles=False)
            items.append((text, at, is_quoted))
            if not reader.accept(","):
                break
        if not items:
            raise reader.error("a type needs an element type", start)
        return items

    def _exprs_of(self, items: Iterable[tuple[str, int, bool]]) -> list[Expr]:
        return [self._parse_expr(text, at) for text, at, _ in items]

    def _as_dtype(self, item: tuple[str, int, bool]) -> DType:
        text, at, _ = item
        if text not in DTYPES:
            message = f"unknown element type `{text}`"
            raise self.reader.error(message, at, near(text, DTYPES))
        return DTYPES[text]


_TYPES = ("reg", "mem")


def near(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """A hint with the names that are close to ``name``."""
    matches = get_close_matches(name, list(known), n=3, cutoff=0.6)
    return (
        (f"did you mean {' or '.join(f'`{m}`' for m in matches)}?",) if matches else ()
    )

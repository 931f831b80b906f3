"""Values of attributes, constraints and facts as text.

Grammar::

    value  := INT | FLOAT | "inf" | "-inf" | "nan" | "true" | "false" | "none" | STRING
            | "[" [value ("," value)*] "]"          a tuple
            | EXPR | "`" EXPR "`"                   an index expression
            | "!" type                              a type or an element type
            | "#" ENUM "." MEMBER
            | "#" RECORD "(" [NAME "=" value ("," NAME "=" value)*] ")"
            | "#layout(" LAYOUT ")"
    type   := "reg<" (dim ",")* DTYPE ">"
            | "mem<" (dim ",")* SPACE "," DTYPE ["," "physical" "[" dims "]"] ">"

An expression stands in backquotes where it would read as something else: a constant
(``4`` is the integer), a symbol called ``true``, a comparison among the dims of a type.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, cast

from wave_core.diagnostics import internal_error
from wave_core.ir.lexer import quote, scan
from wave_core.ir.values import same_value
from wave_core.symbols import Expr, Layout
from wave_core.types import DTYPES, AddressSpace, DType, MemoryType, RegisterType

if TYPE_CHECKING:
    from collections.abc import Iterable

KEYWORDS: dict[str, object] = {
    "none": None,
    "true": True,
    "false": False,
    "inf": math.inf,
    "-inf": -math.inf,
    "nan": math.nan,
}
NUMBER = re.compile(r"-?\d+(?P<fraction>\.\d+)?(?P<exponent>e[+-]?\d+)?", re.ASCII)
SPACES = frozenset(space.value for space in AddressSpace)


class ValueFormatter:
    """Prints values; keeps the texts of those that come again.

    Raises:
        InternalError: WV9905 for a value that has no text form.
    """

    def __init__(self) -> None:
        self._exprs: dict[Expr, str] = {}
        self._types: dict[RegisterType | MemoryType, str] = {}
        self._layouts: dict[Layout, str] = {}

    def value(self, value: Any) -> str:
        """The text that reads back as ``value``."""
        if type(value) is Expr:
            return self.expr(value)
        if value is None or value is True or value is False:
            return str(value).lower()
        if isinstance(value, Enum):
            return f"#{type(value).__name__}.{value.name}"
        if isinstance(value, (int, float)):
            return repr(value)
        if isinstance(value, str):
            return json.dumps(value)
        if type(value) is tuple:
            items = cast("tuple[object, ...]", value)
            return f"[{', '.join([self.value(item) for item in items])}]"
        return self._object(value)

    def _object(self, value: Any) -> str:
        if isinstance(value, DType):
            return f"!{_dtype(value)}"
        if isinstance(value, (RegisterType, MemoryType)):
            return f"!{self.type(value)}"
        if isinstance(value, Layout):
            return self._layout(value)
        if is_dataclass(value) and not isinstance(value, type):
            return self.record(value)
        raise _no_text(value)

    def expr(self, expr: Expr) -> str:
        """An expression, in backquotes where it needs them."""
        found = self._exprs.get(expr)
        if found is None:
            text = str(expr)
            plain = scan(text, 0) == len(text) and not expr.is_constant
            plain = plain and text not in KEYWORDS
            found = self._exprs[expr] = text if plain else quote(text)
        return found

    def dim(self, expr: Expr) -> str:
        """An expression as a dim of a type."""
        text = str(expr)
        plain = scan(text, 0, angles=False) == len(text) and text not in SPACES
        return text if plain else quote(text)

    def type(self, value: RegisterType | MemoryType) -> str:
        """A type."""
        found = self._types.get(value)
        if found is None:
            found = self._types[value] = self._type(value)
        return found

    def _type(self, value: RegisterType | MemoryType) -> str:
        parts = [self.dim(dim) for dim in value.shape]
        if isinstance(value, RegisterType):
            return f"reg<{', '.join([*parts, _dtype(value.dtype)])}>"
        space = value.space
        parts.append(str(space) if isinstance(space, AddressSpace) else self.dim(space))
        parts.append(_dtype(value.dtype))
        if value.physical is not None:
            physical = ", ".join([self.dim(dim) for dim in value.physical])
            parts.append(f"physical[{physical}]")
        return f"mem<{', '.join(parts)}>"

    def _layout(self, layout: Layout) -> str:
        found = self._layouts.get(layout)
        if found is None:
            found = self._layouts[layout] = f"#layout({layout})"
        return found

    def record(self, record: Any) -> str:
        """A frozen dataclass, by its fields."""
        return f"#{type(record).__name__}({self.fields(record)})"

    def fields(self, record: Any) -> str:
        """The fields of a record that differ from their defaults."""
        rows = ((row.name, getattr(record, row.name)) for row in record_fields(record))
        defaults = {row.name: row.default for row in record_fields(record)}
        return self.assignments(
            (name, value)
            for name, value in rows
            if not same_value(value, defaults[name])
        )

    def assignments(self, rows: Iterable[tuple[str, object]]) -> str:
        """``name = value`` for each row."""
        return ", ".join([f"{name} = {self.value(value)}" for name, value in rows])


def record_fields(record: Any) -> tuple[Field[Any], ...]:
    """The fields that make a record what it is; a location is not one of them.

    Every record comes back through its constructor, from these fields alone.
    """
    return tuple(f for f in fields(record) if f.init and f.compare)


def missing_fields(record: type[Any], given: Iterable[str]) -> list[str]:
    """The fields that have no default and are not ``given``."""
    names = frozenset(given)
    return [
        row.name
        for row in record_fields(record)
        if row.default is MISSING
        and row.default_factory is MISSING
        and row.name not in names
    ]


def _dtype(dtype: DType) -> str:
    if DTYPES.get(dtype.name) != dtype:
        raise _no_text(dtype)
    return dtype.name


def _no_text(value: object) -> Exception:
    return internal_error(
        "WV9905", f"a value of type `{type(value).__name__}` has no text form: {value}"
    )

"""Attributes that kernel authors give, against how they are declared."""

from __future__ import annotations

import operator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import user_error
from wave_core.types import DType

if TYPE_CHECKING:
    from collections.abc import Callable

    from wave_core.diagnostics import Location
    from wave_core.ops.base import Field, Op

#: The largest number: what counts lanes and elements has 32 bits.
MOST = 2**31 - 1

#: By declared type: whether a value is of it, and what it is called.
_KINDS: dict[str, tuple[Callable[[object], bool], str]] = {
    "int": (lambda value: type(value) is int, "an integer"),
    "bool": (lambda value: isinstance(value, bool), "True or False"),
    "str": (lambda value: isinstance(value, str), "a word"),
    "DType": (lambda value: isinstance(value, DType), "an element type, such as f32"),
    "None": (lambda value: value is None, "nothing"),
}


def check_attributes(op: Op, at: Location) -> None:
    """Refuse numbers, flags, words and element types of another type or range.

    What counts as an integer to Python becomes one.

    Raises:
        UserError: WV0222.
    """
    for field, kinds in _checked_fields(type(op)):
        value = op.attributes[field.name]
        if value is field.default:
            continue
        if "int" in kinds and not isinstance(value, bool) and not hasattr(value, "op"):
            value = op.attributes[field.name] = _as_integer(value)
        fits = any(_KINDS[kind][0](value) for kind in kinds)
        if not fits or (type(value) is int and not _in_range(field, value)):
            raise _unfit(op, field, value, at)


@lru_cache(maxsize=256)
def _checked_fields(cls: type[Op]) -> tuple[tuple[Field, tuple[str, ...]], ...]:
    """The attributes that are checked, each with the kinds that it takes."""
    rows = [(field, tuple(field.declared.split(" | "))) for field in cls.fields]
    return tuple(row for row in rows if _KINDS.keys() >= set(row[1]))


def _as_integer(value: Any) -> object:
    """An integer where the value counts as one to Python; else the value."""
    try:
        return operator.index(value)
    except TypeError:
        return value


def _in_range(field: Field, value: int) -> bool:
    return (-MOST if field.least is None else field.least) <= value <= MOST


def _unfit(op: Op, field: Field, value: object, at: Location) -> Exception:
    kinds = [_KINDS[kind][1] for kind in field.declared.split(" | ")]
    if field.least is not None:
        kinds[0] += f" from {field.least}"
    shown = repr(value) if type(value) is not int or abs(value) <= MOST else "too large"
    return user_error(
        "WV0222",
        f"`{field.name}` of `{op.op_name}` is {shown}",
        at=at,
        label="given here",
        help=f"it takes {' or '.join(kinds)}",
    )

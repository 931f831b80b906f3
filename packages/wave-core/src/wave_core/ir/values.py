"""When two attribute values are the same: by type and bit, not by ``==``."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import cast

from wave_core.symbols import Expr, Layout
from wave_core.types import AccessMapping, DType, MemoryType, RegisterType

_PLAIN = frozenset(
    {bool, int, str, type(None)}
    | {Expr, Layout, DType, RegisterType, MemoryType, AccessMapping}
)
"""Types whose ``==`` is exact: nothing in them compares equal across types."""


def value_key(value: object) -> object:
    """A hashable key; equal keys mean the same value.

    ``1``, ``1.0`` and ``True`` differ, so do ``0.0`` and ``-0.0``; a NaN is the
    same as another.
    """
    kind = type(value)
    if kind in _PLAIN:
        return (kind, value)
    if isinstance(value, float) and kind is float:
        return (kind, "nan" if math.isnan(value) else value.hex())
    if kind is tuple:
        return tuple([value_key(item) for item in cast("tuple[object, ...]", value)])
    if is_dataclass(value) and not isinstance(value, type):
        rows = [value_key(getattr(value, f.name)) for f in fields(value) if f.compare]
        return (kind, *rows)
    return (kind, value)


def same_value(left: object, right: object) -> bool:
    """Whether two attribute values are the same."""
    return left is right or value_key(left) == value_key(right)

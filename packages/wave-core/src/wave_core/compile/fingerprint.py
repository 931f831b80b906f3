"""What the meaning of a kernel's function depends on, as a key.

The code alone is not enough: tracing runs the function, so the values of its closure,
of the globals it reads and of the functions it calls count too. What cannot be
judged makes the function have no key, and it is traced anew each time.
"""

from __future__ import annotations

import builtins
import dis
import sys
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from enum import Enum
from functools import cache
from types import BuiltinFunctionType
from types import CodeType
from types import FunctionType
from types import ModuleType
from typing import Any
from typing import cast

from wave_core.constraints import Constraint
from wave_core.diagnostics import Location
from wave_core.symbols import Expr
from wave_core.types import DType

#: Packages whose functions and classes do not change while a program runs.
_TRUSTED = frozenset(
    {"wave_core", "sympy", "numpy", "torch", "typing", "functools", "math", "builtins"}
    | (sys.stdlib_module_names - {"__main__"})
)

#: Values whose equality says all; type is compared beside.
_PLAIN = (bool, int, float, complex, str, bytes, type(None), Enum, Expr, DType)

#: Nesting of containers and calls that is followed.
_MAX_DEPTH = 12


class UnknowableError(Exception):
    """A function depends on something whose changes cannot be seen."""


class Same:
    """An object that is equal to itself alone; kept alive by the key."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        """Hold ``value``."""
        self.value = value

    def __eq__(self, other: object) -> bool:
        """Whether both hold one object."""
        return isinstance(other, Same) and other.value is self.value

    def __hash__(self) -> int:
        """By identity."""
        return id(self.value)


def fingerprint(function: Any) -> Hashable | None:
    """A key that is equal when tracing ``function`` gives the same graph.

    ``None`` where that cannot be told.
    """
    try:
        return _function(function, frozenset(), 0)
    except UnknowableError:
        return None


def _function(function: FunctionType, seen: frozenset[int], depth: int) -> Hashable:
    if id(function) in seen:
        return "recursion"
    seen |= {id(function)}
    code = function.__code__
    reads = _names(code)
    parts: list[tuple[str, Hashable]] = []
    for name, value in _environment(function, code):
        parts.append((name, _value(value, reads, seen, depth + 1)))
    defaults = (function.__defaults__, function.__kwdefaults__)
    hints = dict(getattr(function, "__annotations__", {}))
    return (
        Same(code),
        tuple(parts),
        _value(defaults, reads, seen, depth + 1),
        _value(hints, reads, seen, depth + 1),
    )


def _environment(
    function: FunctionType, code: CodeType
) -> Iterator[tuple[str, object]]:
    cells = function.__closure__ or ()
    for name, cell in zip(code.co_freevars, cells, strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:
            yield name, None
    for name in _globals(code):
        if name in function.__globals__:
            yield name, function.__globals__[name]
        elif hasattr(builtins, name):
            yield name, getattr(builtins, name)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A function's code and that of the functions inside."""
    yield code
    for item in code.co_consts:
        if isinstance(item, CodeType):
            yield from _codes(item)


@cache
def _globals(code: CodeType) -> tuple[str, ...]:
    """Globals that code reads, those of inner functions too."""
    found = {
        str(row.argval)
        for part in _codes(code)
        for row in dis.get_instructions(part)
        if row.opname in {"LOAD_GLOBAL", "LOAD_NAME"}
    }
    return tuple(sorted(found))


@cache
def _names(code: CodeType) -> frozenset[str]:
    """All names of globals and attributes in the code."""
    return frozenset(name for part in _codes(code) for name in part.co_names)


def _value(
    value: object, reads: frozenset[str], seen: frozenset[int], depth: int
) -> Hashable:
    if depth > _MAX_DEPTH:
        raise UnknowableError
    if isinstance(value, _PLAIN):
        return (type(value), repr(value) if isinstance(value, float) else value)
    if isinstance(value, (Constraint, Location)):
        return value if isinstance(value, Constraint) else None
    if isinstance(value, Mapping):
        rows = cast("Mapping[object, object]", value).items()
        return _each((item for row in rows for item in row), reads, seen, depth)
    if isinstance(value, (tuple, list)):
        items = cast("Iterable[object]", value)
        kind = "list" if isinstance(value, list) else "tuple"
        return (kind, _each(items, reads, seen, depth))
    if isinstance(value, FunctionType):
        if _trusted(value):
            return Same(value)
        return _function(value, seen, depth)
    return _object(value, reads, seen, depth)


def _object(
    value: object, reads: frozenset[str], seen: frozenset[int], depth: int
) -> Hashable:
    if isinstance(value, (BuiltinFunctionType, property)):
        return Same(value)
    if isinstance(value, (ModuleType, type)):
        if _trusted(value):
            return Same(value)
        return (Same(value), _each(_read_of(value, reads), reads, seen, depth))
    cls = type(value)
    if not _trusted(cls) or cls.__module__.startswith("torch"):
        raise UnknowableError
    if cls.__hash__ not in {None, object.__hash__}:
        # Values of sympy and of Wave's language are immutable and compare by content.
        return (cls, cast("Hashable", value))
    if cls.__module__.startswith("wave_core"):
        return Same(value)
    raise UnknowableError


def _read_of(value: ModuleType | type, reads: frozenset[str]) -> Iterator[object]:
    """What the code may read of a module or a class, without running any code."""
    spaces = (
        [vars(value)] if isinstance(value, ModuleType) else map(vars, value.__mro__)
    )
    for space in spaces:
        for name in sorted(reads & space.keys()):
            yield space[name]


def _each(
    values: Iterable[object], reads: frozenset[str], seen: frozenset[int], depth: int
) -> Hashable:
    return tuple([_value(item, reads, seen, depth + 1) for item in values])


def _trusted(value: Any) -> bool:
    name = value.__name__ if isinstance(value, ModuleType) else value.__module__
    return str(name).partition(".")[0] in _TRUSTED

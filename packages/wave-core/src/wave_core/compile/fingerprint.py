"""What the meaning of a kernel's function depends on, as a key.

The code alone is not enough: tracing runs the function, so the values of its closure,
of the globals it reads, of the names in annotations that are strings, and of the
functions it calls count too. What cannot be judged makes the function have no key,
and it is traced anew each time.
"""

from __future__ import annotations

import builtins
import dis
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, cast

from wave_core.compile.read_log import MISSING, ReadLog
from wave_core.constraints import Constraint
from wave_core.diagnostics import Location
from wave_core.symbols import Expr
from wave_core.types import DType

#: Packages whose functions do the same whenever they are called, and whose values
#: compare by content or never change.
_TRUSTED = frozenset(
    {
        "__future__",
        "abc",
        "builtins",
        "collections",
        "enum",
        "fractions",
        "functools",
        "itertools",
        "math",
        "numbers",
        "numpy",
        "operator",
        "sympy",
        "torch",
        "typing",
        "wave_core",
    }
)

#: Builtins that reach values in ways that the code does not show.
_HIDING = frozenset(
    {"__import__", "eval", "exec", "globals", "input", "locals", "open", "vars"}
)

#: Values whose equality says all; type is compared beside.
_PLAIN = (bool, int, float, complex, str, bytes, type(None), Enum, Expr, DType)

_READING = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")

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


@dataclass(frozen=True)
class _Walk:
    """Where a walk through values has got to.

    Attributes:
        reads: Names that the code may read of modules and classes.
        seen: Functions that are being looked at.
        depth: Levels of nesting.
        trail: Remembers what was read, and where.
    """

    reads: frozenset[str] = frozenset()
    seen: frozenset[int] = frozenset()
    depth: int = 0
    trail: ReadLog = field(default_factory=ReadLog)

    def deeper(self) -> _Walk:
        if self.depth >= _MAX_DEPTH:
            raise UnknowableError
        return replace(self, depth=self.depth + 1)


def fingerprint(
    function: Any,
    namespaces: Sequence[Mapping[str, Any]] = (),
    trail: ReadLog | None = None,
) -> Hashable | None:
    """A key that is equal when tracing ``function`` gives the same graph.

    ``None`` where that cannot be told. Names in strings are looked up in
    ``namespaces`` too, as tracing does. ``trail`` takes down what was read: the key
    is the same as long as that is.
    """
    if not isinstance(function, FunctionType):
        return None
    try:
        walk = _Walk() if trail is None else _Walk(trail=trail)
        return _function(function, walk, namespaces)
    except UnknowableError:
        return None


def _function(
    function: FunctionType,
    walk: _Walk,
    namespaces: Sequence[Mapping[str, Any]] = (),
) -> Hashable:
    if id(function) in walk.seen:
        return "recursion"
    code = function.__code__
    walk.trail.function(function)
    hints = tuple(function.__annotations__.items())
    quoted = _in_strings(code) | {n for _, text in hints for n in _words(text)}
    inner = replace(
        walk.deeper(), reads=_names(code) | quoted, seen=walk.seen | {id(function)}
    )
    values = [
        *_environment(function, code, walk.trail),
        *_quoted(quoted, (*namespaces, function.__globals__), walk.trail),
        ("defaults", (function.__defaults__, function.__kwdefaults__)),
        ("annotations", hints),
    ]
    return Same(code), tuple([(name, _value(each, inner)) for name, each in values])


def _environment(
    function: FunctionType, code: CodeType, trail: ReadLog
) -> Iterator[tuple[str, object]]:
    """The values of the closure, and of the globals that the code reads."""
    cells = function.__closure__ or ()
    for name, cell in zip(code.co_freevars, cells, strict=True):
        value = trail.cell(cell)
        yield name, None if value is MISSING else value
    for name in _globals(code):
        value = trail.read(function.__globals__, name)
        if value is not MISSING:
            yield name, value
        elif hasattr(builtins, name):
            if name in _HIDING:
                raise UnknowableError
            yield name, trail.read(vars(builtins), name)


def _quoted(
    names: frozenset[str], spaces: Sequence[Mapping[str, Any]], trail: ReadLog
) -> Iterator[tuple[str, object]]:
    """The values of names in strings: annotations are strings in many modules."""
    for space in spaces:
        for name in sorted(names):
            value = trail.read(space, name)
            if value is not MISSING:
                yield name, value


def _words(text: object) -> Iterable[str]:
    return _IDENTIFIER.findall(text) if isinstance(text, str) else ()


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A function's code and that of the functions inside."""
    yield code
    for item in code.co_consts:
        if isinstance(item, CodeType):
            yield from _codes(item)


@cache
def _globals(code: CodeType) -> tuple[str, ...]:
    """Globals that code reads, those of inner functions too.

    Raises:
        UnknowableError: the code imports something that is not trusted.
    """
    found: set[str] = set()
    for part in _codes(code):
        for row in dis.get_instructions(part):
            if row.opname in _READING:
                found.add(str(row.argval))
            elif row.opname == "IMPORT_NAME" and not _is_trusted(str(row.argval)):
                raise UnknowableError
    return tuple(sorted(found))


@cache
def _names(code: CodeType) -> frozenset[str]:
    """All names of globals and attributes in the code."""
    return frozenset(name for part in _codes(code) for name in part.co_names)


@cache
def _in_strings(code: CodeType) -> frozenset[str]:
    """Identifiers in string constants: annotations of inner functions, attributes."""
    found: set[str] = set()
    for part in _codes(code):
        for item in part.co_consts:
            items = cast("tuple[object, ...]", item if type(item) is tuple else (item,))
            for text in items:
                found.update(_words(text))
    return frozenset(found)


def _value(value: object, walk: _Walk) -> Hashable:
    if isinstance(value, _PLAIN):
        return (type(value), repr(value) if isinstance(value, float) else value)
    if isinstance(value, Constraint):
        return value
    if isinstance(value, Location):
        return None
    if isinstance(value, (Mapping, list)):
        walk.trail.lose()
    if isinstance(value, Mapping):
        rows = cast("Mapping[object, object]", value).items()
        return _each((item for row in rows for item in row), walk)
    if isinstance(value, (tuple, list)):
        items = cast("Iterable[object]", value)
        return ("list" if isinstance(value, list) else "tuple", _each(items, walk))
    if isinstance(value, FunctionType):
        return Same(value) if _is_trusted(value.__module__) else _function(value, walk)
    if isinstance(value, ModuleType):
        return _module(value, walk)
    return _object(value)


def _module(value: ModuleType, walk: _Walk) -> Hashable:
    """A module counts with what the code may read of it; no code of it is run."""
    if _is_trusted(value.__name__):
        return Same(value)
    read = [walk.trail.read(vars(value), name) for name in sorted(walk.reads)]
    found = [each for each in read if each is not MISSING]
    return (Same(value), _each(found, walk))


def _object(value: object) -> Hashable:
    if isinstance(value, BuiltinFunctionType):
        owner = value.__self__
        free = owner is None or isinstance(owner, ModuleType)
        return _if(free and _is_trusted(value.__module__ or ""), Same(value))
    if isinstance(value, type):
        cls = cast("type[object]", value)
        return _if(issubclass(cls, Enum) or _is_trusted(cls.__module__), Same(cls))
    cls = type(value)
    if _is_trusted(cls.__module__) and not cls.__module__.startswith("torch"):
        if cls.__hash__ not in {None, object.__hash__}:
            # Values of sympy and of the language never change.
            return (cls, cast("Hashable", value))
        return _if(cls.__module__.startswith("wave_core"), Same(value))
    raise UnknowableError


def _if(known: bool, key: Hashable) -> Hashable:  # noqa: FBT001 - reads as a sentence
    if not known:
        raise UnknowableError
    return key


def _each(values: Iterable[object], walk: _Walk) -> Hashable:
    inner = walk.deeper()
    return tuple([_value(item, inner) for item in values])


def _is_trusted(module: str | None) -> bool:
    return (module or "").partition(".")[0] in _TRUSTED

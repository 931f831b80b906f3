"""Keys of kernels' functions: everything that their meaning depends on.

The code alone is not enough: tracing runs the function, so the values of its closure,
of the globals it reads, of the names in annotations that are strings, and of the
functions it calls count too. `code_reads` says which places those are. Here stands
which values have all their state in the key: numbers, text, containers, expressions,
objects of the language, functions made of those. Anything else makes the function
have no key, and it is traced anew each time.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import EnumMeta
from fractions import Fraction
from functools import lru_cache
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MappingProxyType,
    ModuleType,
)
from typing import Any, cast

from wave_core.compile.code_reads import Path, UnknowableError, paths_in, reads_of
from wave_core.compile.read_log import (
    MISSING,
    Parts,
    ReadLog,
    cell_parts,
    function_parts,
    mapping_parts,
    state_parts,
)
from wave_core.diagnostics import Location
from wave_core.ops.base import Op
from wave_core.symbols import Expr
from wave_core.types import DType

#: The package whose functions do the same whenever they are called.
_LANGUAGE = "wave_core"

#: Modules whose compiled functions and classes do so too.
_PURE_MODULES = frozenset({
    "_functools", "_operator", "functools", "itertools", "math", "typing",
})  # fmt: skip

#: Builtins that do, and that reach nothing but what they are given.
_PURE_BUILTINS = frozenset({
    "abs", "all", "any", "bool", "complex", "dict", "divmod", "enumerate",
    "filter", "float", "frozenset", "int", "isinstance", "issubclass", "iter",
    "len", "list", "map", "max", "min", "next", "object", "pow", "print", "range",
    "reversed", "round", "set", "slice", "sorted", "str", "sum", "tuple", "zip",
})  # fmt: skip

#: Attributes that the language itself gives its functions.
_OWN_ATTRIBUTES = frozenset({"__signature__", "__wrapped__"})

#: Values whose type and equality say all.
_PLAIN = frozenset(
    {bool, int, str, bytes, type(None), type(...), Expr, DType, Fraction}
)

#: Classes whose objects never change, by package and name.
_CONSTANT = frozenset({("inspect", "Signature"), ("torch", "dtype")})

#: Members of a class that is no enumeration.
_NO_MEMBERS: Mapping[str, object] = MappingProxyType({})

#: Classes that are remembered.
_KEPT = 256

#: Nesting of containers and calls that is followed.
_MAX_DEPTH = 12


class Same:
    """An object that is equal to itself alone; kept alive by the key."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        """Whether both hold one object."""
        return isinstance(other, Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


class Key:
    """A key that is hashed once, however large it is."""

    __slots__ = ("_hash", "_parts")

    def __init__(self, parts: Hashable) -> None:
        self._parts = parts
        self._hash = hash(parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and other._parts == self._parts

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True)
class _Walk:
    """Where a walk through values has got to.

    Attributes:
        log: Takes down what was read, and where.
        ours: Functions of the language that were met.
        keys: Objects that were looked at, with their keys.
        seen: Functions that are being looked at.
        depth: Levels of nesting.
    """

    log: ReadLog
    ours: list[FunctionType] = field(default_factory=list[FunctionType])
    keys: dict[int, tuple[object, Hashable]] = field(default_factory=dict[int, Any])
    seen: frozenset[int] = frozenset()
    depth: int = 0

    def deeper(self) -> _Walk:
        if self.depth >= _MAX_DEPTH:
            raise UnknowableError
        return replace(self, depth=self.depth + 1)


def fingerprint(
    function: Any,
    namespaces: Sequence[Mapping[str, Any]] = (),
    log: ReadLog | None = None,
) -> Hashable | None:
    """A key that is equal when tracing ``function`` gives the same graph.

    ``None`` where that cannot be told. Names in strings are looked up in
    ``namespaces`` too, as tracing does. ``log`` takes down what was read: the key
    is the same as long as that is.
    """
    if type(function) is not FunctionType:
        return None
    walk = _Walk(ReadLog() if log is None else log)
    try:
        key = Key(_function(function, walk, namespaces))
        walk.log.parts(_attribute_counts, tuple(walk.ours))
    except UnknowableError:
        return None
    return key


def _attribute_counts(functions: tuple[FunctionType, ...]) -> Parts:
    return tuple(map(len, map(vars, functions)))


def _function(
    function: FunctionType,
    walk: _Walk,
    namespaces: Sequence[Mapping[str, Any]] = (),
) -> Hashable:
    if id(function) in walk.seen:
        return "recursion"
    inner = replace(walk.deeper(), seen=walk.seen | {id(function)})
    parts = walk.log.parts(function_parts, function)
    code = function.__code__
    reads = reads_of(code)
    hints = [text for text in function.__annotations__.values() if type(text) is str]
    quoted = sorted({*reads.quoted}.union(*map(paths_in, hints)))
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    closed = {name: walk.log.parts(cell_parts, cell)[0] for name, cell in cells}
    scope = _Scope(closed, function.__globals__, function.__builtins__)
    return (
        _each(parts, inner),
        *(_path(path, scope, (), inner) for path in reads.paths),
        *(_path(path, scope, namespaces, inner) for path in quoted),
    )


@dataclass(frozen=True)
class _Scope:
    """Where a function's names are looked up."""

    closed: Mapping[str, object]
    globals: Mapping[str, Any]
    builtins: Mapping[str, Any]


def _path(
    path: Path, scope: _Scope, more: Iterable[Mapping[str, Any]], walk: _Walk
) -> Hashable:
    """The values at a path, in each space that has its first name."""
    name, *names = path
    values = [walk.log.read(space, name) for space in (*more, scope.globals)]
    values.append(scope.closed.get(name, MISSING))
    found = [value for value in values if value is not MISSING]
    if not found and name in scope.builtins:
        found = [walk.log.read(scope.builtins, name)]
    return tuple([_followed(value, names, walk) for value in found])


def _followed(value: object, names: Sequence[str], walk: _Walk) -> Hashable:
    """A value with what is taken from it; no code of the user is run."""
    if type(value) is ModuleType:
        return _of_module(value, names, walk)
    if not names:
        return _value(value, walk)
    if isinstance(value, type):
        return _of_class(cast("type[object]", value), names, walk)
    if isinstance(value, FunctionType) and _is_language(value):
        raise UnknowableError
    return _value(value, walk)


def _of_module(value: ModuleType, names: Sequence[str], walk: _Walk) -> Hashable:
    """A module counts with what is taken from it, and cannot be handed on."""
    space = vars(value)
    found = walk.log.read(space, names[0]) if names else MISSING
    if found is not MISSING:
        return _followed(found, names[1:], walk)
    if names and (
        "__getattr__" not in space or value.__name__.partition(".")[0] == _LANGUAGE
    ):
        return "missing"
    raise UnknowableError


def _of_class(cls: type[object], names: Sequence[str], walk: _Walk) -> Hashable:
    """A class with an attribute of its own; members of an enumeration can have some."""
    key = _value(cls, walk)
    members: Mapping[str, object] = (
        cls.__members__ if isinstance(cls, EnumMeta) else _NO_MEMBERS
    )
    if names[0] in members:
        return (key, _value(walk.log.read(members, names[0]), walk))
    return (key, Same(walk.log.read(vars(cls), names[0])))


def _value(value: object, walk: _Walk) -> Hashable:
    cls = type(value)
    if cls in _PLAIN:
        return (cls, cast("Hashable", value))
    if cls is float or cls is complex:
        number = complex(cast("complex", value))
        return (cls, struct.pack("dd", number.real, number.imag))
    known = walk.keys.get(id(value))
    if known is None:
        known = walk.keys[id(value)] = (value, _state(value, cls, walk))
    return known[1]


def _state(value: object, cls: type[object], walk: _Walk) -> Hashable:
    """The readable state of an object that is more than a number or a text."""
    if cls in {tuple, frozenset}:
        return (cls, _each(cast("Iterable[object]", value), walk))
    if cls in {list, set}:
        items = cast("Iterable[object]", value)
        return (cls, _each(walk.log.parts(tuple, items), walk))
    if cls is dict:
        rows = cast("dict[object, object]", value)
        return (cls, _each(walk.log.parts(mapping_parts, rows), walk))
    if isinstance(value, FunctionType):
        return _called(value, walk)
    if isinstance(value, CodeType):
        return Same(value)
    return _object(value, cls, walk)


def _called(function: FunctionType, walk: _Walk) -> Hashable:
    """A function that may be called: the language's own are not looked into."""
    if not _is_language(function):
        return _function(function, walk)
    if not _OWN_ATTRIBUTES.issuperset(vars(function)):
        raise UnknowableError
    walk.ours.append(function)
    cells = [cell_parts(cell)[0] for cell in function.__closure__ or ()]
    return (Same(function), _each(cells, walk))


def _object(value: object, cls: type[object], walk: _Walk) -> Hashable:
    if cls is Location:
        return None
    if isinstance(value, type):
        return _known(value, is_known=_is_pure_class(cast("type[object]", value)))
    if cls is BuiltinFunctionType:
        return _known(value, is_known=_is_pure_builtin(cast("Any", value)))
    root = _package(cls)
    if root == _LANGUAGE:
        return (cls, _each(walk.log.parts(state_parts, value), walk))
    if root == "numpy" and _descends(cls, "numpy", "number", "bool_"):
        return (cls, cast("Any", value).tobytes())
    if (root, cls.__name__) in _CONSTANT:
        return Same(value)
    return _expression(value)


def _expression(value: object) -> Hashable:
    """The rows of an expression of sympy's, each part in one row however often used.

    A number and a float that are equal are told apart.
    """
    rows: dict[int, tuple[int, Hashable]] = {}
    _add_row(value, rows)
    return tuple([row for _, row in rows.values()])


def _add_row(value: object, rows: dict[int, tuple[int, Hashable]]) -> int:
    """The number of the row of a part: its class, and the rows of its arguments."""
    if id(value) not in rows:
        cls = type(value)
        if not (_package(cls) == "sympy" and _descends(cls, "sympy", "Basic")):
            raise UnknowableError
        args = tuple([_add_row(arg, rows) for arg in cast("Any", value).args])
        rows[id(value)] = (len(rows), (cls, args or cast("Hashable", value)))
    return rows[id(value)][0]


def _known(value: object, *, is_known: bool) -> Hashable:
    if not is_known:
        raise UnknowableError
    return Same(value)


def _each(values: Iterable[object], walk: _Walk) -> Hashable:
    inner = walk.deeper()
    return tuple([_value(item, inner) for item in values])


def _is_pure_class(cls: type[object]) -> bool:
    """Whether calling a class has no hidden inputs, and its attributes stay."""
    if cls.__module__ == "builtins":
        return cls.__name__ in _PURE_BUILTINS or issubclass(cls, BaseException)
    if issubclass(cls, Op) or _package(cls) == _LANGUAGE:
        return True
    if _package(cls) in _PURE_MODULES:
        return True
    if _descends(cls, "numpy", "number", "bool_"):
        return _package(cls) == "numpy"
    return _package(cls) == "sympy" and _descends(cls, "sympy", "Basic")


def _is_pure_builtin(function: BuiltinFunctionType) -> bool:
    owner = function.__self__
    if not isinstance(owner, ModuleType):
        return False
    if owner.__name__ == "builtins":
        return function.__name__ in _PURE_BUILTINS
    return owner.__name__ in _PURE_MODULES


def _is_language(function: FunctionType) -> bool:
    """Whether a function is one of ours, whatever it says of itself."""
    space = function.__globals__
    name = space.get("__name__")
    if not isinstance(name, str) or name.partition(".")[0] != _LANGUAGE:
        return False
    module = sys.modules.get(name)
    return module is not None and vars(module) is space


@lru_cache(_KEPT)
def _package(cls: type[object]) -> str:
    """The package whose class this is, whatever the class says of itself."""
    module = sys.modules.get(cls.__module__)
    if module is None or vars(module).get(cls.__qualname__) is not cls:
        return ""
    return cls.__module__.partition(".")[0]


def _descends(cls: type[object], module: str, *names: str) -> bool:
    """Whether a class descends from classes of a package that need not be loaded."""
    bases = (getattr(sys.modules.get(module), name, None) for name in names)
    return any(isinstance(base, type) and issubclass(cls, base) for base in bases)

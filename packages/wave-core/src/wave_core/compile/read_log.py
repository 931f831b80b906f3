"""The values from which the key of a function was made, and whether they still stand.

Walking through a function's values takes tens of microseconds, looking whether each
place still holds the object that it held takes a few.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from operator import is_
from types import CellType, FunctionType
from typing import Any, Final, TypeVar

T = TypeVar("T")

MISSING: Final = object()
"""In place of a value where there is none."""

KEPT = 256
"""Functions whose logs are kept."""

Parts = tuple[object, ...]


class ReadLog:
    """Values that were read, in order, by the place where they were found."""

    __slots__ = ("_objects", "_spaces")

    def __init__(self) -> None:
        self._spaces: dict[int, tuple[Mapping[str, Any], dict[str, object]]] = {}
        self._objects: dict[int, tuple[Callable[[Any], Parts], object, Parts]] = {}

    def read(self, space: Mapping[str, Any], name: str) -> Any:
        """The value of ``name``, or ``MISSING``."""
        value = space.get(name, MISSING)
        self._spaces.setdefault(id(space), (space, {}))[1][name] = value
        return value

    def parts(self, take: Callable[[T], Parts], value: T) -> Parts:
        """The parts of something that can change, which ``take`` gives."""
        found = take(value)
        self._objects[id(value)] = (take, value, found)
        return found

    def holds(self) -> bool:
        """Whether all that was read is what it was."""
        for space, rows in self._spaces.values():
            now = map(space.get, rows, repeat(MISSING))
            if not all(map(is_, now, rows.values())):
                return False
        for take, value, parts in self._objects.values():
            now = take(value)
            if len(now) != len(parts) or not all(map(is_, now, parts)):
                return False
        return True


def cell_parts(cell: CellType) -> Parts:
    """The value in a cell of a closure, or ``MISSING``."""
    try:
        return (cell.cell_contents,)
    except ValueError:
        return (MISSING,)


def function_parts(function: FunctionType) -> Parts:
    """The parts of a function beside its closure and what its code names."""
    return (
        function.__code__,
        *mapping_parts(function.__annotations__),
        function.__defaults__,
        *mapping_parts(function.__kwdefaults__ or {}),
        ...,
        *mapping_parts(vars(function)),
    )


def mapping_parts(mapping: Mapping[Any, Any]) -> Parts:
    """All keys and values, in order."""
    return (*mapping, *mapping.values())


def state_parts(value: object) -> Parts:
    """All attributes of an object: of its slots, then those of its dictionary."""
    slots = _slots(type(value))
    state: Mapping[str, object] = getattr(value, "__dict__", {})
    return (*[getattr(value, slot, MISSING) for slot in slots], *mapping_parts(state))


@lru_cache(KEPT)
def _slots(cls: type) -> tuple[str, ...]:
    found: list[str] = []
    for base in cls.__mro__:
        given = vars(base).get("__slots__", ())
        found += [given] if isinstance(given, str) else given
    return tuple(name for name in found if name not in {"__dict__", "__weakref__"})


@dataclass(frozen=True, slots=True)
class Known:
    """A function whose key was worked out.

    Attributes:
        function: The function; held, so that no other takes its identity.
        namespaces: Where names in strings were looked up too.
        log: What was read.
        key: What came of it.
    """

    function: object
    namespaces: Sequence[Mapping[str, Any]]
    log: ReadLog
    key: Hashable | None


Make = Callable[[object, Sequence[Mapping[str, Any]], ReadLog], Hashable | None]


def recall(
    known: MutableMapping[int, Known],
    function: object,
    namespaces: Sequence[Mapping[str, Any]],
    make: Make,
) -> Hashable | None:
    """The key of a function, worked out anew where something has changed."""
    row = known.get(id(function))
    if row is not None and row.namespaces is namespaces and row.log.holds():
        return row.key
    log = ReadLog()
    key = make(function, namespaces, log)
    if len(known) >= KEPT:
        known.clear()
    known[id(function)] = Known(function, namespaces, log, key)
    return key

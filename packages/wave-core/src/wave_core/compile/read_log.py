"""What the key of a function was made from, and whether all of it is still there.

Walking through a function's values takes tens of microseconds, looking whether each
name still holds the object that it held takes two.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from types import CellType, FunctionType

MISSING: Final = object()
"""In place of a value where there is none."""

KEPT = 256
"""Functions whose trails are kept."""


class ReadLog:
    """What was read, in order, by the place where it was found.

    Values that can change inside, such as lists, lose the trail: it never holds.
    """

    __slots__ = ("_cells", "_functions", "_lost", "_rows")

    def __init__(self) -> None:
        """Nothing was read."""
        self._rows: list[tuple[Mapping[str, Any], str, object]] = []
        self._cells: list[tuple[CellType, object]] = []
        self._functions: list[tuple[FunctionType, tuple[object, ...], int]] = []
        self._lost = False

    def read(self, space: Mapping[str, Any], name: str) -> Any:
        """The value of ``name``, or ``MISSING``."""
        value = space.get(name, MISSING)
        self._rows.append((space, name, value))
        return value

    def cell(self, cell: CellType) -> Any:
        """The value in a cell of a closure, or ``MISSING``."""
        value = _contents(cell)
        self._cells.append((cell, value))
        return value

    def function(self, function: FunctionType) -> None:
        """Take down what a function is made of, and its annotations."""
        hints = function.__annotations__
        self._functions.append((function, _parts(function), len(hints)))
        for name in hints:
            self.read(hints, name)
        if function.__kwdefaults__:
            self.lose()

    def lose(self) -> None:
        """Something was read that can change without a trace."""
        self._lost = True

    def holds(self) -> bool:
        """Whether all that was read is what it was."""
        if self._lost:
            return False
        for space, name, value in self._rows:
            if space.get(name, MISSING) is not value:
                return False
        for cell, value in self._cells:
            if _contents(cell) is not value:
                return False
        for function, parts, count in self._functions:
            now = _parts(function)
            if any(a is not b for a, b in zip(now, parts, strict=True)):
                return False
            if len(function.__annotations__) != count:
                return False
        return True


def _contents(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def _parts(function: FunctionType) -> tuple[object, ...]:
    return (
        function.__code__,
        function.__defaults__,
        function.__kwdefaults__,
        function.__annotations__,
    )


@dataclass(frozen=True, slots=True)
class Known:
    """A function whose key was worked out.

    Attributes:
        function: The function; held, so that no other takes its identity.
        namespaces: Where names in strings were looked up too.
        trail: What was read.
        key: What came of it.
    """

    function: object
    namespaces: Sequence[Mapping[str, Any]]
    trail: ReadLog
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
    if row is not None and row.namespaces is namespaces and row.trail.holds():
        return row.key
    trail = ReadLog()
    key = make(function, namespaces, trail)
    if len(known) >= KEPT:
        known.clear()
    known[id(function)] = Known(function, namespaces, trail, key)
    return key

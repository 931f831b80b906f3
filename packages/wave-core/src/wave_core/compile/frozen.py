"""An immutable mapping that can be part of a key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class FrozenMap(Mapping[K, V]):
    """A mapping that never changes, with a hash; items in the order of their text."""

    __slots__ = ("_rows",)

    def __init__(self, rows: Mapping[K, V] | None = None) -> None:
        self._rows = dict(sorted((rows or {}).items(), key=lambda row: str(row[0])))

    def __getitem__(self, key: K) -> V:
        return self._rows[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __hash__(self) -> int:
        return hash(tuple(self._rows.items()))

    def __repr__(self) -> str:
        return f"FrozenMap({self._rows!r})"


class BoundSymbols(FrozenMap[Any, Any]):
    """Values by symbol, and by what users have in its place: their own, or its name."""

    __slots__ = ("_named",)

    def __init__(self, rows: Mapping[Any, Any] | None = None) -> None:
        super().__init__(rows)
        self._named = {str(symbol): value for symbol, value in self._rows.items()}

    def __getitem__(self, key: Any) -> Any:
        return self._rows[key] if key in self._rows else self._named[str(key)]

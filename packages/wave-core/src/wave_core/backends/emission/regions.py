"""Regions of code that lie in each other, and what each of them has computed."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Hashable


Line = TypeVar("Line")
"""A line of text, or whatever a backend has in its place."""


class Block(Generic[Line]):
    """An open region: its lines so far, and what they have computed."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.memo: dict[Hashable, str] = {}


class Regions(Generic[Line]):
    """Appends lines to the innermost open region, or to one further out.

    Further out is just before the operation that holds the inner regions, so what is
    put there precedes all its uses, and no more.
    """

    def __init__(self) -> None:
        self.blocks = [Block[Line]()]

    @property
    def level(self) -> int:
        """The depth of the innermost open region, from 0."""
        return len(self.blocks) - 1

    def append(self, line: Line, level: int | None = None) -> None:
        """Add a line to a region; by default to the innermost."""
        self.blocks[self.level if level is None else level].lines.append(line)

    def once(self, key: Hashable, make: Callable[[], str], level: int) -> str:
        """The name under ``key`` in an open region; made where nobody asked before."""
        memo = self.blocks[level].memo
        if key not in memo:
            memo[key] = make()
        return memo[key]

    def holds(self, key: Hashable, level: int) -> bool:
        """Whether an open region has a name under ``key``."""
        return key in self.blocks[level].memo

    @contextmanager
    def region(self) -> Generator[Block[Line]]:
        """Open a region; the caller puts its lines where they belong."""
        block = Block[Line]()
        self.blocks.append(block)
        try:
            yield block
        finally:
            self.blocks.pop()

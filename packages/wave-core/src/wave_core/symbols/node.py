"""Node kinds and the weak intern table of the expression engine."""

from __future__ import annotations

import os
import threading
import weakref
from enum import IntEnum
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

N = TypeVar("N")

MAX_DEPTH = 100
"""Deepest nesting of nodes; keeps every recursive walk inside Python's stack."""

EXPANSION_LIMIT = 256
"""A product of sums is multiplied out up to this many terms."""

SWEEP_MINIMUM = 1 << 14
"""Table entries below which dead references are not looked for."""

SWEEP_PASSES = 3
"""Passes over the table in one sweep, for parents that free children."""

MEMO_LIMIT = 1 << 16
"""Remembered divisions; the memo is emptied when it is full."""


class Kind(IntEnum):
    """Kinds of nodes; the number is also its rank in the ordering of terms.

    `GE`, `EQ` and `NE` compare their single argument with zero. There is no `MOD`:
    `x % d` is the sum `x - d*(x // d)`, so that both spellings are one node
    (`surface` finds remainders again for printers and emitters).
    """

    CONST = 0
    SYMBOL = 1
    PRODUCT = 2
    FLOORDIV = 3
    XOR = 4
    MIN = 5
    MAX = 6
    SELECT = 7
    GE = 8
    EQ = 9
    NE = 10
    AND = 11
    OR = 12
    SUM = 13


def lock_across_forks() -> threading.RLock:
    """A lock for the life of the process, which no forked child finds taken.

    A child has the locks as they are and not the threads that hold them, so forks wait
    until the lock is free. Nobody may hold it for long.
    """
    lock = threading.RLock()
    if hasattr(os, "register_at_fork"):  # not on Windows, which has no forks
        os.register_at_fork(
            before=lock.acquire,
            after_in_parent=lock.release,
            after_in_child=lock.release,
        )
    return lock


_ADDING = lock_across_forks()
"""Held while a node is made and added to a table; one lock for all tables."""


class InternTable(Generic[N]):
    """Finds the one live node of a structure, holding nodes weakly.

    Dead entries are swept when the table has doubled since the last sweep.

    Attributes:
        references: the nodes by their structures; always the same dictionary.
        memo: divisions that were asked for.
    """

    def __init__(self) -> None:
        self.references: dict[Hashable, weakref.ref[N]] = {}
        self._sweep_at = SWEEP_MINIMUM
        self.memo: dict[tuple[N, N | int], N] = {}

    def __len__(self) -> int:
        return len(self.references)

    def find(self, structure: Hashable) -> N | None:
        """The live node of `structure`, if there is one."""
        reference = self.references.get(structure)
        return None if reference is None else reference()

    def add(self, structure: Hashable, make: Callable[[], N]) -> N:
        """The node of `structure`, made under the lock when it is missing."""
        with _ADDING:
            node = self.find(structure)
            if node is None:
                node = make()
                self.references[structure] = weakref.ref(node)
                if len(self.references) > self._sweep_at:
                    self._sweep()
            return node

    def remember(self, key: tuple[N, N | int], result: N) -> N:
        """Keeps the result of a division for the next request."""
        if len(self.memo) >= MEMO_LIMIT:
            self.memo.clear()
        self.memo[key] = result
        return result

    def _sweep(self) -> None:
        for _ in range(SWEEP_PASSES):
            dead = [key for key, ref in self.references.items() if ref() is None]
            if not dead:
                break
            # Dropping an entry frees its children, which the next pass finds.
            for key in dead:
                del self.references[key]
        self._sweep_at = max(SWEEP_MINIMUM, 2 * len(self.references))

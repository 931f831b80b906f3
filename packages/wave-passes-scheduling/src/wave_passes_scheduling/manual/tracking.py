"""Lists of ops that stay right when a loop is rebuilt from copies of its ops."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from wave_core.ir import region_of, walk

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.ops.control import Iterate

_MARK = "\0"


class Tracker:
    """Follows ops into their copies.

    Copies of an op have its tags. While a loop is rebuilt, each of its ops has one
    more, which no other op has and no author can write.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._lists: list[list[Op]] = []
        self._hidden: set[Op] = set()

    def watch(self, ops: list[Op]) -> list[Op]:
        """Keep a list right from now on."""
        self._lists.append(ops)
        return ops

    def visible(self) -> Iterator[Op]:
        """All ops of the graph but those of loops for left-over iterations."""
        return (op for op in self._graph.walk() if not self._is_hidden(op))

    def hide_copies(self, loops: Sequence[Op], kept: Op) -> None:
        """Forget the copies of a loop that run left-over iterations."""
        self._hidden |= {loop for loop in loops if loop is not kept}
        for ops in self._lists:
            ops[:] = [op for op in ops if not self._is_hidden(op)]

    def _is_hidden(self, op: Op) -> bool:
        if not self._hidden:
            return False
        return not self._hidden.isdisjoint((op, *region_of(op).around))

    @contextmanager
    def through(self, loop: Iterate) -> Generator[list[Op]]:
        """Around what replaces a loop: copies take the places of its ops in lists.

        Gives a list that holds the copies of the loop itself afterwards.
        """
        loops = self.watch([loop])
        marks = {op: f"{_MARK}{op.ident}" for op in (loop, *walk(loop.body))}
        for op, mark in marks.items():
            op.tags |= {mark}
        yield loops
        copies: dict[str, list[Op]] = {mark: [] for mark in marks.values()}
        for op in self._graph.walk():
            for mark in [tag for tag in op.tags if tag.startswith(_MARK)]:
                op.tags -= {mark}
                copies[mark].append(op)
        for ops in self._lists:
            rows = [copies[marks[op]] if op in marks else [op] for op in ops]
            ops[:] = [op for row in rows for op in row]

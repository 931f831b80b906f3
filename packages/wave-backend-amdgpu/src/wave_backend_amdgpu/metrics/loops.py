"""Natural loops of a control-flow graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wave_backend_amdgpu.metrics.listing import Block


def find_loops(blocks: list[Block]) -> dict[int, set[int]]:
    """The blocks of each loop, by the position of its header.

    An edge closes a loop where it leads to a block that is on every way to it.
    """
    if not blocks:
        return {}
    after = {place: block.successors for place, block in enumerate(blocks)}
    reached = _reached(after, 0)
    before: dict[int, set[int]] = {block: set() for block in reached}
    for block in reached:
        for following in after[block]:
            before[following].add(block)
    loops: dict[int, set[int]] = {}
    for tail in sorted(reached):
        for header in after[tail]:
            if tail not in _reached(after, 0, without=header):
                body = loops.setdefault(header, {header})
                body |= _reached(before, tail, without=header)
    return loops


def _reached(
    edges: Mapping[int, Iterable[int]], start: int, without: int | None = None
) -> set[int]:
    """The blocks that ways from ``start`` lead to, past a block that is left out."""
    found: set[int] = set()
    waiting = [start]
    while waiting:
        block = waiting.pop()
        if block != without and block not in found:
            found.add(block)
            waiting += edges[block]
    return found

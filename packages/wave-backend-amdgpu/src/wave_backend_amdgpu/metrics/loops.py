"""Natural loops of a control-flow graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wave_backend_amdgpu.metrics.listing import Block


def find_loops(blocks: list[Block]) -> dict[int, set[int]]:
    """The blocks of each loop, by the position of its header."""
    order = _postorder(blocks)
    if not order:
        return {}
    dominators = _dominators(blocks, order)
    before = _predecessors(blocks, set(order))
    loops: dict[int, set[int]] = {}
    for tail in order:
        for header in blocks[tail].successors:
            if header in dominators[tail]:
                body = loops.setdefault(header, {header})
                _grow(body, tail, before)
    return loops


def _grow(body: set[int], tail: int, before: dict[int, set[int]]) -> None:
    """Everything that reaches the tail without passing the header."""
    waiting = [tail]
    while waiting:
        block = waiting.pop()
        if block not in body:
            body.add(block)
            waiting += before[block]


def _postorder(blocks: list[Block]) -> list[int]:
    if not blocks:
        return []
    seen, order = {0}, list[int]()
    stack = [(0, iter(sorted(blocks[0].successors)))]
    while stack:
        block, following = stack[-1]
        step = next((s for s in following if s not in seen), None)
        if step is None:
            order.append(block)
            stack.pop()
        else:
            seen.add(step)
            stack.append((step, iter(sorted(blocks[step].successors))))
    return order


def _predecessors(blocks: list[Block], reached: set[int]) -> dict[int, set[int]]:
    before: dict[int, set[int]] = {block: set() for block in reached}
    for block in reached:
        for following in blocks[block].successors:
            before[following].add(block)
    return before


def _dominators(blocks: list[Block], order: list[int]) -> dict[int, set[int]]:
    """The blocks on every way to each block, itself included."""
    before = _predecessors(blocks, set(order))
    everything = set(order)
    found = dict.fromkeys(order, everything) | {0: {0}}
    changed = True
    while changed:
        changed = False
        for block in reversed(order):
            if block == 0:
                continue
            common = everything.copy()
            for previous in before[block]:
                common &= found[previous]
            common.add(block)
            if common != found[block]:
                found[block], changed = common, True
    return found

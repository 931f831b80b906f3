"""How many registers a loop keeps in use, and what may be kept through all of it.

The estimate takes ops in the order of the graph: each value is in registers from the op
that makes it to its last use, what the loop carries or captures for the whole
iteration. Constants and functions of the lane are made again where they are used. The
code generator reorders within that; a quarter of the register file is left to it, and
to addresses, which the graph does not show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_core.ir import PLACEMENT, Region, region_of, resolve, walk
from wave_core.ops.control import Iterate
from wave_core.ops.memory import Read, Write
from wave_core.ops.structure import Argument
from wave_core.ops.traits import Trait
from wave_core.types import RegisterType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.targets import RegisterFile
    from wave_passes_memory.copies.lane_points import Array


REGISTER_BITS = 32

LEFT = 4
"""One in so many registers is left to addresses and to the code generator."""


def budget(file: RegisterFile) -> int:
    """Registers that values may be held in through a loop."""
    return file.per_wave - file.per_wave // LEFT


class LoopPressure:
    """Registers in use at each op of a loop's body, and around it."""

    def __init__(self, graph: Graph, loop: Iterate) -> None:
        self._graph = graph
        self._cheap: dict[Op, bool] = {}
        body = loop.body
        self._spans = _spans(body)
        self._used = self._profile(body, self._spans) + self._around(loop)

    @property
    def widest(self) -> int:
        """The most registers in use at one op."""
        return int(self._used.max(initial=0))

    def with_held(self, values: Iterable[Op]) -> Array:
        """Registers in use with values of the body held through all of it."""
        used = self._used.copy()
        for value in values:
            first, last = self._spans.get(value, (0, -1))
            words = self._words(value)
            used[:first] += words
            used[last + 1 :] += words
        return used

    def hold(self, values: Iterable[Op]) -> None:
        """Take note that values of the body will be held through all of it."""
        self._used = self.with_held(values)

    def _profile(self, region: Region, spans: dict[Op, tuple[int, int]]) -> Array:
        ops = list(region.ops)
        steps = np.zeros(len(ops) + 1, np.int64)
        for value, (first, last) in spans.items():
            words = self._words(value)
            steps[first] += words
            steps[last + 1] -= words
        used = np.cumsum(steps)[:-1]
        for position, op in enumerate(ops):
            for nested in op.regions:
                inner = self._profile(nested, _spans(nested, captured=False))
                used[position] += int(inner.max(initial=0))
        return used

    def _around(self, loop: Op) -> int:
        """Registers of values that live across the loop, and are not captured."""
        captured = {resolve(value) for value in loop.operands}
        held: set[Op] = set()
        inner: Op | None = loop
        while inner is not None:
            region = region_of(inner)
            place = list(region.ops).index(inner)
            for value, (first, last) in _spans(region).items():
                if first <= place < last and value is not inner:
                    held.add(resolve(value))
            inner = region.parent
        return sum(self._words(value) for value in held - captured)

    def _words(self, value: Op) -> int:
        if not isinstance(value.type, RegisterType) or self._made_again(value):
            return 0
        placement = self._graph.facts.get(PLACEMENT, resolve(value))
        count = 1 if placement is None else placement.layout.registers
        dtype = value.type.dtype
        return -(-count * (8 if dtype.is_bool else dtype.bits) // REGISTER_BITS)

    def _made_again(self, value: Op) -> bool:
        known = self._cheap.get(value)
        if known is None:
            origin = resolve(value)
            simple = origin.has(Trait.PURE) and not isinstance(origin, Argument)
            known = simple and all(self._made_again(v) for v in origin.operands)
            self._cheap[value] = known
        return known


def crowded_loops(graph: Graph, file: RegisterFile | None) -> frozenset[Op]:
    """The loops whose values take more registers than the budget."""
    if file is None:
        return frozenset()
    limit = budget(file)
    loops = [op for op in walk(graph.body) if isinstance(op, Iterate)]
    return frozenset(op for op in loops if LoopPressure(graph, op).widest > limit)


def affordable(pressure: LoopPressure, ops: list[Op], limit: int) -> list[Op]:
    """Those of ``ops`` that may leave the loop; what they give stays in registers.

    What follows from no read moves in any case: the code generator would do the same.
    """
    moving: set[Op] = set(ops)
    kept: set[Op] = set()
    for op in ops:
        if not isinstance(op, Write) and not _leaves(op, moving):
            continue
        cone = _cone(op, moving - kept)
        values = [v for v in cone if _leaves(v, moving)]
        if not isinstance(op, Write) and any(isinstance(v, Read) for v in cone):
            widest = int(pressure.with_held(values).max(initial=0))
            if widest > max(limit, pressure.widest):
                continue
        pressure.hold(values)
        kept.update(cone)
    return [op for op in ops if op in kept]


def _leaves(op: Op, moving: set[Op]) -> bool:
    """Whether something that stays uses what ``op`` gives."""
    return any(user not in moving for user in op.users)


def _cone(op: Op, within: set[Op]) -> list[Op]:
    """The op and all that it follows from, as far as it is ``within``."""
    found: dict[Op, None] = {}
    left = [op]
    while left:
        each = left.pop()
        if each in within and each not in found:
            found[each] = None
            left.extend(each.operands)
    return list(found)


def _spans(region: Region, *, captured: bool = True) -> dict[Op, tuple[int, int]]:
    """From where to where each value of a region is in use, in positions of ops."""
    ops = list(region.ops)
    found: dict[Op, tuple[int, int]] = {}
    for position, op in enumerate(ops):
        for value in op.operands:
            first, _ = found.get(value, (position, position))
            found[value] = first, position
        found[op] = position, position
    return {**found, **dict(_arguments(region, found, len(ops), captured=captured))}


def _arguments(
    region: Region,
    found: dict[Op, tuple[int, int]],
    count: int,
    *,
    captured: bool,
) -> Iterator[tuple[Op, tuple[int, int]]]:
    for argument in region.arguments:
        if argument.role == "capture":
            yield argument, (0, count - 1 if captured else -1)
        else:
            yield argument, (0, found.get(argument, (0, 0))[1])

"""Sums that a loop carries along, whose lanes can be added up behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wave_core.constraints.machine import LANE
from wave_core.ir import PLACEMENT, region_of, resolve
from wave_core.ops.arithmetic import Mul
from wave_core.ops.constant import Splat
from wave_core.ops.control import Conditional, Iterate
from wave_core.ops.structure import Argument, GetResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.ir.facts import FactTables
    from wave_core.ops.base import Op
    from wave_core.ops.reduce import Reduce


@dataclass(frozen=True)
class LateSum:
    """A value that a loop carries along, of which each lane has a part.

    Attributes:
        loop: The loop.
        position: Which of its carried values.
    """

    loop: Iterate
    position: int


def late_sum(op: Reduce, distances: Sequence[int], facts: FactTables) -> LateSum | None:
    """The carried value that is the sum ``op``, if lanes may add up their parts later.

    Each lane then goes on with the sum of its own elements. That is the same once all
    are added up, where the value begins as 0, and an iteration does nothing with it
    but to multiply it by what all these lanes have in common, and to add.

    Args:
        op: The reduction.
        distances: Between the numbers of lanes that add up their parts.
        facts: Where values are.
    """
    loop = next(iter(region_of(op).around), None)
    if op.kind != "sum" or op.init is None or not isinstance(loop, Iterate):
        return None
    end = loop.body.end
    if not distances or not _used_once(op, end):
        return None
    position = end.operands.index(op)
    first, argument = loop.inits[position], loop.body.arguments[position]
    if not isinstance(first, Splat) or first.value != 0:
        return None
    proof = _Proof(argument, distances, facts)
    return LateSum(loop, position) if proof.scaled(op.init, op) else None


def _used_once(value: Op, user: Op) -> bool:
    """Whether ``user`` alone uses a value, once."""
    return value.users == (user,) and user.operands.count(value) == 1


@dataclass(frozen=True)
class _Proof:
    """What is asked about one carried value.

    Attributes:
        argument: The value, in the loop.
        distances: As of `late_sum`.
        facts: Where values are.
    """

    argument: Op
    distances: Sequence[int]
    facts: FactTables

    def scaled(self, value: Op, user: Op) -> bool:
        """Whether a value is a multiple of the argument that only ``user`` uses.

        Nothing else may use what it is made of, either.
        """
        if not _used_once(value, user):
            return False
        if isinstance(value, Mul):
            pairs = ((value.lhs, value.rhs), (value.rhs, value.lhs))
            return any(self._common(b) and self.scaled(a, value) for a, b in pairs)
        if isinstance(value, GetResult):
            return self._of_condition(value)
        return self._is_argument(value)

    def _is_argument(self, value: Op) -> bool:
        inner = isinstance(value, Argument) and value.role == "capture"
        return value is self.argument or (inner and resolve(value) is self.argument)

    def _of_condition(self, result: GetResult) -> bool:
        """Whether a condition keeps the argument, or scales it."""
        source, position = result.source, result.position
        if not isinstance(source, Conditional):
            return False
        others = (u for u in source.users if u is not result)
        if any(isinstance(u, GetResult) and u.position == position for u in others):
            return False
        condition, kept = source.condition, source.else_values[position]
        uses = source.operands.count(self.argument), source.captures.count(kept)
        return (
            kept is self.argument
            and kept.users == (source,)
            and uses == (2, 1)
            and (condition is None or self._common(condition))
            and self.scaled(source.body.end.operands[position], source.body.end)
        )

    def _common(self, value: Op) -> bool:
        """Whether lanes at these distances have the same element in each register."""
        placement = self.facts.get(PLACEMENT, value)
        if placement is None:
            return False
        layout, lanes = placement.layout, np.arange(placement.layout.lanes)
        starts = (start for _, start in placement.origin)
        if any(LANE in start.free_symbols for start in starts):
            return False
        places = [layout.offsets(dim) for dim in layout.dims]
        return all(
            np.array_equal(place, place[lanes ^ distance])
            for place in places
            for distance in self.distances
        )

"""Moving a value between lanes by shuffles, where bits of lane and register swap.

Half of the registers of a lane and the other half of its partner's change places, for
each bit of the lane's number whose elements lie elsewhere in the new layout.

Source: K. S. Eklundh, A fast computer method for matrix transposing, 1972.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from wave_core.builtin.distribute.placements import flatten, ids_of
from wave_core.builtin.expand.lines import doubling
from wave_core.constraints.machine import LANE
from wave_core.ir import PLACEMENT, Placement
from wave_core.ops.compare import Select
from wave_core.ops.constant import LaneExpr
from wave_core.ops.reduce import Shuffle
from wave_core.ops.shape import Assemble
from wave_core.symbols import Layout, eq
from wave_core.types import DTYPES

if TYPE_CHECKING:
    from wave_core.builtin.expand.expander import Expander
    from wave_core.builtin.expand.scope import Scope
    from wave_core.ops.base import Op

Slots: TypeAlias = tuple[tuple[int, int], ...]
"""Registers by number: the vector, and the place in it."""

Numbers: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"
"""By lane and register."""


@dataclass(frozen=True)
class Swap:
    """Lanes at ``distance`` swap registers.

    The one whose bit is clear gives ``high`` for ``low``.
    """

    distance: int
    low: tuple[int, ...]
    high: tuple[int, ...]


def swaps_between(
    have: Layout, want: Layout, reach: int
) -> tuple[list[Swap], tuple[int, ...]] | None:
    """The swaps from one layout to another, and the registers to take afterwards.

    ``None`` where swaps within ``reach`` lanes do not do it.
    """
    if have.lanes != want.lanes or have.registers != want.registers:
        return None
    held, wanted = _elements(have, have), _elements(want, have)
    swaps: list[Swap] = []
    for distance in doubling(min(reach, have.lanes)):
        step = wanted[distance, 0] - wanted[0, 0]
        if (held[distance] - held[0] == step).all():
            continue
        swap = _swap(held, distance, int(step))
        if swap is None:
            return None
        swaps.append(swap)
        held = _swapped(held, swap)
    column = _columns(held)
    picks = [column.get(tuple(row)) for row in wanted.T.tolist()]
    if None in picks:
        return None
    return swaps, tuple(r for r in picks if r is not None)


def _swap(held: Numbers, distance: int, step: int) -> Swap | None:
    """The swap after which lanes at ``distance`` hold elements ``step`` apart."""
    column, low, high = _columns(held), list[int](), list[int]()
    for register in sorted(range(held.shape[1]), key=lambda r: held[0, r]):
        if register in high:
            continue
        partner = column.get(tuple((held[:, register] + step).tolist()))
        if partner is None:
            return None
        low.append(register)
        high.append(partner)
    return Swap(distance, tuple(low), tuple(high))


def _columns(held: Numbers) -> dict[tuple[int, ...], int]:
    """Registers by what lanes hold in them."""
    return {tuple(row): r for r, row in enumerate(held.T.tolist())}


def _elements(layout: Layout, tile: Layout) -> Numbers:
    """A number for the element that each lane holds in each register."""
    found = np.zeros((layout.lanes, layout.registers), np.int64)
    size = 1
    for dim in tile.dims:
        found += size * layout.offsets(dim)
        size *= 2 * max(layout.extent(dim), tile.extent(dim))
    return found


def _swapped(held: Numbers, swap: Swap) -> Numbers:
    """What lanes hold after a swap."""
    result = held.copy()
    clear = np.flatnonzero(np.arange(len(held)) // swap.distance % 2 == 0)[:, None]
    low, high = np.array(swap.low), np.array(swap.high)
    result[clear, high] = held[clear + swap.distance, low]
    result[clear + swap.distance, low] = held[clear, high]
    return result


def swap_lanes(expander: Expander, op: Op, scope: Scope) -> bool:
    """Define the pieces of ``op`` by shuffles, if its layout is such a swap away."""
    value = op.operands[0]
    have, want = expander.placement(value), expander.placement(op)
    reach = expander.geometry.in_reach
    found = swaps_between(flatten(have), flatten(want), reach)
    if found is None:
        return False
    sources, width = expander.pieces(value, scope), have.layout.registers
    count = flatten(have).registers
    slots: Slots = tuple((r // width, r % width) for r in range(count))
    swapping = _Swapping(expander, op, scope)
    for swap in found[0]:
        sources, slots = swapping.run(swap, sources, slots)
    for number, ids in enumerate(ids_of(want)):
        registers = want.layout.registers
        chosen = found[1][number * registers :][:registers]
        new = _assembled(sources, tuple(slots[r] for r in chosen), op)
        expander.define(op, ids, expander.emit(op, new, scope), scope)
    return True


class _Swapping:
    """Emits swaps."""

    def __init__(self, expander: Expander, op: Op, scope: Scope) -> None:
        self._expander, self._op, self._scope = expander, op, scope

    def run(
        self, swap: Swap, sources: list[Op], slots: Slots
    ) -> tuple[list[Op], Slots]:
        """The vectors behind a swap, and where registers are in them."""
        size = len(swap.low)
        low, high = (
            self._emit(
                _assembled(sources, tuple(slots[r] for r in half), self._op), size
            )
            for half in (swap.low, swap.high)
        )
        own = eq(LANE // swap.distance % 2, 1)
        is_set = self._emit(LaneExpr(own, (), DTYPES["bool"]), 1)
        given = self._emit(Select(is_set, low, high), size)
        reach = self._expander.geometry.in_reach
        taken = self._emit(Shuffle(given, swap.distance, reach, "xor"), size)
        halves = [
            self._emit(Select(is_set, taken, low), size),
            self._emit(Select(is_set, high, taken), size),
        ]
        where = {
            r: (half, at)
            for half, registers in enumerate((swap.low, swap.high))
            for at, r in enumerate(registers)
        }
        return halves, tuple(where[r] for r in range(len(where)))

    def _emit(self, op: Op, registers: int) -> Op:
        self._expander.emit(self._op, op, self._scope)
        layout = Layout.make(self._expander.geometry.lanes, registers, {})
        self._expander.graph.facts.put(PLACEMENT, op, Placement(layout))
        return op


def _assembled(sources: list[Op], slots: Slots, like: Op) -> Assemble:
    """A vector of some registers."""
    used = sorted({source for source, _ in slots})
    picks = tuple((used.index(source), at) for source, at in slots)
    return Assemble(tuple(sources[i] for i in used), picks, like.register_type.shape)

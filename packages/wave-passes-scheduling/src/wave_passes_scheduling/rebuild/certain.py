"""From which iteration on a mask may hide something: before it, none does.

What is causal, or ends within a tile, compares places of elements, which grow with the
iteration. All that differs within a workgroup, lanes, registers and waves, is put at
its worst; what is left is linear in the number of the iteration, so that a division
says where the comparison may first be false.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from wave_core.constraints.distribution import wave_symbol
from wave_core.constraints.machine import LANE, REGISTER
from wave_core.ir import PLACEMENT, resolve
from wave_core.ops.arithmetic import And
from wave_core.ops.compare import Ge, Gt, Le, Lt
from wave_core.ops.constant import ApplyExpr, LaneExpr, argument_symbol
from wave_core.ops.shape import Assemble, Broadcast, Permute
from wave_core.symbols import (
    Expr,
    Kind,
    conjuncts,
    evaluate,
    floordiv,
    ge,
    logical_and,
    minimum,
    symbol,
)
from wave_core.types import DTYPES, is_of_mapping

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.constraints.geometry import Geometry
    from wave_core.ir import Access, Graph
    from wave_core.ops.base import Op

_VIEWS = (Assemble, Broadcast, Permute)

MOST = 1 << 20
"""Combinations of lanes, registers and waves that are looked at."""

_EXACT = tuple(DTYPES[name] for name in ("i32", "i64", "bool"))
"""Types that hold every place, also one before the first, and truths of any number."""

_RELATIONS: dict[type[Op], tuple[int, int, int]] = {
    Ge: (0, 1, 0),
    Gt: (0, 1, 1),
    Le: (1, 0, 0),
    Lt: (1, 0, 1),
}
"""Which operand is the greater one, which the less, and by how much at least."""


@dataclass(frozen=True)
class Certainty:
    """Answers for the masks of one loop.

    Attributes:
        graph: That of the loop.
        geometry: How the kernel spreads.
        induction: The symbol of the iteration.
        registers: How many there are of a value, by the symbol of their number.
    """

    graph: Graph
    geometry: Geometry
    induction: Expr
    registers: dict[Expr, int] = field(default_factory=dict[Expr, int])

    def until(self, mask: Op) -> Expr | None:
        """The iteration before which ``mask`` is true of every element.

        ``None`` where there is none, or none is found.
        """
        mask = resolve(mask)
        if isinstance(mask, _VIEWS):
            return self._least([self.until(part) for part in mask.operands])
        if isinstance(mask, And):
            return self._least([self.until(mask.lhs), self.until(mask.rhs)])
        conditions = self._conditions(mask)
        return self._least([self._crossing(each) for each in conditions])

    def of_access(self, access: Access) -> tuple[Access, Expr | None]:
        """An access without what holds of all its elements before an iteration.

        ``None`` for that iteration where all of the mask stays.
        """
        number = symbol(f"{REGISTER}of{access.registers}")
        self.registers[number] = access.registers
        ends: dict[Expr, Expr | None] = {
            each: self._crossing(each.subs({REGISTER: number}))
            for each in conjuncts(access.mask)
            if not any(is_of_mapping(name.name) for name in each.free_symbols)
        }
        left = [each for each in conjuncts(access.mask) if ends.get(each) is None]
        mask = logical_and(*left) if left else None
        found = [end for end in ends.values() if end is not None]
        return replace(access, mask=mask), minimum(*found) if found else None

    def _least(self, found: list[Expr | None]) -> Expr | None:
        known = [each for each in found if each is not None]
        return minimum(*known) if known and len(known) == len(found) else None

    def _conditions(self, mask: Op) -> list[Expr]:
        """Relations that hold of all elements where the mask is true of them."""
        if isinstance(mask, LaneExpr | ApplyExpr):
            return [c for each in self._values(mask, "") for c in conjuncts(each)]
        if type(mask) not in _RELATIONS:
            return []
        greater, less, margin = _RELATIONS[type(mask)]
        operands = mask.operands
        return [
            ge(one - other, margin)
            for one in self._values(operands[greater], "a")
            for other in self._values(operands[less], "b")
        ]

    def _values(self, op: Op, name: str) -> list[Expr]:
        """What a register holds, of some lane and register; nothing if not known.

        Registers of each value are numbered by a symbol of its own, under ``name``.
        """
        op = resolve(op)
        if isinstance(op, LaneExpr):
            if op.dtype not in _EXACT:
                return []
            return [op.expr.subs({REGISTER: self._register(op, name)})]
        if isinstance(op, _VIEWS):
            parts = dict.fromkeys(op.operands)
            found = [self._values(each, f"{name}{i}") for i, each in enumerate(parts)]
            return [value for each in found for value in each] if all(found) else []
        if isinstance(op, ApplyExpr) and len(op.values) == 1:
            argument = argument_symbol(0)
            return [
                op.expr.subs({argument: value})
                for value in self._values(op.values[0], name)
            ]
        return []

    def _register(self, op: Op, name: str) -> Expr:
        """The number of a register of ``op``; another one under another name."""
        number = symbol(f"{REGISTER}{name}")
        self.registers[number] = self.graph.facts.known(PLACEMENT, op).layout.registers
        return number

    def _crossing(self, condition: Expr) -> Expr | None:
        """The first iteration in which a condition may fail."""
        if condition.kind is not Kind.GE:
            return None
        (value,) = condition.args
        counts = self._counts(value)
        uniform = value.subs(dict.fromkeys(counts, 0))
        least = _least(value - uniform, counts)
        if least is None:
            return None
        _, terms = uniform.linear()
        slope = dict(terms).get(self.induction, 0)
        at_zero = uniform - self.induction * slope
        if slope >= 0 or self.induction in at_zero.free_symbols:
            return None
        return floordiv(at_zero + least, -slope) + 1

    def _counts(self, value: Expr) -> dict[Expr, int]:
        """How many values each symbol has that differs within a workgroup."""
        waves = self.geometry.waves
        counts = {wave_symbol(axis): count for axis, count in enumerate(waves)}
        counts |= {LANE: self.geometry.lanes} | self.registers
        return {name: counts[name] for name in value.free_symbols & counts.keys()}


def _least(value: Expr, counts: Mapping[Expr, int]) -> int | None:
    """The least of all values where each symbol counts from 0; no bound is as close."""
    if not value.free_symbols <= counts.keys() or prod(counts.values()) > MOST:
        return None
    names = list(counts)
    numbers = np.ogrid[tuple(slice(counts[name]) for name in names)] if names else ()
    return int(np.min(evaluate(value, dict(zip(names, numbers, strict=True)))))

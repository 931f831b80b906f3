"""All points at which the waves of a workgroup evaluate an expression.

The wave's coordinates, the lane and the register have few values, so what depends on
nothing else is known by looking at every one of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from wave_core.constraints import wave_symbol
from wave_core.constraints.machine import LANE, REGISTER
from wave_core.symbols import conjuncts, constant, evaluate

if TYPE_CHECKING:
    from wave_core.constraints.geometry import Geometry
    from wave_core.symbols import Expr

    Array = np.ndarray[Any, Any]


KEPT = 64
"""Expressions whose values are remembered: accesses of a buffer have them in common."""


@dataclass(frozen=True)
class LanePoints:
    """Every wave, lane and register of a workgroup.

    Attributes:
        waves: Waves along each axis.
        lanes: Lanes of a wave.
    """

    waves: tuple[int, ...]
    lanes: int

    @staticmethod
    def of(geometry: Geometry) -> LanePoints:
        """The points of a kernel's workgroups."""
        return LanePoints(geometry.waves, geometry.lanes)

    @property
    def symbols(self) -> frozenset[Expr]:
        """The symbols whose values make a point."""
        axes = range(len(self.waves))
        return frozenset((LANE, REGISTER, *(wave_symbol(axis) for axis in axes)))

    def values(self, expr: Expr, registers: int) -> Array:
        """The value at every point; ``expr`` has no other symbols.

        Shapes: [waves of each axis, lanes, registers]
        """
        return _values(self, expr, registers)

    def own_values(self, expr: Expr, registers: int) -> Array:
        """The same of any expression; symbols that all points share count as 0."""
        known = dict.fromkeys(expr.free_symbols - self.symbols, constant(0))
        if registers == 1:
            known[REGISTER] = constant(0)
        return self.values(expr.subs(known), registers)

    def split(self, expr: Expr) -> tuple[Expr, Expr] | None:
        """``expr`` as a part that all points share, plus one that depends on them.

        ``None`` where a term mixes the two.
        """
        const, terms = expr.linear()
        shared, own = constant(0), constant(const)
        for term, factor in terms:
            free = term.free_symbols
            if free <= self.symbols:
                own = own + term * factor
            elif free.isdisjoint(self.symbols):
                shared = shared + term * factor
            else:
                return None
        return shared, own

    def conditions(self, mask: Expr | None) -> tuple[list[Expr], list[Expr]]:
        """The conjuncts of a mask: those that a point decides alone, and the others."""
        alone: list[Expr] = []
        others: list[Expr] = []
        for condition in conjuncts(mask):
            decided = condition.free_symbols <= self.symbols
            (alone if decided else others).append(condition)
        return alone, others


@lru_cache(KEPT)
def _values(points: LanePoints, expr: Expr, registers: int) -> Array:
    rank = len(points.waves) + 2
    sizes = (*points.waves, points.lanes, registers)
    names = (*(wave_symbol(a) for a in range(len(points.waves))), LANE, REGISTER)
    env: dict[Expr, Any] = {}
    for axis, (name, size) in enumerate(zip(names, sizes, strict=True)):
        shape = [1] * rank
        shape[axis] = size
        env[name] = np.arange(size, dtype=np.int64).reshape(shape)
    return np.broadcast_to(np.asarray(evaluate(expr, env)), sizes)

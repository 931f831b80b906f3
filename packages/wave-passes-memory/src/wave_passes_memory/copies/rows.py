"""Layouts of values that are computed from the lane by an expression."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_core.constraints.machine import LANE, REGISTER
from wave_core.ir import Placement
from wave_core.symbols import Digit, Layout, constant, evaluate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.symbols import Expr

_ORIGIN = {LANE: constant(0), REGISTER: constant(0)}


class Rows:
    """Placements by expressions of the lane; each expression is looked at once."""

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        self._starts: dict[Expr, Expr] = {}
        self._digits: dict[Expr, list[Digit]] = {}

    def placement(self, index: Mapping[str, Expr], registers: int) -> Placement:
        """Where the elements of a value sit whose logical index is given by dimension.

        What the lane adds is described by digits where it is a sum of its bits; else
        it is left out, as for all values that only a write uses.
        """
        origin: list[tuple[str, Expr]] = []
        digits: dict[str, list[Digit]] = {}
        for dim in sorted(index):
            start = self._start(index[dim])
            origin.append((dim, start))
            digits[dim] = list(self._of_lanes(index[dim] - start))
            if registers > 1 and REGISTER in index[dim].free_symbols:
                digits[dim].append(Digit(1, "reg", 1, registers))
        return Placement(Layout.make(self._lanes, registers, digits), (), tuple(origin))

    def _start(self, index: Expr) -> Expr:
        """The index at lane and register zero."""
        const, _ = index.linear()
        rest = index - const
        if rest not in self._starts:
            self._starts[rest] = rest.subs(_ORIGIN)
        return self._starts[rest] + const

    def _of_lanes(self, offset: Expr) -> list[Digit]:
        if offset not in self._digits:
            self._digits[offset] = _digits(offset, self._lanes)
        return self._digits[offset]


def _digits(offset: Expr, lanes: int) -> list[Digit]:
    part = offset.subs({REGISTER: constant(0)})
    if part.free_symbols != frozenset((LANE,)):
        return []
    numbers = np.arange(lanes, dtype=np.int64)
    values = np.asarray(evaluate(part, {LANE: numbers}))
    found: list[Digit] = []
    rebuilt = np.zeros(lanes, dtype=np.int64)
    bit = 1
    while bit < lanes:
        step = int(values[bit])
        if step:
            found.append(Digit(step, "lane", bit, 2))
            rebuilt += numbers // bit % 2 * step
        bit *= 2
    return found if bool((values == rebuilt).all()) else []

"""Where in a memory each lane of a wave is in one access."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wave_core.constraints.machine import LANE, REGISTER
from wave_core.symbols import Expr, constant, evaluate, total

if TYPE_CHECKING:
    import numpy.typing as npt

    from wave_core.ir import Access

    Numbers = npt.NDArray[np.int64]

_LOCAL = frozenset((LANE, REGISTER))


@dataclass(frozen=True, eq=False, slots=True)
class LanePlaces:
    """The coordinates of each lane and register: a base that all share, plus numbers.

    Masks are left out, so these are all places at which a lane may be.

    Attributes:
        base: For each coordinate what all lanes share.
        numbers: What is added. Shape: [coordinates, lanes, registers].
        low, high: The least and the greatest number of each coordinate.
    """

    base: tuple[Expr, ...]
    numbers: Numbers
    low: tuple[int, ...]
    high: tuple[int, ...]

    @staticmethod
    def of(row: Access, lanes: int) -> LanePlaces | None:
        """Those of an access; ``None`` where a coordinate mixes both parts."""
        env: dict[Expr, Any] = {
            LANE: np.arange(lanes, dtype=np.int64).reshape(-1, 1),
            REGISTER: np.arange(row.registers, dtype=np.int64),
        }
        shape = (len(row.coordinates), lanes, row.registers)
        numbers, bases = np.zeros(shape, np.int64), list[Expr]()
        for axis, place in enumerate(row.coordinates):
            first, terms = place.linear()
            own = [(t, n) for t, n in terms if t.free_symbols & _LOCAL]
            if any(not term.free_symbols <= _LOCAL for term, _ in own):
                return None
            pattern = total((constant(first), *(term * n for term, n in own)))
            numbers[axis] = np.asarray(evaluate(pattern, env))
            bases.append(total(t * n for t, n in terms if not t.free_symbols & _LOCAL))
        rows = [axis.ravel().tolist() for axis in numbers]
        return LanePlaces(
            tuple(bases), numbers, tuple(map(min, rows)), tuple(map(max, rows))
        )

    def meets(self, other: LanePlaces) -> bool:
        """Whether a place here may be one of another lane there."""
        if self.base != other.base:
            return True
        rows = zip(self.low, self.high, other.low, other.high, strict=True)
        if any(last < begin or end < first for first, last, begin, end in rows):
            return False
        mine, others = self._joined(other), other._joined(self)
        lane = _lane_of_each(mine)
        order = np.argsort(mine.ravel(), kind="stable")
        known, whose = mine.ravel()[order], lane[order]
        asked = others.ravel()
        me = _lane_of_each(others)
        left = np.searchsorted(known, asked, "left")
        right = np.searchsorted(known, asked, "right") - 1
        found = right >= left
        ends = whose[left[found]], whose[right[found]]
        return any(bool((end != me[found]).any()) for end in ends)

    def _joined(self, other: LanePlaces) -> Numbers:
        """The coordinates as one number, in ranges that hold those of both."""
        key = np.zeros(self.numbers.shape[1:], np.int64)
        for axis, numbers in enumerate(self.numbers):
            low = min(self.low[axis], other.low[axis])
            high = max(self.high[axis], other.high[axis])
            key = key * (high - low + 1) + numbers - low
        return key


def _lane_of_each(numbers: Numbers) -> Numbers:
    """For each entry of ``[lanes, registers]``, one after the other, the lane."""
    lanes: Numbers = np.indices(numbers.shape, np.int64)[0].ravel()
    return lanes

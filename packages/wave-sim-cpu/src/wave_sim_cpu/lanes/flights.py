"""The copies to LDS that waves have issued, in order: the last ones may be flying."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from wave_sim_cpu.arrays import Bits, Index


class Flights:
    """The copies of the waves of one chunk; those of one wave land in order."""

    def __init__(self) -> None:
        self._issued: list[tuple[int, Bits]] = []

    def issue(self, active: Bits, number: int) -> None:
        """The waves start copy ``number``."""
        self._issued.append((number, active))

    def landed(self, active: Bits, done: Index, number: int, left: int) -> Index:
        """``done`` after the waves waited until at most ``left`` of theirs fly.

        Accesses of global memory count on hardware as well, so that waiting for the
        same number of operations there waits for these copies, or for more.
        """
        if left == 0:
            done = np.where(active, number, done)
        after = np.zeros(done.shape, np.int64)
        for copy, waves in reversed(self._issued if left else []):
            here = active & waves & (after >= left)
            done = np.where(here, np.maximum(done, copy + 1), done)
            after += waves
        lowest = int(done.min())
        self._issued = [row for row in self._issued if row[0] >= lowest]
        return done

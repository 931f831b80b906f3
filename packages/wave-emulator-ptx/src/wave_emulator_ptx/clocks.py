"""What of other warps' work each warp has seen: vector clocks by barrier.

A warp's clock counts the barriers that it has arrived at. ``seen[w, v]`` is the clock
of warp ``v`` up to which warp ``w`` knows its accesses are done; ``seen[w, w]`` is up
to where its own lanes have met. ``visible[w, v]`` is the clock up to which ordinary
writes of ``v`` are visible to the asynchronous work of ``w`` too: a proxy fence on the
way makes them so. What copies write that complete at a barrier in memory has a column
of its own for each such barrier, whose clock are its phases.

Source: Virtual Time and Global States of Distributed Systems, 1989.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Ints


GROWTH = 8
"""Columns that are added at once."""


class Clocks:
    """The clocks of the warps of a batch of workgroups; warps are numbered throughout.

    Attributes:
        clock: of each warp, int64[warps].
        seen: int64[warps, warps of a workgroup and its barriers in memory].
        visible: likewise, of what lies before a proxy fence.
    """

    def __init__(self, workgroups: int, warps: int) -> None:
        """Nobody has met anybody."""
        self.warps = warps
        self.clock = np.ones(workgroups * warps, np.int64)
        self.seen = np.zeros((workgroups * warps, warps), np.int64)
        self.visible = np.zeros_like(self.seen)

    def announce(self, warps: Ints) -> Ints:
        """Warps of a workgroup arrive at a barrier.

        Returns:
            What they did and have seen until now, and what of it is visible to
            asynchronous work, int64[2, columns].
        """
        told = np.stack([self.seen[warps].max(axis=0), self.visible[warps].max(axis=0)])
        told[0, warps % self.warps] = self.clock[warps]
        self.clock[warps] += 1
        return told

    def hear(self, warps: Ints, told: Ints) -> None:
        """Warps have seen what others told them at a barrier."""
        known = slice(told.shape[1])
        self.seen[warps, known] = np.maximum(self.seen[warps, known], told[0])
        self.visible[warps, known] = np.maximum(self.visible[warps, known], told[1])

    def joined(self, told: list[Ints]) -> Ints:
        """All that several were told; those of before have fewer columns."""
        found = np.zeros((2, self.seen.shape[1]), np.int64)
        for each in told:
            known = slice(each.shape[1])
            found[:, known] = np.maximum(found[:, known], each)
        return found

    def widen(self, column: int) -> None:
        """Have a column, of which nobody has seen anything."""
        short = column + 1 - self.seen.shape[1]
        if short > 0:
            more = ((0, 0), (0, max(short, GROWTH)))
            self.seen = np.pad(self.seen, more)
            self.visible = np.pad(self.visible, more)

    def fence(self, warps: Ints) -> None:
        """Warps execute a proxy fence: what they have seen becomes visible."""
        self.visible[warps] = np.maximum(self.visible[warps], self.seen[warps])

    def converge(self, warps: Ints) -> None:
        """The lanes of each warp have met."""
        self.seen[warps, warps % self.warps] = self.clock[warps]
        self.clock[warps] += 1

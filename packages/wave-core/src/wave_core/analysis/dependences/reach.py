"""How far apart the threads are that touch one byte."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reach:
    """Which threads of two accesses touch a byte in common.

    Attributes:
        lane: Some lane touches a byte in both.
        wave: Two lanes of one wave touch one byte.
        group: Two waves of a workgroup touch one byte.
    """

    lane: bool = False
    wave: bool = False
    group: bool = False

    def __bool__(self) -> bool:
        """Whether any threads do."""
        return self.lane or self.wave or self.group

    def __or__(self, other: Reach) -> Reach:
        """The union of both."""
        return Reach(
            self.lane or other.lane,
            self.wave or other.wave,
            self.group or other.group,
        )


NOWHERE = Reach()

"""What a compilation is refused for, though its code would do without other ways."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wave_core.ir.graph import Graph


@dataclass(frozen=True)
class Attempt:
    """How a kernel is compiled that could be compiled in other ways, too.

    Attributes:
        left: Other choices that are left. Where there are any, passes that give up what
            makes this one fast refuse it.
        spills: Registers that machine code may spill; as many as it does for ``None``.
    """

    left: int = 0
    spills: int | None = None

    @classmethod
    def of_choice(cls, left: int) -> Attempt:
        """That of a choice behind which others are: its code spills nothing."""
        return cls(left, 0)

    @property
    def chosen(self) -> bool:
        """Whether it is refused where passes give up what makes it fast."""
        return self.left > 0

    def mark(self, graph: Graph) -> None:
        """Say on a lowered graph what its machine code may spill."""
        if self.spills is not None:
            graph.gives_way, graph.spills_allowed = True, self.spills


LAST = Attempt()
"""No other way is left: whatever compiles is taken."""

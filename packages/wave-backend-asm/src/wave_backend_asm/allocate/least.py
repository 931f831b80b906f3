"""How many registers webs need at least: what has no room is known from that."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wave_backend_asm.allocate.budget import Budget
    from wave_backend_asm.allocate.webs import Web


@dataclass(frozen=True)
class Least:
    """Registers of webs that are live at once, where most are.

    There may be fewer than of values: those that a copy connects may hold the same.

    Attributes:
        vgprs: of what may live nowhere else.
        vectors: VGPRs and AGPRs.
        scalars: SGPRs.
    """

    vgprs: int
    vectors: int
    scalars: int

    @classmethod
    def of(cls, webs: Iterable[Web], points: int) -> Least:
        """Those of some webs, in a program of so many points."""
        vgprs, vectors, scalars = ([0] * (points + 1) for _ in range(3))
        for web in webs:
            width = 1 if web.split else web.width
            kinds = [scalars] if "s" in web.files else [vectors]
            kinds += [vgprs] if web.files == ("v",) else []
            for first, last in chain.from_iterable(web.spans):
                for changes in kinds:
                    changes[first] += width
                    changes[last + 1] -= width
        return cls(*(max(accumulate(each)) for each in (vgprs, vectors, scalars)))

    def within(self, budget: Budget) -> bool:
        """Whether a wave has as many."""
        return (
            self.vgprs <= budget.limit("v")
            and self.vectors <= budget.vector
            and self.scalars <= budget.scalar
        )

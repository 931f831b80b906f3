"""The results of a loop, taken over by what stands for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.ir import PLACEMENT, erase, region_of, replace_uses
from wave_core.ops.structure import GetResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.ops.base import Op
    from wave_core.ops.control import Iterate


def results_of(op: Op, loop: Iterate) -> list[Op]:
    """The results of an op that stands for the loop, inserted before the loop."""
    region, facts = region_of(loop), region_of(loop).graph.facts
    found: list[Op] = []
    for position, init in enumerate(loop.inits):
        result = GetResult(op, position)
        result.location = loop.location
        region.insert_before(loop, result)
        placement = facts.get(PLACEMENT, init)
        if placement is not None:
            facts.put(PLACEMENT, result, placement)
        found.append(result)
    return found


def retire(loop: Iterate, results: Sequence[Op]) -> None:
    """Let users of the loop's results use ``results``; erase the loop."""
    for user in loop.users:
        assert isinstance(user, GetResult), "only results of a loop are used"
        replace_uses(user, results[user.position])
        erase(user)
    erase(loop)

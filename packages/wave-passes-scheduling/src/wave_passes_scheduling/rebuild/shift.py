"""Ops of one iteration made ops of another, and results taken over by a new loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.ir import change_expressions, erase, region_of, replace_uses, walk
from wave_core.ir.rewrite import place_like
from wave_core.ops.structure import GetResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wave_core.ops.base import Op
    from wave_core.ops.control import Iterate
    from wave_core.symbols import Expr


def substitute_symbols(op: Op, values: Mapping[Expr, Expr | int]) -> None:
    """Replace symbols in the facts and attributes of an op and of what it holds."""

    def substituted(expr: Expr) -> Expr:
        return expr.subs(values)

    change_expressions(op, substituted)
    for region in op.regions:
        for inner in (*region.arguments, *walk(region)):
            change_expressions(inner, substituted)


def results_of(op: Op, loop: Iterate) -> list[Op]:
    """The results of an op that stands for the loop, inserted before the loop."""
    region = region_of(loop)
    found: list[Op] = []
    for position, init in enumerate(loop.inits):
        result = GetResult(op, position)
        result.location = loop.location
        region.insert_before(loop, result)
        place_like(result, init)
        found.append(result)
    return found


def retire(loop: Iterate, results: Sequence[Op]) -> None:
    """Let users of the loop's results use ``results``; erase the loop."""
    for user in loop.users:
        assert isinstance(user, GetResult), "only results of a loop are used"
        replace_uses(user, results[user.position])
        erase(user)
    erase(loop)

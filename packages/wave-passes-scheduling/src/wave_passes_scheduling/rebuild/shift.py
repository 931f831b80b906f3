"""Ops of one iteration made ops of another: the induction symbol gets its value."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wave_core.ir import (
    ACCESS,
    LANDING,
    PLACEMENT,
    erase,
    region_of,
    replace_uses,
    set_attributes,
    walk,
)
from wave_core.ir.rewrite import place_like
from wave_core.ops.structure import GetResult
from wave_core.symbols import Expr

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wave_core.ops.base import Op
    from wave_core.ops.control import Iterate


def substitute_symbols(op: Op, values: Mapping[Expr, Expr | int]) -> None:
    """Replace symbols in the facts and attributes of an op and of what it holds."""
    _substitute(op, values)
    for region in op.regions:
        for argument in region.arguments:
            _substitute(argument, values)
        for inner in walk(region):
            _substitute(inner, values)


def _substitute(op: Op, values: Mapping[Expr, Expr | int]) -> None:
    facts = region_of(op).graph.facts
    for kind in (ACCESS, LANDING):
        access = facts.get(kind, op)
        if access is not None:
            mask = None if access.mask is None else access.mask.subs(values)
            coordinates = tuple(c.subs(values) for c in access.coordinates)
            facts.put(kind, op, replace(access, coordinates=coordinates, mask=mask))
    placement = facts.get(PLACEMENT, op)
    if placement is not None and placement.origin:
        origin = tuple((dim, e.subs(values)) for dim, e in placement.origin)
        facts.put(PLACEMENT, op, replace(placement, origin=origin))
    changed = {
        name: value.subs(values)
        for name, value in op.attributes.items()
        if isinstance(value, Expr) and value.subs(values) is not value
    }
    if changed:
        set_attributes(op, **changed)


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

"""Defects planted in lowered graphs, one at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from wave_core.ir import (
    ACCESS,
    PLACEMENT,
    erase,
    insert_after,
    insert_before,
    replace_uses,
    set_attributes,
    set_operands,
)
from wave_core.ops.compare import Cast, Select
from wave_core.ops.constant import ApplyExpr, LaneExpr, Splat
from wave_core.ops.memory import Read
from wave_core.ops.shape import Assemble
from wave_core.ops.sync import SharedMemoryBarrier, WorkgroupBarrier
from wave_core.symbols import Kind, ge, logical_and, logical_not, logical_or
from wave_core.types import DTYPES

BARRIERS = (SharedMemoryBarrier, WorkgroupBarrier)


@dataclass(frozen=True)
class Mutant:
    """One planted defect.

    Attributes:
        kind: What kind of defect.
        position: Of the op in program order.
        detail: Which op, and what is changed.
        change: Plants it, given the op at ``position`` of a copy of the graph.
        touches_memory: Whether the op is an access.
    """

    kind: str
    position: int
    detail: str
    change: Callable[[Any, Any], None]
    touches_memory: bool = False

    def plant(self, graph: Any) -> Any:
        """A copy of ``graph`` with the defect."""
        copy = graph.clone()
        self.change(copy, list(copy.walk())[self.position])
        return copy

    def plant_with_poison(self, graph: Any) -> Any:
        """The defect, and no number in every element that it lets through."""
        copy = graph.clone()
        op = list(copy.walk())[self.position]
        mask = copy.facts.get(ACCESS, op).mask
        self.change(copy, op)
        through = copy.facts.get(ACCESS, op).mask
        if through is not None:
            mask = logical_or(mask, logical_not(through))
        if isinstance(op, Read):
            chosen = _numbers_where(mask, op, copy, insert_after)
            replace_uses(op, chosen)
            set_operands(chosen, (chosen.condition, op, chosen.on_false))
        else:
            chosen = _numbers_where(mask, op.value, copy, insert_before, op)
            set_operands(op, (chosen, *op.slots[1:]))
        return copy

    def __str__(self) -> str:
        return f"{self.kind} #{self.position}: {self.detail}"


def _numbers_where(mask, value, graph, insert, at=None):
    """``value`` where ``mask`` holds, elsewhere no number."""
    kind, row = value.type, graph.facts.get(PLACEMENT, value)
    condition = LaneExpr(mask, kind.shape, DTYPES["bool"])
    filler = Splat(kind.shape, kind.dtype, math.nan)
    ops = [condition, filler, Select(condition, value, filler)]
    at = value if at is None else at
    if insert is insert_after:
        for op in ops:
            at = insert_after(at, op)
    else:
        for op in ops:
            insert_before(at, op)
    for op in ops:
        graph.facts.put(PLACEMENT, op, row)
    return ops[-1]


def mutants(graph: Any) -> Iterator[Mutant]:
    """All defects that can be planted in ``graph``."""
    for position, op in enumerate(graph.walk()):
        if isinstance(op, BARRIERS):
            yield Mutant("barrier", position, "deleted", lambda _, o: erase(o))
        if isinstance(op, LaneExpr | ApplyExpr) and op.expr.is_boolean:
            yield from _raised_condition(position, op)
        if isinstance(op, Select) and _is_mask(op.condition):
            detail = f"mask of {op.on_true.op_name} dropped"
            yield Mutant("select", position, detail, _drop_select)
        access = graph.facts.get(ACCESS, op)
        if access is not None:
            yield from _access_mutants(position, op, access)


def _is_mask(op: Any) -> bool:
    while isinstance(op, Assemble | Cast):
        op = op.operands[0]
    return isinstance(op, LaneExpr | ApplyExpr)


def _drop_select(_: Any, op: Any) -> None:
    replace_uses(op, op.on_true)
    erase(op)


def _raised_condition(position: int, op: Any) -> Iterator[Mutant]:
    for number, raised in enumerate(_raised(op.expr)):

        def change(_: Any, found: Any, expr: Any = raised) -> None:
            set_attributes(found, expr=expr)

        yield Mutant("bound", position, f"{op.op_name}, bound {number} raised", change)


def _access_mutants(position: int, op: Any, access: Any) -> Iterator[Mutant]:
    def change(**fields: Any) -> Callable[[Any, Any], None]:
        return lambda graph, found: graph.facts.put(
            ACCESS, found, replace(access, **fields)
        )

    for number in range(len(access.coordinates)):
        moved = list(access.coordinates)
        moved[number] = moved[number] + 1
        detail = f"{op.op_name}, coordinate {number} + 1"
        yield Mutant("index", position, detail, change(coordinates=tuple(moved)), True)
    if access.mask is None:
        return
    yield Mutant("mask", position, f"{op.op_name}, all of it", change(mask=None), True)
    for number, kept in enumerate(_without_one(access.mask)):
        detail = f"{op.op_name}, condition {number} dropped"
        yield Mutant("mask", position, detail, change(mask=kept), True)
    for number, raised in enumerate(_raised(access.mask)):
        detail = f"{op.op_name}, bound {number} raised"
        yield Mutant("bound", position, detail, change(mask=raised), True)


def _conditions(mask: Any) -> tuple[Any, ...]:
    return tuple(mask.args) if mask.kind is Kind.AND else (mask,)


def _without_one(mask: Any) -> Iterator[Any]:
    parts = _conditions(mask)
    if len(parts) > 1:
        for number in range(len(parts)):
            yield logical_and(*parts[:number], *parts[number + 1 :])


def _raised(mask: Any) -> Iterator[Any]:
    """The mask with one of its upper bounds one higher."""
    parts = _conditions(mask)
    for number, part in enumerate(parts):
        if part.kind is Kind.GE:
            loose = ge(part.args[0] + 1, 0)
            yield logical_and(*parts[:number], loose, *parts[number + 1 :])

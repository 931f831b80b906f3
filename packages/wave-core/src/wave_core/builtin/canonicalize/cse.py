"""Merges pure ops that compute the same value in the same region."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.ir import (
    captured_value,
    region_of,
    regions,
    replace,
    replace_uses,
    value_key,
    walk_op,
)
from wave_core.ops import Op, Trait
from wave_core.ops.control import SetSymbol
from wave_core.passes import Pass

if TYPE_CHECKING:
    from wave_core.ir import Graph, Region
    from wave_core.ops.base import Slot
    from wave_core.passes import PassContext


@dataclass(frozen=True)
class MergeCommonSubexpressions(Pass):
    """Computes equal values once.

    Two ops of one region are merged when their class is pure and they agree in
    operands, attributes, type, facts and tags; the one that stays gets the lines of
    both. A value from before a symbol is set is not that from after. Does nothing to
    reads and to ops with regions.

    Example::

          kernel "k" target "generic" {
            %a = argument parameter "a" : mem<M, global, f32>
            %b = argument parameter "b" : mem<M, global, f32>
            %x = read %a, [] : reg<M, f32>
            %y = exp2 %x : reg<M, f32>
        -   %z = exp2 %x : reg<M, f32>
        -   %s = add %y, %z : reg<M, f32>
        +   %s = add %y, %y : reg<M, f32>
            write %s, %b, []
            yield []
          }
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Look at each region once."""
        merged = merge_common_subexpressions(graph)
        context.count("merged_ops", merged)
        return merged > 0


def merge_common_subexpressions(graph: Graph) -> int:
    """Merge equal values; the number of ops that went."""
    return sum(_merge(region) for region in list(regions(graph.body)))


def _merge(region: Region) -> int:
    _merge_captures(region)
    merged = 0
    known: dict[object, list[Op]] = {}
    for op in region.ops:
        if any(isinstance(each, SetSymbol) for each in walk_op(op)):
            known.clear()
        if not op.has(Trait.PURE) or op.regions:
            continue
        found = known.setdefault(_key(op), [])
        same = next((other for other in found if _alike(op, other)), None)
        if same is None:
            found.append(op)
        else:
            replace(op, same)
            merged += 1
    return merged


def _key(op: Op) -> object:
    operands = [_identity(value) for value in op.slots]
    attributes = [value_key(value) for value in op.attributes.values()]
    return (type(op), op.type, *operands, *attributes)


def _identity(value: Slot) -> object:
    if isinstance(value, tuple):
        return tuple([id(item) for item in value])
    return id(value)


def _alike(op: Op, other: Op) -> bool:
    if op.tags != other.tags:
        return False
    facts = region_of(op).graph.facts
    return facts.rows(op) == facts.rows(other)


def _merge_captures(region: Region) -> None:
    """Let all uses of a value that is captured twice go through one capture."""
    if region.parent is None:
        return
    first: dict[Op, Op] = {}
    for argument in region.arguments:
        if argument.role == "capture":
            value = captured_value(region.parent, argument)
            kept = first.setdefault(value, argument)
            if kept is not argument:
                replace_uses(argument, kept)

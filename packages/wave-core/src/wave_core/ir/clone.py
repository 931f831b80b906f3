"""Copies of ops, regions and graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from wave_core.ops.structure import Argument, region_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wave_core.ir.graph import Graph, Region
    from wave_core.ops.base import Op, Slot

    CopyFacts = Callable[[Op, Op], None]

SomeOp = TypeVar("SomeOp", bound="Op")


def copy_body(graph: Graph, copy: Graph) -> None:
    """Fill an empty graph: ops, types, tags, locations and all facts."""

    def facts(old: Op, new: Op) -> None:
        graph.facts.copied(old, copy.facts, new)

    _fill(graph.body, copy.body, {}, facts)


def clone_op(op: SomeOp, operands: Mapping[Op, Op], region: Region) -> SomeOp:
    """A copy of ``op``, for ``region``, with operands looked up in ``operands``.

    The copy is not inserted, so it has no facts yet; the ops of its regions have
    theirs. An operand that is not in the mapping stays.
    """
    source = op.owner

    def facts(old: Op, new: Op) -> None:
        if source is not None:
            source.graph.facts.cloned(old, region.graph.facts, new)

    return _copy(op, operands, region.graph, facts)


def clone_into(
    op: Op, values: dict[Op, Op], region: Region, before: Op | None = None
) -> Op:
    """Insert a copy of ``op`` with its facts, at the end or ``before`` an op.

    Operands are looked up in ``values``, and the copy is put there.
    """
    copy = values[op] = clone_op(op, values, region)
    if before is None:
        region.append(copy)
    else:
        region.insert_before(before, copy)
    region_of(op).graph.facts.cloned(op, region.graph.facts, copy)
    return copy


def _copy(
    op: SomeOp, operands: Mapping[Op, Op], graph: Graph, facts: CopyFacts
) -> SomeOp:
    slots = tuple([_map_slot(value, operands) for value in op.slots])
    nested = tuple([graph.region() for _ in op.regions])
    copy = type(op).build(slots, dict(op.attributes), nested)
    copy.location = op.location
    copy.tags = op.tags
    copy.type = op.type
    for old, new in zip(op.regions, nested, strict=True):
        new.parent = copy
        _fill(old, new, {}, facts)
    return copy


def _fill(
    source: Region, target: Region, values: dict[Op, Op], facts: CopyFacts
) -> None:
    """Fill an empty region with copies of the arguments and ops of ``source``."""
    for argument in source.arguments:
        copy = Argument.build((), dict(argument.attributes))
        copy.location = argument.location
        copy.tags = argument.tags
        copy.type = argument.type
        values[argument] = target.attach_argument(copy)
        facts(argument, copy)
    for op in source.ops:
        copy = values[op] = target.append(_copy(op, values, target.graph, facts))
        facts(op, copy)


def _map_slot(value: Slot, operands: Mapping[Op, Op]) -> Slot:
    if isinstance(value, tuple):
        return tuple([operands.get(v, v) for v in value])
    return None if value is None else operands.get(value, value)

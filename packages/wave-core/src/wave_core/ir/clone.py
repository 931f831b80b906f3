"""Copies of ops, regions and graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from wave_core.ops.structure import Argument, region_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.ir.graph import Region
    from wave_core.ops.base import Op, Slot

SomeOp = TypeVar("SomeOp", bound="Op")


def clone_op(op: SomeOp, operands: Mapping[Op, Op], region: Region) -> SomeOp:
    """A copy of ``op``, for ``region``, with operands looked up in ``operands``.

    The copy is not inserted, so it has no facts yet; the ops of its regions have
    theirs. An operand that is not in the mapping stays.
    """
    slots = tuple([_map_slot(value, operands) for value in op.slots])
    nested = tuple([region.graph.region() for _ in op.regions])
    copy = type(op).build(slots, dict(op.attributes), nested)
    _copy_marks(op, copy)
    for old, new in zip(op.regions, nested, strict=True):
        new.parent = copy
        fill_region(old, new)
    return copy


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
    region_of(op).graph.facts.copied(op, region.graph.facts, copy)
    return copy


def fill_region(source: Region, target: Region) -> None:
    """Fill an empty region with copies of the arguments and ops of ``source``.

    Types, tags, locations and facts go along.
    """
    values: dict[Op, Op] = {}
    for argument in source.arguments:
        copy = Argument.build((), dict(argument.attributes))
        _copy_marks(argument, copy)
        values[argument] = target.attach_argument(copy)
        source.graph.facts.copied(argument, target.graph.facts, copy)
    for op in source.ops:
        clone_into(op, values, target)


def _copy_marks(op: Op, copy: Op) -> None:
    copy.location = op.location
    copy.tags = op.tags
    copy.type = op.type


def _map_slot(value: Slot, operands: Mapping[Op, Op]) -> Slot:
    if isinstance(value, tuple):
        return tuple([operands.get(v, v) for v in value])
    return None if value is None else operands.get(value, value)

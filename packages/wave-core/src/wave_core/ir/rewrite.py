"""Changing a graph: every edit keeps locations and fact tables right."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from wave_core.diagnostics import fuse
from wave_core.ir.facts import ACCESS, BOX, LANDING, PLACEMENT
from wave_core.ir.graph import (
    Region,
    node_of,
    region_of,
    regions,
    resolve,
    to_nodes,
)
from wave_core.ops.structure import Yield, captures_of
from wave_core.symbols import Expr
from wave_core.types import AddressSpace, MemoryType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wave_core.ir.graph import Graph
    from wave_core.ops.base import Op, Slot
    from wave_core.ops.structure import Argument


def insert_before(anchor: Op, op: Op, origin: Op | None = None) -> Op:
    """Insert ``op`` before ``anchor``, with the location of ``origin``."""
    _inherit(op, anchor if origin is None else origin)
    return region_of(anchor).insert_before(anchor, op)


def insert_after(anchor: Op, op: Op, origin: Op | None = None) -> Op:
    """Insert ``op`` after ``anchor``, with the location of ``origin``."""
    _inherit(op, anchor if origin is None else origin)
    return region_of(anchor).insert_after(anchor, op)


def move_before(anchor: Op, op: Op) -> None:
    """Put ``op`` just before ``anchor``, an op of the same region."""
    assert op.owner is anchor.owner, "an op moves within its region"
    region_of(op).graph.edits += 1
    node_of(anchor).prepend(node_of(op))


def replace(old: Op, new: Op) -> None:
    """Let every user of ``old`` use ``new`` and erase ``old``.

    ``new`` is inserted before ``old`` if it is in no graph yet. Locations fuse;
    facts go over as their tables declare.
    """
    if new.node is None:
        _inherit(new, old)
        region_of(old).insert_before(old, new)
    elif new.location is None:
        new.location = old.location
    elif old.location is not None and new.location != old.location:
        new.location = fuse(new.location, old.location)
    new.tags |= old.tags
    region_of(old).graph.facts.replaced(old, new)
    replace_uses(old, new)
    erase(old)


def replace_uses(old: Op, new: Op) -> None:
    """Let every user of ``old`` use ``new``."""
    region_of(old).graph.edits += 1
    node_of(old).replace_all_uses_with(node_of(new))


def set_operands(op: Op, slots: Sequence[Slot]) -> None:
    """Give ``op`` new operands: one value, tuple or ``None`` for each slot."""
    region_of(op).graph.edits += 1
    node_of(op).args = to_nodes(slots)


def set_attributes(op: Op, **attributes: object) -> None:
    """Give ``op`` new attribute values and infer its type again."""
    unknown = attributes.keys() - op.attributes.keys()
    assert not unknown, f"{op.op_name} has no attribute {sorted(unknown)}"
    op.attributes |= attributes
    if op.owner is not None:
        region_of(op).graph.edits += 1
    op.type = op.infer()


def change_expressions(op: Op, change: Callable[[Expr], Expr]) -> None:
    """Change every expression in the facts and attributes of one op."""
    facts = region_of(op).graph.facts
    for kind in (ACCESS, LANDING):
        access = facts.get(kind, op)
        if access is not None:
            facts.put(kind, op, access.mapped(change))
    box = facts.get(BOX, op)
    if box is not None:
        facts.put(BOX, op, box.mapped(change))
    placement = facts.get(PLACEMENT, op)
    if placement is not None and placement.origin:
        origin = tuple((dim, change(value)) for dim, value in placement.origin)
        if origin != placement.origin:
            facts.put(PLACEMENT, op, dataclasses.replace(placement, origin=origin))
    exprs = {n: v for n, v in op.attributes.items() if isinstance(v, Expr)}
    changed = {n: new for n, v in exprs.items() if (new := change(v)) is not v}
    if changed:
        set_attributes(op, **changed)


def erase(op: Op) -> None:
    """Remove an op that nothing uses, with its regions."""
    region = region_of(op)
    region.graph.facts.erased(op)
    region.graph.edits += 1
    for nested in op.regions:
        for inner in reversed(list(nested.ops)):
            erase(inner)
        for argument in nested.arguments:
            region.graph.facts.erased(argument)
    region.storage.erase_node(node_of(op))
    op.owner = None


def capture(region: Region, value: Op) -> Op:
    """``value`` as seen from ``region``, captured through the regions between.

    Returns ``value`` itself where it belongs to ``region``.
    """
    if value.owner is region:
        return value
    parent = region.parent
    assert parent is not None, "the value is not visible from the region"
    outer = capture(region_of(parent), value)
    inner = [a for a in region.arguments if a.role == "capture"]
    for captured, argument in zip(captures_of(parent), inner, strict=True):
        if captured is outer:
            return argument
    return _add_capture(region, parent, outer)


def _add_capture(region: Region, parent: Op, outer: Op) -> Argument:
    assert outer.type is not None, "only values are captured"
    label = getattr(outer, "label", outer.op_name)
    set_captures(parent, (*captures_of(parent), outer))
    argument = region.add_argument("capture", label, outer.type, outer.location)
    place_like(argument, outer)
    return argument


def set_captures(op: Op, values: tuple[Op, ...]) -> None:
    """Give ``op`` new captures, one for each such argument of its regions."""
    slots = list(op.slots)
    slots[[field.name for field in op.operand_fields].index("captures")] = values
    set_operands(op, slots)


def carry(body: Region, value: Op) -> Argument:
    """An argument of ``body`` for what takes the place of ``value`` in iterations."""
    assert value.type is not None, "only values are carried"
    label = getattr(value, "label", value.op_name)
    argument = body.add_argument("carried", label, value.type, value.location)
    place_like(argument, value)
    return argument


def place_like(op: Op, other: Op) -> None:
    """Let ``op`` sit in lanes and registers as ``other`` does."""
    facts = region_of(op).graph.facts
    placement = facts.get(PLACEMENT, other)
    if placement is not None:
        facts.put(PLACEMENT, op, placement)


def end_region(region: Region, values: Sequence[Op], origin: Op) -> Op:
    """Append the yield of ``values``, with the location of ``origin``."""
    last = Yield(tuple(values))
    last.location = origin.location
    return region.append(last)


def redeclare(value: Op, **attributes: object) -> None:
    """Give a value new attributes, and what captures it the type that follows."""
    set_attributes(value, **attributes)
    for region in regions(region_of(value).graph.body):
        for argument in region.arguments:
            if argument.role == "capture" and resolve(argument) is value:
                set_attributes(argument, declared=value.type)


def _inherit(op: Op, origin: Op) -> None:
    if op.location is None:
        op.location = origin.location


def set_space(
    graph: Graph, parameters: Sequence[Argument], space: AddressSpace
) -> None:
    """Say where memories of the kernel are, also where regions capture them."""
    for region in regions(graph.body):
        for argument in region.arguments:
            kind = argument.type
            if resolve(argument) in parameters and isinstance(kind, MemoryType):
                declared = dataclasses.replace(kind, space=space)
                set_attributes(argument, declared=declared)

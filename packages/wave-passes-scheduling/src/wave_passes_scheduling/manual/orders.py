"""Steps that order ops and put new ones between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import UserError
from wave_core.ir import insert_after, insert_before, region_of
from wave_core.ops import sync
from wave_core.ops.base import Op
from wave_core.ops.control import Conditional, Iterate
from wave_passes_scheduling.manual import complaints
from wave_passes_scheduling.manual.find import lifted, side_by_side
from wave_passes_scheduling.manual.values import Cluster, Place, Selection
from wave_passes_scheduling.reorder import apply_order, region_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.ir import Graph, Region
    from wave_core.passes import PassContext
    from wave_core.passes.manual import Step

_CLASSES: dict[str, type[Op]] = {
    cls.op_name: cls
    for cls in vars(sync).values()
    if isinstance(cls, type) and issubclass(cls, Op) and cls.op_name
}
"""Ops that schedules may insert, by name."""


def made_op(plain: tuple[Any, ...]) -> Op:
    """A new op from its plain form."""
    _, name, rows = plain
    return _CLASSES[name](**dict(rows))


def reorder(
    graph: Graph,
    place: Place | Selection,
    clusters: Sequence[Cluster],
    step: Step,
    context: PassContext,
) -> int:
    """Bring a body, or a part of one, into the order of clusters.

    Returns:
        How many ops stand elsewhere now.

    Raises:
        UserError: WV0502 where a dependence forbids the order, WV0503 for nodes that
            are none, WV0514 for ops of another body.
    """
    if isinstance(place, Place) and place.missing:
        return 0
    region = _region(place, step)
    wanted = _distinct([_ops(each, region, step) for each in clusters])
    _check_region(region, wanted, step)
    order = region_order(graph, region, context.dependences(graph))
    try:
        found = order.follow(wanted)
    except UserError as error:
        raise complaints.in_schedule(error, step) from error
    return apply_order(region, found)


def _ops(cluster: Cluster, region: Region, step: Step) -> list[Op]:
    found: list[Op] = []
    for part in cluster.parts:
        if isinstance(part, Op):
            part.location = cluster.step.location
            found.append(part)
        elif part.ops or part.excused:
            found += part.ops
        else:
            raise complaints.nothing_there(part, step)
    return [op if op.owner is None else lifted(op, region) or op for op in found]


def _distinct(wanted: Sequence[Sequence[Op]]) -> list[list[Op]]:
    """Each conditional that holds listed ops once, where the first of them is."""
    seen: set[Op] = set()
    found: list[list[Op]] = []
    for ops in wanted:
        row: list[Op] = []
        for op in ops:
            if not isinstance(op, Conditional) or op not in seen:
                row.append(op)
            seen.add(op)
        found.append(row)
    return found


def _region(place: Place | Selection, step: Step) -> Region:
    """The body that is reordered: the loop's, or that around a prologue."""
    if isinstance(place, Place) and place.name != "kernel":
        return region_of(place.loop[0])
    return loop_at(place, step).body


def loop_at(place: Place | Selection, step: Step) -> Iterate:
    """The loop that a place or a selection stands for.

    Raises:
        UserError: WV0514 where it stands for none.
    """
    from_ops = place.loop[:1] if isinstance(place, Place) else place.ops
    loops = [op for op in from_ops if isinstance(op, Iterate)]
    if len(loops) != 1 or (isinstance(place, Place) and place.name != "kernel"):
        what = f"a loop is needed, and there are {len(loops)}"
        raise complaints.no_place(step, what, loops)
    return loops[0]


def _check_region(region: Region, wanted: Sequence[Sequence[Op]], step: Step) -> None:
    for ops in wanted:
        for op in ops:
            if op.owner is not None and op.owner is not region:
                what = f"`{op.op_name}` is in another body than the one to reorder"
                raise complaints.no_place(step, what, [op])


def insert(where: str, target: Place | Selection, op: Op, step: Step) -> bool:
    """Put a new op beside others; whether there was a place for it.

    Raises:
        UserError: WV0503 for nodes that are none, WV0514 for nodes of several bodies.
    """
    op.location = step.location
    if isinstance(target, Place) and target.missing:
        return False
    if where in {"start", "end"}:
        _insert_in_part(where, target, op, step)
        return True
    if isinstance(target, Place):
        _insert_around(where, target, op)
        return True
    if not target.ops:
        if target.excused:
            return False
        raise complaints.nothing_there(target, step)
    beside = side_by_side(target.ops)
    if beside is None:
        bodies = len({each.owner for each in target.ops})
        what = f"the nodes stand in {bodies} bodies"
        raise complaints.no_place(step, what, target.ops)
    body = list(region_of(beside[0]).ops)
    places = sorted(beside, key=body.index)
    if where == "before":
        insert_before(places[0], op)
    else:
        insert_after(places[-1], op)
    return True


def _insert_around(where: str, target: Place, op: Op) -> None:
    """Before or after the loop, or what stands before or after that."""
    ops = [] if target.name == "kernel" else target.ops
    if where == "before":
        insert_before((*ops, *target.loop)[0], op)
    else:
        insert_after((*target.loop[:1], *ops)[-1], op)


def _insert_in_part(where: str, target: Place | Selection, op: Op, step: Step) -> None:
    """First or last in a loop's body, or around what stands before or after it."""
    if isinstance(target, Place) and target.name != "kernel":
        loop = target.loop[0]
        first = target.ops[0] if target.ops else loop
        last = target.ops[-1] if target.ops else loop
        if target.name == "prologue":
            insert_before(first if where == "start" else loop, op)
        else:
            insert_after(loop if where == "start" else last, op)
        return
    body = loop_at(target, step).body
    insert_before(next(body.ops) if where == "start" else body.end, op)

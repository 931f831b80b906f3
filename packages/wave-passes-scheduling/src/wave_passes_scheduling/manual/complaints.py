"""Diagnostics for authors of schedules; the line of the schedule comes first."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from wave_core.diagnostics import UserError, make_diagnostic, user_error
from wave_core.passes.options import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wave_core.diagnostics import Location
    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.passes.manual import Step
    from wave_passes_scheduling.manual.values import Selection


def no_such_tag(
    graph: Graph, step: Step, tag: str, kind: str | None, tagged: Sequence[Op]
) -> UserError:
    """WV0503: no op has the tag, or none of these is of the type."""
    known = sorted({name for op in graph.walk() for name in op.tags})
    listed = ", ".join(f"`{name}`" for name in known) or "none"
    if not tagged:
        notes = f"tags of the kernel: {listed}"
        helps = (*did_you_mean(tag, known), f'write `tag="{tag}"` in the kernel')
        what = f"no op of `{graph.name}` has tag `{tag}`"
    else:
        notes = f"ops with the tag: {counted(tagged)}"
        helps = (f"ask for another type, or tag a `{kind}`",)
        what = f"no `{kind}` of `{graph.name}` has tag `{tag}`"
    return user_error(
        "WV0503",
        what,
        at=step.location,
        label="asked for here",
        secondary=((graph.location, "the kernel"),),
        notes=notes,
        help=helps,
    )


def nothing_there(found: Selection, user: Step) -> UserError:
    """WV0503: a list of nodes that is used has none."""
    return user_error(
        "WV0503",
        "there are no nodes here",
        at=user.location,
        label="used here",
        secondary=((found.step.location, "nothing is left of the nodes here"),),
        help="take the nodes from another list, or leave them out",
    )


def not_found(step: Step, what: str, notes: Iterable[str] = ()) -> UserError:
    """WV0503: what a step looks for is not among its nodes."""
    return user_error(
        "WV0503", what, at=step.location, label="asked for here", notes=notes
    )


def no_place(step: Step, what: str, at: Sequence[Op] = ()) -> UserError:
    """WV0514: a step has nothing to work on."""
    return user_error(
        "WV0514",
        what,
        at=step.location,
        label="asked for here",
        secondary=[(op.location, f"`{op.op_name}`") for op in at[:1]],
        help="keep the nodes of one body: `filter_nodes(nodes, subgraph=p.KERNEL)`",
    )


def misplaced(
    step: Step, what: str, op: Op, other: Location | None = None
) -> UserError:
    """WV0513: a stage lists what it cannot hold."""
    once = "list each op of the loop's body once"
    inside = "what is the same in every iteration stands before the loop by now"
    return user_error(
        "WV0513",
        what,
        at=step.location,
        label="listed here",
        secondary=[
            *([(other, "listed here too")] if other is not None else []),
            (op.location, f"`{op.op_name}`"),
        ],
        help=once if other is not None else inside,
    )


def in_schedule(error: UserError, step: Step) -> UserError:
    """An error about ops, said of the line of the schedule that asks for them."""
    found = error.diagnostics[0]
    labels = [found.primary] if found.primary is not None else []
    said = make_diagnostic(
        found.code,
        found.message,
        at=step.location,
        label="asked for here",
        secondary=[(x.location, x.message) for x in (*labels, *found.secondary)],
        notes=found.notes,
        help=found.help,
    )
    return UserError(replace(said, data=found.data))


def counted(ops: Iterable[Op]) -> str:
    """How many ops there are of each type: ``2 read, 1 write``."""
    rows = Counter(op.op_name for op in ops).items()
    return ", ".join(f"{count} {name}" for name, count in rows) or "none"

"""Changes that schedules ask for: unrolling, order, barriers, staggering."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import coded_arguments
from wave_core.lang.schedules.pipelines import Place, place_ref
from wave_core.lang.schedules.record import (
    Nodes,
    Recorded,
    op_plain,
    recorder,
    refs_of,
    whole,
    wrong_argument,
)
from wave_core.ops import sync
from wave_core.ops.base import Op

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.passes.manual import Plain, Ref


class Cluster(Recorded):
    """Ops in an order, for ``reorder_graph``."""

    __slots__ = ()


@coded_arguments
def unroll(loop: Nodes | Place, factor: int) -> None:
    """Let one trip of a loop do ``factor`` iterations, before or after pipelining."""
    ref = place_ref("unroll", loop)
    recorder("unroll").add("unroll", ref, whole("unroll", "factor", factor, 1))


@coded_arguments
def cluster(ops: Sequence[Any]) -> Cluster:
    """Ops in the order in which they are to run.

    Nodes, lists of nodes and new ops: barriers, waits, priorities and hints, such as
    ``tkw.SetWavePrio(1)``. New ops stand where they are listed.
    """
    if not isinstance(ops, (list, tuple)):
        raise wrong_argument("cluster", ops, "a list of nodes and new ops")
    return Cluster(recorder("cluster").add("cluster", *_items(ops)))


def _items(ops: Sequence[Any]) -> list[Plain]:
    found: list[Plain] = []
    for item in ops:
        if isinstance(item, (list, tuple)):
            found += _items(item)  # pyright: ignore[reportUnknownArgumentType] - checked below
        elif isinstance(item, (Nodes, Cluster)):
            found.append(item.ref)
        elif isinstance(item, Op):
            found.append(op_plain("cluster", item))
        else:
            raise wrong_argument("cluster", item, "nodes, and ops such as barriers")
    return found


@coded_arguments
def reorder_graph(place: Nodes | Place, clusters: Sequence[Any]) -> None:
    """Run the ops of a loop's body, or of a prologue or epilogue, in a new order.

    The ops of the clusters run in the order listed; others run where what they need
    and what needs them lets them. An order that breaks a dependence is refused.
    """
    what = "reorder_graph"
    if not isinstance(clusters, (list, tuple)) or not clusters:
        raise wrong_argument(what, clusters, "a list of clusters")
    for item in clusters:
        if not isinstance(item, Cluster):
            raise wrong_argument(what, item, "clusters, as `cluster` gives them")
    rows = tuple([item.ref for item in clusters])
    recorder(what).add("reorder", place_ref(what, place), rows)


@coded_arguments
def interleave_operations(
    base: Nodes,
    others: Sequence[Any],
    intervals: int | Sequence[int] = 1,
    start_offsets: Sequence[int] | None = None,
    start_after_groups: Sequence[Sequence[int]] | None = None,
) -> Nodes:
    """The nodes of ``base`` with those of other lists put between them.

    Args:
        base: Keeps its order.
        others: Lists of nodes; each keeps its order.
        intervals: After how many nodes of ``base`` the next one of a list comes; one
            number for all lists, or one for each.
        start_offsets: How many nodes of ``base`` come before the first one of each
            list; 0 if left out.
        start_after_groups: For each list, the numbers of the lists that have to be
            through before it starts; none if left out.
    """
    what = "interleave_operations"
    lists = tuple(refs_of(what, item) for item in others)
    count = len(lists)
    each = intervals if isinstance(intervals, (list, tuple)) else [intervals] * count
    steps = _numbers("intervals", each, count, 1)
    offsets = _numbers("start_offsets", start_offsets or [0] * count, count, 0)
    groups = start_after_groups or [()] * count
    after = tuple(
        _numbers("start_after_groups", row, len(row), 0) for row in _listed(groups)
    )
    if len(after) != count or any(n >= count for row in after for n in row):
        raise wrong_argument(
            "`start_after_groups` of `interleave_operations`",
            groups,
            f"{count} lists of numbers below {count}",
        )
    rows = (refs_of(what, base), lists, steps, offsets, after)
    return Nodes(recorder(what).add("interleaved", *rows))


def _listed(given: object) -> list[Sequence[int]]:
    if not isinstance(given, (list, tuple)):
        raise wrong_argument("interleave_operations", given, "a list")
    return list(given)  # pyright: ignore[reportUnknownArgumentType] - numbers are checked


def _numbers(name: str, given: object, count: int, least: int) -> tuple[int, ...]:
    rows = _listed(given)
    if len(rows) != count:
        what = f"`{name}` of `interleave_operations`"
        raise wrong_argument(what, given, f"{count} numbers, one for each list")
    return tuple(whole("interleave_operations", name, row, least) for row in rows)


def MemoryCounterWaitBarrier(  # noqa: N802 - schedules insert ops by their class
    load: int | None = None,
    store: int | None = None,
    ds: int | None = None,
    exp: int | None = None,
) -> tuple[Op, Op]:
    """Ops to insert: wait for memory operations of the wave, then for the waves."""
    return sync.MemoryCounterWait(load, store, ds, exp), sync.WorkgroupBarrier()


@coded_arguments
def insert_before(target: Nodes | Place, op: Op | Sequence[Op]) -> None:
    """Put barriers, waits or hints before nodes, or a part of a pipeline."""
    _insert("insert_before", "before", place_ref("insert_before", target), op)


@coded_arguments
def insert_after(target: Nodes | Place, op: Op | Sequence[Op]) -> None:
    """Put barriers, waits or hints after nodes, or a part of a pipeline."""
    _insert("insert_after", "after", place_ref("insert_after", target), op)


@coded_arguments
def insert_at_start(place: Nodes | Place, op: Op | Sequence[Op]) -> None:
    """Put barriers, waits or hints first in a part of a pipeline or a loop."""
    _insert("insert_at_start", "start", place_ref("insert_at_start", place), op)


@coded_arguments
def insert_at_end(place: Nodes | Place, op: Op | Sequence[Op]) -> None:
    """Put barriers, waits or hints last in a part of a pipeline or a loop."""
    _insert("insert_at_end", "end", place_ref("insert_at_end", place), op)


def _insert(what: str, where: str, target: Ref, given: Op | Sequence[Op]) -> None:
    ops = list(given) if isinstance(given, (list, tuple)) else [given]
    if where in {"after", "start"}:
        ops.reverse()  # each comes right behind the target, before those put earlier
    for op in ops:
        recorder(what).add("insert", where, target, op_plain(what, op))


@coded_arguments
def stagger(loop: Nodes | Place) -> None:
    """Let half of the waves run a loop half an iteration behind the others."""
    recorder("stagger").add("stagger", place_ref("stagger", loop))

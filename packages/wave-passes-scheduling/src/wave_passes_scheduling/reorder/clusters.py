"""Clusters of a loop's body: memory and matrix work alternate.

With ``n`` pairs of clusters the body has ``2 n`` segments: memory ops stand in segment
``2 x``, matrix ops in ``2 x + 1``. Where an op may stand is a system of differences
between the ``x`` of ops: values, order, and the distance that accesses of different
waves need while halves of the waves run a segment apart. It has a solution, found by
relaxation, or a chain of dependences that contradicts itself, which is reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.ops.memory import TransposedRead
from wave_passes_scheduling.loops.costs import ACCESSES, OpKind, kind_of
from wave_passes_scheduling.reorder.stagger import NEEDED, ReorderError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from wave_core.ops.base import Op
    from wave_core.ops.control import Iterate
    from wave_passes_scheduling.reorder.legal import RegionOrder
    from wave_passes_scheduling.reorder.stagger import Meeting

MEMORY = frozenset((*ACCESSES.values(), OpKind.GLOBAL_TO_SHARED))
"""Kinds of memory clusters."""

_FETCHES = frozenset({OpKind.READ_GLOBAL, OpKind.GLOBAL_TO_SHARED})
"""Kinds that start as early as they can: they take longest."""

_SOON, _MIDDLE, _FETCH, _WAITING = range(4)
"""The order within a cluster: reads of LDS, what waits for nothing, reads of global
memory, and last what waits for these."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """``after`` is at least ``wait`` clusters after ``before``."""

    before: Op
    after: Op
    wait: int
    text: str


@dataclass(frozen=True)
class Clusters:
    """Where the ops of a loop's body stand.

    Attributes:
        count: Pairs of clusters.
        segment: Of each op: even for memory clusters, odd for matrix clusters.
    """

    count: int
    segment: Mapping[Op, int]

    def listed(self, order: RegionOrder) -> list[list[Op]]:
        """The ops by segment, in an order that keeps all dependences."""
        ranks = self._ranks(order)
        numbered = enumerate(order.ops)
        key = {op: (self.segment[op], ranks[op], number) for number, op in numbered}
        key |= self._between_reads(order)
        found: list[list[Op]] = [[] for _ in range(2 * self.count)]
        for op in order.sorted_by(key):
            found[self.segment[op]].append(op)
        return found

    def _between_reads(self, order: RegionOrder) -> dict[Op, tuple[int, int, int]]:
        """Direct copies and reads of LDS of a cluster, by turns.

        A copy keeps the path to memory busy for long, and is waited for at the end
        of the cluster where there are two buffers: behind all reads, nothing would
        hide it. Not where reads are transposed: LLVM cannot tell these from what a
        copy writes, and would wait for the copy before each.
        """
        found: dict[Op, tuple[int, int, int]] = {}
        for segment in range(0, 2 * self.count, 2):
            inside = [op for op in order.ops if self.segment[op] == segment]
            reads = [op for op in inside if kind_of(op) is OpKind.READ_SHARED]
            copies = [op for op in inside if kind_of(op) is OpKind.GLOBAL_TO_SHARED]
            if any(isinstance(op, TransposedRead) for op in reads):
                continue
            for rows, late in ((copies, 0), (reads, 1)):
                for number, op in enumerate(rows):
                    place = 2 * number * len(copies) * len(reads) // len(rows) + late
                    found[op] = (segment, _SOON, place * len(order.ops) + number)
        return found

    def _ranks(self, order: RegionOrder) -> dict[Op, int]:
        """The order within clusters, so that nothing waits before a read starts."""
        found: dict[Op, int] = {}
        for op in order.ops:
            kind = kind_of(op)
            near = [
                found[e.before]
                for e in order.before(op)
                if e.reason == "data" and self.segment[e.before] == self.segment[op]
            ]
            if kind in _FETCHES:
                found[op] = _FETCH
            elif max(near, default=0) >= _FETCH:
                found[op] = _WAITING
            else:
                found[op] = _SOON if kind is OpKind.READ_SHARED else _MIDDLE
        return found


def cluster(
    loop: Iterate, order: RegionOrder, rows: Iterable[Meeting], count: int
) -> Clusters:
    """Find the clusters of a loop's body.

    Matrix ops are dealt out evenly, the first factors of a contraction first. LDS is
    read as late as that allows, global memory as early.

    Args:
        loop: The loop.
        order: Its body.
        rows: By which accesses different waves meet, up to one iteration apart.
        count: Pairs of clusters.

    Raises:
        ReorderError: there are none, with the dependence that forbids them.
    """
    place = _dealt(order, count)
    late = _sides(order)
    rules = list(_rules(order, late))
    for row in rows:
        wait = _clusters(NEEDED, late[row.before], late[row.after])
        text = order.describe_pair(row.before, row.after, f"memory {row.text}")
        rules.append(_Rule(row.before, row.after, wait - row.distance * count, text))
    latest = _latest(order, rules, place, count)
    _advance_fetches(loop, order, rules, latest)
    segment = {op: 2 * latest[op] + late[op] for op in order.ops}
    return Clusters(count, segment)


def _dealt(order: RegionOrder, count: int) -> dict[Op, int]:
    """The cluster of each matrix op."""
    depth: dict[Op, int] = {}
    for op in order.ops:
        before = [depth[e.before] for e in order.before(op)]
        own = kind_of(op) is OpKind.MMA
        depth[op] = max(before, default=0) + own
    work = [op for op in order.ops if kind_of(op) is OpKind.MMA]
    if not work:
        raise ReorderError("the loop has no matrix op")
    if len(work) % count:
        raise ReorderError(f"{len(work)} matrix ops do not divide by {count} clusters")
    share = len(work) // count
    listed = sorted(work, key=lambda op: depth[op])
    return {op: i // share for i, op in enumerate(listed)}


def _sides(order: RegionOrder) -> dict[Op, int]:
    """0 for what stands in memory clusters, 1 for what stands in matrix clusters."""
    found: dict[Op, int] = {}
    for op in order.ops:
        kind = kind_of(op)
        if kind in (OpKind.ORDERED, OpKind.NESTED):
            raise ReorderError(f"`{order.names[op]}` of the loop was ordered by hand")
        if kind is OpKind.MMA:
            found[op] = 1
        elif kind in MEMORY:
            found[op] = 0
        else:
            found[op] = max((found[e.before] for e in order.before(op)), default=0)
    return found


def _clusters(segments: int, first: int, second: int) -> int:
    """Clusters between ops of two sides that have to be ``segments`` apart."""
    return -(-(segments + first - second) // 2)


def _rules(order: RegionOrder, late: Mapping[Op, int]) -> Iterator[_Rule]:
    for edge in order.edges:
        wait = _clusters(0, late[edge.before], late[edge.after])
        yield _Rule(edge.before, edge.after, wait, order.describe(edge))


def _latest(
    order: RegionOrder, rules: Sequence[_Rule], place: Mapping[Op, int], count: int
) -> dict[Op, int]:
    """The latest cluster of each op; matrix ops stay where they were dealt."""
    found = {op: place.get(op, count - 1) for op in order.ops}
    why: dict[Op, _Rule] = {}
    changed = True
    while changed:
        changed = False
        for rule in reversed(rules):
            bound = found[rule.after] - rule.wait
            if bound < found[rule.before]:
                found[rule.before], why[rule.before] = bound, rule
                changed = True
                if bound < place.get(rule.before, 0):
                    raise ReorderError(_contradiction(rule, why, count))
    return found


def _contradiction(rule: _Rule, why: Mapping[Op, _Rule], count: int) -> str:
    """The chain of dependences that leaves no place for an op."""
    chain: list[str] = []
    step: _Rule | None = rule
    while step is not None and step.text not in chain:
        chain.append(step.text)
        step = why.get(step.after)
    shown = ", ".join(dict.fromkeys(chain[:4]))
    return f"{count} pairs of clusters are too few for {shown}"


def _advance_fetches(
    loop: Iterate, order: RegionOrder, rules: Sequence[_Rule], latest: dict[Op, int]
) -> None:
    """Start reads of global memory as early as what they need allows.

    What is read for the next iteration waits until this one is done with what was read
    for it: else both would be held at once, and copied from one to the other.
    """
    needs: dict[Op, list[_Rule]] = {}
    for rule in rules:
        needs.setdefault(rule.after, []).append(rule)
    held = _held(loop, order)
    for op in order.ops:
        if kind_of(op) in _FETCHES:
            bounds = [latest[r.before] + r.wait for r in needs.get(op, ())]
            users = [latest[user] for user in held.get(op, ())]
            latest[op] = min(latest[op], max([0, *bounds, *users]))


def _held(loop: Iterate, order: RegionOrder) -> dict[Op, list[Op]]:
    """For each fetch that is carried to the next iteration, what uses it there."""
    last = loop.body.end
    found: dict[Op, list[Op]] = {}
    for argument, value in zip(loop.body.arguments, last.operands, strict=False):
        users = [user for user in argument.users if user is not last]
        for fetch in _fetches_of(value, order):
            found.setdefault(fetch, []).extend(users)
    return found


def _fetches_of(value: Op, order: RegionOrder) -> Iterator[Op]:
    """The reads of global memory that a value is put together from."""
    waiting = [value]
    while waiting:
        op = waiting.pop()
        if op not in order.names:
            continue
        if kind_of(op) in _FETCHES:
            yield op
        elif kind_of(op) is OpKind.NOOP:
            waiting.extend(op.operands)

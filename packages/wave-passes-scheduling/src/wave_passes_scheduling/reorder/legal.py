"""Which ops of a region may change places: a wanted order is proved, or refused.

An order is right if every op still comes after what it depends on: the values that it
uses, the accesses of memory that it may meet, and the barriers, waits and symbols that
were put where they are on purpose. What cannot be told apart depends.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error
from wave_core.ir import insert_before, move_before, walk
from wave_core.ops.control import SetSymbol
from wave_passes_scheduling.loops.analysis import op_names
from wave_passes_scheduling.loops.order import accesses_in, order_rows
from wave_passes_scheduling.orders import sorted_by

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from wave_core.analysis.dependences.derive import Dependences
    from wave_core.diagnostics import UserError
    from wave_core.ir import Graph, Region
    from wave_core.ops.base import Op


@dataclass(frozen=True, slots=True)
class Edge:
    """``before`` has to stay before ``after``.

    Attributes:
        before: An op.
        after: A later one of the same region.
        reason: What it comes from: ``data``, ``memory`` (bytes of LDS in common),
            ``order`` (one global memory, or something that the author ordered).
        what: The memory, where there is one.
    """

    before: Op
    after: Op
    reason: str
    what: str = ""

    @property
    def text(self) -> str:
        """Reason and memory."""
        return f"{self.reason} {self.what}".strip()


def region_edges(graph: Graph, ops: Sequence[Op], known: Dependences) -> Iterator[Edge]:
    """The dependences between ``ops``, all those of one region but its terminator."""
    number = {op: i for i, op in enumerate(ops)}
    yield from _values(ops, number)
    yield from _shared(graph, number, known)
    yield from _ordered(graph, ops)


def _values(ops: Sequence[Op], number: Mapping[Op, int]) -> Iterator[Edge]:
    for op in ops:
        for value in dict.fromkeys(op.operands):
            if value in number:
                yield Edge(value, op, "data")


def _shared(
    graph: Graph, number: Mapping[Op, int], known: Dependences
) -> Iterator[Edge]:
    """Accesses of LDS that may touch a byte in common."""
    inside = accesses_in(graph, number)
    for at, (source, first) in enumerate(inside):
        for sink, second in inside[at + 1 :]:
            if first is not second and known.reach(source, sink):
                yield Edge(first, second, "memory", "LDS")


def _ordered(graph: Graph, ops: Sequence[Op]) -> Iterator[Edge]:
    """The order of what touches one global memory, or was put where it is."""
    bound = [row for row in order_rows(graph, ops) if row.bound]
    for at, second in enumerate(bound):
        for first in bound[:at]:
            if first.keeps(second):
                memory = first.meets(second)
                label = getattr(memory, "label", None) or "global memory"
                what = "" if memory is None else str(label)
                yield Edge(first.op, second.op, "order", what)
    yield from _symbols(ops)


def _symbols(ops: Sequence[Op]) -> Iterator[Edge]:
    """Edges that keep ops in place which set a symbol: any op may use it."""
    setting = [
        i for i, op in enumerate(ops) if any(isinstance(o, SetSymbol) for o in _in(op))
    ]
    for at in setting:
        yield from (Edge(op, ops[at], "order", "of a symbol") for op in ops[:at])
        yield from (Edge(ops[at], op, "order", "of a symbol") for op in ops[at + 1 :])


def _in(op: Op) -> Iterator[Op]:
    yield op
    for region in op.regions:
        yield from walk(region)


@dataclass(frozen=True, eq=False)
class RegionOrder:
    """The ops of a region, and which of them have to keep their order.

    Attributes:
        region: The region.
        ops: Its ops in program order, without the terminator.
        edges: What must stay before what.
    """

    region: Region
    ops: tuple[Op, ...]
    edges: tuple[Edge, ...]

    @cached_property
    def names(self) -> dict[Op, str]:
        """A name for each op: what it is, and which of these: ``read_3``."""
        return op_names(self.ops)

    @cached_property
    def _before(self) -> dict[Op, list[Edge]]:
        found: dict[Op, list[Edge]] = {op: [] for op in self.ops}
        for edge in self.edges:
            found[edge.after].append(edge)
        return found

    @cached_property
    def _after(self) -> dict[Op, list[Edge]]:
        found: dict[Op, list[Edge]] = {op: [] for op in self.ops}
        for edge in self.edges:
            found[edge.before].append(edge)
        return found

    def before(self, op: Op) -> Sequence[Edge]:
        """The edges to ``op``."""
        return self._before[op]

    def broken(self, order: Iterable[Op]) -> Iterator[Edge]:
        """The edges that an order of ops contradicts; other ops are not looked at."""
        place = {op: i for i, op in enumerate(order)}
        for edge in self.edges:
            before, after = place.get(edge.before), place.get(edge.after)
            if before is not None and after is not None and before > after:
                yield edge

    def follow(self, clusters: Iterable[Iterable[Op]]) -> list[Op]:
        """The order of the whole region in which named ops stand as asked.

        Named ops follow each other cluster by cluster. Every other op comes as late
        as what needs it allows, or, where no named op needs it, as soon as it can
        after what it needs.

        Args:
            clusters: Ops of the region, each at most once, and ops that are in no
                region yet: these have no dependences.

        Returns:
            All ops, the new ones among them.

        Raises:
            UserError: WV0502 where a dependence forbids the order, with its two ends;
                WV0503 for an op that is named twice or belongs to another region.
        """
        wanted = [op for cluster in clusters for op in cluster]
        self._check_named(wanted)
        self._check_chains(wanted)
        return self.sorted_by(self._keys(wanted), wanted)

    def check(self, order: Sequence[Op]) -> None:
        """Prove that an order keeps all dependences between the ops it names.

        Raises:
            UserError: WV0502 with the edge that fails.
        """
        for edge in self.broken(order):
            raise self.refusal((edge,))

    def refusal(self, path: Sequence[Edge]) -> UserError:
        """The error for an order that puts the end of a path before its start."""
        first, last = path[0].before, path[-1].after
        names = self.names
        return user_error(
            "WV0502",
            f"the order puts `{names[last]}` before `{names[first]}`,"
            " on which it depends",
            at=last.location,
            label=f"`{names[last]}`, too early",
            secondary=[(first.location, f"`{names[first]}`")],
            notes=[self.describe(edge) for edge in path],
            help=f"put `{names[first]}` into an earlier cluster",
            edges=[(names[e.before], names[e.after], e.reason) for e in path],
        )

    def describe(self, edge: Edge) -> str:
        """An edge as text: ``write_0 -> read_2 (memory a_shared)``."""
        return self.describe_pair(edge.before, edge.after, edge.text)

    def describe_pair(self, before: Op, after: Op, reason: str) -> str:
        """A dependence that is no edge of the region, the same way."""
        return f"{self.names[before]} -> {self.names[after]} ({reason})"

    def _check_named(self, wanted: list[Op]) -> None:
        own = set(self.ops)
        for op, count in Counter(wanted).items():
            if count > 1 or (op.owner is not None and op not in own):
                why = "is named twice" if count > 1 else "is not in the region"
                raise user_error(
                    "WV0503",
                    f"`{self.names.get(op, op.op_name)}` {why}",
                    at=op.location,
                    label="named by a cluster",
                    help="name every op of the region once",
                )

    def _check_chains(self, wanted: list[Op]) -> None:
        """Refuse an order that a chain of dependences, of any ops, contradicts."""
        place = {op: i for i, op in enumerate(wanted)}
        latest: dict[Op, tuple[int, Edge | None]] = {}
        for op in self.ops:
            best: tuple[int, Edge | None] = (place.get(op, -1), None)
            for edge in self._before[op]:
                if latest[edge.before][0] > best[0]:
                    best = latest[edge.before][0], edge
            latest[op] = best
            if op in place and best[0] > place[op]:
                raise self.refusal(_back(latest, op))

    def sorted_by(
        self, key: Mapping[Op, tuple[int, ...]], chain: Sequence[Op] = ()
    ) -> list[Op]:
        """The order that keeps all dependences and takes the least key first.

        Args:
            key: One for each op, no two alike; ops in no region yet may have one.
            chain: Ops that follow each other besides; right only where
                dependences allow it.
        """
        edges = ((edge.before, edge.after) for edge in self.edges)
        return sorted_by(key, (*edges, *pairwise(chain)))

    def _keys(self, wanted: list[Op]) -> dict[Op, tuple[int, int, int]]:
        """Where an op wants to be: at its place, or just before what needs it."""
        end = len(wanted)
        place = {op: i for i, op in enumerate(wanted)}
        number = {op: i for i, op in enumerate(self.ops)}
        least: dict[Op, int] = {}
        for op in reversed(self.ops):
            users = [least[e.after] for e in self._after[op]]
            least[op] = place.get(op, min(users, default=end))
        found = {op: (i, 1, 0) for i, op in enumerate(wanted)}
        most: dict[Op, int] = {}
        for op in self.ops:
            sources = [most[e.before] for e in self._before[op]]
            most[op] = place.get(op, max(sources, default=-1))
            if op not in place:
                free = least[op] == end
                found[op] = (most[op] if free else least[op], 2 * free, number[op])
        return found


def _back(latest: dict[Op, tuple[int, Edge | None]], op: Op) -> list[Edge]:
    """The chain of edges to ``op`` from the named op that comes too late."""
    path: list[Edge] = []
    edge = latest[op][1]
    while edge is not None:
        path.append(edge)
        edge = latest[edge.before][1]
    return path[::-1]


def region_order(
    graph: Graph, region: Region, known: Dependences, without: Iterable[Op] = ()
) -> RegionOrder:
    """Legal orders of the ops in a region of a lowered graph.

    Of the body of a loop: within one iteration.

    Args:
        graph: That of the region.
        region: The body of the kernel, of a loop or of a conditional.
        known: Dependences through LDS of the graph as it is.
        without: Ops that are about to be erased.
    """
    gone = {region.terminator, *without}
    ops = tuple(op for op in region.ops if op not in gone)
    return RegionOrder(region, ops, tuple(region_edges(graph, ops, known)))


def apply_order(region: Region, order: Sequence[Op]) -> int:
    """Bring the ops of a region into an order that was proved; insert new ones.

    Returns:
        How many ops changed their place or are new.
    """
    last = region.end
    before = [op for op in region.ops if op is not last]
    assert set(before) <= set(order), "an order names every op of the region"
    if before == list(order):
        return 0
    located = next((op.location for op in before if op.location is not None), None)
    for op in order:
        if op.owner is None:
            op.location = op.location or located
            insert_before(last, op)
        else:
            move_before(last, op)
    kept = {op for op, other in zip(order, before, strict=False) if op is other}
    return len(order) - len(kept)

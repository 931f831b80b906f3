"""Registers that are live while operations are put in an order."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache, cached_property
from itertools import chain
from typing import NamedTuple

from wave_backend_asm.order.nodes import NOTHING, Node, Things


class Sort(IntEnum):
    """Where registers may be."""

    SCALARS = 0
    LANES = 1
    EITHER = 2  # VGPRs or AGPRs


class Registers(NamedTuple):
    """Registers that are live together.

    Attributes:
        sort: where they may be.
        width: how many they are.
    """

    sort: Sort
    width: int

    @property
    def counts(self) -> Limits:
        """What they take of what there is."""
        return _counts(self)


class Limits(NamedTuple):
    """How many may be live at once.

    Attributes:
        scalars: SGPRs.
        lanes: VGPRs of what has to be in these.
        vectors: VGPRs and AGPRs.
    """

    scalars: int
    lanes: int
    vectors: int

    def at_least(self, other: Limits) -> Limits:
        """The larger of each."""
        return Limits(*map(max, self, other))

    def hold(self, other: Limits) -> bool:
        """Whether none of another one is more."""
        return all(map(int.__ge__, self, other))


_NOTHING = Limits(0, 0, 0)


@cache
def _counts(registers: Registers) -> Limits:
    sort, width = registers
    if sort == Sort.SCALARS:
        return Limits(width, 0, 0)
    return Limits(0, width if sort == Sort.LANES else 0, width)


@dataclass(frozen=True)
class Region:
    """Nodes without a fixed point between them.

    Attributes:
        nodes: in the order that was given.
        registers: by name; what else nodes read and write takes none.
        before: names of what is live in front of them.
        behind: names of what is live behind them.
        lands: names of what is on its way in front of them, with the cycles until it
            is there.
    """

    nodes: Sequence[Node]
    registers: Mapping[Hashable, Registers]
    before: Things = NOTHING
    behind: Things = NOTHING
    lands: Mapping[Hashable, int] = field(default_factory=dict["Hashable", int])

    @property
    def starts(self) -> list[int]:
        """When each node can begin, by what was on its way."""
        if not self.lands:
            return [0] * len(self.nodes)
        lands, found = {**self.lands}, list[int]()
        for node in self.nodes:
            found.append(max((lands.get(each, 0) for each in node.reads), default=0))
            for each in node.writes & lands.keys():
                del lands[each]
        return found


class Uses:
    """What the nodes of a region read and write, by numbers of the names.

    Attributes:
        reads: of each node.
        writes: of each node.
        before: what is live in front of them.
        left: nodes that read each name, and one more where it is live behind them.
        counts: registers of each name.
        most: registers that each node makes live, if none of them is.
    """

    def __init__(self, region: Region) -> None:
        """Number the names of a region."""
        numbers: dict[Hashable, int] = {}

        def known(names: Iterable[Hashable]) -> list[int]:
            return [numbers.setdefault(each, len(numbers)) for each in names]

        self.reads = [known(node.reads) for node in region.nodes]
        self.writes = [known(node.writes) for node in region.nodes]
        self.before = known(region.before)
        self.left = [0] * len(numbers)
        for name in chain.from_iterable(self.reads):
            self.left[name] += 1
        for each in region.behind & numbers.keys():
            self.left[numbers[each]] += 1
        rows = map(region.registers.get, numbers)
        self.counts = [row.counts if row is not None else _NOTHING for row in rows]
        self.most = [*map(self.sum, self.writes)]

    @cached_property
    def users(self) -> list[list[int]]:
        """Nodes that read or write each name, if it takes registers."""
        found: list[list[int]] = [[] for _ in self.counts]
        for node, names in enumerate(zip(self.reads, self.writes, strict=True)):
            for name in chain.from_iterable(names):
                if self.counts[name] is not _NOTHING:
                    found[name].append(node)
        return found

    def sum(self, names: Iterable[int]) -> Limits:
        """Registers of some names."""
        scalars = lanes = vectors = 0
        for name in names:
            one, two, three = self.counts[name]
            scalars, lanes, vectors = scalars + one, lanes + two, vectors + three
        return Limits(scalars, lanes, vectors)


class Room:
    """What is live behind the nodes that were taken so far, by their numbers."""

    def __init__(self, uses: Uses) -> None:
        """Nothing is taken."""
        self._uses = uses
        self._left = [*uses.left]
        self._live = [False] * len(uses.left)
        # Of nodes for which nothing that they touch has changed since.
        self._growths: dict[int, Limits] = {}
        for name in uses.before:
            self._live[name] = True
        self._used: tuple[int, int, int] = uses.sum(uses.before)
        self._points: list[tuple[int, int, int]] = [self._used]

    @property
    def peak(self) -> Limits:
        """How many registers were live at once so far, at the most."""
        return Limits(*map(max, zip(*self._points, strict=True)))

    def growth(self, number: int) -> Limits:
        """Registers that are live more when a node is taken."""
        found = self._growths.get(number)
        if found is None:
            found = self._growths[number] = self._growth(number)
        return found

    def _growth(self, number: int) -> Limits:
        uses, live, left = self._uses, self._live, self._left
        new = uses.sum([name for name in uses.writes[number] if not live[name]])
        reads = uses.reads[number]
        old = uses.sum([name for name in reads if live[name] and left[name] == 1])
        return Limits(new[0] - old[0], new[1] - old[1], new[2] - old[2])

    def fits(self, number: int, limits: Limits) -> bool:
        """Whether what is live more when a node is taken has room."""
        scalars, lanes, vectors = self._used
        most = self._uses.most[number]
        if (
            scalars + most[0] <= limits[0]
            and lanes + most[1] <= limits[1]
            and vectors + most[2] <= limits[2]
        ):
            return True
        more = self.growth(number)
        return (
            (more[0] <= 0 or scalars + more[0] <= limits[0])
            and (more[1] <= 0 or lanes + more[1] <= limits[1])
            and (more[2] <= 0 or vectors + more[2] <= limits[2])
        )

    def take(self, number: int) -> bool:
        """Take a node; whether something is no longer live."""
        live, left, counts = self._live, self._left, self._uses.counts
        reads, writes = self._uses.reads[number], self._uses.writes[number]
        scalars, lanes, vectors = self._used
        for name in writes:
            if not live[name]:
                live[name] = True
                self._forget(name)
                one, two, three = counts[name]
                scalars, lanes, vectors = scalars + one, lanes + two, vectors + three
        for name in reads:
            left[name] -= 1
            if left[name] == 1:
                self._forget(name)
        freed = False
        for name in chain(reads, writes):
            if live[name] and not left[name]:
                live[name], freed = False, True
                self._forget(name)
                one, two, three = counts[name]
                scalars, lanes, vectors = scalars - one, lanes - two, vectors - three
        self._used = scalars, lanes, vectors
        self._points.append(self._used)
        return freed

    def _forget(self, name: int) -> None:
        """Growths of who touches a name are others now."""
        if self._growths:
            for number in self._uses.users[name]:
                self._growths.pop(number, None)

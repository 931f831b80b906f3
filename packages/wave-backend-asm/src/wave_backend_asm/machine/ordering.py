"""Instructions in a better order between the points that stay where they are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import accumulate, chain, groupby
from typing import TYPE_CHECKING, TypeAlias

from wave_backend_asm.allocate.liveness import Flow, backwards, most_live
from wave_backend_asm.machine.effects import effects_of
from wave_backend_asm.machine.flights import Flight, Flights
from wave_backend_asm.machine.instruction import Copy, Instruction
from wave_backend_asm.machine.names import Names
from wave_backend_asm.machine.prices import price_of
from wave_backend_asm.machine.together import grouped, is_fixed
from wave_backend_asm.order.listing import Listing
from wave_backend_asm.order.nodes import NOTHING, Node, Price
from wave_backend_asm.order.room import Limits, Region

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from wave_backend_asm.allocate.budget import Budget
    from wave_backend_asm.allocate.webs import Web

Operation: TypeAlias = Instruction | Copy
Group: TypeAlias = tuple[Operation, ...]


_PARTS = (16, 8, 5, 4)
"""The parts of the registers that are left free, one try after the other."""


_MORE, _FREE = 8, 32
"""Registers of the wave beyond those of the order that was given, and those that an
order may take anyway."""


_GAIN = 1.5
"""How much faster a SIMD has to be for a wave less to fit."""

_TURNS, _ISSUE = 8, 4
"""Turns that a loop is taken to have, and cycles from one operation to the next."""


class Orders:
    """Orders of a program, for more registers or less.

    Attributes:
        alike: the vector registers with which as many waves fit on a SIMD as with
            those that are live in the order that was given.
    """

    def __init__(
        self, blocks: Sequence[Sequence[Operation]], flow: Flow, chip: str,
        budget: Budget, webs: Sequence[Web],
    ) -> None:  # fmt: skip
        """The order that was given.

        Args:
            blocks: the operations of each block.
            flow: what is live in them.
            chip: a key of `CHIPS`.
            budget: registers of a wave.
            webs: values that can have the same registers.
        """
        self._blocks, self._flow = blocks, flow
        self._chip, self._budget = chip, budget
        self._names = Names(webs, flow.bits)
        self._scalars, vectors = most_live(flow)
        self._fits = vectors <= budget.vector
        self._known: dict[bool, list[list[_Row]]] = {}
        self.alike = budget.beside(vectors)

    def tries(self) -> Iterator[tuple[list[list[Operation]], int]]:
        """The operations of each block: in a good order, then in one for less.

        With each are the vector registers that it may take. Tuples need more registers
        than are live. Where what is live in the order that was given does not fit,
        there is none.
        """
        if not self._fits:
            return
        alone = self._budget.waves(self.alike) == 1
        if alone not in self._known:
            self._known[alone] = self._rows(alone=alone)
        blocks = self._known[alone]
        for most in self._rooms(blocks):
            for limits in [self._limits(part, most) for part in _PARTS]:
                ordered = [
                    [o for row in rows for o in row.within(limits)] for rows in blocks
                ]
                yield ordered, most

    def _rows(self, *, alone: bool) -> list[list[_Row]]:
        """What of each block has orders; ``alone`` as of `Flights`."""
        sharing = self._budget.sharing
        flights = Flights(self._flow, self._chip, sharing, alone=alone)
        program = _Program(self._flow, self._names, self._chip, sharing, flights)
        return [program.block(number, each) for number, each in enumerate(self._blocks)]

    def _rooms(self, blocks: Sequence[Sequence[_Row]]) -> list[int]:
        """The vector registers for which there are orders, what is faster first.

        They are those of as many waves as before. Where these do not do for a better
        order of some row, they may be those of a wave less as well.
        """
        limits = self._limits(_PARTS[0], self.alike)
        fewer = self._budget.room(self._budget.waves(self.alike) - 1)
        if not any(row.lacks(limits) for rows in blocks for row in rows):
            return [self.alike]
        wanted = _GAIN * self._speed(blocks, self.alike)
        # No waves are executed faster than all of it is issued.
        gains = wanted * self._issued < 1 and self._speed(blocks, fewer) > wanted
        return [fewer, self.alike] if gains else [self.alike]

    def _speed(self, blocks: Sequence[Sequence[_Row]], most: int) -> float:
        """How often a SIMD executes the program, by the most that its waves take.

        They wait for memory beside each other, and issue one after the other.
        """
        limits, waves = self._limits(_PARTS[0], most), self._budget.waves(most)
        alone = sum(
            _TURNS**block.depth * sum(row.cycles(limits) for row in rows)
            for block, rows in zip(self._flow.blocks, blocks, strict=True)
        )
        return waves / max(alone, waves * self._issued, 1)

    @cached_property
    def _issued(self) -> int:
        """Cycles in which a wave issues all of the program."""
        return _ISSUE * sum(
            _TURNS**block.depth * len(block.operations) for block in self._flow.blocks
        )

    def _limits(self, part: int, most: int) -> Limits:
        """What an order may use that leaves a part of the registers free.

        It has a few scalars more than the order that was given, and some where that
        has few: masks of lanes, one of which waits for the states in front of who
        reads it while others are made.
        """
        lanes, vectors = (
            count - count // part for count in (self._budget.limit("v"), most)
        )
        scalars = min(max(self._scalars + _MORE, _FREE), self._budget.scalar)
        return Limits(scalars, min(lanes, vectors), vectors)


@dataclass(frozen=True)
class _Row:
    """Operations between two fixed points, or at one.

    Attributes:
        groups: in the order that was given.
        listing: other orders of them; ``None`` where there is nothing to gain.
    """

    groups: Sequence[Group]
    listing: Listing | None = None

    def within(self, limits: Limits) -> list[Operation]:
        """The operations in an order for some registers."""
        groups = self.groups
        if self.listing is not None:
            groups = [groups[number] for number in self.listing.within(limits, _MORE)]
        return [*chain.from_iterable(groups)]

    def lacks(self, limits: Limits) -> bool:
        """Whether no order was found for some registers."""
        if self.listing is None:
            return False
        self.listing.within(limits, _MORE)
        return self.listing.lacks(limits)

    def cycles(self, limits: Limits) -> int:
        """What the order for some registers takes, if nobody else executes."""
        if self.listing is None:
            return _ISSUE * sum(map(len, self.groups))
        return self.listing.cycles(self.listing.within(limits, _MORE))


@dataclass(frozen=True)
class _Program:
    """A program whose blocks are ordered one by one."""

    flow: Flow
    names: Names
    chip: str
    sharing: int
    flights: Flights

    def block(self, number: int, operations: Sequence[Operation]) -> list[_Row]:
        """The operations of a block: what lies between fixed points is ordered."""
        rows = groupby(grouped(operations), is_fixed)
        parts = [(fixed, [*groups]) for fixed, groups in rows]
        if all(fixed or len(groups) < 2 for fixed, groups in parts):
            return [_Row([tuple(operations)])]
        ends = [*accumulate(sum(map(len, groups)) for _, groups in parts)]
        places = [0, *ends]
        live, flights = self._live(number), self.flights.at(number, places)
        found: list[_Row] = []
        for at, (fixed, groups) in enumerate(parts):
            listing = None
            if not fixed:
                live_here = live[places[at]], live[places[at + 1]]
                listing = self._listing(groups, live_here, flights[at])
            found.append(_Row(groups, listing))
        return found

    def _live(self, number: int) -> list[int]:
        """What is live in front of each operation of a block, and behind the last."""
        behind = self.flow.behind[number]
        found = [
            touch.used | live & ~touch.defined
            for touch, live in backwards(self.flow.touched[number], behind)
        ]
        return [*reversed(found), behind]

    def _listing(
        self, groups: list[Group], live: tuple[int, int], flying: list[Flight]
    ) -> Listing | None:
        """Orders of some groups; ``None`` where nobody waits for a result."""
        prices = [self._price(group) for group in groups]
        slow = flying or any(p.latency or p.settles for p in prices)
        if len(groups) < 2 or not slow:
            return None
        names = self.names
        nodes = [*map(self._node, groups, prices)]
        lands: dict[Hashable, int] = {
            name: cycles for bits, cycles in flying for name in names.live(bits)
        }
        before, behind = map(names.live, live)
        return Listing(Region(nodes, names.registers, before, behind, lands))

    def _price(self, group: Group) -> Price:
        """What a group costs: the unit is that of what is waited for longest."""
        prices = [price_of(each, self.chip, self.sharing) for each in group]
        return prices[0] if len(prices) == 1 else reduce(_together, prices)

    def _node(self, group: Group, price: Price) -> Node:
        """What a group reads and writes."""
        names = self.names
        reads: list[Hashable] = []
        writes: list[Hashable] = []
        lands = NOTHING
        for each in group:
            reads += names.of(each.uses)
            writes += names.of(each.defines)
            if isinstance(each, Instruction):
                effects = effects_of(each)
                reads += effects.reads
                writes += effects.writes
                lands |= effects.lands
        sums = self._sums(group) if price.chains else NOTHING
        return Node(frozenset(reads), frozenset(writes), price, sums, lands)

    def _sums(self, group: Group) -> frozenset[int]:
        """What a product adds to."""
        (first, *others) = group
        if others or not isinstance(first, Instruction) or not first.early:
            return frozenset()
        return frozenset(self.names.of(first.sums))


def _together(one: Price, two: Price) -> Price:
    """Two prices as one."""
    longer = max(one, two, key=lambda price: (price.wait, price.busy))
    return longer._replace(issue=one.issue + two.issue)

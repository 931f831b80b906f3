"""Registers that are live while operations are put in an order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
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


@dataclass(frozen=True)
class Region:
    """Nodes without a fixed point between them.

    Attributes:
        nodes: in the order that was given.
        registers: by name; what else nodes read and write takes none.
        before: names of what is live in front of them.
        behind: names of what is live behind them.
    """

    nodes: Sequence[Node]
    registers: Mapping[Hashable, Registers]
    before: Things = NOTHING
    behind: Things = NOTHING


class Room:
    """What is live behind the nodes that were taken so far."""

    def __init__(self, region: Region) -> None:
        """Nothing is taken."""
        self._region = region
        self._left = Counter(name for node in region.nodes for name in node.reads)
        self._live: set[Hashable] = set()
        self._counts = [0, 0, 0]
        for name in region.before:
            self._hold(name)

    @property
    def used(self) -> Limits:
        """How many registers are live."""
        scalars, lanes, either = self._counts
        return Limits(scalars, lanes, lanes + either)

    def growth(self, node: Node) -> list[int]:
        """Registers of each sort that are live more when a node is taken."""
        found = [0, 0, 0]
        for name in node.writes - self._live:
            self._add(found, name, 1)
        for name in node.reads & self._live:
            if self._left[name] == 1 and name not in self._region.behind:
                self._add(found, name, -1)
        return found

    def fits(self, growth: Sequence[int], limits: Limits) -> bool:
        """Whether what is live more has room."""
        scalars, lanes, either = (
            max(0, now + more) for now, more in zip(self._counts, growth, strict=True)
        )
        return (
            (growth[0] <= 0 or scalars <= limits.scalars)
            and (growth[1] <= 0 or lanes <= limits.lanes)
            and (growth[1] + growth[2] <= 0 or lanes + either <= limits.vectors)
        )

    def take(self, node: Node) -> bool:
        """Take a node; whether some registers are no longer live."""
        for name in node.writes:
            self._hold(name)
        for name in node.reads:
            self._left[name] -= 1
        idle = [name for name in node.reads | node.writes if self._idle(name)]
        for name in idle:
            self._live.discard(name)
            self._add(self._counts, name, -1)
        return bool(idle)

    def _idle(self, name: Hashable) -> bool:
        wanted = self._left[name] or name in self._region.behind
        return name in self._live and not wanted

    def _hold(self, name: Hashable) -> None:
        if name not in self._live:
            self._live.add(name)
            self._add(self._counts, name, 1)

    def _add(self, counts: list[int], name: Hashable, times: int) -> None:
        registers = self._region.registers.get(name)
        if registers is not None:
            counts[registers.sort] += times * registers.width


def peak(region: Region, order: Sequence[int]) -> Limits:
    """How many registers are live at once in some order, at the most."""
    room = Room(region)
    most = room.used
    for number in order:
        room.take(region.nodes[number])
        most = most.at_least(room.used)
    return most

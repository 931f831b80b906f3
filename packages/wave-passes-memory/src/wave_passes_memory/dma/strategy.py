"""Ways to bring a tile to LDS: each gives its cost, or why it cannot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from wave_core.analysis.runs import contiguous_run
from wave_core.constraints.machine import REGISTER
from wave_core.ir import ACCESS

if TYPE_CHECKING:
    from wave_core.analysis.region_facts import RegionFacts
    from wave_core.ir import Access
    from wave_core.symbols import Expr, Facts
    from wave_core.targets import Target
    from wave_passes_memory.copies.find import Copy
    from wave_passes_memory.copies.prove import Box
    from wave_passes_memory.layouts.schemes import Scheme


@dataclass(frozen=True)
class Transfer:
    """A tile to be brought to LDS.

    Attributes:
        copy: The reads and writes that do it now.
        box: What they have been proved to do.
        known: What is known where they stand.
        target: The machine.
    """

    copy: Copy
    box: Box
    known: RegionFacts
    target: Target

    @property
    def bits(self) -> int:
        """The width of an element."""
        return self.copy.buffer.dtype.bits

    @property
    def threads(self) -> int:
        """Threads of the workgroup."""
        geometry = self.known.geometry
        return geometry.waves_per_workgroup * geometry.lanes

    @property
    def storage(self) -> tuple[int, ...]:
        """The extents of the buffer as stored; the proof needs them static."""
        kind = self.copy.buffer.memory_type
        return tuple(extent.constant_value for extent in kind.storage_shape)

    @property
    def memory_shape(self) -> tuple[Expr, ...]:
        """The extents of the memory that is copied from."""
        kind = self.copy.memory.memory_type
        return tuple(self.known.geometry.bind(e) for e in kind.storage_shape)

    def brings_lines(self, rows: int) -> bool:
        """Whether it brings all or nothing of each ``rows`` rows of the buffer.

        Elements that change rows within such a line then stay within the copy.
        """
        if rows == 1:
            return True
        start, count = self.box.shared[-2], self.box.extents[-2]
        return count % rows == 0 and self.facts().prove_divisible(start, rows)

    def facts(self, registers: int = 1) -> Facts:
        """Facts for vectors of ``registers`` elements a lane."""
        return self.known.facts(self.copy.region, registers)


@dataclass(frozen=True, order=True)
class Cost:
    """Accesses that each thread issues.

    Attributes:
        instructions: Accesses of global memory and of LDS together.
        registers: Registers that hold the tile on its way. Units: bits.
    """

    instructions: int
    registers: int

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.instructions + other.instructions, self.registers + other.registers
        )


NOTHING = Cost(0, 0)


@dataclass(frozen=True)
class Refusal:
    """Why a strategy cannot do a transfer.

    Attributes:
        why: For messages: "it is not ... because ``why``".
        layout: Whether the layout that the author gave the buffer is the reason.
    """

    why: str
    layout: bool = False


class Plan(Protocol):
    """A transfer that a strategy can do."""

    @property
    def transfer(self) -> Transfer:
        """The copy to be made."""
        ...

    @property
    def cost(self) -> Cost:
        """The cost."""
        ...

    @property
    def chunk_bytes(self) -> int:
        """Bytes that have to stay together, whatever the layout of the buffer."""
        ...

    def emit(self, scheme: Scheme) -> None:
        """Put it in place of the copy, for a buffer in the layout ``scheme``."""
        ...


class Strategy(Protocol):
    """A way to bring tiles to LDS."""

    @property
    def name(self) -> str:
        """How reports call it."""
        ...

    def plan(self, transfer: Transfer) -> Plan | Refusal:
        """How it would do the transfer, or why it cannot."""
        ...


@dataclass(frozen=True)
class Kept:
    """Reads of global memory, and writes of what they got: what is there already."""

    transfer: Transfer

    @property
    def cost(self) -> Cost:
        """Loads and stores, of elements side by side at once."""
        transfer = self.transfer
        facts = transfer.copy.region.graph.facts
        issued = held = 0
        for op in (each for pair in transfer.copy.pairs for each in pair):
            row = facts.get(ACCESS, op)
            assert row is not None, "the proof has looked at it"
            issued += _instructions(row, transfer)
            held += row.registers * transfer.bits
        return Cost(issued, held // 2)

    @property
    def chunk_bytes(self) -> int:
        """The accesses say it themselves."""
        return 1

    def emit(self, scheme: Scheme) -> None:
        """Nothing changes; the layout goes to the accesses like to all others."""


def _instructions(row: Access, transfer: Transfer) -> int:
    if row.mask is not None and REGISTER in row.mask.free_symbols:
        return row.registers
    widest = max(1, transfer.target.memory.max_access_bits // transfer.bits)
    return -(-row.registers // min(contiguous_run(row), widest))


@dataclass(frozen=True)
class ThroughRegisters:
    """Each thread reads its share and writes it to LDS."""

    name: str = "registers"

    def plan(self, transfer: Transfer) -> Plan | Refusal:
        """It can do everything."""
        return Kept(transfer)

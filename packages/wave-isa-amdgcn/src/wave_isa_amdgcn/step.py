"""What the tables ask about one instruction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from wave_isa_amdgcn.registers import EXEC_BITS, M0_BIT, VCC_BITS

_SPECIAL = EXEC_BITS | M0_BIT | VCC_BITS


class Sort(NamedTuple):
    """What rows ask about an instruction alone, without another beside it.

    Attributes:
        special: EXEC, VCC and M0, if it writes them.
        stored: registers of the data that it writes to memory.
    """

    name: str
    unit: str
    special: int
    stored: int
    codes: frozenset[int]
    crosses_lanes: bool
    writes_part: bool
    to_lds: bool


@dataclass(eq=False)
class Step:
    """One instruction of a wave, with registers as bits (`registers`).

    Nobody changes one; a frozen one takes three times as long to make.

    Attributes:
        name: mnemonic in capitals without ``_E32`` and ``_E64``.
        unit: what executes it: ``valu``, ``salu``, ``mfma``, ``lds``, ``vmem``,
            ``smem``, ``branch`` or ``sync``.
        reads: registers, implied ones as well.
        writes: registers, implied ones as well.
        sources: registers of its operands in their order: A, B and C of a product.
        stored: registers of the data that it writes to memory.
        codes: numbers of its operands that are neither registers nor literals.
        crosses_lanes: it is in a DPP form.
        writes_part: it writes a part of a register elsewhere than at the bottom.
        to_lds: it copies from memory to LDS.
        scalar_offset: a register is the offset of a buffer access.
        immediate: its 16 bits, of an S_NOP or of who names a hardware register.
        passes: of a matrix instruction, four cycles each.
    """

    name: str
    unit: str
    reads: int
    writes: int
    sources: tuple[int, ...] = ()
    stored: int = 0
    codes: frozenset[int] = frozenset()
    crosses_lanes: bool = False
    writes_part: bool = False
    to_lds: bool = False
    scalar_offset: bool = False
    immediate: int = 0
    passes: int = 0

    @property
    def sort(self) -> Sort:
        """What producers and consumers of rows ask."""
        return Sort(
            self.name, self.unit, self.writes & _SPECIAL, self.stored.bit_count(),
            self.codes, self.crosses_lanes, self.writes_part, self.to_lds,
        )  # fmt: skip

    def meets(self, later: Step) -> bool:
        """Whether one of the two writes a register that the other touches."""
        writes, theirs = self.writes, later.writes
        return bool(writes & later.reads or (writes | self.reads) & theirs)

    def source(self, number: int) -> int:
        """Registers of an operand; 0 where there is none."""
        return self.sources[number] if number < len(self.sources) else 0

    @property
    def factors(self) -> int:
        """Registers of the first two operands."""
        return self.source(0) | self.source(1)

    @property
    def addend(self) -> int:
        """Registers of the third operand."""
        return self.source(2)

    @property
    def states(self) -> int:
        """Wait states that it is worth to those before and behind it."""
        return self.immediate + 1 if self.name == "S_NOP" else 1

"""The exchange of fetched elements among the lanes of a group.

Each lane of a group fetches a vector; afterwards each holds elements that others
fetched. Who holds what is a renaming of the bits of lane and register.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.symbols.layout import Digit, Layout

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.symbols.layout import Source

Bit = tuple["Source", int]
"""One bit of the lane or of the register number."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """How a machine exchanges.

    Attributes:
        lanes: Lanes that exchange among themselves.
        held: For each bit of the number of an element, which counts the registers of
            the first lane and then those of the next, the bit of lane or register that
            tells where it is afterwards. Without it the vectors, one after another, are
            rows of as many elements as there are lanes, and each lane gets a column.
    """

    lanes: int
    held: tuple[Bit, ...] = ()

    def bits(self, registers: int) -> tuple[Bit, ...] | None:
        """As ``held``, for vectors of ``registers``; ``None`` where it has no form."""
        width, group = registers.bit_length() - 1, self.lanes.bit_length() - 1
        if not _power(registers):
            return None
        if not self.held:
            columns: list[Bit] = [("lane", place) for place in range(group)]
            return *columns, *(("reg", place) for place in range(width))
        return self.held if len(self.held) == width + group else None

    @property
    def registers(self) -> int:
        """Elements that a lane fetches, where ``held`` says it; else any number."""
        return 1 << max(0, len(self.held) - (self.lanes.bit_length() - 1))

    def places(self, registers: int) -> list[int]:
        """Where each element of a group is afterwards, by its number before.

        Numbers count registers of the first lane, then those of the next.
        """
        bits = self.bits(registers)
        assert bits is not None, "the op has the registers of the target's row"
        width = registers.bit_length() - 1
        weights = [1 << (p if source == "reg" else p + width) for source, p in bits]
        return [
            sum(weight for place, weight in enumerate(weights) if number >> place & 1)
            for number in range(self.lanes * registers)
        ]


SIXTEEN = Exchange(16)
"""Source: AMD CDNA4 ISA, DS_READ_B64_TR_B16."""


def exchanged(layout: Layout, exchange: Exchange) -> Layout | None:
    """The layout after the exchange; ``None`` where no digits describe it."""
    pairs = _pairs(layout, exchange)
    return None if pairs is None else _renamed(layout, dict(pairs))


def before_exchange(layout: Layout, exchange: Exchange) -> Layout | None:
    """The layout to fetch in, so that the exchange gives ``layout``.

    ``None`` where there is none.
    """
    pairs = _pairs(layout, exchange)
    if pairs is None:
        return None
    return _renamed(layout, {after: before for before, after in pairs})


def _pairs(layout: Layout, exchange: Exchange) -> list[tuple[Bit, Bit]] | None:
    """Each bit of those who fetch, with that of those who hold."""
    bits = exchange.bits(layout.registers)
    if bits is None or layout.lanes % exchange.lanes:
        return None
    width = layout.registers.bit_length() - 1
    own: list[Bit] = [("reg", place) for place in range(width)]
    lanes: list[Bit] = [("lane", place) for place in range(len(bits) - width)]
    return list(zip([*own, *lanes], bits, strict=True))


def _renamed(layout: Layout, names: Mapping[Bit, Bit]) -> Layout | None:
    """The layout with the bits of lane and register under other names."""
    table: dict[str, list[Digit]] = {}
    for dim, digits in layout.table:
        bits = table[dim] = []
        for digit in digits:
            if not (_power(digit.div) and _power(digit.mod)):
                return None
            first = digit.div.bit_length() - 1
            for place in range(digit.mod.bit_length() - 1):
                own: Bit = (digit.source, first + place)
                source, number = names.get(own, own)
                bits.append(Digit(digit.coeff << place, source, 1 << number, 2))
    return Layout.make(layout.lanes, layout.registers, table)


def _power(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0

"""The exchange of fetched elements among the lanes of a group.

A group of sixteen lanes fetches vectors of equal length. Put one after another they
are rows of sixteen elements; after the exchange each lane holds one column of them,
its register ``r`` the element of row ``r``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.symbols.layout import Digit, Layout

if TYPE_CHECKING:
    from collections.abc import Callable

    from wave_core.symbols.layout import Source

EXCHANGE_LANES = 16
"""Lanes that exchange among themselves. Source: AMD CDNA4 ISA, DS_READ_B64_TR_B16."""

_GROUP_BITS = EXCHANGE_LANES.bit_length() - 1

Bit = tuple["Source", int]
"""One bit of the lane or of the register number."""


def exchanged(layout: Layout) -> Layout | None:
    """The layout after the exchange; ``None`` where no digits describe it."""
    return _swapped(layout, "reg", "lane")


def before_exchange(layout: Layout) -> Layout | None:
    """The layout to fetch in, so that the exchange gives ``layout``.

    ``None`` where there is none.
    """
    return _swapped(layout, "lane", "reg")


def _swapped(layout: Layout, fast: Source, slow: Source) -> Layout | None:
    """The layout where ``slow`` counts first, of one where ``fast`` does."""
    widths = {"reg": layout.registers.bit_length() - 1, "lane": _GROUP_BITS}

    def held(bit: Bit) -> Bit:
        source, place = bit
        if source == "lane" and place >= _GROUP_BITS:
            return bit
        position = place if source == fast else place + widths[fast]
        if position < widths[slow]:
            return slow, position
        return fast, position - widths[slow]

    return _renamed(layout, held)


def _renamed(layout: Layout, rename: Callable[[Bit], Bit]) -> Layout | None:
    """The layout with the bits of lane and register under other names."""
    if not _power(layout.registers) or layout.lanes % EXCHANGE_LANES:
        return None
    table: dict[str, list[Digit]] = {}
    for dim, digits in layout.table:
        bits = table[dim] = []
        for digit in digits:
            if not (_power(digit.div) and _power(digit.mod)):
                return None
            first = digit.div.bit_length() - 1
            for place in range(digit.mod.bit_length() - 1):
                source, number = rename((digit.source, first + place))
                bits.append(Digit(digit.coeff << place, source, 1 << number, 2))
    return Layout.make(layout.lanes, layout.registers, table)


def _power(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0

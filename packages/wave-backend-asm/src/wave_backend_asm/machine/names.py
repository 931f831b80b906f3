"""Names for registers that are not chosen yet, by which the order of operations goes.

Values that copies connect have one name where they can have the same registers: what is
written to one is not moved in front of what reads another, so that the copies need not
move anything.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING

from wave_backend_asm.order.room import Registers, Sort

if TYPE_CHECKING:
    from wave_backend_asm.allocate.liveness import Bits
    from wave_backend_asm.allocate.webs import Web
    from wave_backend_asm.code import Part, Value


class Names:
    """Names of the registers of a program.

    Attributes:
        registers: by name.
    """

    def __init__(self, webs: Sequence[Web], bits: Bits) -> None:
        """Registers that are touched one by one have names of their own."""
        self.registers: dict[Hashable, Registers] = {}
        self._first: dict[Value, int] = {}
        self._split: set[Value] = set()
        self._bits = bits
        for web in webs:
            apart = not bits.split.isdisjoint(web.values)
            self._first |= dict.fromkeys(web.values, len(self.registers))
            self._split.update(web.values if apart else ())
            row = Registers(_sort(web), 1 if apart else web.width)
            for _ in range(web.width if apart else 1):
                self.registers[len(self.registers)] = row

    def of(self, parts: Iterable[Part]) -> list[int]:
        """Names of registers."""
        found: list[int] = []
        for value, first, width in parts:
            start = self._first[value]
            if value in self._split:
                found += range(start + first, start + first + width)
            else:
                found.append(start)
        return found

    def live(self, bits: int) -> frozenset[int]:
        """Names of the registers in a set of bits."""
        found: list[int] = []
        for value in self._bits.values(bits):
            start, width = self._first[value], value.width
            if value in self._split:
                here = bits >> self._bits.first[value]
                found += [start + n for n in range(width) if here >> n & 1]
            else:
                found.append(start)
        return frozenset(found)


def _sort(web: Web) -> Sort:
    if web.files == ("s",):
        return Sort.SCALARS
    return Sort.EITHER if "a" in web.files else Sort.LANES

"""Expansion of sorts: a bitonic network over the bits of the index.

Each bit of the index along the dimension is one of the registers (or steps) or one of
the lanes. Elements whose indices differ in one bit are compared and put in order: two
vectors, or a vector and what a shuffle brings from the other lanes.

Source: K. E. Batcher, Sorting networks and their applications, AFIPS 1968.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.builtin.expand.lines import Line, Values, doubling, lines_of
from wave_core.constraints.machine import LANE
from wave_core.diagnostics import user_error
from wave_core.ops.scan import Sort
from wave_core.passes.tile_rules import expands
from wave_core.symbols import constant, eq

if TYPE_CHECKING:
    from wave_core.builtin.expand.expander import Expander
    from wave_core.builtin.expand.scope import Scope
    from wave_core.symbols import Expr


@expands(Sort)
def expand_sort(expander: Expander, op: Sort, scope: Scope) -> None:
    """Sort line by line."""
    for line in lines_of(expander, op):
        _Sorted(expander, op, line, scope).run()


class _Sorted(Line):
    """The sort of the pieces of one line."""

    def run(self) -> None:
        """Define the pieces of all results."""
        elements = self._elements()
        bits = self._bits(elements)
        for stage in range(1, len(bits) + 1):
            for bit in reversed(range(stage)):
                self._exchange(elements, bits, bit, stage)
        self._define(elements)

    def _bits(self, elements: dict[int, Values]) -> list[int]:
        """For each bit of the index the distance of lanes; 0 for one of registers.

        Where the registers are no power of two, ``elements`` is filled up.

        Raises:
            UserError: WV0342 where a bit of the index is none of a lane or register.
        """
        bits: list[int] = []
        size = 1
        for coefficient, digit in self._levels():
            count = digit if isinstance(digit, int) else digit.mod
            # Only the last one may be no power of two.
            if coefficient != size or size != 1 << len(bits):
                raise self._refused()
            size *= count
            div = 0 if isinstance(digit, int) else digit.div
            bits += [distance * div for distance in doubling(count)]
        if size & (size - 1):
            filler = self._filled()
            for at in range(1 << len(bits)):
                if self._is_slot(at, bits) and at not in elements:
                    elements[at] = filler
        return bits

    @staticmethod
    def _is_slot(at: int, bits: list[int]) -> bool:
        """Whether an index has no bit of a lane."""
        return not any(at >> bit & 1 for bit, lanes in enumerate(bits) if lanes)

    def _refused(self) -> Exception:
        return user_error(
            "WV0342",
            f"the elements along `{self._dim}` lie so that no network sorts them",
            at=self._op.location,
            label=f"sorts along `{self._dim}`",
            help="let the vector shape of the dimension be a power of two",
        )

    def _exchange(
        self, elements: dict[int, Values], bits: list[int], bit: int, stage: int
    ) -> None:
        """Put elements in order that differ in ``bit``.

        Downwards where bit ``stage`` of the index is set, so that the next stage gets
        halves that go up and down.
        """
        for at in sorted(elements):
            down = self._bit(at, bits, stage)
            if bits[bit]:
                own = elements[at]
                other = self._moved(own, bits[bit], "xor")
                low, high = self._ordered(own, other)
                last = self._bit(at, bits, bit)
                elements[at] = self._where(eq(down, last), low, high)
            elif not at >> bit & 1:
                above = at | 1 << bit
                low, high = self._ordered(elements[at], elements[above])
                up = eq(down, 0)
                elements[at] = self._where(up, low, high)
                elements[above] = self._where(up, high, low)

    @staticmethod
    def _bit(at: int, bits: list[int], bit: int) -> Expr:
        """One bit of the index of the elements that have offset ``at``."""
        if bit < len(bits) and bits[bit]:
            return LANE // bits[bit] % 2
        return constant(at >> bit & 1)

    def _ordered(self, first: Values, second: Values) -> tuple[Values, Values]:
        """The one that comes first, and the other."""
        both = self._inlined((*first, *second))
        return both[: len(first)], both[len(first) :]

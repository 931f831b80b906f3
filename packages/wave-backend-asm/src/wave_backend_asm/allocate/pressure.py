"""How many registers are live, where most are, and whose they are."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from wave_backend_asm.code import UNNAMED

if TYPE_CHECKING:
    from wave_backend_asm.allocate.budget import Budget
    from wave_backend_asm.allocate.ranges import Ranges
    from wave_backend_asm.code import Value

_SHOWN, _NAMED = 6, 4
"""Lines of which a refusal tells, and names at one of them."""


@dataclass(frozen=True)
class Peak:
    """The point where most vector registers are live, or most scalar ones.

    Attributes:
        vectors: VGPRs and AGPRs that are live there.
        scalars: SGPRs that are live there.
        point: its number.
        source: the line of the author.
    """

    vectors: int
    scalars: int
    point: int
    source: str


def peak_of(ranges: Ranges, *, scalar: bool = False) -> Peak:
    """Where most vector registers are live, or most scalar ones."""
    if not ranges.operations:
        return Peak(0, 0, 0, "")
    first, second = (ranges.live(scalar=each) for each in (scalar, not scalar))
    most, rest, before = max(
        (here, second[point], -point) for point, here in enumerate(first)
    )
    vectors, scalars = (rest, most) if scalar else (most, rest)
    return Peak(vectors, scalars, -before, ranges.operations[-before].source)


@dataclass(frozen=True)
class Holder:
    """Values of one line of the author's that are live at a point.

    Attributes:
        source: the line.
        registers: how many they have there.
        names: those that have one, each once.
    """

    source: str
    registers: int
    names: tuple[str, ...]

    def __str__(self) -> str:
        """One row of a refusal."""
        more = len(self.names) - _NAMED
        named = ", ".join(self.names[:_NAMED]) + (
            f" and {more} more" if more > 0 else ""
        )
        made = f"{self.registers} made at {self.source or 'no line'}"
        return f"{made}: {named}" if named else made


def holders_at(ranges: Ranges, point: int, *, scalar: bool) -> list[Holder]:
    """Whose the registers are that are live at a point, most first, by line."""
    sources: dict[Value, str] = {}
    for operation in ranges.operations:
        for value, _, _ in operation.defines:
            sources.setdefault(value, operation.source)
    counts: defaultdict[str, int] = defaultdict(int)
    names: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for value in ranges.at(point):
        if (value.files == ("s",)) != scalar:
            continue
        source = sources.get(value, "")
        counts[source] += ranges.registers(value, point)
        if str(value) != UNNAMED:
            names[source][str(value)] = None
    found = [Holder(each, counts[each], tuple(names[each])) for each in counts]
    return sorted(found, key=lambda holder: (-holder.registers, holder.source))


class NoRoomError(Exception):
    """The values of a program have no room in the registers of a wave.

    Whose they are is looked for when it is asked: orders are tried that do not fit.

    Attributes:
        budget: what there is.
        of_scalars: whether scalar registers are what is lacking.
    """

    def __init__(self, ranges: Ranges, budget: Budget, *, of_scalars: bool) -> None:
        """Of a program by its live ranges."""
        super().__init__()
        self._ranges, self.budget, self.of_scalars = ranges, budget, of_scalars

    @cached_property
    def peak(self) -> Peak:
        """Where most are live of those that are lacking."""
        return peak_of(self._ranges, scalar=self.of_scalars)

    @property
    def rows(self) -> tuple[str, ...]:
        """What to tell: how many are live where, and whose they are, line by line."""
        peak, budget = self.peak, self.budget
        kind = "scalar" if self.of_scalars else "vector"
        head = (
            f"{peak.vectors} vector and {peak.scalars} scalar registers are live at "
            f"{peak.source or 'a point without a line'}; a wave has {budget.vector} "
            f"and {budget.scalar}; the {kind} ones are:"
        )
        holders = holders_at(self._ranges, peak.point, scalar=self.of_scalars)
        shown = [str(each) for each in holders[:_SHOWN]]
        if rest := sum(each.registers for each in holders[_SHOWN:]):
            shown.append(f"{rest} made at {len(holders) - _SHOWN} other lines")
        return (head, *shown)

    def __str__(self) -> str:
        """All of it in one line."""
        return "; ".join(self.rows)

"""Accesses that differ by a constant, and the windows that one access can serve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.constraints.machine import REGISTER
from wave_core.ir import ACCESS, PLACEMENT, Access, Placement, region_of, resolve
from wave_core.ops.memory import Allocate, Read, Write
from wave_core.ops.traits import Trait
from wave_core.symbols import Digit, Layout, conjuncts, constant
from wave_passes_memory.copies.share import flat_offset

if TYPE_CHECKING:
    from collections.abc import Callable

    from wave_core.analysis.region_facts import RegionFacts
    from wave_core.ir import Region
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr


@dataclass(frozen=True)
class Member:
    """An access, and where along the innermost dimension it starts.

    Attributes:
        op: The read or write.
        access: Its row.
        row: The placement of what is read or written.
        start: The constant part of the innermost coordinate.
    """

    op: Read | Write
    access: Access
    row: Placement
    start: int

    @property
    def shape(self) -> tuple[Expr, ...]:
        """The dims of what is read or written."""
        return self.value.register_type.shape

    @property
    def bits(self) -> int:
        """Bits of an element."""
        return self.value.register_type.dtype.bits

    @property
    def value(self) -> Op:
        """The value that is read or written."""
        return self.op.value if isinstance(self.op, Write) else self.op

    @property
    def key(self) -> object | None:
        """Equal for accesses that may become one; ``None`` for those that may not."""
        op, access = self.op, self.access
        buffer = resolve(op.memory)
        shares = isinstance(buffer, Allocate) and buffer.offset is not None
        if op.indices or op.is_volatile or shares:
            return None
        *outer, inner = access.coordinates
        plain = inner - self.start - (REGISTER if access.registers > 1 else 0)
        parts = [plain, *outer, *conjuncts(access.mask)]
        if any(REGISTER in part.free_symbols for part in parts):
            return None
        # Coordinates say where; reads are laid out by their mapping besides.
        mapping = op.mapping if isinstance(op, Read) else None
        same = op.flags, mapping, self.value.type, access.registers, access.mask
        return resolve(op.memory).ident, *same, tuple(outer), plain

    def widened(self, count: int) -> Access:
        """The access of ``count`` elements from the first one on."""
        *outer, inner = self.access.coordinates
        if self.access.registers == 1:
            inner = inner + REGISTER
        return Access((*outer, inner), count, self.access.mask)


def families(
    region: Region,
    kind: type[Read | Write],
    separates: Callable[[Op, Op], bool],
) -> list[list[Member]]:
    """Reads or writes that differ only in a constant, nothing between that matters.

    ``separates`` says whether accesses of a memory may not pass an op.
    """
    open_: dict[object, list[Member]] = {}
    done: list[list[Member]] = []
    for op in region.ops:
        if isinstance(op, kind):
            member = _member(op)
            key = None if member is None else member.key
            if member is not None and key is not None:
                open_.setdefault(key, []).append(member)
        elif op.regions or not op.has(Trait.PURE):
            closed = [
                k for k, f in open_.items() if separates(op, resolve(f[0].op.memory))
            ]
            done.extend(open_.pop(key) for key in closed)
    return [*done, *open_.values()]


def _member(op: Read | Write) -> Member | None:
    """The access with its rows, if they say where each of its registers goes."""
    facts = region_of(op).graph.facts
    value = op.value if isinstance(op, Write) else op
    access, row = facts.get(ACCESS, op), facts.get(PLACEMENT, value)
    if access is None or row is None or row.layout.registers != access.registers:
        return None
    return Member(op, access, row, access.coordinates[-1].linear()[0])


def windows(
    family: list[Member], holds: Callable[[list[Member]], bool]
) -> list[list[Member]]:
    """The members in order of start, cut into runs as long as ``holds`` allows.

    A run has a power of two of members, which follow each other without a gap.
    """
    members = sorted(family, key=lambda m: m.start)
    found: list[list[Member]] = []
    while members:
        count = 1
        while _follow(members, count * 2) and holds(members[: count * 2]):
            count *= 2
        found.append(members[:count])
        members = members[count:]
    return found


def _follow(members: list[Member], count: int) -> bool:
    registers, first = members[0].access.registers, members[0].start
    wanted = [first + registers * n for n in range(count)]
    return [m.start for m in members[:count]] == wanted


def fits(window: list[Member], widest: int, known: RegionFacts, region: Region) -> bool:
    """Whether one access of at most ``widest`` bits serves a window, and is aligned."""
    first = window[0]
    count = first.access.registers * len(window)
    return count * first.bits <= widest and aligned(first, count, known, region)


def aligned(first: Member, width: int, known: RegionFacts, region: Region) -> bool:
    """Whether ``width`` elements from the first on start at a multiple of ``width``."""
    kind = first.op.memory.memory_type
    shape = tuple(known.geometry.bind(extent) for extent in kind.storage_shape)
    place = flat_offset(first.access.coordinates, shape).subs({REGISTER: constant(0)})
    facts = known.facts(region, first.access.registers)
    return facts.divisor(place) % width == 0


def added_digits(window: list[Member]) -> dict[str, list[Digit]] | None:
    """What the number of a member adds to the elements that its registers hold.

    By dimension, a digit of the register number for each bit of the member's: the
    members of a mapped read may go another way with each bit. ``None`` where they do
    not move by constants, or where two of them hold the same elements.
    """
    first = window[0]
    if any(m.row.layout != first.row.layout for m in window):
        return None
    found: dict[str, list[Digit]] = {}
    for dim, origin in first.row.origin:
        others = [m.row.origin_of(dim) for m in window]
        moves = [other - origin for other in others if other is not None]
        if len(moves) < len(window) or not all(move.is_constant for move in moves):
            return None
        digits = _by_bit([m.constant_value for m in moves], first.access.registers)
        if digits is None:
            return None
        found[dim] = digits
    moving = {digit.div for digits in found.values() for digit in digits}
    return found if len(moving) == (len(window) - 1).bit_length() else None


def _by_bit(moves: list[int], registers: int) -> list[Digit] | None:
    """Digits that add ``moves[n]`` for member ``n``, if its bits add up to that."""
    bits = range((len(moves) - 1).bit_length())
    for number, move in enumerate(moves):
        if move != sum(moves[1 << bit] for bit in bits if number >> bit & 1):
            return None
    weights = [(moves[1 << bit], registers << bit) for bit in bits]
    return [Digit(weight, "reg", div, 2) for weight, div in weights if weight]


def widened(row: Placement, added: dict[str, list[Digit]], registers: int) -> Placement:
    """A placement of so many registers, to whose layout digits are added."""
    layout = row.layout
    digits = {d: list(layout.digits(d)) for d in layout.dims}
    for dim, more in added.items():
        digits.setdefault(dim, []).extend(more)
    wide = Layout.make(layout.lanes, registers, digits)
    return Placement(wide, (), row.origin)

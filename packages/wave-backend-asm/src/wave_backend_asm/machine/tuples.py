"""Values that are parts of a tuple wherever they are, as what a loop loads for later.

Products read tuples, and a loop that loads their parts for its next turn carries these
one by one: copies put them together in front of each product. Such a part can have the
tuple's registers from the start, with all values that have its registers, where none of
them is made while the tuple is wanted, nor the tuple while one of them is.

Source: G. J. Chaitin, Register allocation and spilling via graph coloring, 1982; here
of the single registers of a tuple.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_backend_asm.allocate.liveness import backwards
from wave_backend_asm.code import Part
from wave_backend_asm.machine.forwarding import is_idle, renamed
from wave_backend_asm.machine.instruction import Copy, Label

if TYPE_CHECKING:
    from wave_backend_asm.allocate.liveness import Flow
    from wave_backend_asm.allocate.webs import Web
    from wave_backend_asm.code import Block, Value
    from wave_backend_asm.machine.instruction import Instruction

    Operation = Instruction | Copy


def parts_of_tuples(
    code: Sequence[Sequence[Operation]], flow: Flow, webs: Mapping[Value, Web],
    fixed: Collection[Value],
) -> list[list[Operation]] | None:  # fmt: skip
    """The operations of each block with fewer copies into tuples, if there are fewer.

    Args:
        code: the operations of each block.
        flow: what is live in them.
        webs: values that will have the same registers as each value.
        fixed: values whose registers are given, which stay.
    """
    wanted = _wanted(_copies(flow.blocks), webs, fixed)
    if not wanted:
        return None
    slots = _Slots(flow, {*wanted, *(webs[home.value] for home in wanted.values())})
    homes: dict[Value, Part] = {}
    for web, home in wanted.items():
        if slots.join(web, webs[home.value], home.first):
            homes |= dict.fromkeys(web.values, home)
    if not homes:
        return None
    changed = [[_renamed(each, homes) for each in block] for block in code]
    return [[each for each in block if not is_idle(each)] for block in changed]


def _renamed(operation: Operation, homes: dict[Value, Part]) -> Operation:
    line = renamed(operation, homes)
    assert not isinstance(line, Label), "operations stay some"
    return line


def _copies(blocks: Sequence[Block]) -> list[Copy]:
    """Those into tuples, those of inner loops first."""
    return [
        each
        for block in sorted(blocks, key=lambda block: -block.depth)
        for each in block.operations
        if isinstance(each, Copy) and each.result.width < each.result.value.width
    ]


def _wanted(
    copies: Sequence[Copy], webs: Mapping[Value, Web], fixed: Collection[Value]
) -> dict[Web, Part]:
    """The registers of a tuple for values that are copied there register by register.

    None of them is such a tuple itself.
    """
    rows: dict[Web, dict[int, Part]] = {}
    for each in copies:
        (to, first, width), (of, start, _) = each.result, each.operand
        if webs[of] is webs[to] or to in fixed or of in fixed:
            continue
        row = rows.setdefault(webs[of], {})
        for at in range(width):
            row.setdefault(start + at, Part(to, first + at, 1))
    homes = {web: _home(web, row, webs) for web, row in rows.items()}
    tuples = {webs[home.value] for home in homes.values() if home is not None}
    return {
        web: home
        for web, home in homes.items()
        if home is not None and web not in tuples
    }


def _home(web: Web, row: Mapping[int, Part], webs: Mapping[Value, Web]) -> Part | None:
    """Consecutive registers of one tuple, for all of a value, if it may lie there."""
    if {*row} != {*range(web.width)}:
        return None
    to, first, _ = row[0]
    tuple_ = webs[to]
    places = [(webs[row[at].value], row[at].first) for at in range(web.width)]
    if places != [(tuple_, first + at) for at in range(web.width)]:
        return None
    aligned = tuple_.align >= web.align and not first % web.align
    return Part(to, first, web.width) if aligned and tuple_.files == web.files else None


@dataclass
class _Slot:
    """One register of all values of a web.

    Attributes:
        bits: it, of each of them.
        met: what is live where it is written, but for what is copied to it there.
    """

    bits: int
    met: int = 0


class _Slots:
    """The registers of webs, and what they meet."""

    def __init__(self, flow: Flow, webs: Collection[Web]) -> None:
        """Look at all that writes one of them."""
        self._flow = flow
        self._of = {web: self._slots(web) for web in webs}
        by_bit = {
            bit: slot
            for slots in self._of.values()
            for slot in slots
            for bit in _each(slot.bits)
        }
        every = sum(1 << bit for bit in by_bit)
        for block, behind in zip(flow.touched, flow.behind, strict=True):
            for (operation, defined, used), live in backwards(block, behind):
                if not defined & every:
                    continue
                others = live | defined | (used if operation.early else 0)
                copied = self._copied(operation)
                for bit in _each(defined & every):
                    by_bit[bit].met |= others & ~(1 << bit | copied.get(bit, 0))

    def _slots(self, web: Web) -> list[_Slot]:
        firsts = [self._flow.bits.first[value] for value in web.values]
        return [
            _Slot(sum(1 << first + number for first in firsts))
            for number in range(web.width)
        ]

    def _copied(self, operation: object) -> dict[int, int]:
        """What a copy reads, by what it writes."""
        if not isinstance(operation, Copy):
            return {}
        bits = self._flow.bits
        to, of = (
            bits.first[part.value] + part.first
            for part in (operation.result, operation.operand)
        )
        return {to + at: 1 << of + at for at in range(operation.result.width)}

    def join(self, web: Web, into: Web, first: int) -> bool:
        """Let a web have registers of another one, if it may."""
        pairs = [*zip(self._of[web], self._of[into][first:], strict=False)]
        if any(one.met & two.bits or two.met & one.bits for one, two in pairs):
            return False
        for one, two in pairs:
            two.bits |= one.bits
            two.met |= one.met
        return True


def _each(bits: int) -> Iterator[int]:
    """The numbers of the bits that are set."""
    while bits:
        last = bits & -bits
        yield last.bit_length() - 1
        bits ^= last

"""From a list of instructions and labels to lines of assembly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from wave_backend_asm.allocate.liveness import Flow
from wave_backend_asm.allocate.pressure import NoRoomError
from wave_backend_asm.allocate.registers import Allocation, allocate
from wave_backend_asm.allocate.webs import webs_of
from wave_backend_asm.code import Block, Value
from wave_backend_asm.machine.accumulators import accumulators
from wave_backend_asm.machine.addends import added_to_others
from wave_backend_asm.machine.again import without_again
from wave_backend_asm.machine.ahead import ahead
from wave_backend_asm.machine.branches import behind_branches
from wave_backend_asm.machine.chips import CHIPS, Chip
from wave_backend_asm.machine.forwarding import forwarded
from wave_backend_asm.machine.fusing import fused
from wave_backend_asm.machine.in_place import in_place
from wave_backend_asm.machine.instruction import (
    NOWHERE,
    Copy,
    Instruction,
    Label,
    Source,
)
from wave_backend_asm.machine.islands import within_reach
from wave_backend_asm.machine.later import later
from wave_backend_asm.machine.numbers import in_pairs
from wave_backend_asm.machine.ordering import Orders
from wave_backend_asm.machine.other_lanes import from_other_lanes
from wave_backend_asm.machine.parked import parked
from wave_backend_asm.machine.scalar_loads import neighbours_together
from wave_backend_asm.machine.signs import taken
from wave_backend_asm.machine.sinking import counted, sunk
from wave_backend_asm.machine.tuples import parts_of_tuples
from wave_backend_asm.machine.unread import without_unread
from wave_backend_asm.waits.inserted import inserted
from wave_backend_asm.waits.issued import Run

if TYPE_CHECKING:
    from wave_backend_asm.allocate.budget import Budget
    from wave_backend_asm.allocate.files import Place
    from wave_backend_asm.allocate.webs import Web

Line: TypeAlias = Instruction | Copy | Label

_ALWAYS = ("s_branch", "s_endpgm")
"""Nothing behind them is reached from them."""


@dataclass(frozen=True)
class Program:
    """A program whose registers are known.

    Attributes:
        begins: the `.loc` of what stands in front of it, if that is known.
        lines: of assembly, with labels and `.loc`.
        allocation: the registers of its values.
        files: the author's files, by the numbers that `.loc` has for them.
    """

    begins: tuple[str, ...]
    lines: tuple[str, ...]
    allocation: Allocation
    files: Mapping[int, str]


@dataclass
class _Stretch:
    """Operations between two labels or jumps."""

    label: Label | None
    operations: list[Instruction | Copy] = field(
        default_factory=list["Instruction | Copy"]
    )


def assembled_program(
    lines: Sequence[Line], chip: str, budget: Budget, fixed: Mapping[Value, Place],
    at: Source = NOWHERE, *, parks: bool = False,
) -> Program:  # fmt: skip
    """The text of a program.

    Args:
        lines: instructions, and labels that they jump to.
        chip: a key of `CHIPS`.
        budget: registers of a wave.
        fixed: values whose registers are given.
        at: where the kernel begins.
        parks: whether values may wait in registers of another file.

    Raises:
        NoRoomError: values do not fit the registers.
    """
    row = CHIPS[chip]
    wanted = without_again(neighbours_together(without_unread(lines)))
    told = from_other_lanes(taken(wanted))
    joined = in_place(fused(told, literals=row.literals), fixed.keys())
    moved = behind_branches(forwarded(joined, fixed.keys()))
    stretches = _stretches(moved)
    writes = counted(o for each in stretches for o in each.operations)
    for each in stretches:
        each.operations = ahead(later(sunk(each.operations, writes), writes), writes)
    draft = _Draft.of(stretches, fixed, accumulators(moved, fixed.keys()))
    place = _placed_with_less if parks else _placed
    placed = place(draft.without_copies(), chip, budget)
    found = placed.allocation
    codes = [_instructions(each.operations, found, row) for each in placed.stretches]
    runs = [
        Run(tuple(i.issued(found.places, chip) for i in code), block.following)
        for code, block in zip(codes, placed.blocks, strict=True)
    ]
    numbers: dict[str, int] = {}
    begins, text = at.mark(numbers), list[str]()
    rows = zip(placed.stretches, codes, inserted(runs, chip), strict=True)
    for stretch, code, added in rows:
        text += _marks(stretch.label)
        text += _text(code, added, found, numbers, row)
    files = {number: name for name, number in numbers.items()}
    return Program(tuple(begins), tuple(within_reach(text)), found, files)


@dataclass(frozen=True)
class _Placed:
    """A program whose order and registers are chosen."""

    stretches: Sequence[_Stretch]
    blocks: Sequence[Block]
    allocation: Allocation


@dataclass(frozen=True)
class _Draft:
    """A program in the order that was given, and what is known of its values.

    Attributes:
        stretches: the program.
        blocks: the same, for what asks for that.
        fixed: values whose registers are given.
        spread: values that may live in AGPRs, too.
        flow: what is live.
        webs: values that can have the same registers, wherever they live.
    """

    stretches: Sequence[_Stretch]
    blocks: Sequence[Block]
    fixed: Mapping[Value, Place]
    spread: set[Value]
    flow: Flow
    webs: Sequence[Web]

    @classmethod
    def of(
        cls, stretches: Sequence[_Stretch], fixed: Mapping[Value, Place],
        spread: set[Value],
    ) -> _Draft:  # fmt: skip
        """A program, of which nothing is known yet."""
        blocks = _blocks(stretches)
        flow, used = Flow.of(blocks), _used(blocks, fixed)
        webs = webs_of(flow, dict.fromkeys(flow.bits.first, ()), used, spread)
        return cls(stretches, blocks, used, spread, flow, webs)

    @property
    def code(self) -> list[list[Instruction | Copy]]:
        """The operations of each stretch."""
        return [each.operations for each in self.stretches]

    def with_code(
        self, code: Sequence[list[Instruction | Copy]], spread: set[Value]
    ) -> _Draft:
        """Other operations."""
        pairs = zip(self.stretches, code, strict=True)
        changed = [_Stretch(each.label, operations) for each, operations in pairs]
        return _Draft.of(changed, self.fixed, spread)

    def without_copies(self) -> _Draft:
        """It has no copies into tuples, and none for products, that need not be."""
        draft = self
        of = {value: web for web in self.webs for value in web.values}
        code = parts_of_tuples(self.code, self.flow, of, self.fixed)
        if code is not None:
            lines = [each for operations in code for each in operations]
            draft = self.with_code(code, accumulators(lines, self.fixed))
            of = {value: web for web in draft.webs for value in web.values}
        rows = [added_to_others(each, of) for each in draft.code]
        values = set[Value]().union(*(row.values for row in rows))
        if not values:
            return draft
        return draft.with_code([row.operations for row in rows], draft.spread - values)


def _placed(draft: _Draft, chip: str, budget: Budget) -> _Placed:
    """A better order, if it fits and as many waves do; else the one that was given.

    Where not even that one fits as often as what is live in it would, a better one has
    the registers that it takes.
    """
    orders = Orders(draft.code, draft.flow, chip, budget, draft.webs)
    given = _Given(draft, budget)
    better = _better(draft, orders, budget, given)
    if better is not None:
        return better
    found = given.allocation
    if found.vectors > orders.alike:
        orders.alike = budget.beside(found.vectors)
        better = _better(draft, orders, budget, given)
    return better or _Placed(draft.stretches, draft.blocks, found)


_SPARE = (0, 4, 12, 24, 40, 64)
"""Registers of a file that are left over, since tuples do not fit everywhere."""


def _placed_with_less(draft: _Draft, chip: str, budget: Budget) -> _Placed:
    """The same, with values that wait in registers of another file.

    Raises:
        NoRoomError: even so they do not fit.
    """
    tries = {True: 0, False: 0}
    while True:
        scalars, vectors = _SPARE[tries[True]], _SPARE[tries[False]]
        code = parked(
            draft.code, draft.flow, draft.fixed, draft.webs,
            budget.scalar - scalars, budget.limit("v") - vectors,
        )  # fmt: skip
        changed = draft if code is None else draft.with_code(code, draft.spread)
        try:
            return _placed(changed, chip, budget)
        except NoRoomError as error:
            tries[error.of_scalars] += 1
            if tries[error.of_scalars] == len(_SPARE):
                raise


@dataclass
class _Given:
    """The order that was given."""

    draft: _Draft
    budget: Budget

    @cached_property
    def allocation(self) -> Allocation:
        """Its registers.

        Raises:
            NoRoomError: there are too few.
        """
        draft = self.draft
        return allocate(draft.blocks, self.budget, draft.fixed, draft.spread)

    def needs_more(self, most: int) -> bool:
        """Whether it has registers, and more than these."""
        try:
            return self.allocation.vectors > most
        except NoRoomError:
            return False


def _better(
    draft: _Draft, orders: Orders, budget: Budget, given: _Given
) -> _Placed | None:
    """The first order that fits; ``None`` where none does.

    Where one has too many live, and the one that was given needs more as well, which
    has no more live than any, the others are not tried.
    """
    used, spread = draft.fixed, draft.spread
    for better, most in orders.tries():
        pairs = zip(draft.stretches, better, strict=True)
        changed = [_Stretch(each.label, operations) for each, operations in pairs]
        moved = _blocks(changed)
        try:
            found = allocate(moved, budget, used, spread, most)
        except NoRoomError as error:
            if error.peak.vectors > most == orders.alike and given.needs_more(most):
                return None
            continue
        if found.vectors <= most:
            return _Placed(changed, moved, found)
    return None


def _used(blocks: Sequence[Block], fixed: Mapping[Value, Place]) -> dict[Value, Place]:
    """The given registers of values that the program touches."""
    operations = [each for block in blocks for each in block.operations]
    used = {part.value for o in operations for part in (*o.defines, *o.uses)}
    return {value: place for value, place in fixed.items() if value in used}


def _stretches(lines: Sequence[Line]) -> list[_Stretch]:
    found = [_Stretch(None)]
    for line in lines:
        if isinstance(line, Label):
            found.append(_Stretch(line))
            continue
        found[-1].operations.append(line)
        if isinstance(line, Instruction) and (line.target or line.name in _ALWAYS):
            found.append(_Stretch(None))
    return [each for each in found if each.operations or each.label is not None]


def _blocks(stretches: Sequence[_Stretch]) -> list[Block]:
    numbers = {each.label.name: n for n, each in enumerate(stretches) if each.label}
    depth, found = 0, list[Block]()
    for number, each in enumerate(stretches):
        depth = each.label.depth if each.label else depth
        following: list[int] = []
        last = each.operations[-1] if each.operations else None
        jump = last if isinstance(last, Instruction) else None
        if jump is None or jump.name not in _ALWAYS:
            following += [number + 1] if number + 1 < len(stretches) else []
        if jump is not None and jump.target:
            following.append(numbers[jump.target])
        found.append(Block(tuple(each.operations), tuple(following), depth))
    return found


def _instructions(
    operations: Sequence[Instruction | Copy], found: Allocation, chip: Chip
) -> list[Instruction]:
    """What is left of them where registers are known."""
    code: list[Instruction] = []
    for operation in operations:
        if isinstance(operation, Instruction):
            code.append(operation)
        elif not found.idle(operation):
            code += operation.instructions(found.places, pairs=chip.pairs)
    return in_pairs(code, found.places) if chip.pairs else code


def _marks(label: Label | None) -> list[str]:
    return [f"{label.name}:"] if label is not None and label.name else []


def _text(
    code: Sequence[Instruction],
    added: Sequence[Sequence[str]],
    found: Allocation,
    numbers: dict[str, int],
    chip: Chip,
) -> list[str]:
    lines: list[str] = []
    before: Source | None = None
    for instruction, front in zip(code, added, strict=True):
        if instruction.at != before and instruction.at.file:
            before = instruction.at
            lines += before.mark(numbers)
        lines += [*front, instruction.text(found.places, chip)]
    return lines

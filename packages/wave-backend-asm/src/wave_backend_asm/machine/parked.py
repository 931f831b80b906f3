"""Values that wait in registers of another file, where their own do not suffice.

A mask of lanes waits as a word of each lane, 0 or 1; words of lanes wait in AGPRs. They
are moved there by who makes them, and back in front of who reads them. That is one
instruction each time, and memory has no part in it: nobody asks for it but where a
program would be refused.

Lanes that are off keep what they had: the same lanes have to be on wherever something
that waits is made or read.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, TypeAlias

from wave_backend_asm.allocate.ranges import Ranges
from wave_backend_asm.code import Part
from wave_backend_asm.machine.forms import form_of
from wave_backend_asm.machine.instruction import Copy, Instruction
from wave_backend_asm.machine.operands import SCALARS, VECTORS, Operand, Virtual
from wave_backend_asm.machine.together import writes_lanes

if TYPE_CHECKING:
    from wave_backend_asm.allocate.liveness import Flow
    from wave_backend_asm.allocate.webs import Web
    from wave_backend_asm.code import Value

Operation: TypeAlias = Instruction | Copy
Code: TypeAlias = Sequence[Sequence[Operation]]

_TURNS = 8
"""Turns that a loop is taken to have."""

_OF_MASKS = frozenset(
    f"s_{word}_b64" for word in ("mov", "and", "or", "xor", "andn2", "orn2")
)
"""What makes a mask of masks."""

_SAVES = "s_and_saveexec_b64"

_ALL_OR_NONE = ("exec", 0, -1, 0xFFFFFFFFFFFFFFFF)


def parked(
    code: Code, flow: Flow, fixed: Collection[Value], webs: Sequence[Web],
    scalars: int, vgprs: int,
) -> list[list[Operation]] | None:  # fmt: skip
    """The program with fewer registers live; ``None`` where nothing can wait.

    Args:
        code: the operations of each block.
        flow: what is live in them.
        fixed: values whose registers are given.
        webs: values that can have the same registers.
        scalars: SGPRs that there are.
        vgprs: VGPRs that there are.
    """
    values = _Movable.of(code, flow, fixed)
    ranges = Ranges.of(flow)
    wave, lanes = (
        [v for web in webs if web.files == files for v in web.values]
        for files in (SCALARS, VECTORS)
    )
    chosen = {
        **_chosen(ranges, values.masks, wave, scalars),
        **_chosen(ranges, values.words, lanes, vgprs),
    }
    moves = _Moves(chosen)
    return [moves.rewritten(block) for block in code] if chosen else None


@dataclass(frozen=True)
class _Movable:
    """What can wait elsewhere, and how much it is moved then.

    Attributes:
        masks: masks of lanes, by how often something makes or reads them.
        words: words of lanes, in the same way.
    """

    masks: Mapping[Value, int]
    words: Mapping[Value, int]

    @classmethod
    def of(cls, code: Code, flow: Flow, fixed: Collection[Value]) -> _Movable:
        """What a program has of it."""
        touches: Counter[Value] = Counter()
        stays: set[Value] = {*fixed}
        regions: dict[Value, int] = {}
        for depth, operation, region in _with_lanes(code, flow):
            parts = (*operation.defines, *operation.uses)
            stays.update(_kept(operation))
            for value in {part.value for part in parts}:
                touches[value] += _TURNS**depth
                same = regions.setdefault(value, region) == region
                if not same or (region and _of_all_lanes(operation)):
                    stays.add(value)
        masks = _masks(code) - stays
        words = {v for v in touches if v.files == VECTORS} - stays
        return cls({v: touches[v] for v in masks}, {v: touches[v] for v in words})


def _with_lanes(code: Code, flow: Flow) -> Iterator[tuple[int, Operation, int]]:
    """Each operation with the loops around it, and a number for the lanes that run it.

    It is 0 where all do, and the same where the same lanes do in each turn of a loop.
    Lanes that are switched off come back by a move of those that there were, further
    down: code that jumps around it is in one piece.
    """
    here, numbers, before = 0, count(1), dict[Operand, int]()
    for block, operations in zip(flow.blocks, code, strict=True):
        for operation in operations:
            yield block.depth, operation, here
            if not isinstance(operation, Instruction):
                continue
            back = before.get(operation.operands[0]) if operation.operands else None
            if "exec" in operation.operands[:1] or operation.name == _SAVES:
                before |= dict.fromkeys(operation.results, here)
                here = next(numbers)
            elif writes_lanes(operation):
                here = next(numbers) if back is None else back


def _of_all_lanes(operation: Operation) -> bool:
    """Whether lanes take part that are off."""
    return isinstance(operation, Instruction) and form_of(operation.name).unit == "mfma"


def _kept(operation: Operation) -> Iterator[Value]:
    """The values of which an operation leaves a part as it was."""
    uses = {part.value for part in operation.uses}
    for part in operation.defines:
        if part.value in uses or part.width != part.value.width:
            yield part.value
    for part in operation.uses:
        if part.value.files == SCALARS and part.width != part.value.width:
            yield part.value


def _masks(code: Code) -> set[Value]:
    """Values that are made by comparisons, and of such values, whoever makes them."""
    makers: defaultdict[Value, list[Operation]] = defaultdict(list)
    for operations in code:
        for operation in operations:
            for part in operation.defines:
                if part.value.files == SCALARS and part.value.width == 2:
                    makers[part.value].append(operation)
    found = {*makers}
    while True:
        others = {v for v in found if not all(_is_mask(o, found) for o in makers[v])}
        if not others:
            return found
        found -= others


def _is_mask(maker: Operation, masks: Collection[Value]) -> bool:
    """Whether what an operation makes is a mask, if some values are."""
    if isinstance(maker, Copy):
        return maker.operand.value in masks
    if maker.name.startswith("v_cmp_"):
        return True
    return maker.name in _OF_MASKS and all(
        part.value in masks if isinstance(part, Part) else part in _ALL_OR_NONE
        for part in maker.operands
    )


def _chosen(
    ranges: Ranges, moves: Mapping[Value, int], values: Sequence[Value], most: int
) -> dict[Value, Virtual]:
    """Where those wait that have to so that at most so many registers are live.

    Args:
        ranges: where values are live.
        moves: how often what can wait is moved then.
        values: all that need registers of a file.
        most: registers of that.
    """
    live = [0] * len(ranges.operations)
    for value in values:
        _count(live, ranges, value, 1)
    found: dict[Value, Virtual] = {}
    able = [value for value in values if value in moves]
    for value in sorted(able, key=lambda v: moves[v] / _freed(ranges, v)):
        spans = [span for spans in ranges.spans[value] for span in spans]
        if any(max(live[a : b + 1]) > most for a, b in spans):
            scalar = value.files == SCALARS
            found[value] = Virtual() if scalar else Virtual(value.width, ("a",))
            _count(live, ranges, value, -1)
    return found


def _count(live: list[int], ranges: Ranges, value: Value, step: int) -> None:
    spans = ranges.spans[value]
    width = 1 if len(spans) > 1 else value.width
    for span in spans:
        for first, last in span:
            for point in range(first, last + 1):
                live[point] += step * width


def _freed(ranges: Ranges, value: Value) -> int:
    """The registers of a value, times the points at which it is live."""
    points = sum(last - first + 1 for first, last in ranges.spans[value][0])
    return value.width * max(1, points)


class _Moves:
    """Moves values away and back."""

    def __init__(self, rooms: Mapping[Value, Virtual]) -> None:
        """Of some values, where each of them waits."""
        self._rooms = rooms

    def rewritten(self, operations: Sequence[Operation]) -> list[Operation]:
        """The operations of a block, with moves in front and behind."""
        found: list[Operation] = []
        for operation in operations:
            parts = dict.fromkeys((*operation.defines, *operation.uses))
            held = {
                part: Virtual(part.width, part.value.files).all
                for part in parts
                if part.value in self._rooms
            }
            for part, other in held.items():
                if part in operation.uses:
                    found += self._back(part, other, operation)
            found.append(_with_parts(operation, held))
            for part, other in held.items():
                if part in operation.defines:
                    found += self._away(part, other, operation)
        return found

    def _back(self, part: Part, to: Part, asked: Operation) -> list[Instruction]:
        """To registers that are read."""
        room, at = self._rooms[part.value], asked.at
        if part.value.files == SCALARS:
            return [Instruction("v_cmp_ne_u32_e64", (to,), (0, room.all), at=at)]
        return [
            Instruction("v_accvgpr_read_b32", (word,), (place,), at=at)
            for word, place in _pairs(to, part, room)
        ]

    def _away(self, part: Part, of: Part, made: Operation) -> list[Instruction]:
        """From registers that were written."""
        room, at = self._rooms[part.value], made.at
        if part.value.files == SCALARS:
            return [Instruction("v_cndmask_b32_e64", (room.all,), (0, 1, of), at=at)]
        return [
            Instruction("v_accvgpr_write_b32", (place,), (word,), at=at)
            for word, place in _pairs(of, part, room)
        ]


def _pairs(held: Part, part: Part, room: Virtual) -> Iterator[tuple[Part, Part]]:
    """Each register that is read or written, and where it waits."""
    for number in range(part.width):
        yield Part(held.value, number, 1), Part(room, part.first + number, 1)


def _with_parts(operation: Operation, held: Mapping[Part, Part]) -> Operation:
    """An operation on other registers."""
    if not held:
        return operation
    if isinstance(operation, Copy):
        result, operand = operation.result, operation.operand
        return Copy(held.get(result, result), held.get(operand, operand), operation.at)
    results, operands = (
        tuple([held.get(x, x) if isinstance(x, Part) else x for x in given])
        for given in (operation.results, operation.operands)
    )
    return replace(operation, results=results, operands=operands)

"""Products add to values that somebody reads again, without copies of them.

A product is selected with the registers that it writes as those that it adds to, and
copies in front of it: where they are the same registers in the end, nothing is copied.
Where they cannot be, the product reads what would be copied, and writes other ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from wave_backend_asm.code import Part
from wave_backend_asm.machine.forms import form_of
from wave_backend_asm.machine.instruction import Copy, Instruction
from wave_backend_asm.machine.operands import VECTORS

if TYPE_CHECKING:
    from wave_backend_asm.allocate.webs import Web
    from wave_backend_asm.code import Value

    Operation = Instruction | Copy


class _Copies(NamedTuple):
    """Copies of which each reads what the one before has written.

    Attributes:
        numbers: theirs.
        first: what the first reads.
    """

    numbers: tuple[int, ...]
    first: Part


class Added(NamedTuple):
    """Operations without copies.

    Attributes:
        operations: without a label between.
        values: what products add to, and their results, which have to be in one file.
    """

    operations: list[Operation]
    values: set[Value]


def added_to_others(
    operations: Sequence[Operation], webs: Mapping[Value, Web]
) -> Added:
    """Operations without the copies that products need not have.

    Args:
        operations: in their order, without a label between.
        webs: values that will have the same registers as each value.
    """
    found = [*operations]
    values: set[Value] = set()
    held: dict[Web, _Copies] = {}
    gone: set[int] = set()
    for at, operation in enumerate(operations):
        if isinstance(operation, Copy) and _is_whole(operation):
            held = _with_copy(held, at, operation, webs)
            continue
        copies = _added(operation, held, webs)
        if copies is not None and isinstance(operation, Instruction):
            one, two, _, *scales = operation.operands
            operands = (one, two, copies.first, *scales)
            found[at] = replace(operation, operands=operands)
            gone |= {*copies.numbers}
            values |= {copies.first.value, operation.defines[0].value}
        held = _left(held, operation, webs)
    return Added([o for at, o in enumerate(found) if at not in gone], values)


def _is_whole(copy: Copy) -> bool:
    return copy.result.width == copy.result.value.width


def _with_copy(
    held: dict[Web, _Copies], at: int, copy: Copy, webs: Mapping[Value, Web]
) -> dict[Web, _Copies]:
    """What is held behind a copy."""
    to, of = webs[copy.result.value], webs[copy.operand.value]
    if to is of and to in held and copy.operand.width == copy.operand.value.width:
        numbers, first = held[to]
        return held | {to: _Copies((*numbers, at), first)}
    left = _left(held, copy, webs)
    if to is not of and to.files == of.files == VECTORS and _fits(copy):
        left[to] = _Copies((at,), copy.operand)
    return left


def _fits(copy: Copy) -> bool:
    """A product can read what is copied where it lies."""
    operand, result = copy.operand, copy.result.value
    return operand.value.align >= result.align and not operand.first % result.align


def _added(
    operation: Operation, held: Mapping[Web, _Copies], webs: Mapping[Value, Web]
) -> _Copies | None:
    """The copies that make what a product adds to and writes, if nothing else does."""
    if not isinstance(operation, Instruction) or form_of(operation.name).unit != "mfma":
        return None
    (result,), (one, two, addend, *more) = operation.defines, operation.operands
    others = {webs[e.value] for e in (one, two, *more) if isinstance(e, Part)}
    if addend != result or webs[result.value] in others:
        return None
    return held.get(webs[result.value])


def _left(
    held: Mapping[Web, _Copies], operation: Operation, webs: Mapping[Value, Web]
) -> dict[Web, _Copies]:
    """What is held behind an operation that reads or writes registers."""
    if not held:
        return {}
    written = {webs[part.value] for part in operation.defines}
    touched = written | {webs[part.value] for part in operation.uses}
    return {
        web: copies
        for web, copies in held.items()
        if web not in touched and webs[copies.first.value] not in written
    }

"""What instructions read and write that is no register of a value."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from wave_backend_asm.machine.forms import form_of
from wave_isa_amdgcn.registers import VCC_BITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_backend_asm.machine.instruction import Instruction
    from wave_backend_asm.machine.operands import Operand

_WORDS = ("vcc", "m0")
"""Registers that instructions name and that no value has."""

_BETWEEN_LANES = re.compile(r"ds_(swizzle|b?permute)_b32")
"""Instructions of LDS that touch no memory."""


class Effects(NamedTuple):
    """Things by their names.

    Attributes:
        reads: what is read.
        writes: what is written; loads of two places may change theirs, stores not. A
            buffer of LDS that is known has a name of its own; all others have one.
        lands: what of it a copy fills later; who reads it does so behind a wait of the
            author's, which nothing is moved across.
    """

    reads: frozenset[str]
    writes: frozenset[str]
    lands: frozenset[str] = frozenset()


def effects_of(instruction: Instruction) -> Effects:
    """What an instruction does beside its values."""
    written, read = _words(instruction.results), _words(instruction.operands)
    lds = f"lds {instruction.memory}" if instruction.memory else "lds"
    return _effects(instruction.name, instruction.modifiers, read, written, lds)


def _words(operands: Sequence[Operand]) -> tuple[str, ...]:
    return tuple([x for x in operands if isinstance(x, str) and x in _WORDS])


@cache
def _effects(
    name: str, modifiers: str, read: tuple[str, ...], written: tuple[str, ...], lds: str
) -> Effects:
    form = form_of(name)
    reads, writes = {*read}, {*written}
    if form.reads & VCC_BITS:
        reads.add("vcc")
    if form.unit == "lds" and not _BETWEEN_LANES.fullmatch(name):
        (reads if name.startswith("ds_read") else writes).add(lds)
    if name.startswith("s_buffer_load"):
        reads.add("buffers")
    if form.unit == "vmem":
        changes = "_load_" not in name or "sc1" in modifiers
        (writes if changes else reads).add("buffers")
    if modifiers.endswith(" lds"):
        reads.add("m0")
        writes.add(lds)
    lands = frozenset([lds] if modifiers.endswith(" lds") else [])
    return Effects(frozenset(reads), frozenset(writes), lands)

"""Instructions on virtual registers: what allocation, waits and the text ask."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from wave_backend_asm.code import Part
from wave_backend_asm.machine.forms import form_of, plain_name
from wave_backend_asm.machine.operands import Operand, Places, bits_of, text_of
from wave_backend_asm.waits.issued import NO_GROUPS, Groups, Issued
from wave_isa_amdgcn.matrix import MATRIX_FLOPS, matrix_cycles
from wave_isa_amdgcn.step import Step

if TYPE_CHECKING:
    from wave_backend_asm.machine.chips import Chip
    from wave_core.diagnostics import Location


class Source(NamedTuple):
    """A place in the author's files."""

    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.file else ""

    @classmethod
    def of(cls, location: Location | None) -> Source:
        """The place of an op; nowhere, if it is not known."""
        if location is None or not location.is_known:
            return NOWHERE
        return cls(location.file, location.line, max(location.column, 1))

    def mark(self, numbers: dict[str, int]) -> list[str]:
        """The `.loc` of what follows; a file without a number gets the next one."""
        if not self.file:
            return []
        number = numbers.setdefault(self.file, len(numbers) + 1)
        return [f".loc {number} {self.line} {self.column}"]


NOWHERE = Source()

_TO_AGPR = "v_accvgpr_write_b32"


@dataclass(eq=False, slots=True)
class Instruction:
    """One instruction; its text is name, results, operands, modifiers.

    Nobody changes one: another one is made. It is not frozen since so many are made
    that the time counts, which is three times as long for what is.

    Attributes:
        name: the mnemonic.
        results: registers that it writes.
        operands: what it reads, in the order of its text.
        modifiers: what stands behind the operands.
        keeps: registers of which it writes a part, so that it reads them too.
        demands: operations that each counter may have in flight in front of it.
        groups: what it has to do with groups of copies to LDS.
        target: the label that it may jump to.
        memory: the buffer of LDS that it touches, if it is known.
        at: the author's line.
        late: a sum or a product that may be rounded together with another one.
        negates: numbers of the operands that are taken with the other sign.
        defines: registers that it writes.
        uses: registers that it reads.
    """

    name: str
    results: tuple[Operand, ...] = ()
    operands: tuple[Operand, ...] = ()
    modifiers: str = ""
    keeps: tuple[Part, ...] = ()
    demands: Mapping[str, int] = field(default_factory=dict[str, int])
    groups: Groups = NO_GROUPS
    target: str = ""
    at: Source = NOWHERE
    late: bool = False
    negates: tuple[int, ...] = ()
    memory: str = ""
    defines: tuple[Part, ...] = field(init=False)
    uses: tuple[Part, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Find its registers, which are asked for again and again."""
        defines = tuple([part for part in self.results if isinstance(part, Part)])
        read = [part for part in self.operands if isinstance(part, Part)]
        self.defines, self.uses = defines, (*read, *self.keeps)

    @property
    def copies(self) -> bool:
        """It does more than to copy."""
        return False

    @property
    def early(self) -> bool:
        """Products write before they have read, as do wide loads for the wave.

        A load that a page is missing for is executed again. Source: LLVM,
        SMInstructions.td, loads of several words with XNACK.
        """
        unit = form_of(self.name).unit
        return unit == "mfma" or (unit == "smem" and self.defines[0].width > 1)

    @property
    def sums(self) -> tuple[Part, ...]:
        """What a product adds to."""
        return tuple([part for part in self.operands[2:3] if isinstance(part, Part)])

    @property
    def source(self) -> str:
        """The author's line."""
        return str(self.at)

    def text(self, places: Places, chip: Chip) -> str:
        """The line of assembly."""
        read = [text_of(each, places) for each in self.operands]
        for number in self.negates:
            read[number] = f"-{read[number]}"
        named = [text_of(each, places) for each in self.results] + read
        if self.target:
            named.append(self.target)
        name, modifiers = chip.spelt(self._name(places), self.modifiers)
        line = f"{name} {', '.join(named)}" if named else name
        return f"{line} {modifiers}" if modifiers else line

    def _name(self, places: Places) -> str:
        """The mnemonic; moves to AGPRs and from them are instructions of their own."""
        if self.name != "v_mov_b32":
            return self.name
        (source,), to = self.operands, places[self.defines[0].value].file
        of = places[source.value].file if isinstance(source, Part) else "v"
        return _MOVES[to, of] if "a" in (to, of) else self.name

    def issued(self, places: Places, chip: str) -> Issued:
        """What waits and wait states are placed by."""
        form, step = form_of(self.name), self._step(places, chip)
        return Issued(
            step,
            form.counter,
            step.writes & ~form.writes if form.counter else 0,
            form.scalar,
            self.demands,
            self.groups,
        )

    def _step(self, places: Places, chip: str) -> Step:
        form, name = form_of(self.name), plain_name(self._name(places))
        sources = tuple([bits_of(each, places) for each in self.operands])
        written = _union(self.results, places)
        read = form.reads | (written if form.updates else 0)  # as updates alone do
        for each in sources:
            read |= each
        return Step(
            name=name,
            unit=form.unit,
            reads=read,
            writes=form.writes | written,
            sources=sources,
            stored=0 if form.stored is None else sources[form.stored],
            to_lds=self.modifiers.endswith(" lds"),
            crosses_lanes=self.name.endswith("_dpp"),
            scalar_offset=name.startswith("BUFFER") and bool(sources and sources[-1]),
            passes=passes_of(name, chip, self.modifiers) if form.unit == "mfma" else 0,
        )


_FORMATS = re.compile(r"cbsz:(\d) blgp:(\d)")
"""The types of A and B of a product of small floats."""


@cache
def passes_of(name: str, chip: str, modifiers: str) -> int:
    """Passes of a matrix instruction, by its name and the formats of its operands."""
    found = _FORMATS.search(modifiers)
    formats = (int(found[1]), int(found[2])) if found else (0, 0)
    return matrix_cycles(name, MATRIX_FLOPS[chip], formats) // 4


def _union(operands: tuple[Operand, ...], places: Places) -> int:
    bits = 0
    for operand in operands:
        bits |= bits_of(operand, places)
    return bits


_MOVES = {
    ("s", "s"): "s_mov_b32",
    ("v", "v"): "v_mov_b32_e32",
    ("v", "s"): "v_mov_b32_e32",
    ("v", "a"): "v_accvgpr_read_b32",
    ("a", "v"): _TO_AGPR,
    ("a", "a"): "v_accvgpr_mov_b32",
}
"""The instruction that copies a register, by the files of result and operand."""

_PAIRS = {
    ("s", "s"): "s_mov_b64",
    ("v", "v"): "v_mov_b64_e32",
    ("v", "s"): "v_mov_b64_e32",
}
"""The one that copies two. Source: CDNA3 ISA, V_MOV_B64."""


@dataclass(eq=False, slots=True)
class Copy:
    """Registers that hold what others hold.

    Attributes:
        result: registers that it writes.
        operand: registers that it reads, as many.
        at: the author's line.
    """

    result: Part
    operand: Part
    at: Source = NOWHERE

    @property
    def defines(self) -> tuple[Part, ...]:
        """The result."""
        return (self.result,)

    @property
    def uses(self) -> tuple[Part, ...]:
        """The operand."""
        return (self.operand,)

    @property
    def copies(self) -> bool:
        """Nothing else."""
        return True

    @property
    def early(self) -> bool:
        """Registers are read one by one, in an order that keeps what is to be read."""
        return False

    @property
    def source(self) -> str:
        """The author's line."""
        return str(self.at)

    def instructions(self, places: Places, *, pairs: bool = True) -> list[Instruction]:
        """One for each register or pair, so that none is overwritten before it is read.

        Pairs begin at even registers on both sides, so that they do not overlap.

        Args:
            places: where values are.
            pairs: whether one instruction of lanes copies two registers.
        """
        result, operand = self.result, self.operand
        to, of = places[result.value], places[operand.value]
        first, source = to.first + result.first, of.first + operand.first
        name, pair = _MOVES[to.file, of.file], _PAIRS.get((to.file, of.file))
        has = pair is not None and (pairs or to.file == "s")
        wide = has and not (first - source) % 2
        starts = [0, *range(2 - first % 2 if wide else 1, result.width, 1 + wide)]
        rows = [*zip(starts, [*starts[1:], result.width], strict=True)]
        return [
            Instruction(
                pair if pair is not None and end - start > 1 else name,
                (Part(result.value, result.first + start, end - start),),
                (Part(operand.value, operand.first + start, end - start),),
                at=self.at,
            )
            for start, end in (rows if first <= source else reversed(rows))
        ]


@dataclass(frozen=True)
class Label:
    """A point that can be jumped to, or that nothing is moved across.

    Attributes:
        name: in the text; empty where nothing jumps to it.
        depth: loops around what follows.
    """

    name: str
    depth: int = 0

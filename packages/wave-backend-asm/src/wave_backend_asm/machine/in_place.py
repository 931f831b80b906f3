"""What a condition gives is computed where it is kept.

Lanes for which a condition does not hold keep what they have, so that its code ends
with moves that only the others execute. What is computed there for such moves alone is
written to their registers at once, by those lanes alone as well; and what these
registers began with is read from them until then, so that it need not live apart.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeGuard

from wave_backend_asm.code import Part, Register, Value, registers_of
from wave_backend_asm.machine.forms import form_of
from wave_backend_asm.machine.instruction import Copy, Instruction, Label

if TYPE_CHECKING:
    from wave_backend_asm.machine.operands import Operand
    from wave_backend_asm.machine.program import Line

_MASKED = ("valu", "lds", "vmem")
"""Units that write the lanes that are on, and no others. Source: CDNA3 ISA, "EXEC";
matrix instructions write all."""


def in_place(lines: Sequence[Line], fixed: Collection[Value]) -> list[Line]:
    """The program without the moves that need not be.

    Args:
        lines: the program.
        fixed: values whose registers are given, which stay.
    """
    bodies = [
        (body, _Moves.of(lines[body.start : body.stop])) for body in _bodies(lines)
    ]
    if not any(moves.homes for _, moves in bodies):
        return [*lines]
    touched = _Touched.of(lines)
    found: list[Line] = []
    done = 0
    for body, moves in bodies:
        code = lines[body.start : body.stop]
        homes = _Body(code, moves, touched, fixed).homes()
        found += lines[done : body.start]
        found += _written(code, homes, moves, _before(lines, body)) if homes else code
        done = body.stop
    return [*found, *lines[done:]]


def _bodies(lines: Sequence[Line]) -> Iterator[range]:
    """Code that lanes go through for which a condition holds, and that has no jumps."""
    start, target = -1, ""
    for at, line in enumerate(lines):
        if isinstance(line, Label):
            if start >= 0 and line.name == target:
                yield range(start, at)
            start = -1
        elif isinstance(line, Instruction) and line.target:
            start = at + 1 if line.name == "s_cbranch_execz" else -1
            target = line.target
        elif isinstance(line, Instruction) and _changes_lanes(line):
            start = -1


def _changes_lanes(line: Instruction) -> bool:
    return "exec" in line.results or bool(form_of(line.name).writes)


def _is_move(line: Line) -> TypeGuard[Instruction]:
    """It moves registers of lanes, in lanes that are on."""
    if not isinstance(line, Instruction) or line.name != "v_mov_b32" or not line.keeps:
        return False
    (operand,) = line.operands
    return isinstance(operand, Part) and line.keeps == line.results


@dataclass
class _Moves:
    """The moves of a body: where each register goes that goes to one place."""

    homes: dict[Register, Register] = field(default_factory=dict[Register, Register])
    places: dict[Register, int] = field(default_factory=dict[Register, int])
    """The moves in their code, by what they read."""

    @classmethod
    def of(cls, body: Sequence[Line]) -> _Moves:
        found, several = cls(), set[Register]()
        for at, line in enumerate(body):
            if not _is_move(line):
                continue
            (operand,), (result,) = map(registers_of, (line.uses[:1], line.defines))
            if operand in found.homes:
                several.add(operand)
            found.homes[operand], found.places[operand] = result, at
        for each in several:
            del found.homes[each], found.places[each]
        return found


@dataclass(frozen=True)
class _Touched:
    """How often a whole program reads and writes each register."""

    reads: Counter[Register]
    writes: Counter[Register]

    @classmethod
    def of(cls, lines: Sequence[Line]) -> _Touched:
        code = [line for line in lines if not isinstance(line, Label)]
        return cls(
            Counter(each for line in code for each in registers_of(line.uses)),
            Counter(each for line in code for each in registers_of(line.defines)),
        )


class _Body:
    """Code for the lanes that a condition holds for."""

    def __init__(
        self,
        lines: Sequence[Line],
        moves: _Moves,
        touched: _Touched,
        fixed: Collection[Value],
    ) -> None:
        """Find where it reads and writes each register."""
        self._lines, self._moves, self._touched = lines, moves, touched
        self._fixed = fixed
        self._reads: defaultdict[Register, list[int]] = defaultdict(list)
        self._writes: defaultdict[Register, list[int]] = defaultdict(list)
        for at, line in enumerate(lines):
            assert not isinstance(line, Label)
            for each in registers_of(line.uses):
                self._reads[each].append(at)
            for each in registers_of(line.defines):
                self._writes[each].append(at)

    def homes(self) -> dict[Value, Part]:
        """Values that can be written to where they are moved."""
        values = dict.fromkeys(value for value, _ in self._moves.homes)
        rows = [(value, self._home(value)) for value in values]
        return {value: home for value, home in rows if home is not None}

    def _home(self, value: Value) -> Part | None:
        """The registers that all of a value is moved to, if it may be there before."""
        homes, own = self._moves.homes, [(value, n) for n in range(value.width)]
        if value in self._fixed or not all(each in homes for each in own):
            return None
        to, first = homes[own[0]]
        wanted = [(to, first + number) for number in range(value.width)]
        if [homes[each] for each in own] != wanted or to in self._fixed:
            return None
        if first % value.align or to.align < value.align or to.files != value.files:
            return None
        if not all(map(self._is_free, own, wanted)):
            return None
        return Part(to, first, value.width)

    def _is_free(self, own: Register, home: Register) -> bool:
        """Whether nobody wants what a home held, once something is written there."""
        writes, move = self._writes[own], self._moves.places[own]
        if len(writes) != 1 or self._touched.writes[own] != 1:
            return False
        if len(self._reads[own]) != self._touched.reads[own]:
            return False
        if self._writes[home] != [move] or not self._is_masked(self._lines[writes[0]]):
            return False
        return all(at <= writes[0] or at == move for at in self._reads[home])

    @staticmethod
    def _is_masked(line: Line) -> bool:
        return isinstance(line, Instruction) and form_of(line.name).unit in _MASKED


def _before(lines: Sequence[Line], body: range) -> dict[Register, Register]:
    """What a body reads and does not write, as registers that are copied from it."""
    found: dict[Register, Register] = {}
    inside = {each for at in body for each in _written_by(lines[at])}
    written: set[Register] = set()
    for at in reversed(range(body.start - 1)):
        line = lines[at]
        if isinstance(line, Label) or (isinstance(line, Instruction) and line.target):
            break
        if isinstance(line, Copy):
            sides = map(registers_of, (line.defines, line.uses))
            pairs = zip(*sides, strict=True)
            found |= {
                operand: result
                for result, operand in pairs
                if result[0].files == operand[0].files
                if operand not in inside and not {result, operand} & written
            }
        written.update(_written_by(line))
    return found


def _written_by(line: Line) -> list[Register]:
    return [] if isinstance(line, Label) else registers_of(line.defines)


def _written(
    body: Sequence[Line],
    homes: Mapping[Value, Part],
    moves: _Moves,
    before: Mapping[Register, Register],
) -> list[Line]:
    """A body that computes values where they are kept."""
    left_out = {moves.places[v, n] for v in homes for n in range(v.width)}
    until = {
        moves.homes[each]: at
        for at, line in enumerate(body)
        for each in _written_by(line)
        if each[0] in homes
    }
    change = _Change(homes, before, until)
    return [change.line(line, at) for at, line in enumerate(body) if at not in left_out]


@dataclass(frozen=True)
class _Change:
    """Lines as they are when values are computed where they are kept.

    Attributes:
        homes: where each value is.
        before: registers that hold what others held in front of the body.
        until: where such a register is written first.
    """

    homes: Mapping[Value, Part]
    before: Mapping[Register, Register]
    until: Mapping[Register, int]

    def line(self, line: Line, at: int) -> Line:
        """One line, by its number."""
        assert not isinstance(line, Label)
        if isinstance(line, Copy):
            return replace(line, operand=self._read(line.operand, at))
        kept = [self._part(p) for p in line.defines if p.value in self.homes]
        return replace(
            line,
            results=tuple(map(self._result, line.results)),
            operands=tuple(self._operand(each, at) for each in line.operands),
            keeps=(*(self._part(each) for each in line.keeps), *kept),
        )

    def _result(self, operand: Operand) -> Operand:
        return self._part(operand) if isinstance(operand, Part) else operand

    def _operand(self, operand: Operand, at: int) -> Operand:
        return self._read(operand, at) if isinstance(operand, Part) else operand

    def _part(self, part: Part) -> Part:
        home = self.homes.get(part.value)
        if home is None:
            return part
        return Part(home.value, home.first + part.first, part.width)

    def _read(self, part: Part, at: int) -> Part:
        """Registers that hold the same; those of a home, if they are not written."""
        if part.value in self.homes:
            return self._part(part)
        held = [self.before.get(each) for each in registers_of([part])]
        if held[0] is None:
            return part
        value, first = held[0]
        if held != [(value, first + number) for number in range(part.width)]:
            return part
        if any(at > self.until.get((value, first + n), -1) for n in range(part.width)):
            return part
        aligned = part.width == 1 or not first % 2
        return Part(value, first, part.width) if aligned else part

"""The code of a kernel as it stands: by block, loop and source line, before it runs."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from wave_emulator_amdgcn.costs.rates import matrix_cycles, matrix_flops
from wave_emulator_amdgcn.costs.timeline import vector_cycles
from wave_emulator_amdgcn.errors import UnknownInstructionError
from wave_emulator_amdgcn.generations import read
from wave_emulator_amdgcn.isa.binding import prepare
from wave_emulator_amdgcn.isa.control import (
    BRANCHES,
    ENDS,
    FAR_JUMPS,
    branch_target,
)
from wave_emulator_amdgcn.usage import usage
from wave_isa_amdgcn.flow import find_loops, reached

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wave_emulator_amdgcn.codeobject import CodeObject, Kernel
    from wave_emulator_amdgcn.decode import Instruction
    from wave_isa_amdgcn.costs import Cost

_UNKNOWN = "unknown"
"""The unit of words that are no instruction; they take a word each."""


@dataclass(frozen=True)
class Row:
    """An instruction with its address, the address after it, and what executes it."""

    pc: int
    following: int
    unit: str
    instruction: Instruction | None


@dataclass(frozen=True)
class Code:
    """Some code, counted.

    Attributes:
        pc: where it begins.
        source: ``file:line`` of its first instruction; empty where it is not known.
        depth: loops around it; that of a line's code is not counted.
        units: instructions by the unit that executes them.
        flops: of its matrix instructions, of a wave that executes each once.
        least_cycles: a wave that executes each once takes no less, by its own issue,
            the vector unit and the matrix unit; waits are not in it.
    """

    pc: int
    source: str
    depth: int
    units: dict[str, int]
    flops: int
    least_cycles: int

    @property
    def instructions(self) -> int:
        """How many there are."""
        return sum(self.units.values())

    def to_json(self) -> dict[str, object]:
        """All of it as JSON values."""
        others = self.instructions - self.units.get("mfma", 0)
        beside = {"others_per_kflop": 1000 * others / self.flops} if self.flops else {}
        return {**vars(self), "instructions": self.instructions, **beside}


@dataclass(frozen=True)
class Listing:
    """All code of a kernel.

    Attributes:
        whole: all of it.
        blocks: what runs from its first instruction to its last, in order.
        loops: in the order of their heads.
        hot: the loop without another in it that multiplies most, else the longest.
        lines: by source line, in order; a line's code need not be in one piece.
    """

    whole: Code
    blocks: list[Code]
    loops: list[Code]
    hot: Code | None
    lines: list[Code]


def listing_of(code: CodeObject, kernel: Kernel, cost: Cost) -> Listing:
    """Decode a kernel, and count what can be reached from its first instruction.

    Raises:
        UnknownInstructionError: EM0301, its code is not in the file.
    """
    blocks, edges = _reached(_blocks(_rows(code, kernel)))
    bodies = find_loops(edges)

    def counted(part: Iterable[int]) -> Code:
        rows = [row for at in sorted(part) for row in blocks[at]]
        depth = sum(min(part) in body for body in bodies.values())
        return _counted(rows, code, cost, depth)

    loops = {head: counted(body) for head, body in sorted(bodies.items())}
    inner = [
        loops[head]
        for head, body in bodies.items()
        if not any(other < body for other in bodies.values())
    ]
    every = range(len(blocks))
    return Listing(
        counted(every),
        [counted([at]) for at in every],
        list(loops.values()),
        max(inner, key=lambda loop: (loop.flops, loop.instructions), default=None),
        _lines(blocks, code, cost),
    )


def _lines(blocks: Iterable[Sequence[Row]], code: CodeObject, cost: Cost) -> list[Code]:
    lines: dict[str, list[Row]] = defaultdict(list)
    for row in chain.from_iterable(blocks):
        lines[code.lines.place(row.pc) or ""].append(row)
    return [_counted(lines[s], code, cost, 0) for s in sorted(lines, key=_by_line)]


def _by_line(source: str) -> tuple[str, int]:
    name, _, line = source.rpartition(":")
    return name, int(line or 0)


def _rows(code: CodeObject, kernel: Kernel) -> list[Row]:
    found = code.elf.part(kernel.start)
    if found is None:
        raise UnknownInstructionError("EM0301", f"no code at {kernel.start:#x}")
    start, data = found
    end = min(kernel.end, start + len(data))
    rows: list[Row] = []
    pc = kernel.start
    while pc + 4 <= end:
        raw = read(data, pc - start, pc, code.architecture)
        if raw is None:
            rows.append(Row(pc, pc + 4, _UNKNOWN, None))
        else:
            ins = prepare(raw)
            rows.append(Row(pc, pc + ins.size, usage(ins).unit, ins))
        pc = rows[-1].following
    if not rows:
        raise UnknownInstructionError("EM0301", f"no code at {kernel.start:#x}")
    return rows


def _target(row: Row) -> int | None:
    if row.instruction is None or row.instruction.name not in BRANCHES:
        return None
    return branch_target(row.instruction)


def _blocks(rows: Sequence[Row]) -> list[Sequence[Row]]:
    leaders = {rows[0].pc, *filter(None, map(_target, rows))}
    for row in rows:
        ends = row.instruction is not None and row.instruction.name in ENDS
        if row.unit == "branch" or ends:
            leaders.add(row.following)
    cuts = [at for at, row in enumerate(rows) if row.pc in leaders]
    return [rows[a:b] for a, b in pairwise([*cuts, len(rows)])]


def _reached(
    blocks: list[Sequence[Row]],
) -> tuple[list[Sequence[Row]], list[list[int]]]:
    """Blocks without what fills up pages between them, and which may follow which.

    Of code that jumps to addresses in registers, everything may be reached.
    """
    names = {row.instruction.name for b in blocks for row in b if row.instruction}
    at = {block[0].pc: number for number, block in enumerate(blocks)}
    edges = [[at[pc] for pc in _following(block[-1]) if pc in at] for block in blocks]
    if names & FAR_JUMPS:
        return blocks, edges
    kept = sorted(reached(edges, 0))
    number = {old: new for new, old in enumerate(kept)}
    return [blocks[old] for old in kept], [
        [number[following] for following in edges[old]] for old in kept
    ]


def _following(last: Row) -> list[int]:
    """Where waves may go on behind the last instruction of a block."""
    name = last.instruction.name if last.instruction else ""
    target = _target(last)
    onward = [] if name in ENDS or name == "S_BRANCH" else [last.following]
    return onward if target is None else [*onward, target]


def _counted(rows: Sequence[Row], code: CodeObject, cost: Cost, depth: int) -> Code:
    units = Counter(row.unit for row in rows)
    matrix = [row.instruction for row in rows if row.instruction and row.unit == "mfma"]
    vector = [row.instruction for row in rows if row.instruction and row.unit == "valu"]
    work = {
        "issue": cost.issue * len(rows),
        "valu": sum(vector_cycles(ins, cost) for ins in vector)
        + cost.valu * len(matrix),
        "mfma": sum(matrix_cycles(ins, cost) for ins in matrix),
    }
    return Code(
        rows[0].pc,
        code.lines.place(rows[0].pc) or "",
        depth,
        dict(sorted(units.items())),
        sum(map(matrix_flops, matrix)),
        max(work.values()),
    )

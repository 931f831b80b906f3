"""Assembly text as basic blocks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_LABEL = re.compile(r'^("?[.\w$]+"?):')
_COMMENT = re.compile(r"\s*(?:;|//).*$")
_MNEMONIC = re.compile(r"^[a-z]\w*$")

BRANCHES = ("s_branch", "s_cbranch")
ENDS = ("s_endpgm", "s_setpc", "s_branch")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: mnemonic, operands, line of the listing."""

    name: str
    operands: str
    line: int


@dataclass
class Block:
    """A basic block.

    Attributes:
        label: The first label; empty where there is none.
        instructions: In order.
        successors: Positions of the blocks that may follow.
    """

    label: str = ""
    instructions: list[Instruction] = field(default_factory=list[Instruction])
    successors: set[int] = field(default_factory=set[int])


def blocks_of(text: str, kernel: str) -> list[Block]:
    """The basic blocks of a kernel, in order; none where it is not there."""
    blocks = [Block()]
    places: dict[str, int] = {}
    inside = False
    for number, raw in enumerate(text.splitlines(), 1):
        line = _COMMENT.sub("", raw).strip()
        match = _LABEL.match(line)
        if match:
            name = match[1].strip('"')
            if name == kernel:
                inside = True
            elif name.startswith(".Lfunc_end"):
                inside = False
            if inside:
                _open(blocks, places, name)
            line = line[match.end() :].strip()
        if inside and line and not line.startswith("."):
            _append(blocks, line, number)
    found = blocks if blocks[-1].instructions else blocks[:-1]
    _connect(found, places)
    return found


def _open(blocks: list[Block], places: dict[str, int], name: str) -> None:
    """Begin a block at a label; several labels may name one."""
    if blocks[-1].instructions:
        blocks.append(Block())
    blocks[-1].label = blocks[-1].label or name
    places[name] = len(blocks) - 1


def _append(blocks: list[Block], line: str, number: int) -> None:
    name, _, operands = line.partition(" ")
    name = name.split("\t")[0]
    operands = line[len(name) :].strip()
    if not _MNEMONIC.match(name):
        return
    blocks[-1].instructions.append(Instruction(name, operands, number))
    if name.startswith((*BRANCHES, "s_endpgm", "s_setpc")):
        blocks.append(Block())


def _connect(blocks: list[Block], places: dict[str, int]) -> None:
    for position, block in enumerate(blocks):
        if not block.instructions:
            continue
        last = block.instructions[-1]
        if last.name.startswith(BRANCHES):
            target = places.get(last.operands.split(",")[-1].strip())
            if target is not None:
                block.successors.add(target)
        falls = not last.name.startswith(ENDS) or last.name.startswith("s_cbranch")
        if falls and position + 1 < len(blocks):
            block.successors.add(position + 1)

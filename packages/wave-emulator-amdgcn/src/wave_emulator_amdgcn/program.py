"""Instructions of a kernel, decoded and bound when they are first reached."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_emulator_amdgcn.errors import UnknownInstructionError
from wave_emulator_amdgcn.generations import read
from wave_emulator_amdgcn.hazards.locks import is_wide
from wave_emulator_amdgcn.isa import control
from wave_emulator_amdgcn.isa.binding import bind, prepare
from wave_emulator_amdgcn.isa.vopd import halves
from wave_emulator_amdgcn.usage import Usage, usage

if TYPE_CHECKING:
    from wave_emulator_amdgcn.architectures import Architecture
    from wave_emulator_amdgcn.arrays import Selection
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.isa.control import Jump
    from wave_emulator_amdgcn.isa.vector import Run
    from wave_emulator_amdgcn.machine import Machine


@dataclass(eq=False)
class Bound:
    """An instruction that is ready to run.

    Attributes:
        instruction: as decoded, under its canonical name.
        run: executes it for a selection of waves.
        following: address after it.
        kind: ``""``, ``barrier``, ``signal``, ``end``, ``wait``, or ``poll`` for a load
            of what other workgroups may write meanwhile.
        usage: registers it reads and writes, counters it raises.
        count: executions, in waves.
        parts: the halves of a dual instruction.
    """

    instruction: Instruction
    run: Run
    following: int
    kind: str
    usage: Usage
    count: int = 0
    parts: tuple[Bound, ...] = ()

    def execute(self, machine: Machine, g: Selection) -> Jump | None:
        """Run for a selection of waves; a jump where it is one.

        Raises:
            UnknownInstructionError: EM0301, it names a register that there is not.
        """
        try:
            return self.run(machine, g)
        except IndexError as error:
            # Only the number of a register comes unchecked out of the machine code.
            text = f"{self.instruction.text} at {self.instruction.pc:#x}"
            raise UnknownInstructionError(
                "EM0301", f"no such register: {text}"
            ) from error


class Program:
    """The code of a kernel by address."""

    def __init__(
        self,
        code: bytes,
        start: int,
        architecture: Architecture,
        place: Callable[[int], str | None] = lambda _pc: None,
    ) -> None:
        """``code`` begins at address ``start``; ``place`` gives source lines."""
        self.code = code
        self.start = start
        self.architecture = architecture
        self.place = place
        self._bound: dict[int, Bound] = {}

    def at(self, pc: int) -> Bound:
        """The instruction at an address.

        Raises:
            UnknownInstructionError: EM0301, with its text, address and source line.
        """
        found = self._bound.get(pc)
        if found is None:
            found = self._bound[pc] = self._bind(pc)
        return found

    def executed(self) -> list[Bound]:
        """All instructions that ran, by address."""
        return [self._bound[pc] for pc in sorted(self._bound)]

    def _bind(self, pc: int) -> Bound:
        at = pc - self.start
        if not 0 <= at <= len(self.code) - 4:
            raise UnknownInstructionError("EM0301", f"no code at {pc:#x}")
        raw = read(self.code, at, pc, self.architecture)
        if raw is None:
            word = self.code[at : at + 4][::-1].hex()
            raise UnknownInstructionError(
                "EM0301", f"word {word} at {pc:#x}{self._line(pc)}"
            )
        ins = prepare(raw)
        try:
            run = bind(ins)
        except UnknownInstructionError as error:
            message = str(error).partition(": ")[2] + self._line(pc)
            raise UnknownInstructionError(error.code, message) from error
        following = pc + ins.size
        parts = tuple(
            Bound(half, bind(half), following, "", usage(half))
            for half in (halves(ins) if ins.encoding == "VOPD" else ())
        )
        return Bound(ins, run, following, _kind(ins), usage(ins), parts=parts)

    def _line(self, pc: int) -> str:
        place = self.place(pc)
        return f" ({place})" if place else ""


_MEMORY = re.compile("(GLOBAL|FLAT|BUFFER)_(LOAD|ATOMIC)_")

_KINDS = {
    **dict.fromkeys(control.BARRIERS, "barrier"),
    **dict.fromkeys(control.SIGNALS, "signal"),
    **dict.fromkeys(control.ENDS, "end"),
}


def _kind(ins: Instruction) -> str:
    name = ins.name
    if _MEMORY.match(name) and ("_ATOMIC_" in name or is_wide(ins)):
        return "poll"
    waits = name.startswith(("S_WAITCNT", "S_WAIT_")) and name not in control.NOTHING
    return _KINDS.get(name, "wait" if waits else "")

"""Errors of the emulator: each has a code, and none leaves memory half written."""

from __future__ import annotations

from dataclasses import dataclass

from wave_runtime import DeviceError

#: Every code with its meaning; hazards found while running are ``EM05``.
CODES = {
    "EM0101": "the file is not an AMDGCN code object, or is truncated",
    "EM0102": "the code object has no such kernel",
    "EM0103": "the emulator does not know the architecture",
    "EM0104": "the kernel descriptor or its metadata is malformed",
    "EM0201": "the number of buffers is not what the kernel takes",
    "EM0202": "a buffer is too small, or not contiguous",
    "EM0203": "the grid or the block is not what the kernel was compiled for",
    "EM0301": "an instruction is unknown to the emulator",
    "EM0302": "a mode of the hardware is not modelled",
    "EM0303": "the step limit was reached",
    "EM0304": "every wave waits, for ever",
    "EM0305": "waves go around a loop for ever, in which nothing changes any more",
    "EM0501": "race: two waves touch a cell, nothing orders them",
    "EM0502": "divergent barrier: a wave ended while others wait for it",
    "EM0503": "access outside every buffer, or beyond the workgroup's LDS",
    "EM0504": "a register is used while an operation that fills it is in flight",
    "EM0505": "memory that nobody wrote reaches an output, an address or a branch",
    "EM0506": "LDS is used while an asynchronous copy into it is in flight",
    "EM0507": "the ISA demands more wait states between two instructions",
    "EM0508": "lanes of one instruction write different values to one cell",
    "EM0509": "misaligned access",
    "EM0510": "access just past the end of a buffer resource, which cuts it off",
    "EM0511": "a register that the kernel descriptor does not ask for is used",
}


class EmulatorError(DeviceError):
    """Base of the emulator's errors; ``code`` names the row of `CODES`."""

    def __init__(self, code: str, message: str) -> None:
        """Say what happened."""
        assert code in CODES, code
        super().__init__(f"{code}: {message}")
        self.code = code


class CodeObjectError(EmulatorError):
    """The code object cannot be used."""


class LaunchError(EmulatorError):
    """The launch does not fit the kernel."""


class UnknownInstructionError(EmulatorError):
    """The emulator cannot execute an instruction."""


class StepLimitError(EmulatorError):
    """The kernel did not end within the limit."""

    @classmethod
    def at(cls, limit: int) -> StepLimitError:
        """The error for a limit in wave-instructions."""
        return cls("EM0303", f"the kernel does not end in {limit:,} wave-instructions")


class StuckError(EmulatorError):
    """Waves repeat themselves.

    Attributes:
        source: ``file:line`` of the user's program where they are, if it is known.
    """

    def __init__(self, groups: list[int], source: str | None) -> None:
        """These workgroups do."""
        shown = ", ".join(map(str, groups[:8])) + (", ..." if len(groups) > 8 else "")
        super().__init__("EM0305", f"workgroups {shown} wait for what nobody writes")
        self.source = source


@dataclass(frozen=True)
class Report:
    """One hazard, found while executing.

    Attributes:
        code: a row of `CODES`.
        message: what is wrong, with registers or bytes.
        text: the instruction.
        pc: byte address of the instruction in the code object.
        source: ``file:line`` of the user's program, where the code object has it.
        wave: ordinal of the wave in the launch.
        lane: lane of the wave, or None where the whole wave is meant.
        address: byte address or LDS offset, where there is one.
        count: how often this instruction did it.
        other_text: the other instruction, of hazards between two.
        other_pc: its address.
        other_source: its ``file:line``.
    """

    code: str
    message: str
    text: str
    pc: int
    source: str | None = None
    wave: int | None = None
    lane: int | None = None
    address: int | None = None
    count: int = 1
    other_text: str | None = None
    other_pc: int | None = None
    other_source: str | None = None

    def __str__(self) -> str:
        """One line."""
        where = f" at {self.source}" if self.source else ""
        lane = "" if self.lane is None else f" lane {self.lane}"
        wave = "" if self.wave is None else f" [wave {self.wave}{lane}]"
        at = "" if self.address is None else f" address {self.address:#x}"
        return (
            f"{self.code}: {self.message}: {self.text} (pc {self.pc:#x}){where}"
            f"{wave}{at} x{self.count}{self._other()}"
        )

    def _other(self) -> str:
        if self.other_pc is None:
            return ""
        where = f" at {self.other_source}" if self.other_source else ""
        return f"; with {self.other_text} (pc {self.other_pc:#x}){where}"

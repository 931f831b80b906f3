"""Errors of the emulator: each has a code, and none leaves memory half written."""

from __future__ import annotations

from dataclasses import dataclass

#: Every code with its meaning; hazards found while running are ``EP05``.
CODES = {
    "EP0101": "the text is not PTX",
    "EP0102": "the module has no such kernel",
    "EP0103": "the code is machine code, not PTX",
    "EP0104": "the module declares more memory than there is",
    "EP0201": "the arguments are not what the kernel takes",
    "EP0202": "an array is not contiguous, or cannot be written",
    "EP0203": "the grid, the block or the shared memory is not possible",
    "EP0204": "a tensor map is not possible",
    "EP0301": "an instruction is unknown to the emulator",
    "EP0303": "the step limit was reached",
    "EP0304": "every thread waits, for ever",
    "EP0305": "the hardware stops at an instruction",
    "EP0501": "race: two threads touch a byte of shared memory, nothing orders them",
    "EP0503": "access outside every buffer, or beyond the shared memory",
    "EP0504": "a register of an asynchronous product is used before the wait for it",
    "EP0505": "memory that nobody wrote is read",
    "EP0506": "shared memory is used while an asynchronous copy into it is in flight",
    "EP0507": "shared memory is written while asynchronous work still reads it",
    "EP0508": "threads of one instruction write different values to one byte",
    "EP0509": "misaligned access",
    "EP0510": "asynchronous work reads what no proxy fence has made visible to it",
    "EP0511": "an instruction for a whole warp is executed by a part of it",
    "EP0512": "warps of a warpgroup do not execute one product together",
    "EP0513": "a product uses registers that no wgmma.fence has ordered before it",
    "EP0514": "a barrier in memory is used as it cannot be",
    "EP0515": "a warpgroup asks for registers as it cannot",
}


class EmulatorError(Exception):
    """Base of the emulator's errors; ``code`` names the row of `CODES`."""

    def __init__(self, code: str, message: str) -> None:
        """Say what happened."""
        assert code in CODES, code
        super().__init__(f"{code}: {message}")
        self.code = code


class PtxSyntaxError(EmulatorError):
    """The text cannot be read."""

    def __init__(self, message: str, line: int) -> None:
        """What is wrong in a line, counted from 1."""
        super().__init__("EP0101", f"line {line}: {message}")
        self.line = line


class DeclarationError(EmulatorError):
    """A variable asks for more than there is."""

    def __init__(self, message: str, line: int) -> None:
        """What is too much in a line, counted from 1."""
        super().__init__("EP0104", f"line {line}: {message}")
        self.line = line


class UnknownInstructionError(EmulatorError):
    """The emulator cannot execute an instruction."""

    def __init__(self, text: str, line: int, reason: str = "") -> None:
        """The instruction, its line in the text, counted from 1, and why."""
        super().__init__("EP0301", f"line {line}: `{text}`{reason and f': {reason}'}")
        self.line = line


class LaunchError(EmulatorError):
    """The launch does not fit the kernel."""


class ExecutionError(EmulatorError):
    """The kernel cannot go on, or does not end."""


@dataclass(frozen=True)
class Report:
    """One hazard, found while executing.

    Attributes:
        code: a row of `CODES`.
        message: what is wrong, in words.
        text: the instruction.
        line: its line in the text of the module, counted from 1.
        source: ``file:line`` of the user's program, where the module has it.
        workgroup: ordinal in the launch of the workgroup where it was seen first.
        thread: ordinal in its workgroup of the first thread.
        address: byte address or offset in shared memory, where there is one.
        count: how many threads did it, over the whole launch.
        other_line: the line of the other instruction, of hazards between two.
    """

    code: str
    message: str
    text: str
    line: int
    source: str | None = None
    workgroup: int | None = None
    thread: int | None = None
    address: int | None = None
    count: int = 1
    other_line: int | None = None

    def __str__(self) -> str:
        """One line."""
        where = f" at {self.source}" if self.source else ""
        at = "" if self.address is None else f" address {self.address:#x}"
        who = f" [workgroup {self.workgroup} thread {self.thread}]"
        other = f"; with line {self.other_line}" if self.other_line else ""
        return (
            f"{self.code}: {self.message}: {self.text} (line {self.line}){where}"
            f"{who}{at} x{self.count}{other}"
        )

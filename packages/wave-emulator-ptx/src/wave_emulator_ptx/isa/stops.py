"""What stops the hardware while it executes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_emulator_ptx.errors import ExecutionError

if TYPE_CHECKING:
    from wave_emulator_ptx.syntax import Instruction


def stops(at: Instruction, message: str) -> ExecutionError:
    """The error of an instruction that nothing comes after: EP0305, with its lines."""
    where = f" at {at.source}" if at.source else ""
    return ExecutionError("EP0305", f"{at} (line {at.line}){where}: {message}")

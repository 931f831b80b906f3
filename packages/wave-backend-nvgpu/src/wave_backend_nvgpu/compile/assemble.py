"""Runs NVIDIA's programs: whatever they do, the caller lives."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from wave_backend_nvgpu.compile.remarks import Remarks, read_remarks

if TYPE_CHECKING:
    from wave_backend_nvgpu.compile.tools import Tool

if sys.platform != "win32":
    import resource


_STARVED = "Memory allocation failure"
"""What ptxas says where memory is not enough, unless it crashes."""


@dataclass(frozen=True)
class Assembled:
    """The result of the assembler.

    Attributes:
        cubin: The machine code; empty where it refused.
        remarks: What it said.
        failure: How it ended without an answer: a crash, a limit.
    """

    cubin: bytes = b""
    remarks: Remarks = field(default_factory=Remarks)
    failure: str = ""


@dataclass(frozen=True)
class Limits:
    """Of one run of a program: seconds, and MiB of memory."""

    time_s: float
    memory_mib: int


def assemble(
    text: str, target: str, tool: Tool, limits: Limits, *, lines: bool = False
) -> Assembled:
    """The machine code of PTX.

    Args:
        text: The PTX.
        target: The GPU, such as ``sm_90a``.
        tool: The assembler.
        limits: What it may take.
        lines: Whether places in the program go into the machine code.
    """
    with tempfile.TemporaryDirectory(prefix="wave-") as folder:
        given, made = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        given.write_text(text, encoding="utf-8")
        places = ["--generate-line-info"] if lines else []
        asked = ["--verbose", f"--gpu-name={target}", *places]
        asked += [str(given), f"--output-file={made}"]
        status, said = _run(tool, asked, limits)
        if isinstance(said, str):
            return Assembled(failure=said)
        words = said.decode(errors="replace")
        remarks = read_remarks(words)
        if status and _STARVED in words:
            return Assembled(failure="ran out of memory")
        if status and not remarks.errors:
            return Assembled(failure=_how(status))
        return Assembled(b"" if status else made.read_bytes(), remarks)


def disassemble(cubin: bytes, tool: Tool, limits: Limits) -> tuple[str, str]:
    """The instructions of machine code as text; or nothing, and how that ended."""
    with tempfile.TemporaryDirectory(prefix="wave-") as folder:
        given = Path(folder, "kernel.cubin")
        given.write_bytes(cubin)
        status, said = _run(tool, ["--print-code", str(given)], limits)
    if isinstance(said, str):
        return "", said
    text = said.decode(errors="replace")
    return ("", f"{_how(status)}: {text.strip()}") if status else (text, "")


def _run(tool: Tool, asked: list[str], limits: Limits) -> tuple[int, bytes | str]:
    """The status and all that was printed, or how the program ended without."""
    try:
        process = subprocess.Popen(  # noqa: S603 - the program that the user has
            [str(tool.path), *asked],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    except OSError as error:
        return 1, f"cannot be started: {error.strerror}"
    with process:
        _limit(process.pid, limits.memory_mib)
        try:
            said, _ = process.communicate(timeout=limits.time_s)
        except subprocess.TimeoutExpired:
            process.kill()
            return 1, f"took more than {limits.time_s:g} s"
        except BaseException:
            process.kill()
            raise
    return process.returncode, said


def _limit(number: int, mib: int) -> None:
    """Keep a process below so much memory, where the system can do that to others."""
    if sys.platform == "linux":
        try:
            resource.prlimit(number, resource.RLIMIT_AS, (mib << 20, mib << 20))
        except (OSError, ValueError):
            # It has ended already, or has a limit below this one.
            return


def _how(status: int) -> str:
    if status < 0:
        return f"crashed (signal {-status}: {signal.Signals(-status).name})"
    return f"ended with status {status}"

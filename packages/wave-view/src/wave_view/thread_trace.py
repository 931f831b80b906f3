"""What the tools of a GPU's vendor are told, to record one launch of a kernel.

Sources of names and ranges: ROCprofiler-SDK documentation, "Using thread trace"; Nsight
Compute CLI documentation, "Command Line Options".
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wave_core.compile.backends import backend_of
from wave_core.diagnostics import user_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.compile.kernels import KernelCase
    from wave_core.compile.session import Session

BUFFER_BYTES = 96 << 20
"""For each shader engine; what the documentation calls typical."""

_LINES = "--option=debug_lines=true"


@dataclass(frozen=True)
class Launch:
    """What is to be recorded.

    Attributes:
        kernel: The symbol of the kernel, which is taken literally.
        again: What follows ``wave run`` or ``wave trace`` to name the kernel.
        number: Which launch of the kernel, from 1.
        unit: The compute unit whose waves are recorded, 0 to 15; of AMD.
        folder: Where the trace is to be written; of AMD.
    """

    kernel: str
    again: Sequence[str]
    number: int
    unit: int
    folder: Path


@dataclass(frozen=True)
class Recorder:
    """How a tool records a launch.

    Attributes:
        commands: The command that records, and the one that shows.
        text: The input that the first one reads from a file; empty where it has none.
    """

    commands: tuple[str, ...]
    text: str = ""


def recorder(
    case: KernelCase, session: Session, launch: Launch, path: Path | None
) -> tuple[Recorder, Path]:
    """The tool of the target's vendor, told about a launch.

    Args:
        case: The kernel, settled.
        session: Whose backends and targets are asked.
        launch: What to record.
        path: The file to write, or that the tool writes; named after the kernel if left
            out.

    Returns:
        The tool, and the file: its input of AMD's, its report of NVIDIA's.

    Raises:
        UserError: WV0719 where no backend makes code for the target, WV0855 where
            nobody is known to record it.
    """
    name = case.options.target_name
    forms = backend_of(session, name).forms
    if "hsaco" in forms:
        # CDNA, whose waves have 64 lanes, takes a mask of SIMDs; RDNA takes a number.
        simds = "0xF" if session.plugins.load_target(name).wave_size == 64 else "0"
        path = path or Path(f"{launch.kernel}.att.json")
        return _rocprof(launch, path, simds), path
    if "cubin" in forms:
        path = path or Path(f"{launch.kernel}.ncu-rep")
        return _nsight(launch, path), path
    raise user_error(
        "WV0855",
        f"no tool is known that records code for target `{name}`",
        help="AMD GPUs are recorded by rocprofv3, NVIDIA GPUs by ncu",
    )


def trace_input(launch: Launch, simds: str) -> dict[str, object]:
    """The document for ``rocprofv3 -i``; ``simds`` are those that are recorded."""
    job = {
        "kernel_include_regex": _literally(launch.kernel),
        "kernel_iteration_range": f"[{launch.number}]",
        "output_directory": str(launch.folder),
        "advanced_thread_trace": True,
        "att_target_cu": launch.unit,
        "att_shader_engine_mask": "0x1",
        "att_simd_select": simds,
        "att_buffer_size": hex(BUFFER_BYTES),
    }
    return {"jobs": [job]}


def _literally(kernel: str) -> str:
    return f"^{re.escape(kernel)}$"


def _rocprof(launch: Launch, path: Path, simds: str) -> Recorder:
    same = shlex.join(launch.again)
    records = shlex.join(["rocprofv3", "-i", str(path)])
    shows = f"wave trace {same} --read {shlex.quote(str(launch.folder))}"
    commands = f"{records} -- wave run {same} --device=hip {_LINES}", shows
    return Recorder(commands, json.dumps(trace_input(launch, simds), indent=2) + "\n")


def _nsight(launch: Launch, path: Path) -> Recorder:
    asked = ["ncu", "--set", "full", "--import-source", "yes"]
    asked += ["--kernel-name", f"regex:{_literally(launch.kernel)}"]
    asked += ["--launch-skip", str(launch.number - 1), "--launch-count", "1"]
    # ncu puts the ending there.
    report = str(path).removesuffix(".ncu-rep")
    asked += ["-o", report]
    run = f"wave run {shlex.join(launch.again)} --device=cuda {_LINES}"
    return Recorder(
        (f"{shlex.join(asked)} {run}", shlex.join(["ncu-ui", f"{report}.ncu-rep"]))
    )

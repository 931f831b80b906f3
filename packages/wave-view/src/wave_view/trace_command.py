"""``wave trace KERNEL``."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from wave_core.cli.files import tell_written, writing
from wave_core.cli.load import find_case, open_session, settled_case
from wave_core.cli.output import notes, print_json
from wave_core.cli.passes import CompileOptions, TargetHere, option_changes
from wave_core.compile.devices import AUTO
from wave_runtime.artifact import write_whole
from wave_view.gather import collect
from wave_view.html import page
from wave_view.measured import with_recording
from wave_view.recorded import EVENTS, WAVES, read_recording
from wave_view.thread_trace import trace_input

if TYPE_CHECKING:
    from wave_core.compile.kernels import KernelCase
    from wave_view.recorded import Recording
    from wave_view.records import View

FAILED = 1


def trace(  # noqa: PLR0913, PLR0917 - the options of the command
    kernel: str = typer.Argument(help="A kernel's name, or FILE.py:NAME."),
    read: Path | None = typer.Option(  # noqa: B008 - typer's form
        None, help="A folder of a recorded trace, to be shown as a page."
    ),
    output: Path | None = typer.Option(  # noqa: B008 - typer's form
        None, "-o", "--output", help="The file; KERNEL.att.json, or KERNEL.html."
    ),
    folder: Path = typer.Option(  # noqa: B008 - typer's form
        Path("traces"), help="Where rocprofv3 is to write the trace."
    ),
    unit: int = typer.Option(
        1, "--cu", min=0, max=15, help="The compute unit whose waves are recorded."
    ),
    launch: int = typer.Option(1, min=1, help="Which launch of the kernel."),
    waves: str = typer.Option(
        f"0-{WAVES - 1}", help="Which recorded waves --read shows: 0-63, 7, or all."
    ),
    shape: list[str] = typer.Option([], help="Sizes: M=512,N=512."),  # noqa: B008 - typer's form
    settings: list[str] = typer.Option([], "--set", help="Settings: BLOCK_M=128."),  # noqa: B008 - typer's form
    target: TargetHere = AUTO,
    preset: str | None = typer.Option(None, help="A named configuration."),
    option: CompileOptions = [],  # noqa: B006 - typer's form
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),  # noqa: FBT001 - a flag
) -> None:
    """Record a kernel on an AMD GPU by rocprofv3, or show what was recorded."""
    wanted = _numbers(waves)
    recording = None if read is None else read_recording(read, wanted)
    session = open_session()
    case = find_case(session, kernel, shape, settings, target)
    told = option_changes(option, case.options, session.plugins)
    told = {"preset": preset, **told}
    if recording is None:
        case = settled_case(session, case, told)
        asked = trace_input(case.kernel.name, str(folder), unit, launch)
        text, ending, found = json.dumps(asked, indent=2) + "\n", "att.json", None
    else:
        found = collect(case, session, told, ("cycles",))
        found = found if found.failed else with_recording(found, recording)
        text, ending = page(found), "html"
    path = output or Path(f"{case.kernel.name}.{ending}")
    with writing(f"-o {path}"):
        write_whole(path, text.encode())
    tell_written([path])
    _tell_omissions(recording)
    if as_json:
        shown = {} if recording is None else _shown(recording)
        print_json({"kernel": case.kernel.name, "written": [str(path)], **shown})
    elif found is None:
        given = [f"--shape={each}" for each in shape]
        given += [f"--set={each}" for each in settings]
        given += [f"--option={each}" for each in option]
        given += [f"--preset={preset}"] if preset else []
        _tell_how(path, kernel, case, given, folder)
    _end(found)


def _numbers(text: str) -> range:
    """Waves by number: ``3-9``, ``7`` or ``all``."""
    if text == "all":
        return range(sys.maxsize)
    found = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", text)
    first, last = (found[1], found[2] or found[1]) if found else ("1", "0")
    if int(last) < int(first):
        message = f"`{text}` names no waves: write 0-63, 7, or all"
        raise typer.BadParameter(message, param_hint="--waves")
    return range(int(first), int(last) + 1)


def _shown(recording: Recording) -> dict[str, object]:
    """What of a trace the page shows."""
    numbers = recording.numbers
    return {
        "waves": [numbers[0], numbers[-1]],
        "waves_recorded": recording.recorded,
        "instructions_left_out": recording.left_out,
    }


def _tell_omissions(recording: Recording | None) -> None:
    """Say what of a trace the page does not show, and how to see it."""
    if recording is None:
        return
    first, last = recording.numbers[0], recording.numbers[-1]
    if len(recording.numbers) < recording.recorded:
        notes().print(
            f"shows waves {first} to {last} of {recording.recorded}: --waves chooses,"
            " --waves all shows every one",
            markup=False,
        )
    if recording.left_out:
        notes().print(
            f"leaves out {recording.left_out} instructions of these waves, beyond"
            f" {EVENTS}: of fewer --waves more is shown",
            markup=False,
        )


def _tell_how(
    path: Path, kernel: str, case: KernelCase, given: list[str], folder: Path
) -> None:
    """The commands that record and show, to be copied."""
    same = shlex.join([kernel, f"--target={case.options.target_name}", *given])
    typer.echo(
        f"rocprofv3 -i {shlex.quote(str(path))} -- wave run {same} "
        "--device=hip --option=debug_lines=true\n"
        f"wave trace {same} --read {shlex.quote(str(folder))}"
    )


def _end(found: View | None) -> None:
    if found is None:
        return
    for problem in found.problems:
        notes().print(problem.text, markup=False)
    if found.failed:
        raise typer.Exit(FAILED)

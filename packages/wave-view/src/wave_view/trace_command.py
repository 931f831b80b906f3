"""``wave trace KERNEL``."""

from __future__ import annotations

import re
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
from wave_view.thread_trace import Launch, recorder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.compile.kernels import KernelCase
    from wave_core.compile.session import Session
    from wave_view.recorded import Recording
    from wave_view.records import View

FAILED = 1


def trace(  # noqa: PLR0913, PLR0917 - the options of the command
    kernel: str = typer.Argument(help="A kernel's name, or FILE.py:NAME."),
    read: Path | None = typer.Option(  # noqa: B008 - typer's form
        None, help="A folder of a recorded trace, to be shown as a page."
    ),
    output: Path | None = typer.Option(  # noqa: B008 - typer's form
        None, "-o", "--output", help="The file; KERNEL.att.json, .ncu-rep or .html."
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
    """Record a kernel by rocprofv3 or ncu, or show what rocprofv3 recorded."""
    wanted = _numbers(waves)
    recording = None if read is None else read_recording(read, wanted)
    session = open_session()
    case = find_case(session, kernel, shape, settings, target)
    told = option_changes(option, case.options, session.plugins)
    told = {"preset": preset, **told}
    if recording is not None:
        _show(case, session, told, recording, output, as_json)
        return
    case = settled_case(session, case, told)
    given = [f"--shape={each}" for each in shape]
    given += [f"--set={each}" for each in settings]
    given += [f"--option={each}" for each in option]
    given += [f"--preset={preset}"] if preset else []
    again = [kernel, f"--target={case.options.target_name}", *given]
    asked = Launch(case.kernel.name, again, launch, unit, folder)
    tool, path = recorder(case, session, asked, output)
    written = _written(path, tool.text) if tool.text else []
    if as_json:
        print_json(
            {"kernel": asked.kernel, "written": written, "commands": [*tool.commands]}
        )
    else:
        typer.echo("\n".join(tool.commands))


def _written(path: Path, text: str) -> list[str]:
    """Write a file and say so."""
    with writing(f"-o {path}"):
        write_whole(path, text.encode())
    tell_written([path])
    return [str(path)]


def _show(
    case: KernelCase,
    session: Session,
    told: Mapping[str, object],
    recording: Recording,
    output: Path | None,
    as_json: bool,  # noqa: FBT001 - a flag
) -> None:
    """Write the page of a kernel with what was recorded."""
    found = collect(case, session, told, ("cycles",))
    found = found if found.failed else with_recording(found, recording)
    path = output or Path(f"{case.kernel.name}.html")
    written = _written(path, page(found))
    _tell_omissions(recording)
    if as_json:
        kernel = case.kernel.name
        print_json({"kernel": kernel, "written": written, **_shown(recording)})
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


def _tell_omissions(recording: Recording) -> None:
    """Say what of a trace the page does not show, and how to see it."""
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


def _end(found: View) -> None:
    for problem in found.problems:
        notes().print(problem.text, markup=False)
    if found.failed:
        raise typer.Exit(FAILED)

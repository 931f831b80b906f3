"""``wave view KERNEL``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from wave_core.cli.files import tell_written, writing
from wave_core.cli.load import find_case, open_session
from wave_core.cli.output import announce, notes, print_json
from wave_core.cli.passes import (
    CompileOptions,
    Disabled,
    Passes,
    Settings,
    TargetHere,
    Via,
    option_changes,
    pass_changes,
)
from wave_core.compile.devices import AUTO
from wave_runtime.artifact import write_whole
from wave_view.drawing import picture as make_picture
from wave_view.gather import collect
from wave_view.html import page
from wave_view.perfetto import trace as make_trace
from wave_view.server import serve

if TYPE_CHECKING:
    from wave_view.records import View

FAILED = 1


def view(  # noqa: PLR0913, PLR0917 - the options of the command
    kernel: str = typer.Argument(help="A kernel's name, or FILE.py:NAME."),
    output: Path | None = typer.Option(  # noqa: B008 - typer's form
        None, "-o", "--output", help="The file; KERNEL.html here by default."
    ),
    open_page: bool = typer.Option(  # noqa: FBT001 - a flag
        False, "--open", help="Serve the page on this machine and open a browser."
    ),
    trace: Path | None = typer.Option(  # noqa: B008 - typer's form
        None, help="A file of cycles and schedules for ui.perfetto.dev."
    ),
    picture: Path | None = typer.Option(  # noqa: B008 - typer's form
        None, help="A file of waves over time, as SVG."
    ),
    shape: list[str] = typer.Option([], help="Sizes: M=512,N=512."),  # noqa: B008 - typer's form
    settings: list[str] = typer.Option([], "--set", help="Settings: BLOCK_M=128."),  # noqa: B008 - typer's form
    target: TargetHere = AUTO,
    preset: str | None = typer.Option(None, help="A named configuration."),
    via: Via = "",
    passes: Passes = "",
    disable: Disabled = "",
    set_pass: Settings = [],  # noqa: B006 - typer's form
    option: CompileOptions = [],  # noqa: B006 - typer's form
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),  # noqa: FBT001 - a flag
) -> None:
    """Show a kernel as one page: source, IR, layouts, LDS, schedule, code, cycles."""
    session = open_session()
    case = find_case(session, kernel, shape, settings, target)
    told = option_changes(option, case.options, session.plugins)
    told |= pass_changes(case.options, passes, disable, set_pass)
    found = collect(case, session, {"preset": preset, "backend": via or None, **told})
    written: list[Path] = []
    if trace is not None:
        written.append(_write(trace, json.dumps(make_trace(found)), "--trace"))
    if picture is not None:
        written.append(_write(picture, make_picture(found), "--picture"))
    text = page(found)
    if output is not None or not (open_page or trace or picture):
        path = output or Path(f"{found.kernel}.html")
        written.append(_write(path, text, "-o"))
    _tell(found, written, as_json=as_json)
    if open_page:
        serve(text, announce)
    if found.failed:
        raise typer.Exit(FAILED)


def _write(path: Path, text: str, option: str) -> Path:
    with writing(f"{option} {path}"):
        write_whole(path, text.encode())
    return path


def _tell(found: View, written: list[Path], *, as_json: bool) -> None:
    for problem in found.problems:
        notes().print(problem.text, markup=False)
    tell_written(written)
    if as_json:
        missing = {row.view: row.why for row in found.missing}
        print_json({"kernel": found.kernel, "target": found.target,
                    "written": [str(path) for path in written], "missing": missing,
                    "failed": found.failed})  # fmt: skip

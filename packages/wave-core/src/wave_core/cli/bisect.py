"""``wave bisect KERNEL``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from wave_core.cli.load import find_case, open_session, settled_case
from wave_core.cli.output import out, print_json, print_table, print_text, progress
from wave_core.cli.passes import (
    CompileOptions,
    Disabled,
    Passes,
    Settings,
    TargetHere,
    option_changes,
    pass_changes,
)
from wave_core.compile.devices import AUTO

if TYPE_CHECKING:
    from wave_core.compile.bisect import Bisection, Stage

app = typer.Typer(add_completion=False)


@app.command()
def bisect(  # noqa: PLR0913, PLR0917 - the options of the command
    kernel: str = typer.Argument(help="A kernel's name, or FILE.py:NAME."),
    shape: list[str] = typer.Option([], help="Sizes: M=512,N=512."),  # noqa: B008 - typer's form
    settings: list[str] = typer.Option([], "--set", help="Settings: BLOCK_M=128."),  # noqa: B008 - typer's form
    target: TargetHere = AUTO,
    device: str | None = typer.Option(
        None,
        help="What runs machine code as the last stage: emulator, cuda, hip, iree.",
    ),
    preset: str | None = typer.Option(None, help="A named configuration."),
    passes: Passes = "",
    disable: Disabled = "",
    set_pass: Settings = [],  # noqa: B006 - typer's form
    option: CompileOptions = [],  # noqa: B006 - typer's form
    seed: int | None = typer.Option(
        None, min=0, help="Seed of the inputs; fresh by default, and printed."
    ),
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),  # noqa: FBT001 - a flag
) -> None:
    """Name the first pass after which a kernel computes something else.

    Simulates the kernel after each pass that changes it and compares with its
    reference. Exits with 0 where all stages are right, and 1 where one is wrong.
    """
    # The compiler loads torch and numpy; other commands go without.
    from wave_core.compile.bisect import bisect_case  # noqa: PLC0415

    session = open_session()
    case = find_case(session, kernel, shape, settings, target, device, checked=True)
    told = option_changes(option, case.options, session.plugins)
    told |= pass_changes(case.options, passes, disable, set_pass)
    # Without a device nothing but the passes is looked at.
    named = {"device": device or "sim", "preset": preset}
    with progress() as show:
        case = settled_case(session, case, {**named, **told})
        found = bisect_case(case, session=session, seed=seed, progress=show)
    if json:
        print_json(found.to_json())
    else:
        _show(found)
    if found.first_wrong is not None:
        raise typer.Exit(1)


def _show(found: Bisection) -> None:
    print_table(
        ("after", "phase", "plugin", "ran on", "max rel error", "result"),
        [_row(stage) for stage in found.stages],
    )
    out().print()
    print_text("\n".join(_verdict(found)))


def _row(stage: Stage) -> tuple[str, ...]:
    error = f"{stage.max_rel_error:.3g}" if not stage.problem else ""
    verdict = "ok"
    if not stage.is_right:
        verdict = "WRONG" if stage.problem else f"WRONG: {stage.wrong} elements"
    return stage.name, stage.phase, stage.provider, stage.device, error, verdict


def _verdict(found: Bisection) -> list[str]:
    wrong, seed = found.first_wrong, f"seed {found.seed}"
    if wrong is None:
        return [f"no stage is wrong on the inputs of {seed}"]
    lines = [f"first wrong after pass `{wrong.name}` of {wrong.provider}, {seed}"]
    if found.blames_kernel:
        where = f"the kernel and its reference, or a pass up to `{wrong.name}`"
        lines = [f"wrong on whole tiles already, {seed}: look at {where}"]
    elif not wrong.phase:
        lines = [f"every pass is right; the {wrong.name} is wrong, {seed}"]
    if wrong.element is not None:
        lines.append(str(wrong.element))
    return [*lines, *([wrong.problem] if wrong.problem else [])]

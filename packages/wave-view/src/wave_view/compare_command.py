"""``wave compare-asm KERNEL``, ``wave compare-asm KERNEL FILE``."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from wave_core.cli.load import find_case, open_session
from wave_core.cli.output import print_json, print_table, report_error
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
from wave_core.compile.backends import find_backend
from wave_core.compile.devices import AUTO
from wave_core.diagnostics import user_error
from wave_view.compare import (
    FORM,
    VIEW,
    Side,
    by_backend,
    check_machines,
    lines_of,
    of_file,
    told_apart,
    ways,
)
from wave_view.compare_tables import by_block, by_line, totals

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wave_core.compile.kernels import KernelCase
    from wave_core.compile.session import Session

FAILED = 1

_IN_FILE = re.compile(r".*\.py(:\w+)?")
"""A kernel in a file of the user's; other names with a dot or a slash are code."""


def compare_asm(  # noqa: PLR0913, PLR0917 - the options of the command
    what: str = typer.Argument(help="A kernel, FILE.py:NAME, or a code object."),
    beside: str = typer.Argument(
        "", help="Another; without it, a kernel as every backend compiles it."
    ),
    via: Via = "",
    kernel: str = typer.Option("", help="Which kernel of code objects with several."),
    shape: list[str] = typer.Option([], help="Sizes: M=512,N=512."),  # noqa: B008 - typer's form
    settings: list[str] = typer.Option([], "--set", help="Settings: BLOCK_M=128."),  # noqa: B008 - typer's form
    target: TargetHere = AUTO,
    preset: str | None = typer.Option(None, help="A named configuration."),
    passes: Passes = "",
    disable: Disabled = "",
    set_pass: Settings = [],  # noqa: B006 - typer's form
    option: CompileOptions = [],  # noqa: B006 - typer's form
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),  # noqa: FBT001 - a flag
) -> None:
    """Show machine code side by side: by source line, or by block where none is known.

    Both paths of a kernel, or a kernel beside a code object of somebody else's.
    """
    session = open_session()
    if VIEW not in session.plugins.views:
        raise user_error(
            "WV0801",
            f"no plugin has the view `{VIEW}`, which reads machine code",
            help="pip install wave-emulator-amdgcn",
        )

    def told(case: KernelCase) -> Mapping[str, object]:
        given = option_changes(option, case.options, session.plugins)
        given |= pass_changes(case.options, passes, disable, set_pass)
        return {"preset": preset, **given}

    sides: list[Side] = []
    places: list[Path | None] = []
    for name in filter(None, (what, beside)):
        if is_code(name):
            sides.append(of_file(session, Path(name), kernel))
            places.append(Path(name))
            continue
        case = find_case(session, name, shape, settings, target)
        sides += _compiled(session, case, via, told, alone=not beside)
        places += [None] * (len(sides) - len(places))
    sides = told_apart(sides, places)
    check_machines(sides, "" if target == AUTO else target)
    _show(sides, as_json=as_json)


def is_code(name: str) -> bool:
    """Whether a name is that of a file of machine code."""
    return not _IN_FILE.fullmatch(name) and ("." in name or "/" in name)


def _compiled(
    session: Session, case: KernelCase, via: str,
    told: Callable[[KernelCase], Mapping[str, object]], *, alone: bool,
) -> list[Side]:  # fmt: skip
    """A kernel by each backend; by one where it is named, or beside something else."""
    machine = case.options.target_name
    first = find_backend(session, machine, FORM, via).name
    names = ways(session, machine) if alone and not via else [first]
    return [by_backend(session, case, name, told(case)) for name in names]


def _show(sides: list[Side], *, as_json: bool) -> None:
    shown = [side for side in sides if side.found]
    lines = lines_of(shown)
    if as_json:
        print_json(
            {
                "sides": [_side(side) for side in sides],
                "lines": [asdict(line) for line in lines],
            }
        )
    else:
        for side in sides:
            if side.error is not None:
                report_error(side.error, as_json=False)
        if shown:
            print_table(*totals(shown))
            print_table(*(by_line(shown, lines) if lines else by_block(shown)))
    if len(shown) < len(sides):
        raise typer.Exit(FAILED)


def _side(side: Side) -> dict[str, object]:
    if side.error is not None:
        rows = [diagnostic.to_json() for diagnostic in side.error.diagnostics]
        return {"name": side.name, "error": side.error.code, "diagnostics": rows}
    return {"name": side.name, **(side.found or {})}

"""``wave pipeline``."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import typer

from wave_core.cli.load import open_session
from wave_core.cli.output import notes, print_json, print_table
from wave_core.cli.passes import (
    Disabled,
    Passes,
    Settings,
    TargetHere,
    pass_changes,
)
from wave_core.compile.devices import AUTO
from wave_core.compile.options import WaveCompileOptions
from wave_core.compile.pipeline import plan_for
from wave_core.diagnostics import Location

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.compile.session import Session
    from wave_core.plugin.plan import PipelineRow

app = typer.Typer(add_completion=False)


@app.command()
def pipeline(
    target: TargetHere = AUTO,
    preset: str = typer.Option("default", help="A named configuration."),
    passes: Passes = "",
    disable: Disabled = "",
    set_pass: Settings = [],  # noqa: B006 - typer's form
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),  # noqa: FBT001 - a flag
) -> None:
    """List every pass with its plugin and the reason for its place."""
    session = open_session()
    machine = session.target(target)
    options = WaveCompileOptions(
        target=machine.name, preset=preset, location=Location.unknown()
    )
    options = replace(options, **pass_changes(options, passes, disable, set_pass))
    plan = plan_for(session, options, machine)
    rows = plan.rows()
    emitted = _module_passes(session, machine.name, options.disable_passes)
    if json:
        print_json(
            {
                "target": machine.name,
                "preset": preset,
                "passes": [asdict(row) for row in rows],
                "module_passes": [
                    dict(zip(_MODULE, row, strict=True)) for row in emitted
                ],
                "log": list(plan.selection.log),
            }
        )
        return
    for line in plan.selection.log:
        notes().print(line, style="dim", markup=False)
    print_table(("phase", "pass", "plugin", "why here", "what it does"), _cells(rows))
    if emitted:
        print_table(
            ("on what is emitted", "plugin", "backend", "what it does"), emitted
        )


_MODULE = ("name", "provider", "backend", "summary")


def _module_passes(
    session: Session, target: str, off: Sequence[str]
) -> list[tuple[str, ...]]:
    """The passes that run on the modules that backends for ``target`` emit."""
    plugins = session.plugins
    fitting = {
        each.value.name
        for each in plugins.backends.values()
        if target in each.value.targets
    }
    return [
        (each.value.name, each.provider.name, each.value.backend, each.value.summary)
        for _, each in sorted(plugins.module_pass_specs.items())
        if each.value.backend in fitting and each.value.name not in off
    ]


def _cells(rows: tuple[PipelineRow, ...]) -> list[tuple[str, ...]]:
    """The cells; a phase is named where it begins."""
    cells: list[tuple[str, ...]] = []
    last = ""
    for row in rows:
        phase = str(row.phase) if row.runs else "(not run)"
        shown = "" if phase == last else phase
        last = phase
        cells.append((shown, row.name, row.provider, row.reason, row.summary))
    return cells

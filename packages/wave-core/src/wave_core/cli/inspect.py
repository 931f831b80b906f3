"""``wave inspect KERNEL``."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING

import typer

from wave_core.cli.assembly import show_assembly
from wave_core.cli.load import find_case, open_session, settled_case
from wave_core.cli.output import out, print_json, print_table, print_text
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
from wave_core.cli.roofline import show_roofline
from wave_core.cli.views import show_view
from wave_core.compile.devices import AUTO

if TYPE_CHECKING:
    from wave_core.cli.ownership import Ownership
    from wave_core.compile.kernel import WaveKernel
    from wave_core.ir.graph import Graph

app = typer.Typer(add_completion=False)


class What(StrEnum):
    """The view to show."""

    IR = "ir"
    INDEX = "index"
    LAYOUT = "layout"
    ASM = "asm"
    ROOFLINE = "roofline"


#: Where each is most telling, unless a phase is given.
_PHASES = {What.LAYOUT: "distribute"}


@app.command()
def inspect(  # noqa: PLR0913, PLR0917 - the options of the command
    kernel: str = typer.Argument(help="A kernel's name, or FILE.py:NAME."),
    what: str = typer.Option(
        What.IR, help="ir, index, layout, asm, roofline; or a plugin's view: cycles."
    ),
    phase: str | None = typer.Option(None, help="After which phase or pass."),
    value: int | None = typer.Option(
        None, help="Layout: a value, by its key after --phase."
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
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),  # noqa: FBT001 - a flag
) -> None:
    """Show the IR, the indices, the layouts or the limits of a kernel."""
    # The compiler loads torch; other commands go without.
    from wave_core.compile.compiler import wave_compile  # noqa: PLC0415
    from wave_core.compile.roofline import roofline  # noqa: PLC0415

    session = open_session()
    case = find_case(session, kernel, shape, settings, target)
    told = option_changes(option, case.options, session.plugins)
    told |= pass_changes(case.options, passes, disable, set_pass)
    given = {"preset": preset, "backend": via or None, **told}
    case = settled_case(session, case, given)
    if what not in set(What):
        show_view(session, case, what, own=tuple(What), as_json=json)
        return
    if what == What.ASM:
        show_assembly(session, case, as_json=json)
        return
    compiled = wave_compile(case.options, case.kernel, session=session)
    if what == What.ROOFLINE:
        show_roofline(roofline(compiled.compiled, case.shape), as_json=json)
        return
    graph = _graph(compiled, What(what), phase)
    if what == What.IR:
        _show_ir(graph, as_json=json)
    elif what == What.INDEX:
        _show_index(graph, as_json=json)
    else:
        _show_layout(graph, compiled.name, value, as_json=json)


def _graph(kernel: WaveKernel, what: What, phase: str | None) -> Graph:
    wanted = phase or _PHASES.get(what)
    if wanted == "trace":
        return kernel.trace_graph
    return kernel.graph if wanted is None else kernel.snapshots(wanted)


def _show_ir(graph: Graph, *, as_json: bool) -> None:
    text = str(graph)
    if as_json:
        print_json({"kernel": graph.name, "ir": text})
    else:
        print_text(text)


def _show_index(graph: Graph, *, as_json: bool) -> None:
    from wave_core.cli.index import index_rows  # noqa: PLC0415 - as above

    rows = index_rows(graph)
    if as_json:
        print_json({"kernel": graph.name, "values": [asdict(row) for row in rows]})
        return
    print_table(
        ("key", "op", "type", "who holds which element", "origin or address", "line"),
        [row.cells() for row in rows],
    )


def _show_layout(graph: Graph, name: str, value: int | None, *, as_json: bool) -> None:
    from wave_core.cli.ownership import chosen_values, ownership  # noqa: PLC0415

    chosen = chosen_values(graph, value)
    found = [ownership(graph, op, title) for title, op in chosen]
    panels = [panel for panel in found if panel is not None]
    if not panels:
        raise typer.BadParameter("no value with a layout; see --what index")
    if as_json:
        print_json({"kernel": name, "values": [panel.to_json() for panel in panels]})
    else:
        for panel in panels:
            _print_panel(panel)


def _print_panel(panel: Ownership) -> None:
    rows, columns = panel.dims
    out().print(
        f"{panel.title}; lane of each element, {rows or '-'} down, {columns} across",
        markup=False,
    )
    width = len(str(int(panel.lane.max())))
    for row in panel.lane:
        print_text(" ".join(str(int(lane)).rjust(width) for lane in row))

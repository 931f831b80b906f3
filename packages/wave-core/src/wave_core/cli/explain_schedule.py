"""``wave explain-schedule KERNEL``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from wave_core.cli.load import find_case, open_session, with_options
from wave_core.cli.output import print_json, print_table, print_text
from wave_core.cli.passes import CompileOptions, option_changes
from wave_core.passes.selection import unknown_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.compile.alternatives import Row
    from wave_core.compile.kernels import KernelCase
    from wave_core.plugin.results import Choice

app = typer.Typer(add_completion=False)


@app.command(name="explain-schedule")
def explain_schedule(
    kernel: str = typer.Argument(help="A kernel's name, or FILE.py:NAME."),
    target: str = typer.Option(help="The machine to compile for: gfx942."),
    shape: list[str] = typer.Option([], help="Sizes: M=512,N=512."),  # noqa: B008 - typer's form
    settings: list[str] = typer.Option([], "--set", help="Settings: BLOCK_M=128."),  # noqa: B008 - typer's form
    preset: str = typer.Option("auto", help="The preset that chooses."),
    option: CompileOptions = [],  # noqa: B006 - typer's form
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),  # noqa: FBT001 - a flag
) -> None:
    """Say how a kernel would be compiled, and why not in other ways."""
    # The compiler loads torch; other commands go without.
    from wave_core.compile.alternatives import all_choices, as_tried  # noqa: PLC0415

    session = open_session()
    case = find_case(session, kernel, shape, settings, target)
    named = {"preset": preset, **option_changes(option, case.options, session.plugins)}
    case = with_options(case, named)
    if not session.plugins.choosers_for(preset):
        known = session.plugins.choosers
        raise unknown_name("preset that chooses", preset, known)
    found = as_tried(all_choices(case, session), session)
    if json:
        rows = [_as_json(*each) for each in found]
        machine = case.options.target_name
        print_json({"kernel": case.kernel.name, "target": machine, "choices": rows})
    elif found:
        print_table(*_table(found))
    else:
        print_text("nothing to choose: the kernel is compiled as preset `default` says")


def _as_json(case: KernelCase, choice: Choice) -> dict[str, object]:
    return {
        "kernel": case.kernel.name,
        "subs": {str(symbol): _plain(value) for symbol, value in choice.subs.items()},
        "options": dict(choice.options),
        "figures": dict(choice.figures),
        "refused": choice.refused,
    }


def _plain(value: object) -> object:
    return value if isinstance(value, int) else str(value)


def _table(found: Sequence[Row]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Titles and rows: the options, values of open symbols, figures, and why not.

    Where there are several kernels, the first column names them.
    """
    choices = [each for _, each in found]
    names = [case.kernel.name for case, _ in found]
    symbols = dict.fromkeys(str(symbol) for each in choices for symbol in each.subs)
    options = dict.fromkeys(name for each in choices for name in each.options)
    figures = dict.fromkeys(title for each in choices for title in each.figures)
    titles = (*options, *symbols, *figures, "why not")
    rows = [_row(each, (*options, *symbols), tuple(figures)) for each in choices]
    if len(set(names)) == 1:
        return titles, rows
    named = zip(names, rows, strict=True)
    return ("kernel", *titles), [(name, *row) for name, row in named]


def _row(
    choice: Choice, words: tuple[str, ...], figures: tuple[str, ...]
) -> tuple[str, ...]:
    told = {str(symbol): str(value) for symbol, value in choice.subs.items()}
    told |= {name: str(value) for name, value in choice.options.items()}
    numbers = {title: f"{value:,.0f}" for title, value in choice.figures.items()}
    cells = (told.get(name, "") for name in words)
    return (*cells, *(numbers.get(title, "") for title in figures), choice.refused)

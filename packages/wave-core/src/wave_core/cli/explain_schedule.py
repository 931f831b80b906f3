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
    from wave_core.compile.alternatives import (  # noqa: PLC0415
        all_choices,
        as_tried,
        without_choice,
    )

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
        return
    if found:
        print_table(*_table(found))
    if all(choice.refused for _, choice in found):
        left = without_choice(case, session).preset
        why = "no choice fits" if found else "nothing to choose"
        print_text(f"{why}: the kernel is compiled as preset `{left}` says")


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
    """Titles and rows: the figures of each choice, and how it compiles the kernel."""
    figures = dict.fromkeys(title for _, each in found for title in each.figures)
    several = len({case.kernel.name for case, _ in found}) > 1
    rows = [
        (
            *(_figure(choice, title) for title in figures),
            _how(choice, case.kernel.name if several else ""),
        )
        for case, choice in found
    ]
    return (*figures, "compiled as"), rows


def _figure(choice: Choice, title: str) -> str:
    value = choice.figures.get(title)
    return "" if value is None else f"{value:,.0f}"


def _how(choice: Choice, kernel: str) -> str:
    """Words as the command line takes them, and below them why not."""
    told = {name: value for name, value in choice.options.items() if name != "preset"}
    told |= {str(symbol): value for symbol, value in choice.subs.items()}
    first = (kernel, choice.options.get("preset", ""))
    words = [str(word) for word in first if word]
    words += [f"{name}={_said(value)}" for name, value in told.items()]
    why = f"\nnot: {choice.refused}" if choice.refused else ""
    return " ".join(words) + why


def _said(value: object) -> str:
    several = isinstance(value, tuple)
    return ",".join(map(str, value)) if several else str(value)  # pyright: ignore[reportUnknownArgumentType] - of any

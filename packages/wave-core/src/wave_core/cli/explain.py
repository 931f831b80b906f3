"""``wave explain CODE``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from wave_core.cli.output import print_json, print_table, print_text
from wave_core.compile.session import default_session
from wave_core.diagnostics import WaveError, catalogue, explain as explanation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.diagnostics import Code

app = typer.Typer(add_completion=False)


@app.command()
def explain(
    code: str = typer.Argument("", help="The code, such as WV0203; all by default."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),  # noqa: FBT001 - a flag
) -> None:
    """Explain a diagnostic code, or list them all."""
    known = _known_codes()
    if not code:
        rows = [(row.name, row.title) for row in known.values()]
        if json:
            print_json({"codes": dict(rows)})
        else:
            print_table(("code", "meaning"), rows)
        return
    text = explanation(code, known)
    if not json:
        print_text(text)
        return
    row = known[code.strip().upper()]
    print_json({"code": row.name, "title": row.title, "text": text})


def _known_codes() -> Mapping[str, Code]:
    """The codes of core and of plugins; core's alone where a plugin is broken."""
    try:
        table = default_session().plugins.diagnostics
    except WaveError:
        return catalogue()
    return {name: each.value for name, each in table.items()}

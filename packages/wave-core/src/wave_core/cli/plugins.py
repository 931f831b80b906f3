"""``wave plugins``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from wave_core.cli.load import open_session
from wave_core.cli.output import print_json, print_table

if TYPE_CHECKING:
    from wave_core.plugin.manager import PluginHost

app = typer.Typer(add_completion=False)


@app.command()
def plugins(
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),  # noqa: FBT001 - a flag
) -> None:
    """List the plugins, and everything that each brings."""
    host = open_session().plugins
    if json:
        print_json({"plugins": plugin_rows(host), "provides": provided(host)})
        return
    rows = [
        (row["name"], row["distribution"], row["version"], row["state"])
        for row in plugin_rows(host)
    ]
    print_table(("plugin", "package", "version", "state"), rows)
    print_table(
        ("kind", "name", "plugin", "summary"),
        [
            (kind, row["name"], row["provider"], row["summary"])
            for kind, listed in provided(host).items()
            for row in listed
        ],
    )


def plugin_rows(host: PluginHost) -> list[dict[str, str]]:
    """The plugins that are loaded, then those that are disabled."""
    loaded = [(plugin.info, "loaded") for plugin in host.plugins]
    disabled = [(info, "disabled") for info in host.disabled]
    return [{**asdict(info), "state": state} for info, state in (*loaded, *disabled)]


def provided(host: PluginHost) -> dict[str, list[dict[str, str]]]:
    """Registrations of plugins, by kind."""
    return {
        kind: [
            {
                "name": name,
                "provider": each.provider.name,
                "summary": _summary(each.value),
            }
            for name, each in table.items()
        ]
        for kind, table in host.tables().items()
    }


def _summary(value: object) -> str:
    told = (getattr(value, name, "") for name in ("summary", "help", "title"))
    return next((str(text) for text in told if text), "")

"""Subcommands that plugins add, loaded when they are run."""

from __future__ import annotations

from functools import cache
from typing import Any

import typer
from typer.core import TyperCommand

from wave_core.compile.session import default_session
from wave_core.diagnostics import WaveError


@cache
def command_names() -> dict[str, str]:
    """Names and summaries of plugins' commands.

    None where a plugin is broken: the command that is run says so, and commands that
    help to find out, like ``explain``, go on.
    """
    try:
        table = default_session().plugins.commands
    except WaveError:
        return {}
    return {name: each.value.summary for name, each in table.items()}


def placeholder(name: str, summary: str) -> TyperCommand:
    """The line of help for a command that is not loaded."""
    return TyperCommand(name, help=summary, short_help=summary)


def load_command(name: str) -> Any:
    """The command of a plugin.

    Raises:
        PluginError: WV0814 where it cannot be loaded.
    """
    found: Any = default_session().plugins.load_command(name)
    if isinstance(found, typer.Typer):
        return typer.main.get_command(found)
    single = typer.Typer(add_completion=False)
    single.command(name)(found)
    return typer.main.get_command(single)

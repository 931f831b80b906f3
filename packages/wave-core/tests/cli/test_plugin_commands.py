"""Subcommands of plugins join; broken plugins do not break the rest."""

from __future__ import annotations

import sys
import types

import pytest
import typer

from wave_core.cli import app, plugin_commands
from wave_core.compile import Session
from wave_core.diagnostics import plugin_error
from wave_core.plugin import CommandSpec, hookimpl


def greet(name: str = "you", loud: bool = False) -> None:
    typer.echo(f"hello {name}{'!' if loud else ''}")


def refuse() -> None:
    raise plugin_error("WV0819", "no")


@pytest.fixture
def commands(monkeypatch):
    """Installs a plugin with commands, by name: the object."""

    def install(**objects):
        module = types.ModuleType("toy_commands")
        vars(module).update(objects)
        monkeypatch.setitem(sys.modules, "toy_commands", module)

        @hookimpl
        def wave_register_commands():
            for name in objects:
                yield CommandSpec(name, f"toy_commands:{name}", f"does {name}")

        plugin = types.ModuleType("toy")
        plugin.REQUIRES_API = (1, 0)
        plugin.wave_register_commands = wave_register_commands
        session = Session({"toy": plugin}, entry_points=())
        monkeypatch.setattr(plugin_commands, "default_session", lambda: session)
        plugin_commands.command_names.cache_clear()

    yield install
    plugin_commands.command_names.cache_clear()


def test_function_becomes_a_command(commands, capsys):
    commands(greet=greet)
    assert app.run_command(["greet", "--name", "wave", "--loud"]) == 0
    assert capsys.readouterr().out == "hello wave!\n"


def test_application_becomes_a_group(commands, capsys):
    group = typer.Typer()
    group.command("one")(greet)
    group.command("two")(refuse)
    commands(tools=group)
    assert app.run_command(["tools", "one"]) == 0
    assert capsys.readouterr().out == "hello you\n"
    assert app.run_command(["tools", "two"]) == 1


def test_help_lists_it_without_loading(commands, capsys):
    commands(greet="this is no command")
    assert app.run_command(["--help"]) == 0
    assert "does greet" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("variable", "value"), [("WAVE_CACHE", "perhaps"), ("WAVE_DISABLE_PLUGINS", "core")]
)
def test_broken_environment_does_not_stop_explain(monkeypatch, capsys, variable, value):
    monkeypatch.setenv(variable, value)
    monkeypatch.setattr(plugin_commands, "default_session", Session)
    plugin_commands.command_names.cache_clear()
    assert app.run_command(["explain", "WV0203"]) == 0
    assert app.run_command(["pipeline"]) in {1, 2}
    assert "error[WV08" in capsys.readouterr().err
    plugin_commands.command_names.cache_clear()

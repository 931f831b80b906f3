"""The application: its commands, those of plugins, and what becomes of errors."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from wave_core import __version__
from wave_core.cli.output import print_json, report_error
from wave_core.cli.plugin_commands import command_names, load_command, placeholder
from wave_core.diagnostics import WaveError

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Exit codes: the kernel or the compiler is at fault; the command line is.
FAILED = 1
USAGE = 2
INTERRUPTED = 130

#: Codes that say that the command line asked for something that is not there.
_USAGE_CODES = frozenset(
    {
        "WV0701",
        "WV0719",
        "WV0801",
        "WV0802",
        "WV0803",
        "WV0804",
        "WV0820",
        "WV0821",
        "WV0822",
        "WV0823",
        "WV0824",
        "WV0825",
        "WV0826",
        "WV0840",
        "WV0841",
    }
)

#: The commands, in the order of ``wave --help``; each module is loaded when used.
_COMMANDS = {
    "run": ("wave_core.cli.run", "run a kernel and check it against its reference"),
    "kernels": ("wave_core.cli.kernels", "list the kernels, and run them all"),
    "pipeline": ("wave_core.cli.pipeline", "list the passes, each with its reason"),
    "inspect": ("wave_core.cli.inspect", "show IR, indices or layouts of a kernel"),
    "explain-schedule": (
        "wave_core.cli.explain_schedule",
        "say how a kernel would be scheduled, and why not otherwise",
    ),
    "bisect": ("wave_core.cli.bisect", "name the first pass that breaks a kernel"),
    "compile": ("wave_core.cli.compile", "compile a kernel to MLIR, assembly or code"),
    "cache": ("wave_core.cli.cache", "show, clear, prune or export compiled kernels"),
    "init": ("wave_core.cli.init", "write a project for kernels or a pass"),
    "plugins": ("wave_core.cli.plugins", "list plugins and what they bring"),
    "doctor": ("wave_core.cli.doctor", "check the installation"),
    "explain": ("wave_core.cli.explain", "explain a diagnostic code"),
}


class WaveGroup(TyperGroup):
    """Commands that are imported when they are run."""

    # The context is `Any`: typer carries its own copy of click, or uses click's.

    def list_commands(self, ctx: Any) -> list[str]:
        """Wave's own commands, then those of plugins."""
        del ctx
        own = list(_COMMANDS)
        return [*own, *(name for name in command_names() if name not in own)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command for listing; its module is not loaded for help."""
        if cmd_name not in self.list_commands(ctx):
            return None
        summary = _COMMANDS.get(cmd_name, ("", command_names().get(cmd_name, "")))[1]
        return placeholder(cmd_name, summary)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command to run, with its module loaded."""
        name, found, rest = super().resolve_command(ctx, args)
        if name in _COMMANDS:
            module = import_module(_COMMANDS[name][0])
            return name, plain(typer.main.get_command(module.app)), rest
        if found is not None and name is not None:
            found = plain(load_command(name))
        return name, found, rest


def plain(command: Any) -> Any:
    """The command with plain help, in which a flag has no `<bool>` behind it."""
    command.rich_markup_mode = None
    for below in getattr(command, "commands", {}).values():
        plain(below)
    return command


app = typer.Typer(
    name="wave",
    cls=WaveGroup,
    help="Compile, run and inspect Wave kernels.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:  # noqa: FBT001 - typer's callback
    if wanted:
        typer.echo(f"wave {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(  # noqa: FBT001 - a flag
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Compile, run and inspect Wave kernels."""
    del version


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 failed, 2 wrong usage."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    sys.exit(run_command(given))


def run_command(arguments: list[str]) -> int:
    """Run one command; what to exit with."""
    command: Any = typer.main.get_command(app)
    try:
        code = command.main(arguments, prog_name="wave", standalone_mode=False)
    except WaveError as error:
        report_error(error, as_json="--json" in arguments)
        return USAGE if error.code in _USAGE_CODES else FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _silence_stdout()
        return FAILED
    except Exception as error:  # noqa: BLE001 - the parser's errors have no one class
        return _usage_or_raise(error, as_json="--json" in arguments)
    return code if isinstance(code, int) else 0


def _usage_or_raise(error: Exception, *, as_json: bool) -> int:
    """Show errors of the command line's parser; anything else is a crash."""
    show = getattr(error, "show", None)
    exit_code = getattr(error, "exit_code", None)
    if callable(show) and isinstance(exit_code, int):
        show()
        if as_json:
            print_json({"error": "usage", "message": str(error)})
        return USAGE
    if type(error).__name__ == "Abort":
        return INTERRUPTED
    raise error


def _silence_stdout() -> None:
    """Whoever reads the output is gone; keep Python from complaining at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

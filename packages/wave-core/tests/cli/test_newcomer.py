"""What somebody sees who types a command for the first time."""

from __future__ import annotations

import sys

import pytest

from wave_core.cli.app import run_command
from wave_core.cli.output import report_error
from wave_core.diagnostics import Location, user_error
from wave_core.passes.selection import unknown_name


@pytest.mark.parametrize("arguments", [["-h"], ["run", "-h"], ["inspect", "-h"]])
def test_short_help_shows_flags_as_flags(arguments, capsys):
    assert run_command(arguments) == 0
    shown = capsys.readouterr().out
    assert "Usage: wave" in shown
    assert "<bool>" not in shown


@pytest.mark.parametrize(
    ("variables", "colored"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
)
def test_colors_are_for_terminals_that_want_them(
    variables, colored, monkeypatch, capsys
):
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    report_error(user_error("WV0201", "m", at=Location.here()), as_json=False)
    assert ("\033[" in capsys.readouterr().err) is colored


def test_a_kernel_without_any_installed_names_the_package():
    text = str(unknown_name("kernel", "gemm", ()))
    assert text == (
        "error[WV0801]: there is no kernel `gemm`\n  = help: pip install wave-kernels"
    )

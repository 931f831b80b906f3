"""What somebody sees who types a command for the first time."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from wave_core.cli.app import _COMMANDS, run_command
from wave_core.cli.output import announce, report_error
from wave_core.cli.plugins import provided
from wave_core.compile import Session
from wave_core.diagnostics import Location, UserError, user_error
from wave_core.passes.selection import unknown_name

COMMANDS = ("", *_COMMANDS, "cache clear", "cache prune", "cache export")


@pytest.mark.parametrize("arguments", [[*c.split(), "-h"] for c in COMMANDS])
def test_short_help_shows_flags_as_flags(arguments, capsys):
    assert run_command(arguments) == 0
    shown = capsys.readouterr().out
    assert "Usage: wave" in shown
    assert "<bool>" not in shown


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("wave in", {"inspect", "init"}),
        ("wave run --dev", {"--device"}),
        ("wave cache p", {"prune"}),
        ("wave init x --kind ", {"kernels", "pass"}),
    ],
)
def test_the_shell_completes(typed, offered):
    last = len(typed.split(" ")) - 1
    asked = {"COMP_WORDS": typed, "COMP_CWORD": str(last)}
    done = subprocess.run(
        [sys.executable, "-c", "from wave_core.cli import main; main()"],
        env=os.environ | asked | {"_WAVE_COMPLETE": "complete_bash"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(done.stdout.split()) == offered


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
        "error[WV0801]: there is no kernel `gemm`\n"
        "  = help: installed: none\n"
        "  = help: `pip install wave-kernels` brings more"
    )


def test_a_target_of_a_package_that_is_not_installed_names_the_package():
    with pytest.raises(UserError) as caught:
        Session(entry_points=()).target("gfx942")
    assert str(caught.value) == (
        "error[WV0701]: there is no target `gfx942`\n"
        "  = help: installed: `generic`, `generic128`\n"
        "  = help: `pip install wave-backend-amdgpu` brings more"
    )


def test_a_listed_code_says_what_it_is_for():
    listed = provided(Session(entry_points=()).plugins)["diagnostics"]
    assert all(row["summary"] for row in listed)


def test_an_announced_warning_is_not_called_a_note(capsys):
    announce("warning[WV0408]: read from global memory")
    announce("runs on the simulator")
    shown = capsys.readouterr().err.splitlines()
    assert shown == [
        "warning[WV0408]: read from global memory",
        "note: runs on the simulator",
    ]

"""``wave tune`` on a kernel of a file, by the emulator's cycles."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wave_core.cli.app import run_command

SCALED = f"{Path(__file__).parent / 'scaled.py'}:scaled"


@pytest.fixture
def wave(capsys):
    def run(*arguments):
        code = run_command(list(arguments))
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_a_kernel_of_a_file_is_tuned_by_cycles(wave, store):
    given = ("--shape", "M=64,N=64", "--target", "gfx942", "--json")
    code, out, err = wave("tune", SCALED, *given)
    found = json.loads(out)
    assert code == 0
    assert found["on"].startswith("emulator")
    assert (found["unit"], found["measured"]) == ("cycles", 2)
    assert found["store"] == store.url
    lines = [line for line in err.splitlines() if " cycles" in line]
    assert len(lines) == 2
    # The best is the one of fewer cycles among those that were told.
    best = min(lines, key=lambda line: float(line.split()[-2].replace(",", "")))
    assert f"BLOCK={found['best']['subs']['BLOCK']}" in best


@pytest.mark.parametrize(
    ("more", "status", "says"),
    [
        (("--target", "sm_90a"), 1, "error[WV0831]: nothing here measures code of"),
        (
            ("--target", "gfx942", "--workers", "two"),
            1,
            "error[WV0833]: `--workers two`",
        ),
        (("--target", "gfx942", "--store", "off"), 1, "error[WV0830]: the store of"),
        (("--target", "gfx942", "--trials", "0"), 2, "Invalid value for '--trials'"),
    ],
)
@pytest.mark.usefixtures("store")
def test_what_cannot_be_tuned_is_refused(wave, more, status, says):
    code, _, err = wave("tune", SCALED, "--shape", "M=64,N=64", *more)
    assert (code, says in err) == (status, True), err


@pytest.mark.usefixtures("store")
def test_ray_is_refused_where_it_is_not_installed(wave, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    given = ("--shape", "M=64,N=64", "--target", "gfx942", "--workers", "ray")
    code, _, err = wave("tune", SCALED, *given)
    assert code == 1
    assert "error[WV0833]: `--workers ray` needs Ray, which is not installed" in err

"""``wave emulate`` and the plugin."""

from __future__ import annotations

import json
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from wave_core.cli.app import run_command
from wave_emulator_amdgcn.cli import emulate_file, parse_buffer, parse_grid
from wave_emulator_amdgcn.device import open_device
from wave_emulator_amdgcn.errors import LaunchError


@pytest.fixture
def command(tmp_path, code_bytes):
    app = typer.Typer()
    app.command()(emulate_file)

    def run(name, *arguments):
        file = tmp_path / "k.hsaco"
        file.write_bytes(code_bytes(name, "gfx942"))
        return CliRunner().invoke(app, [str(file), *arguments])

    return run


@pytest.mark.parametrize(("more", "waves"), [(0, 8), (1 << 15, 2), (1 << 16, 1)])
def test_lds_of_the_launch_counts_for_how_many_fit(command, more, waves):
    done = command(
        "copy", "--grid", "16", "--buffer", "4096xf32", "--buffer", "4096xf32",
        "--dynamic-lds", str(more), "--json",
    )  # fmt: skip
    assert json.loads(done.stdout)["cycles"]["waves_per_simd"] == waves


def test_runs_a_file_and_saves_a_buffer(command, tmp_path):
    out = tmp_path / "b.npy"
    done = command(
        "copy", "--grid", "16", "--buffer", "4096xf32=random", "--buffer", "4096xf32",
        "--output", f"1={out}", "--json",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    document = json.loads(done.output)
    assert document["waves"] == 64
    assert document["reports"] == []
    assert document["cycles"]["per_workgroup"] > 0
    assert (np.load(out) == parse_buffer("4096xf32=random", 0)).all()


def test_short_help_shows_flags_as_flags(capsys):
    assert run_command(["emulate", "-h"]) == 0
    shown = capsys.readouterr().out
    assert "Usage: wave" in shown
    assert "<bool>" not in shown


def test_draws_a_timeline(command, tmp_path):
    pictures = []
    for k in range(2):
        out = tmp_path / f"{k}.svg"
        buffers = ["--buffer", "4096xf32=ones", "--buffer", "4096xf32"]
        done = command("exchange", "--grid", "16", *buffers, "--timeline", str(out))
        assert done.exit_code == 0, done.output
        pictures.append(out.read_text())
    assert pictures[0] == pictures[1]
    assert pictures[0].count("<rect") > 100


def test_hazards_set_the_exit_code(command):
    done = command("copy", "--grid", "16", "--buffer", "4096xf32", "--buffer", "9xf32")
    assert done.exit_code == 1
    assert "EM0503" in done.output


def test_wrong_input_is_an_error_with_a_code(command):
    assert "EM0201" in command("copy").output
    assert "EM0102" in command("copy", "--kernel", "nothing").output
    assert "EM0203" in command("copy", "--grid", "a").output


def test_buffers_and_grids_are_parsed():
    assert parse_buffer("4x8xf16=ones", 0).shape == (4, 8)
    assert parse_grid("2,3") == (2, 3, 1)
    with pytest.raises(LaunchError, match="EM0202"):
        parse_buffer("4xf7", 0)
    with pytest.raises(LaunchError, match="EM0202"):
        parse_buffer("none.npy", 0)


@pytest.mark.parametrize(
    "text",
    [
        "4294967296xf32=random",
        "4294967296x4294967296xf32",
        f"{'9' * 5000}xf32",
        "x".join("1" * 70) + "xf32",
        "\u0664xf32",
    ],
)
def test_buffers_that_nobody_can_make(text):
    with pytest.raises(LaunchError, match="EM0202"):
        parse_buffer(text, 0)


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY nothing", b"PK\x03\x04", b"(\n"])
def test_files_that_are_no_arrays(tmp_path, content):
    file = tmp_path / "x.npy"
    file.write_bytes(content)
    with pytest.raises(LaunchError, match="EM0202"):
        parse_buffer(str(file), 0)


def test_digits_are_ascii():
    with pytest.raises(LaunchError, match="EM0203"):
        parse_grid("\u00b2")


def test_the_device_runs_on_memory_of_the_host(code_bytes):
    device = open_device()
    a, b = np.arange(4096, dtype=np.float32), np.zeros(4096, np.float32)
    buffers = [(x.ctypes.data, x.nbytes) for x in (a, b)]
    code = code_bytes("copy", "gfx942")
    artifact = SimpleNamespace(code=code, manifest=SimpleNamespace(name="copy"))
    loaded = device.load(artifact)
    loaded.launch((16, 1, 1), buffers, b"", 0)
    assert (a == b).all()
    assert device.results[0].reports == ()
    with pytest.raises(LaunchError, match="EM0202"):
        loaded.launch((1, 1, 1), [(0, 64), buffers[1]], b"", 0)


def test_the_plugin_imports_nothing_expensive():
    code = (
        "import sys, wave_emulator_amdgcn.plugin as p; print(p.REQUIRES_API);"
        "heavy = ('numpy', 'tinygrad', 'torch', 'sympy');"
        "print([m for m in heavy if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["(1, 0)", "[]"]

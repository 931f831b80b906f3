"""The command line: arguments as text, results as files, hazards as the exit code."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from wave_emulator_ptx.cli import main
from wave_emulator_ptx.launch import _shapes

TEXT = """
.version 8.3
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 values, .param .u32 n, .param .f32 a)
{
    .reg .pred %p<1>;
    .reg .b32 %r<3>;
    .reg .f32 %f<2>;
    .reg .b64 %d<3>;
    ld.param.u64 %d0, [values];
    ld.param.u32 %r0, [n];
    ld.param.f32 %f0, [a];
    mov.u32 %r1, %tid.x;
    setp.ge.u32 %p0, %r1, %r0;
    @%p0 ret;
    mul.wide.u32 %d1, %r1, 4;
    add.s64 %d2, %d0, %d1;
    ld.global.f32 %f1, [%d2];
    mul.rn.f32 %f1, %f1, %f0;
    st.global.f32 [%d2], %f1;
    ret;
}
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "scale.ptx"
    path.write_text(TEXT)
    return str(path)


def test_a_kernel_runs_and_its_buffer_is_saved(file, tmp_path, capsys):
    saved = tmp_path / "out.npy"
    given = [file, "40xf32=ones", "40", "2.5", "--block", "64"]
    assert main([*given, "--output", f"0={saved}"]) == 0
    assert (np.load(saved) == np.float32(2.5)).all()
    assert capsys.readouterr().out.startswith("warps 2, ")


def test_a_file_is_a_buffer_and_stays_as_it_is(file, tmp_path):
    source, saved = tmp_path / "in.npy", tmp_path / "out.npy"
    np.save(source, np.arange(8, dtype="f4"))
    assert main([file, str(source), "0x8", "2.0", f"--output=0={saved}"]) == 0
    assert (np.load(saved) == 2 * np.load(source)).all()
    assert (np.load(source) == np.arange(8)).all()


def test_hazards_are_told_and_exit_with_1(file, capsys):
    assert main([file, "8xf32", "9", "1.0", "--json"]) == 1
    load, store = json.loads(capsys.readouterr().out)["reports"]
    assert (load["code"], load["thread"], load["count"]) == ("EP0503", 8, 1)
    assert store["text"].startswith("st.global")


REFUSED = {
    "EP0101": ["8xf32", "8", "1.0"],
    "EP0102": ["8xf32", "8", "1.0", "--kernel", "other"],
    "EP0201": ["8xf32"],
    "EP0202": ["8xq32", "8", "1.0"],
    "EP0203": ["8xf32", "8", "1.0", "--grid", "1,1,1,1"],
}


@pytest.mark.parametrize("code", REFUSED)
def test_what_cannot_run_is_refused_by_code(file, tmp_path, capsys, code):
    if code == "EP0101":
        file = str(tmp_path / "missing.ptx")
    assert main([file, *REFUSED[code], "--json"]) == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out)["error"] == code
    assert captured.err.startswith("error: ")


@pytest.mark.parametrize(
    "text",
    [
        *("8xf32=twos", "8xf99", "99999999999x9xf64", "nothing.npy", "one"),
        "4294967296xf32=random",
        f"{'9' * 5000}xf32",
        "x".join("1" * 70) + "xf32",
        "0x99999999999999999999999999xf32",
        "\u0664xf32",
    ],
)
def test_arguments_that_mean_nothing(file, capsys, text):
    assert main([file, text, "8", "1.0"]) == 1
    assert f"argument {text!r}" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY nothing", b"PK\x03\x04", b"(\n"])
def test_a_file_that_is_no_array(file, tmp_path, capsys, content):
    source = tmp_path / "x.npy"
    source.write_bytes(content)
    assert main([file, str(source), "8", "1.0", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"] == "EP0202"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (["8xf32", "8", "1e300"], "EP0201"),
        (["8xf32", "8", "1.0", "--grid", "\u00b2"], "EP0203"),
        (["8xf32", "8", "1.0", "--grid", "2147483648"], "EP0203"),
        (["8xf32", "8", "1.0", "--grid", "1,65536"], "EP0203"),
        (["8xf32", "8", "1.0", "--shared", "-5"], "EP0203"),
        (["8xf32", "8", "1.0", "--output", "\u00b2=x.npy"], "EP0202"),
    ],
)
def test_numbers_that_nothing_can_have(file, capsys, given, code):
    assert main([file, *given, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"] == code


def test_a_grid_is_not_listed_before_it_runs(file):
    """Of the largest grid there is, the first part comes at once."""
    assert (
        next(_shapes((2**31 - 1, 65_535, 65_535), (32, 1, 1), 0, 0)).workgroups[0] == 0
    )


def test_an_output_that_is_no_buffer(file, capsys):
    assert main([file, "8xf32", "8", "1.0", "--output", "1=n.npy"]) == 1
    assert "write INDEX=FILE.npy" in capsys.readouterr().err


def test_the_module_is_a_program(file):
    done = subprocess.run(
        [sys.executable, "-m", "wave_emulator_ptx", file, "8xf32", "8", "1.0"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "warps 1" in done.stdout

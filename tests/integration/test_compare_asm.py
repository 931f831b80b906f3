"""``wave compare-asm``: both paths of a kernel, and code objects of others."""

from __future__ import annotations

import json
import shutil
from types import SimpleNamespace

import pytest

import workspace
from wave_core.cli.app import run_command

FIXTURES = workspace.ROOT / "packages" / "wave-emulator-amdgcn" / "tests" / "fixtures"
COPY = ("copy", "--target", "gfx942", "--shape", "M=64,N=64")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The cache of this module."""
    return tmp_path_factory.mktemp("cache") / "wave"


@pytest.fixture
def compare(folder, monkeypatch, capsys):
    """Runs the command: exit code, stdout, stderr, the JSON at the end of stdout."""
    monkeypatch.setenv("WAVE_CACHE_DIR", str(folder))

    def call(*arguments):
        code = run_command(["compare-asm", *map(str, arguments)])
        out, err = capsys.readouterr()
        lines = out.strip().splitlines()
        found = json.loads(lines[-1]) if lines and lines[-1].startswith("{") else None
        return SimpleNamespace(code=code, out=out, err=err, json=found)

    return call


def test_both_paths_stand_side_by_side(compare):
    done = compare(*COPY, "--json")
    assert done.code == 0, done.err
    assert [side["name"] for side in done.json["sides"]] == ["amdgpu", "asm"]
    for at, side in enumerate(done.json["sides"]):
        counts = [line["counts"][at] for line in done.json["lines"]]
        assert sum(counts) == side["whole"]["instructions"]
        assert side["cycles"]["per_workgroup"] > 0
        assert all(line["cycles"][at] >= 0 for line in done.json["lines"])


def test_lines_are_those_of_the_author(compare):
    done = compare(*COPY)
    rows = [line for line in done.out.splitlines() if line.startswith("copy.py:")]
    assert any(row.rstrip().endswith("res = tkw.read(a)") for row in rows)
    assert "count amdgpu" in done.out
    assert "cycles asm" in done.out


def test_tables_fit_80_columns(compare, monkeypatch):
    monkeypatch.setattr("wave_core.cli.output._WIDTH", 80)
    done = compare("gemm", "--target", "gfx942", "--shape", "M=64,N=64,K=64")
    assert done.code == 0, done.err
    assert max(map(len, done.out.splitlines())) <= 80


def test_a_path_that_refuses_leaves_the_other(compare, tmp_path):
    """``sin`` of f64 is what the assembly path has no instructions for."""
    file = tmp_path / "curves.py"
    file.write_text(CURVES)
    asked = (f"{file}:curve", "--target", "gfx942", "--shape", "M=4,N=64")
    done = compare(*asked)
    assert done.code == 1
    assert done.err.startswith("error[WV0610]: backend `asm` selects no instructions")
    assert "`wave explain WV0610` says more" in done.err
    assert done.out.splitlines()[0].split() == ["what", "amdgpu"]
    first, second = compare(*asked, "--json").json["sides"]
    assert first["whole"]["instructions"] > 0
    assert second["error"] == "WV0610"
    assert second["diagnostics"][0]["code"] == "WV0610"


CURVES = """
import wave_core.lang as tkl
import wave_core.lang as tkw

M, N = tkl.sym.M, tkl.sym.N
KIND = tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f64]


@tkw.wave([
    tkw.WorkgroupConstraint(M, 4, 0),
    tkw.WorkgroupConstraint(N, 64, 1),
    tkw.HardwareConstraint(),
])
def curve(a: KIND, c: KIND):
    tkw.write(tkw.sin(tkw.read(a)), c)
"""


def test_code_of_others_is_compared_by_block(compare):
    file = FIXTURES / "gemm_padded.gfx942.hsaco"
    done = compare(*COPY, file, "--json")
    ours, theirs = done.json["sides"]
    assert (ours["name"], theirs["name"]) == ("amdgpu", "gemm_padded.gfx942")
    assert done.json["lines"] == []
    assert theirs["cycles"] == {}
    assert theirs["why"] == "it is not known how the kernel is launched"
    counts = [block["instructions"] for block in theirs["blocks"]]
    assert sum(counts) == theirs["whole"]["instructions"]
    told = compare(file, FIXTURES / "copy.gfx942.hsaco")
    assert told.code == 0, told.err
    assert "loops around" in told.out
    assert "least cycles of a turn" in told.out


def test_what_we_compile_is_the_same_as_a_file(compare, tmp_path):
    """A code object that was written is counted as the kernel it is of."""
    made = run_command(["compile", *COPY, "--debug", "-o", str(tmp_path)])
    assert made == 0
    both = compare(*COPY, tmp_path / "code.hsaco", "--json").json
    ours, theirs = both["sides"]
    assert ours["whole"] == theirs["whole"]
    assert ours["resources"] == theirs["resources"]
    assert [line["counts"][0] for line in both["lines"]] == [
        line["counts"][1] for line in both["lines"]
    ]


BAD = {
    "no such file": ("nowhere.hsaco", "cannot be read: No such file or directory"),
    "a folder": ("here.hsaco/", "cannot be read: Is a directory"),
    "no code": ("text.hsaco", "EM0101"),
    "cut off": ("cut.hsaco", "EM0101"),
    "of another machine": ("copy.gfx950.hsaco", "different machines do not compare"),
    "no such kernel": ("copy.gfx942.hsaco", "EM0102"),
}


@pytest.mark.parametrize("name", BAD)
def test_files_that_do_not_compare_are_refused(compare, tmp_path, name):
    file, told = BAD[name]
    (tmp_path / "here.hsaco").mkdir()
    (tmp_path / "text.hsaco").write_text("s_endpgm\n")
    for chip in ("gfx942", "gfx950"):
        shutil.copy(FIXTURES / f"copy.{chip}.hsaco", tmp_path)
    whole = (tmp_path / "copy.gfx942.hsaco").read_bytes()
    (tmp_path / "cut.hsaco").write_bytes(whole[: len(whole) // 2])
    more = ("--kernel", "another") if name == "no such kernel" else ()
    done = compare(*COPY, tmp_path / file, *more)
    assert done.code != 0
    assert done.err.startswith("error[WV0853]: ")
    assert told in done.err
    assert "a code object of the same machine" in done.err
    as_json = compare(*COPY, tmp_path / file, *more, "--json")
    assert as_json.json["error"] == "WV0853"


def test_wrong_names_are_refused(compare):
    done = compare("copi", "--target", "gfx942")
    assert done.code == 2
    assert "WV0801" in done.err
    done = compare("copy", "--target", "sm_90a")
    assert "WV0823" in done.err
    done = compare("copy", "--target", "gfx942", "--via", "nothing")
    assert "WV0719" in done.err

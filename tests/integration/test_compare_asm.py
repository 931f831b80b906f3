"""``wave compare-asm``: both paths of a kernel, and code objects of others."""

from __future__ import annotations

import json
import shutil
from types import SimpleNamespace

import pytest

import workspace
from wave_backend_asm.assemble.apart import Assembler
from wave_core.cli.app import run_command
from wave_core.compile.options import WaveCompileOptions

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
    way = "--kernel NAME" if more else "a code object of the same machine"
    assert way in done.err
    as_json = compare(*COPY, tmp_path / file, *more, "--json")
    assert as_json.json["error"] == "WV0853"


def test_a_file_of_another_machine_than_is_asked_for_is_refused(compare):
    done = compare(FIXTURES / "copy.gfx942.hsaco", "--target", "gfx950")
    assert done.code == 1
    assert done.err.startswith(
        "error[WV0853]: different machines do not compare: `copy.gfx942` is of gfx942, "
        "and gfx950 is asked for"
    )


def test_files_of_one_name_are_told_apart(compare, tmp_path):
    places = [tmp_path / name / "code.hsaco" for name in ("before", "after")]
    for place in places:
        place.parent.mkdir()
        shutil.copy(FIXTURES / "copy.gfx942.hsaco", place)
    names = [side["name"] for side in compare(*places, "--json").json["sides"]]
    assert names == ["before/code", "after/code"]
    twice = compare(places[0], places[0], "--json").json["sides"]
    assert [side["name"] for side in twice] == ["before/code", "before/code (2)"]


def test_of_several_kernels_one_has_to_be_named(compare, tmp_path):
    text = "".join(TWO.format(name=name) for name in ("one", "two"))
    graph, chip = SimpleNamespace(name="two", location=None), "gfx942"
    data = Assembler().code(
        text, graph, SimpleNamespace(name=chip), WaveCompileOptions()
    )
    (tmp_path / "two.hsaco").write_bytes(data)
    done = compare(tmp_path / "two.hsaco")
    assert done.code == 1
    assert "EM0102: no kernel is named; there are: one, two" in done.err
    assert "= help: `--kernel NAME` names one of them" in done.err
    assert compare(tmp_path / "two.hsaco", "--kernel", "two").code == 0


TWO = """
.text
.globl {name}
.p2align 8
.type {name},@function
{name}:
s_endpgm
.size {name}, .-{name}
.rodata
.amdhsa_kernel {name}
.amdhsa_next_free_vgpr 4
.amdhsa_next_free_sgpr 4
.amdhsa_accum_offset 4
.end_amdhsa_kernel
"""


def test_wrong_names_are_refused(compare):
    done = compare("copi", "--target", "gfx942")
    assert done.code == 2
    assert "WV0801" in done.err
    done = compare("copy", "--target", "sm_90a")
    assert "WV0823" in done.err
    done = compare("copy", "--target", "gfx942", "--via", "nothing")
    assert "WV0719" in done.err

"""Every command, its JSON, and its exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from wave_core.diagnostics import catalogue

KEYS = {
    "kernel",
    "shape",
    "target",
    "device",
    "max_abs_error",
    "max_rel_error",
    "compile_s",
    "run_s",
    "counters",
}


def test_run_json(wave):
    done = wave("run", "toy", "--shape", "M=33,N=5", "--set", "BLOCK_M=32", "--json")
    assert done.code == 0
    assert done.out.count("\n") == 1
    assert done.json.keys() >= KEYS
    assert done.json["shape"] == {"M": 33, "N": 5}
    assert done.json["max_abs_error"] == 0.0
    assert done.json["counters"] == {"copied": 33 * 5}
    assert done.json["passed"] is True


def test_run_for_people(wave):
    done = wave("run", "toy", "--timing")
    assert done.code == 0
    assert "copy(a: f32[M, N], b: f32[M, N])" in done.out
    assert "expand-tiles" in done.out
    assert "compiled as " in done.out
    assert "preset default, 1 wave a workgroup" in done.out


def test_run_users_file(wave, case_file):
    done = wave("run", f"{case_file}:double", "--shape", "M=3", "--json")
    assert done.code == 0
    assert done.json["shape"] == {"M": 3, "N": 70}


def test_run_takes_a_case_and_not_a_bare_kernel(wave, case_file):
    bare = "copy = double({}, {}, 'generic').kernel"
    case_file.write_text(f"{case_file.read_text()}\n{bare}\n")
    done = wave("run", f"{case_file}:copy")
    assert done.code == 2
    assert "WV0826" in done.err
    assert "`copy` is a kernel without sizes, arguments and a reference" in done.err
    assert "(shape, settings, target) -> KernelCase" in done.err


def test_what_needs_no_reference_takes_a_bare_kernel(wave, case_file):
    bare = "copy = double({}, {}, 'generic').kernel"
    case_file.write_text(f"{case_file.read_text()}\n{bare}\n")
    ir = ("inspect", f"{case_file}:copy", "--what", "ir", "--set", "BLOCK_M=16")
    done = wave(*ir, "--shape", "M=3,N=70")
    assert done.code == 0
    assert 'kernel "copy"' in done.out
    done = wave(*ir, "--shape", "M=3")
    assert done.code == 2
    assert "nobody knows the arguments of `copy`: `a: f32[M, N]`" in done.err
    assert "give every size: `--shape M=512,N=512`" in done.err


def test_run_wrong_result(wave):
    done = wave("run", "toy", "--set", "WRONG=1", "--json")
    assert done.code == 1
    assert done.json["passed"] is False
    assert done.json["max_abs_error"] > 0


def test_run_prints_ir_on_stderr(wave):
    done = wave("run", "toy", "--print-ir-after", "infer", "--json")
    assert "after phase infer" in done.err
    assert "write" not in done.out


def test_bisect_needs_both_simulators(wave):
    done = wave("bisect", "toy", "--json")
    assert done.code == 2
    assert done.json["error"] == "WV0719"
    assert "there is no device `sim-logical`" in done.json["diagnostics"][0]["message"]


@pytest.mark.parametrize("seed", [1, 2])
def test_seeds_repeat(wave, seed):
    one, other = (wave("run", "toy", "--seed", seed, "--json") for _ in range(2))
    assert one.json["max_abs_error"] == other.json["max_abs_error"] == 0.0


USAGE = [
    (("run", "nothing"), "there is no kernel `nothing`"),
    (("run", "toy", "--shape", "X=4"), "has no size `X`"),
    (("run", "toy", "--set", "BLOCK_N=4"), "has no setting `BLOCK_N`"),
    (("run", "toy", "--set", "BLOCK_M=big"), "takes an integer"),
    (("run", "toy", "--shape", "M"), "NAME=VALUE"),
    (("run", "toy", "--shape", "M=-1"), "an integer from 0"),
    (("run", "toy", "--device", "hip"), "no device `hip`"),
    (("run", "toy", "--target", "gfx000"), "no target `gfx000`"),
    (("run", "toy", "--preset", "fast"), "no preset `fast`"),
    (("run", "toy", "--print-ir-after", "x"), "no phase or pass `x`"),
    (("run", "missing.py:f"), "no file"),
    (("run", "toy", "--nonsense"), "No such option"),
    (("run",), "Missing argument"),
    (("nonsense",), "No such command"),
    (("pipeline", "--preset", "fast"), "no preset `fast`"),
    (("inspect", "toy", "--phase", "x"), "no phase or pass `x`"),
    (("explain", "WV0000"), "no diagnostic code"),
]


@pytest.mark.parametrize(("arguments", "says"), USAGE, ids=lambda row: str(row)[:40])
def test_wrong_usage(wave, arguments, says):
    done = wave(*arguments)
    assert done.code == 2
    assert says in done.err
    assert done.out == ""


def test_wrong_usage_is_json_too(wave):
    done = wave("run", "toy", "--shape", "M", "--json")
    assert done.code == 2
    assert done.json["error"] == "usage"
    assert "NAME=VALUE" in done.json["message"]


def test_wrong_name_in_file(wave, case_file):
    done = wave("run", f"{case_file}:doubel")
    assert done.code == 2
    assert "did you mean `double`?" in done.err


FAILING = """
def case(shape, settings, target):
    return 1 // shape.get("M", 0)
"""


def test_a_file_that_fails_is_shown_where_it_fails(wave, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("failing.py").write_text("import time\n\nimport no_such_module\n")
    assert (
        "  --> failing.py:3\n3 | import no_such_module\n"
        in wave("run", "failing.py:case").err
    )


def test_a_script_that_ends_the_program_is_an_error(wave, tmp_path):
    path = tmp_path / "script.py"
    path.write_text("import sys\nsys.exit(0)\n")
    done = wave("run", f"{path}:case")
    assert done.code == 2
    assert f"`{path}` cannot be imported: SystemExit: 0\n  --> {path}:2" in done.err


def test_a_file_without_the_name_of_its_case(wave):
    assert wave("run", "kernels.py").err.startswith(
        "error[WV0801]: `kernels.py` is a file, and no case in it is named\n"
        "  = help: name a kernel, or a case in a file: `FILE.py:NAME`\n"
    )


def test_a_case_of_a_file_that_fails(wave, tmp_path):
    path = tmp_path / "failing.py"
    path.write_text(FAILING)
    done = wave("run", f"{path}:case")
    assert done.code == 2
    assert done.err == (
        f"error[WV0826]: `case` of `{path}` makes no case: ZeroDivisionError: integer "
        "division or modulo by zero\n"
        f"  --> {path}:3\n"
        '3 |     return 1 // shape.get("M", 0)\n'
        "  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ fails here\n"
        "  = help: `python FILE` shows all of what Python says\n\n"
        "`wave explain WV0826` says more\n"
    )


def test_a_case_of_a_plugin_that_fails(wave, monkeypatch):
    def double(shape, settings, target):
        raise LookupError("no such table")

    monkeypatch.setattr(sys.modules["toy_case"], "double", double)
    done = wave("run", "toy")
    assert done.code == 1
    assert done.err == (
        "error[WV0819]: kernel `toy` of plugin `toy` failed: LookupError: no such "
        "table\n"
        "  = help: run without it: WAVE_DISABLE_PLUGINS=toy\n\n"
        "`wave explain WV0819` says more\n"
    )


def test_kernel_error_is_json_too(wave):
    done = wave("run", "toy", "--set", "BLOCK_M=0", "--json")
    assert done.code == 1
    assert done.json["error"] == "WV0316"
    assert done.json["diagnostics"][0]["primary"]["location"]["line"] > 0


def test_pipeline(wave):
    done = wave("pipeline", "--json")
    names = [row["name"] for row in done.json["passes"]]
    assert names.index("infer-types") < names.index("expand-tiles")
    assert all(row["reason"] and row["provider"] for row in done.json["passes"])
    assert "expand-tiles" in wave("pipeline").out


def test_inspect_ir(wave):
    assert "reg<M, N, f32>" in wave("inspect", "toy").out
    traced = wave("inspect", "toy", "--phase", "trace", "--json").json["ir"]
    assert traced.startswith('kernel "copy"')


def test_inspect_index(wave):
    done = wave("inspect", "toy", "--what", "index", "--json")
    reads = [row for row in done.json["values"] if row["op"] == "read"]
    assert reads[0]["layout"]
    assert "$WG0" in reads[0]["address"]
    assert wave("inspect", "toy", "--what", "index").out.count("read") >= 1


def test_inspect_layout_covers_the_tile(wave):
    done = wave("inspect", "toy", "--what", "layout", "--json", "--set", "BLOCK_M=8")
    (value,) = done.json["values"]
    assert value["dims"] == ["M", "N"]
    owners = {lane for row in value["lane"] for lane in row}
    assert owners <= set(range(64))
    assert len(value["lane"]) >= 8


def test_plugins(wave):
    done = wave("plugins", "--json")
    assert [row["name"] for row in done.json["plugins"]] == ["core", "toy"]
    assert done.json["provides"]["kernels"][0]["provider"] == "toy"
    assert "toy" in wave("plugins").out


def test_kernels_are_listed_with_the_error_that_is_allowed(wave):
    (row,) = wave("kernels", "--json").json["kernels"]
    assert (row["name"], row["provider"], row["summary"]) == ("toy", "toy", "copies")
    assert row["tolerance"] >= 0
    assert "max_rel_error" not in row
    assert "copies" in wave("kernels", "toy").out


def test_kernels_run_and_are_compared(wave):
    done = wave("kernels", "--run", "--json", "--device", "sim", "--seed", "1")
    (row,) = done.json["kernels"]
    wrong = row["max_rel_error"] > row["tolerance"]
    assert (row["passed"], done.code) == (not wrong, int(wrong))
    assert ("WRONG" if wrong else "ok") in wave("kernels", "--run").out


def test_a_kernel_that_does_not_run_is_a_row_with_its_error(wave):
    done = wave("kernels", "--run", "--json", "--device", "cuda")
    assert done.code == 1
    (row,) = done.json["kernels"]
    assert (row["passed"], row["error"]["code"]) == (False, "WV0719")


def test_kernels_that_are_not_there(wave):
    assert wave("kernels", "tyo").code == 2


def test_doctor(wave):
    done = wave("doctor", "--json")
    assert done.json["ok"] is True
    states = {row["what"]: row["state"] for row in done.json["checks"]}
    assert states["kernels: toy"] == "ok"
    assert wave("doctor").code == 0


def test_explain(wave):
    assert "Fix:" in wave("explain", "wv0712").out
    assert wave("explain", "WV0712", "--json").json["code"] == "WV0712"
    assert wave("explain", "--json").json["codes"].keys() >= set(catalogue())


def test_help_lists_commands(wave):
    done = wave("--help")
    for name in ("run", "pipeline", "inspect", "plugins", "doctor", "explain"):
        assert name in done.out


START = """
import sys
from wave_core.cli.app import run_command
code = run_command(["explain", "WV0203"])
heavy = [name for name in ("torch", "sympy", "numpy") if name in sys.modules]
sys.stderr.write(f"{code} {heavy}")
"""


def test_explain_starts_quickly():
    done = subprocess.run(
        [sys.executable, "-c", START],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"WAVE_DISABLE_PLUGINS": ""},
    )
    assert done.stderr == "0 []"


def test_options_of_plugins_are_options_of_commands(wave):
    done = wave("run", "toy", "--option", "toy_depth=3", "--json")
    assert done.code == 0, done.err
    assert '"toy_depth": 3' in done.out
    assert "cannot be `0`" in wave("run", "toy", "--option", "toy_depth=0").err
    assert "`toy_depth`" in wave("run", "toy", "--option", "toy_dept=3").err

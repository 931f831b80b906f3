"""`wave bisect` names the first pass after which a kernel computes something else."""

from __future__ import annotations

import json

import pytest
from planted_passes import plugin

from wave_core.cli import app, bisect
from wave_core.compile import Session

SMALL = ("--shape", "M=32,N=32,K=32", "--seed", "7")


@pytest.fixture
def wave(monkeypatch, capsys):
    """Runs `wave bisect` with a planted pass; exit code, stdout, stderr."""

    def run(planted, *arguments):
        extra = {} if planted is None else {"planted": planted}
        monkeypatch.setattr(bisect, "open_session", lambda: Session(extra))
        code = app.run_command(["bisect", *arguments])
        return (code, *capsys.readouterr())

    return run


@pytest.mark.parametrize(
    "planted",
    [
        pytest.param(("change-constants", "place"), id="tiles"),
        pytest.param(("change-constants", "optimize"), id="lanes"),
        pytest.param(("drop-writes", "schedule"), id="unwritten"),
    ],
)
def test_the_pass_that_changes_values_is_named(wave, planted):
    name, phase = planted
    code, out, _ = wave(plugin(name, phase), "gemm", *SMALL, "--json")
    found = json.loads(out)
    assert code == 1
    assert found["seed"] == 7
    assert found["first_wrong"] == found["stages"][-1]
    assert found["first_wrong"]["pass"] == name
    assert found["first_wrong"]["phase"] == phase
    assert found["first_wrong"]["plugin"] == "planted"
    assert found["first_wrong"]["wrong_elements"] == 32 * 32
    assert found["first_wrong"]["element"].startswith("c[0, 0] is ")
    assert not found["kernel_is_wrong"]
    assert all(row["wrong_elements"] == 0 for row in found["stages"][:-1])


def test_a_pass_that_only_leaves_a_race_is_named(wave):
    planted = plugin("drop-barriers", "synchronize", after=("place-minimal-barriers",))
    code, out, _ = wave(planted, "gemm", *SMALL, "--set", "STAGED=1", "--json")
    found = json.loads(out)["first_wrong"]
    assert code == 1
    assert found["pass"] == "drop-barriers"
    assert found["wrong_elements"] == 0
    assert found["problem"].startswith("error[WV0901]: race on LDS")


def test_a_pass_that_fails_is_named(wave):
    code, out, _ = wave(plugin("crash", "optimize"), "gemm", *SMALL)
    assert code == 1
    assert out.endswith(
        "\nfirst wrong after pass `crash` of planted, seed 7\n"
        "error[WV9901]: pass `crash` (plugin planted) failed:"
        " ZeroDivisionError: planted\n"
    )


def test_the_kernel_itself(wave):
    """A constant changed before types are known is as good as another kernel."""
    planted = plugin("change-constants", "canonicalize", after=("sink-splats",))
    code, out, _ = wave(planted, "gemm", *SMALL)
    assert code == 1
    assert out.splitlines()[-2] == (
        "wrong on whole tiles already, seed 7: look at the kernel and its reference,"
        " or a pass up to `infer-types`"
    )


def test_machine_code_is_the_last_stage(wave):
    given = (*SMALL, "--target", "gfx942", "--device", "emulator")
    code, out, _ = wave(None, "gemm", *given, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["first_wrong"] is None
    assert found["stages"][-1]["pass"] == "machine code"
    assert found["stages"][-1]["device"] == "emulator"


def test_wrong_usage(wave):
    code, _, err = wave(None, "gemm", "--device", "emulatr")
    assert code == 2
    assert err.startswith("error[WV0719]: there is no device `emulatr`")

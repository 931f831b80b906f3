"""`wave inspect --what roofline`: the work of a kernel beside the peaks of a chip."""

from __future__ import annotations

import json

import pytest

from wave_core.cli.app import run_command


@pytest.fixture
def wave(capsys):
    def run(*arguments):
        code = run_command(["inspect", *arguments, "--what", "roofline"])
        return (code, *capsys.readouterr())

    return run


def test_work_is_what_the_simulator_counts(wave, capsys):
    """Where no lane is masked, both count the same bytes and instructions."""
    given = ("gemm", "--shape", "M=128,N=256,K=512", "--set", "STAGED=1")
    _, out, _ = wave(*given, "--target", "gfx942", "--json")
    found = json.loads(out)
    run_command(["run", *given, "--target", "gfx942", "--device", "sim", "--json"])
    counted = json.loads(capsys.readouterr().out)["counters"]
    moved = counted["bytes"]
    assert found["matrix_flops"] == {"f16": 2 * 128 * 256 * 512}
    assert found["matrix_flops"]["f16"] == counted["instructions"]["mma"] * 2 * 16**3
    assert found["global_bytes"] == moved["global_read"] + moved["global_write"]
    assert found["lds_bytes"] == moved["lds_read"] + moved["lds_write"]
    assert found["least_bytes"] == 2 * (128 + 256) * 512 + 4 * 128 * 256


def test_roofs_of_a_large_product(wave):
    sizes = "M=4096,N=4096,K=4096"
    code, out, _ = wave("gemm", "--shape", sizes, "--target", "gfx942", "--json")
    found = json.loads(out)
    times = [roof["ns"] for roof in found["roofs"]]
    matrix = next(roof for roof in found["roofs"] if roof["name"] == "matrix f16")
    assert code == 0
    assert times == sorted(times, reverse=True)
    assert found["bound_by"] == found["roofs"][0]["name"]
    assert found["intensity"] == pytest.approx(1024)
    # 1307.4 TFLOP/s, and 5.3 TB/s: the vendor's figures.
    assert matrix["peak_per_ns"] == pytest.approx(1307.4e3, rel=1e-3)
    assert found["ridge"] == pytest.approx(1307.4 / 5.3, rel=1e-3)
    busy = 1024 / (4 * 304)
    assert matrix["ns"] == pytest.approx(2 * 4096**3 / (1307.4e3 * busy), rel=1e-3)


@pytest.mark.parametrize(
    ("number", "tflops"),
    [("f4e2m1fn", 10066.3), ("f6e3m2fn", 10066.3), ("f8e5m2", 5033.2)],
)
def test_narrow_floats_have_the_peaks_of_the_data_sheet(wave, number, tflops):
    """Those of an MI355X."""
    given = ("gemm-mxfp", "--target", "gfx950", "--set", f"FORMAT={number}", "--json")
    _, out, _ = wave(*given)
    roofs = json.loads(out)["roofs"]
    matrix = next(roof for roof in roofs if roof["name"] == f"matrix {number}")
    assert matrix["peak_per_ns"] == pytest.approx(tflops * 1e3, rel=1e-3)


def test_a_copy_is_bound_by_memory(wave):
    code, out, _ = wave("copy", "--shape", "M=4096,N=4096", "--target", "gfx950")
    assert code == 0
    assert "bound by memory: 8.389 us at best, 0.0 TFLOP/s" in out


def test_a_target_without_peaks(wave):
    code, _, err = wave("gemm")
    assert code == 1
    assert err == (
        "error[WV0829]: target `generic` has no published peaks to compare with\n"
        "  = help: name a chip, such as `--target gfx942`; `wave plugins` lists them\n"
        "\n"
        "`wave explain WV0829` says more\n"
    )

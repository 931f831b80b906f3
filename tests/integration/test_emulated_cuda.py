"""Running on a machine with an NVIDIA GPU, whose driver is the emulator of PTX."""

from __future__ import annotations

import pytest
from emulated_cuda import EmulatedDriver

from wave_core.cli import app
from wave_runtime import cuda

CASES = {
    "copy": ("M=100,N=70", (2, 7, 1)),
    "gemm": ("M=128,N=64,K=64", (8, 2, 1)),
}


@pytest.fixture
def driver(monkeypatch):
    """The only GPU here; without an assembler, so that code is PTX."""
    made = EmulatedDriver()
    monkeypatch.setattr(cuda, "find_library", lambda: made)
    monkeypatch.setenv("WAVE_PTXAS", "none")
    monkeypatch.setenv("WAVE_CACHE", "off")
    return made


def run(capsys, *given):
    code = app.run_command(["run", *given])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize("kernel", CASES)
def test_a_kernel_runs_on_the_gpu_that_is_here_with_nothing_said(
    driver, capsys, kernel
):
    shape, grid = CASES[kernel]
    code, out, err = run(capsys, kernel, "--shape", shape)
    assert code == 0, out + err
    assert "compiled for target `sm_90a`" in err
    assert "kernels run on the device `cuda`" in err
    assert driver.grids == [grid]
    assert driver.reports == []
    assert driver.memory == {}


def test_code_of_an_older_gpu_is_assembled_by_the_driver(driver, capsys, monkeypatch):
    """Also where there is an assembler: the GPU does not run its machine code."""
    monkeypatch.delenv("WAVE_PTXAS")
    code, out, err = run(capsys, "copy", "--shape", "M=64,N=64", "--target", "sm_80")
    assert code == 0, out + err
    assert len(driver.grids) == 1


def test_a_simulator_simulates_for_the_gpu_that_is_here(driver, capsys):
    code, out, _ = run(capsys, "copy", "--shape", "M=64,N=64", "--device", "sim")
    assert code == 0
    assert "sm_90a" in out
    assert driver.grids == []


def test_the_doctor_describes_the_gpu(driver, capsys):
    app.run_command(["doctor"])
    assert "cuda:0 is" in capsys.readouterr().out


@pytest.mark.parametrize("device", ["cuda:1", "cuda:x", "hip:"])
def test_which_of_several_gpus_is_what_arguments_say(device, capsys):
    code, out, err = run(capsys, "copy", "--shape", "M=64,N=64", "--device", device)
    assert code != 0
    assert out == ""
    assert f"error[WV0719]: there is no device `{device}`" in err
    name, _, _ = device.partition(":")
    assert f"write `{name}`, which launches on the GPU that the arguments are on" in err

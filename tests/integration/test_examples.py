"""Every example runs and agrees with torch, on lanes and on whole tiles."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest
from kernel_shapes import ENOUGH
from programs import PROGRAMS, SCRIPTS, arrays, distance, run_lanes

import workspace
from wave_core.compile import Session, run_case
from wave_core.compile.kernels import make_case
from wave_core.diagnostics import UserError
from wave_kernels.plugin import KERNELS

DEVICES = ("sim", "sim-logical")


@pytest.mark.covering(1)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("script", SCRIPTS)
def test_script(script, device, capsys):
    import_module(script).main(device=device)
    assert capsys.readouterr().out


ON_NVIDIA = {"attention": {"variants": [(None, None)]}, "single_threads": {"lanes": 32}}
"""What an example is given there: it names instructions or lanes of other chips."""


@pytest.mark.parametrize("script", [s for s in SCRIPTS if s != "gemm_mxfp4"])
def test_script_on_another_chip(script, capsys):
    """Scaled products are the only ones that it has no instruction for."""
    given = ON_NVIDIA.get(script, {})
    import_module(script).main(device="emulator", target="sm_90a", **given)
    assert capsys.readouterr().out


def test_scaled_products_are_refused_where_there_are_none():
    with pytest.raises(UserError) as caught:
        import_module("gemm_mxfp4").main(device="emulator", target="sm_90a")
    assert caught.value.code == "WV0702"


def test_every_script_is_tested():
    found = {path.stem for path in (workspace.ROOT / "examples").glob("*.py")}
    assert found == {*SCRIPTS, "demonstrate"}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_agrees_with_torch(name, device):
    program = PROGRAMS[name]
    kernel, tensors, expected = program.build(device=device)
    tensors[-1].fill_(float("nan"))
    kernel(*tensors)
    assert distance(tensors[-1], expected) <= program.tolerance
    assert kernel.last_run.reports == ()


@pytest.mark.parametrize("name", PROGRAMS)
def test_writes_every_element_and_reads_none_unwritten(name):
    kernel, tensors, expected = PROGRAMS[name].build()
    output, result = run_lanes(kernel.graph, arrays(kernel, tensors))
    assert result.reports == ()
    assert distance(output, expected) <= PROGRAMS[name].tolerance


@pytest.mark.covering(1)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("spec", KERNELS, ids=lambda spec: spec.name)
def test_registered_kernel(spec, device):
    factory, shape = Session().plugins.load_kernel(spec.name), ENOUGH.get(spec.name, {})
    case = make_case(factory, spec.name, shape, {}, "generic")
    report = run_case(case, options=_on(case, device))
    assert report.passed, report.to_json()
    assert report.record.reports == ()


def _on(case, device):
    from dataclasses import replace

    return replace(case.options, device=device, poison_outputs=True)


def test_runs_as_a_script_from_anywhere(tmp_path):
    script = workspace.ROOT / "examples" / "gemm.py"
    command = [sys.executable, str(script), "--demo", "--out", str(tmp_path)]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for shown in ("why here", "expand-tiles", "mma", "largest error against torch"):
        assert shown in done.stdout
    assert (tmp_path / "gemm.html").read_text().startswith("<!doctype html>")

"""The plugin and its executors."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from tiles import gemm

from wave_core.diagnostics import UserError
from wave_core.executors import LaunchRequest, LaunchSettings
from wave_core.targets import generic_target
from wave_sim_cpu import plugin
from wave_sim_cpu.executor import LaneExecutor, TileExecutor

HEAVY = ("torch", "sympy", "numpy", "networkx")


def test_plugin_is_cheap_to_import() -> None:
    script = (
        "import sys, wave_sim_cpu.plugin;"
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_devices() -> None:
    specs = {spec.name: spec.target for spec in plugin.wave_register_executors()}
    assert specs == {
        "sim": "wave_sim_cpu.executor:LaneExecutor",
        "sim-logical": "wave_sim_cpu.executor:TileExecutor",
    }


def test_executor_takes_arguments_by_position() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((64, 32)).astype(np.float16) for _ in range(2))
    c = np.zeros((64, 64), np.float32)
    graph = gemm(64, 64, 32, tile=64)
    settings = LaunchSettings(checks={"bounds"})
    request = LaunchRequest.of(graph, generic_target(), (a, b, c), settings=settings)
    result = TileExecutor().launch(request)
    assert result.ok
    np.testing.assert_allclose(c, a.astype(float) @ b.astype(float).T, atol=1e-3)


def test_lanes_refuse_what_is_not_lowered() -> None:
    arrays = [np.zeros((16, 16), t) for t in (np.float16, np.float16, np.float32)]
    with pytest.raises(UserError) as caught:
        LaneExecutor().launch(
            LaunchRequest.of(gemm(16, 16, 16), generic_target(), arrays)
        )
    assert caught.value.code == "WV0912"

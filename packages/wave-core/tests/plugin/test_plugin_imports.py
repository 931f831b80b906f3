"""Plugin modules are imported with every session, so they are light."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("torch", "sympy", "numpy", "networkx")


@pytest.mark.parametrize("module", ["wave_core.plugin", "wave_core.plugin.builtin"])
def test_importing_loads_nothing_heavy(module):
    program = f"import sys, {module} as m; print(*set({HEAVY}) & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


def test_a_pipeline_is_put_together_without_loading_passes():
    program = (
        "import sys; from wave_core.plugin import *;"
        "plan = plan_pipeline(PluginHost([]), PipelineRequest('generic'));"
        "assert plan.rows();"
        f"print(*set({HEAVY}) & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""

"""Importing is cheap: what the light modules may load, and how long it takes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import workspace

HEAVY = frozenset({"torch", "sympy", "numpy", "networkx"})
IMPORT_SECONDS = 0.3
LANGUAGE_SECONDS = 1.0

LOADED = """
import sys
before = set(sys.modules)
__import__({name!r})
import json
new = set(sys.modules) - before
print(json.dumps(sorted({{name.partition(".")[0] for name in new}})))
"""

CPU_TIME = """
import time
start = time.process_time()
__import__({name!r})
print(time.process_time() - start)
"""


def run(script: str) -> str:
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded_by(module: str) -> set[str]:
    return set(json.loads(run(LOADED.format(name=module))))


def cpu_seconds(module: str) -> float:
    """The best of five: the machine may be busy, the work stays the same."""
    return min(float(run(CPU_TIME.format(name=module))) for _ in range(5))


def plugin_modules() -> list[str]:
    groups = [p.project.get("entry-points", {}) for p in workspace.packages()]
    return [m for g in groups for m in g.get("wave_core.plugins", {}).values()]


@pytest.mark.parametrize("module", ["wave_core", *plugin_modules()])
def test_light_modules_load_nothing_heavy(module):
    assert loaded_by(module) & HEAVY == set()


def test_language_loads_no_torch():
    assert "torch" not in loaded_by("wave_core.lang")


def test_kernels_import_without_the_compiler():
    assert loaded_by("wave_kernels") & (HEAVY | {"wave_core"}) == set()


def test_the_probe_sees_heavy_modules():
    assert "numpy" in loaded_by("numpy.linalg")


def test_importing_core_is_fast():
    assert cpu_seconds("wave_core") <= IMPORT_SECONDS


def test_importing_the_language_is_fast():
    assert cpu_seconds("wave_core.lang") <= LANGUAGE_SECONDS

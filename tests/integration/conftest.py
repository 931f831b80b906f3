"""Makes the modules beside this file importable, the examples, and references."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import workspace

sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(workspace.ROOT / "examples"))
sys.path.append(str(workspace.ROOT / "benchmarks"))
for package in ("wave-kernels", "wave-passes-scheduling"):
    sys.path.append(str(workspace.ROOT / "packages" / package / "tests"))


@pytest.fixture(autouse=True)
def same_torch_inputs():
    """Failures repeat: torch draws the same numbers in every run of a test."""
    import torch

    torch.manual_seed(20240517)


@pytest.fixture
def asked(monkeypatch):
    """From a target to the requests of calls that run in its emulator."""
    from wave_core.compile import default_session
    from wave_kernels.functions import launches

    default_session().forget()
    found = []
    run = launches._run

    def kept(call):
        found.append(call.request)
        run(call)

    def emulated(target):
        monkeypatch.setattr(launches, "ON_CPU", ("emulator", target))
        monkeypatch.setattr(launches, "_run", kept)
        return found

    yield emulated
    default_session().forget()

"""Makes the modules beside this file importable, the examples, and some kernels."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import workspace

sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(workspace.ROOT / "examples"))
sys.path.append(str(workspace.ROOT / "packages" / "wave-passes-scheduling" / "tests"))


@pytest.fixture(autouse=True)
def same_torch_inputs():
    """Failures repeat: torch draws the same numbers in every run of a test."""
    import torch

    torch.manual_seed(20240517)

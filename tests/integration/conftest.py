"""Makes the modules beside this file importable, and the examples."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import workspace

sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(workspace.ROOT / "examples"))


@pytest.fixture(autouse=True)
def same_torch_inputs():
    """Failures repeat: torch draws the same numbers in every run of a test."""
    import torch

    torch.manual_seed(20240517)

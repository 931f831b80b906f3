"""Makes the modules beside this file importable, and a view to look at."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from wave_core.compile import Session
from wave_sim_cpu import plugin
from wave_view import collect

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def session():
    """Core and what runs its kernels: what others add is tested with them."""
    return Session({"sim_cpu": plugin}, entry_points=())


@pytest.fixture(scope="session")
def view(session):
    from viewed_kernels import case_of, double

    return collect(case_of(double), session)

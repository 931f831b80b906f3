"""A store of its own for each test; makes what is beside this file importable."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from wave_tune.store import Store

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def store(tmp_path, monkeypatch):
    found = Store(f"sqlite:///{tmp_path}/tune.sqlite3")
    monkeypatch.setenv("WAVE_TUNE_STORE", found.url)
    return found

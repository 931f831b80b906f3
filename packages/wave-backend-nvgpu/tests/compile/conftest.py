"""The tools, a kernel without ops to speak of, and no files left behind."""

from __future__ import annotations

import tempfile

import pytest

from wave_backend_nvgpu.compile.assemble import Limits
from wave_backend_nvgpu.compile.tools import find_assembler
from wave_backend_nvgpu.compile.worker import Worker
from wave_core.ir import Graph


@pytest.fixture(autouse=True)
def _inputs_saved_by_failures(tmp_path, monkeypatch):
    """They would stay in the system's folder of temporary files for ever."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture(scope="module")
def worker():
    found = Worker()
    yield found
    found.close()


@pytest.fixture
def graph():
    return Graph("mapped", "sm_90a", {}, ())


@pytest.fixture
def limits():
    return Limits(60, 8192)


@pytest.fixture(scope="session")
def assembler():
    found = find_assembler()
    assert found is not None, "`ptxas` comes with the extra `assembler`"
    return found

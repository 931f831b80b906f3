"""The budget of symbolic work, on the index expressions of a matrix kernel."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[4] / "benchmarks" / "bench_symbols.py"


@pytest.fixture
def benchmark_module(monkeypatch):
    # The benchmarks share a module beside them, as when they are run as scripts.
    monkeypatch.syspath_prepend(BENCHMARK.parent)
    spec = importlib.util.spec_from_file_location("bench_symbols", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_are_72_index_expressions(benchmark_module):
    assert len(benchmark_module.mfma_indices("t")) == 72


@pytest.mark.bench
def test_building_and_substituting_stays_in_budget(benchmark_module):
    for figure in benchmark_module.figures():
        assert figure.limit is None or figure.value <= figure.limit

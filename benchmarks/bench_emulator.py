"""Speed of the emulator: wave-instructions per second, fast and with hazards.

Run ``python benchmarks/bench_emulator.py``. Each row is the median of some launches in
seconds of CPU time of this process, since wall-clock time says more about the
neighbours of a shared machine; its load is printed. Exits with 1 where a budget is
missed.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wave_emulator_amdgcn import LaunchOptions
from wave_emulator_amdgcn import emulate
from wave_emulator_amdgcn import load

FIXTURES = Path(__file__).parent.parent / "packages/wave-emulator-amdgcn/tests/fixtures"
REPEATS = 7


@dataclass(frozen=True)
class Row:
    """A GEMM of ``size`` x ``size`` x 128 and what it may take."""

    kernel: str
    size: int
    hazards: bool
    budget: int


ROWS = (
    Row("gemm1024", 1024, hazards=False, budget=300_000),
    Row("gemm1024", 1024, hazards=True, budget=100_000),
    Row("gemm", 128, hazards=False, budget=50_000),
    Row("gemm", 128, hazards=True, budget=15_000),
)
"""Wave-instructions per second asked for on two cores."""

TEST_SECONDS = 4.0
"""For a first launch of the 128 x 128 x 128 GEMM, loading and checking included."""


def launch(row):
    """CPU seconds of one launch, from the bytes of the file, and what it did."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, row.size, 128)).astype(np.float16)
    c = np.zeros((row.size, row.size), np.float32)
    grid = (row.size // 64, row.size // 64, 1)
    started = time.process_time()
    code = load((FIXTURES / f"{row.kernel}.gfx942.hsaco").read_bytes())
    options = LaunchOptions(hazards=row.hazards)
    result = emulate(code, [a, b, c], grid=grid, options=options)
    seconds = time.process_time() - started
    assert not result.reports
    assert np.allclose(c, a.astype(np.float32) @ b.T.astype(np.float32), atol=1e-3)
    return seconds, result


def show(row) -> bool:
    """Print a row; whether it keeps its budget."""
    times = [launch(row) for _ in range(REPEATS)]
    seconds = statistics.median(time for time, _ in times)
    result = times[0][1]
    rate = result.instructions / seconds
    mode = "hazards" if row.hazards else "fast"
    print(
        f"{row.kernel:10} {result.waves:6} {mode:8} {rate:13,.0f} {row.budget:9,} "
        f"{seconds:7.3f} {'ok' if rate >= row.budget else 'MISSED'}"
    )
    return rate >= row.budget


def main() -> int:
    """Print a table; 1 where a budget is missed."""
    load_average = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(
        f"load {load_average} on {os.cpu_count()} cores; CPU time, median of {REPEATS}"
    )
    first = ROWS[-1]
    seconds, _ = launch(first)
    kept = seconds <= TEST_SECONDS
    print(f"first launch of {first.kernel}, with hazards: {seconds:.2f} s of 4 s")
    print(
        f"{'kernel':10} {'waves':>6} {'mode':8} {'instr/s':>13} {'asked':>9} {'s':>7}"
    )
    shown = [show(row) for row in ROWS]
    return 0 if kept and all(shown) else 1


if __name__ == "__main__":
    sys.exit(main())

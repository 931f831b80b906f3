"""Speed of the emulator: wave-instructions per second, fast and with hazards.

Run ``python benchmarks/bench_emulator.py``. Each row is the median of some launches in
seconds of CPU time of this process, since wall-clock time says more about the
neighbours of a shared machine; its load is printed. Exits with 1 where a budget is
missed.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from measure import Figure, median, report

from wave_emulator_amdgcn import LaunchOptions, emulate, load

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


def measured(row) -> Figure:
    """The median time of launches, which may be what the budget leaves."""
    made = [launch(row) for _ in range(REPEATS)]
    result = made[0][1]
    figure = median(
        f"{result.waves} waves, {'hazards' if row.hazards else 'fast'}",
        [seconds for seconds, _ in made],
        "s",
        limit=round(result.instructions / row.budget, 3),
    )
    rate = result.instructions / figure.value
    note = f"{rate:,.0f} instructions/s of {row.budget:,}; {figure.note}"
    return replace(figure, note=note)


def figures():
    """The first launch before all others: nothing is warm then."""
    name = "first launch of 128 x 128 x 128, hazards"
    seconds, _ = launch(ROWS[-1])
    yield Figure(name, seconds, "s", TEST_SECONDS)
    for row in ROWS:
        yield measured(row)
    load = os.getloadavg()[0]
    yield Figure(
        "load of the machine", load, "processes", note=f"{os.cpu_count()} cores"
    )


def main() -> None:
    """Print the figures; leaves with 1 where a budget is missed."""
    report("emulator, gfx942: CPU time", figures())


if __name__ == "__main__":
    main()

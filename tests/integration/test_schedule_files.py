"""The schedule file of the documentation, followed by a kernel that has its nodes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
import workspace
from wave_core.compile import Session

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
SHARED, GLOBAL = tkl.SHARED_ADDRESS_SPACE, tkl.GLOBAL_ADDRESS_SPACE
TESTS = workspace.ROOT / "packages/wave-passes-scheduling/tests"
EXAMPLE = str(TESTS / "data/schedule_example.txt")
APART = ("merge-contiguous-reads", "pack-matrix-operands")
"""Passes that would read two fragments at once, which the file does not."""


def gemm():
    """A product whose loop has the nodes of the file."""
    rows = [
        tkw.WorkgroupConstraint(M, 64, 0),
        tkw.WorkgroupConstraint(N, 64, 1),
        tkw.TilingConstraint(K, 32),
        tkw.WaveConstraint(M, 32),
        tkw.WaveConstraint(N, 32),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(rows)
    def product(
        a: tkl.Memory[M, K, SHARED, tkl.f16],
        b: tkl.Memory[N, K, SHARED, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        start = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[start])
        def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(repeat, c)

    return product


@pytest.mark.parametrize("tiles", [1, 2, 3, 4, 9])
def test_the_documented_schedule_is_followed(tiles, tmp_path):
    dumped = tmp_path / "schedule.txt"
    options = tkw.WaveCompileOptions(
        subs={M: 70, N: 64, K: 32 * tiles},
        device="sim",
        override_schedule=EXAMPLE,
        dump_schedule=str(dumped),
        disable_passes=APART,
    )
    kernel = tkw.wave_compile(options, gemm(), session=Session())
    rng = np.random.default_rng(tiles)
    a, b = (rng.standard_normal((i, 32 * tiles)).astype(np.float16) for i in (70, 64))
    c = np.full((70, 64), np.nan, np.float32)
    kernel(a, b, c)
    assert np.abs(c - a.astype(np.float64) @ b.astype(np.float64).T).max() < 1e-4
    # Interval, stages and the whole reservation table are those of the file.
    assert table(dumped) == table(Path(EXAMPLE))


def table(path):
    """The header and the reservation table, without comments."""
    lines = path.read_text("utf-8").partition("Node Name")[0].splitlines()
    return [line for line in lines if line and not line.startswith("#")]

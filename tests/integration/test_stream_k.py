"""The library's stream-K product: f64 at the edges, the same bits in each run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from wave_core.compile import Config, Session, wave_compile
from wave_core.compile.kernels import make_case

NAME = "gemm-stream-k"
TILES = {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 16}
EDGES = (
    (1, 1, 1, 2),
    (31, 37, 15, 1),
    (32, 64, 32, 2),
    (33, 65, 17, 4),
    (32, 32, 500, 6),
    (32, 32, 40, 8),
    (70, 100, 33, 5),
)
"""M, N, K and workgroups: one element, odd sizes, whole tiles, one more, one tile split
along K, fewer steps than workgroups, whole tiles and a rest."""


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


@pytest.mark.covering(1)
@pytest.mark.parametrize("dynamic", [0, 1])
@pytest.mark.parametrize(
    ("device", "target"),
    [
        ("sim-logical", "gfx942"),
        ("sim", "gfx942"),
        ("emulator", "gfx942"),
        ("emulator", "gfx950"),
        ("emulator", "gfx90a"),
    ],
)
@pytest.mark.parametrize("sizes", EDGES, ids=lambda row: "x".join(map(str, row)))
def test_right_and_the_same_in_each_run(session, sizes, device, target, dynamic):
    *shape, workers = sizes
    settings = TILES | {"WORKERS": workers, "DYNAMIC": dynamic}
    factory = session.plugins.load_kernel(NAME)
    named = dict(zip("MNK", shape, strict=True))
    made = make_case(factory, NAME, named, settings, target)
    kernel = wave_compile(
        replace(made.options, device=device), made.kernel, session=session
    )
    arguments = made.make_arguments(np.random.default_rng(5))
    (expected,) = made.reference(arguments)
    runs = []
    for _ in range(2):
        arguments[-1].fill(np.nan)
        kernel(*arguments)
        runs.append(arguments[-1].copy())
        assert not arguments[3].any(), "locks are left as they were"
    assert made.scale is not None
    error = np.abs(runs[0] - expected).max()
    assert error <= made.tolerance * made.scale(arguments)
    assert np.array_equal(*runs)
    assert kernel.last_run.grid == (workers,)

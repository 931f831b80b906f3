"""Sums over K that workgroups share: right, the same in each run, chosen by itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from wave_core.compile import Config, Session, wave_compile
from wave_core.compile.alternatives import fastest
from wave_core.compile.kernels import make_case
from wave_kernels.cases.gemm import WAYS, ways_of

TILE = {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32, "WAVES_M": 2, "WAVES_N": 2}
EDGES = (
    (1, 1, 1, 2),
    (31, 37, 64, 2),
    (32, 32, 65, 2),
    (33, 65, 500, 4),
    (32, 64, 1000, 8),
    (17, 5, 1000, 32),
)
"""M, N, K and workgroups a tile: one element, odd sizes, whole tiles, one more; fewer
tiles along K than workgroups; a rest of 1, 2 and 3 beside those fetched at once."""


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def case(session, name, sizes, target="gfx942", **settings):
    factory = session.plugins.load_kernel(name)
    named = dict(zip("MNK", sizes, strict=True))
    return make_case(factory, name, named, settings, target)


@pytest.mark.covering(1)
@pytest.mark.parametrize(
    ("device", "target"),
    [
        ("sim-logical", "gfx942"),
        ("sim", "gfx942"),
        ("emulator", "gfx942"),
        ("emulator", "gfx950"),
        ("emulator", "gfx1201"),
    ],
)
@pytest.mark.parametrize("sizes", EDGES, ids=lambda row: "x".join(map(str, row)))
def test_right_and_the_same_in_each_run(session, sizes, device, target):
    *shape, split = sizes
    made = case(session, "gemm-split-k", shape, target, SPLIT=split, **TILE)
    options = replace(made.options, device=device, preset="default")
    kernel = wave_compile(options, made.kernel, session=session)
    arguments = made.make_arguments(np.random.default_rng(5))
    (expected,) = made.reference(arguments)
    runs = []
    for _ in range(2):
        arguments[-1].fill(np.nan)
        kernel(*arguments)
        assert kernel.last_run.reports == ()
        assert not arguments[3].any(), "counters are left as they were"
        runs.append(arguments[-1].copy())
    assert made.scale is not None
    error = np.abs(runs[0] - expected).max()
    assert error <= made.tolerance * made.scale(arguments)
    assert np.array_equal(*runs)


FEW = ((128, 128, 16384), (16, 512, 16384), (1, 256, 16384))
"""Sizes whose tiles are fewer than a third of the compute units, also the smallest."""


def taken(session, made, preset="auto"):
    others = tuple(
        replace(each, options=replace(each.options, preset=preset))
        for each in made.others
    )
    options = replace(made.options, preset=preset)
    return fastest(replace(made, options=options, others=others), session)


@pytest.mark.parametrize("target", ["gfx942", "gfx950", "sm_90"])
@pytest.mark.parametrize("sizes", FEW)
def test_few_tiles_are_shared(session, sizes, target):
    made = case(session, "gemm", sizes, target)
    assert taken(session, made).kernel.name == "gemm_split_k"
    assert taken(session, made, "default").kernel.name == "gemm"


@pytest.mark.parametrize(
    "sizes", [(4096, 4096, 4096), (1024, 1024, 1024), (64, 64, 64)]
)
def test_many_tiles_and_short_sums_are_not(session, sizes):
    assert taken(session, case(session, "gemm", sizes)).kernel.name == "gemm"


def test_who_shares_a_tile_is_told(session):
    told = []
    speaking = Session(config=Config(cache=False), announce=told.append)
    taken(speaking, case(speaking, "gemm", FEW[0]))
    assert len(told) == 1
    assert "is compiled as `gemm_split_k`" in told[0]


def test_settings_of_the_author_stay(session):
    made = case(session, "gemm", FEW[0], BLOCK_M=128, BLOCK_N=64)
    found = taken(session, made)
    assert found.kernel.name == "gemm_split_k"
    kernel = wave_compile(found.options, found.kernel, session=session)
    bound = {str(s): str(v) for s, v in kernel.compiled.lowered.bindings.items()}
    assert (bound["BLOCK_M"], bound["BLOCK_N"]) == ("128", "64")
    assert case(session, "gemm", FEW[0], DYNAMIC=1).others == ()


def test_no_more_workgroups_than_compute_units():
    for sizes in FEW:
        named = dict(zip("MNK", sizes, strict=True))
        for split, rows, columns, *_ in ways_of(named, "gfx942"):
            tiles = -(-named["M"] // rows) * -(-named["N"] // columns)
            assert split * tiles <= 304
    assert ways_of({"M": 1, "N": 1, "K": 1 << 20}, "gfx942") == list(WAYS)
    assert ways_of({"M": 0, "N": 1, "K": 0}, "gfx942") == []


def test_estimates_follow_the_machine(session):
    """Cycles of the emulator's model, in place of one tile a compute unit."""
    rows = []
    for name in ("gemm", "gemm-split-k"):
        made = case(session, name, (16, 16, 8192))
        options = replace(made.options, device="emulator", preset="auto")
        kernel = wave_compile(options, made.kernel, session=session)
        kernel(*made.make_arguments(np.random.default_rng(1)))
        rows.append(kernel.last_run.counters["cycles"]["total"])
    assert rows[0] > 4 * rows[1]

"""Causal attention as machine code: loops as long as a workgroup's place says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wave_core.compile import Config, Session, run_case
from wave_core.compile.kernels import make_case

NAME = "attention-causal"
TILE = {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K2": 32, "WAVES_M": 1, "MMA_ROWS": 16}
SIZES = ((1, 1), (31, 33), (32, 96), (33, 17), (97, 97))
"""Queries and keys: more of these, fewer, and tiles that only some workgroups see."""


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


@pytest.mark.filterwarnings("ignore")  # a loop that stays as it is says so
@pytest.mark.covering(1)
@pytest.mark.parametrize("preset", ["default", "prefetch", "fetch-ahead"])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("target", ["gfx942", "gfx950", "sm_80", "sm_90a"])
def test_edges(session, target, sizes, preset):
    factory = session.plugins.load_kernel(NAME)
    shape = {"B": 2, "M": sizes[0], "K2": sizes[1], "N": 32, "K1": 32}
    made = make_case(factory, NAME, shape, {"STAGED": 1, **TILE}, target)
    options = replace(
        made.options, device="emulator", poison_outputs=True, preset=preset
    )
    report = run_case(made, options=options, session=session)
    assert report.passed, report.to_json()
    assert report.record.reports == ()

"""Attention whose sums are rescaled only where scores grow: every way to grow."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from wave_core.compile import Config, Session, run_case
from wave_core.compile.kernels import make_case
from wave_kernels.definitions.lazy_attention import LAG

SESSION = Session(config=Config(cache=False), announce=lambda _: None)
FACTORY = SESSION.plugins.load_kernel("attention")
KEYS, ROWS = 101, 33
TILE = {"BLOCK_M": 64, "WAVES_M": 2, "MMA_ROWS": 32, "BLOCK_K2": 32}

_NUMBER = np.arange(KEYS)
SCORES = {
    "growing": 3.0 * _NUMBER,
    "growing by less than the lag": 0.2 * _NUMBER,
    "by the lag in each tile": LAG * (_NUMBER // 32),
    "by more than the lag in each tile": (LAG + 1) * (_NUMBER // 32),
    "falling": -3.0 * _NUMBER,
    "low": -1000.0 + 0.1 * _NUMBER,
    "high at last": np.where(_NUMBER == KEYS - 1, 2000.0, 0.0),
    "low at first": np.where(_NUMBER < 32, -2000.0, 0.0),
    "as high as f16 is": 60000.0 - 32.0 * _NUMBER,
}


def case_of(scores, target="gfx942", keys=KEYS, **settings):
    """Row 0 sees the scores, row 1 their negatives, others parts of them."""
    shape = {"B": 1, "M": ROWS, "N": 40, "K1": 20, "K2": keys}
    made = make_case(FACTORY, "attention", shape, settings, target)

    def arguments(rng):
        q, k, v, c = made.make_arguments(rng)
        q[:], k[:] = 0, 0
        q[0, :, 0] = np.concatenate([[1, -1], np.linspace(-1, 1, ROWS - 2)])
        k[0, :, 0] = scores
        return [q, k, v, c]

    return replace(made, make_arguments=arguments)


def check(made, device, **options):
    asked = replace(made.options, device=device, poison_outputs=True, **options)
    report = run_case(made, options=asked, session=SESSION, seed=1)
    assert report.passed, report.to_json()
    return report


def is_lazy(made):
    return "lazy_attention" in str(made.kernel.location)


@pytest.mark.covering(1)
@pytest.mark.parametrize("device", ["sim-logical", "emulator"])
@pytest.mark.parametrize("scores", SCORES.values(), ids=SCORES)
def test_sums_stay_right_however_scores_grow(scores, device):
    made = case_of(scores, **TILE)
    assert is_lazy(made)
    check(made, device, preset="default")


@pytest.mark.covering(1)
@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
@pytest.mark.parametrize(
    "preset", ["prefetch", "fetch-ahead", "prefetch-attention", "modulo"]
)
def test_they_stay_right_in_loops_that_are_pipelined(target, preset):
    scores = SCORES["by more than the lag in each tile"]
    made = case_of(scores, target, STAGED=1, BLOCK_N=64, **TILE)
    check(made, "emulator", preset=preset)


@pytest.mark.covering(1)
@pytest.mark.parametrize("keys", [1, 31, 32, 33, 97])
@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
def test_they_stay_right_for_any_number_of_keys(target, keys):
    made = case_of(-50.0 + 20.0 * np.arange(keys), target, keys)
    assert is_lazy(made)
    check(made, "emulator")


@pytest.mark.parametrize(
    ("target", "settings", "lazy"),
    [
        ("gfx942", {}, True),
        ("gfx942", TILE, True),
        ("gfx942", {"BLOCK_N": 128, "STAGED": 1}, True),
        ("gfx942", {"MMA_ROWS": 16}, False),
        ("gfx942", {"BLOCK_M": 128, "WAVES_M": 2, "MMA_ROWS": 32}, False),
        ("gfx942", {"WAVES_M": 4}, False),
        ("gfx1100", {}, False),
    ],
)
def test_tiles_of_which_a_lane_has_more_rows_are_rescaled_always(
    target, settings, lazy
):
    shape = {"B": 1, "M": 64, "N": 64, "K1": 64, "K2": 64}
    assert is_lazy(make_case(FACTORY, "attention", shape, settings, target)) is lazy

"""What is done to the scores of attention over heads, in lanes and as machine code."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wave_core.compile import Config, Session, run_case
from wave_core.compile.kernels import make_case

NAME = "attention-heads"
SHAPE = {"B": 1, "M": 70, "H": 2, "N": 17, "K1": 20, "K2": 65}
VARIANTS = {
    "causal": {"CAUSAL": 1},
    "window": {"WINDOW": 9},
    "softcap": {"SOFTCAP": 2, "LSE": 1},
    "bias": {"BIAS": 1, "DTYPE": "bf16", "RESULT": "bf16"},
    "alibi": {"ALIBI": 1, "RESULT": "f16"},
    "groups": {"GROUP": 2, "LAYOUT": "bhsd", "CAUSAL": 1, "WINDOW": 20},
    "all": {
        "CAUSAL": 1,
        "WINDOW": 30,
        "SOFTCAP": 2,
        "BIAS": 1,
        "ALIBI": 1,
        "GROUP": 2,
        "LSE": 1,
    },
}
MACHINES = [
    *(("sim", "generic"), ("sim", "gfx950"), ("sim", "sm_90a")),
    *(("emulator", "gfx942"), ("emulator", "gfx950"), ("emulator", "gfx1201")),
    *(("emulator", "sm_80"), ("emulator", "sm_90a")),
]


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def check(session, shape, settings, machine, name=NAME, **options):
    device, target = machine
    factory = session.plugins.load_kernel(name)
    made = make_case(factory, name, shape, settings, target)
    asked = replace(made.options, device=device, poison_outputs=True, **options)
    report = run_case(made, options=asked, session=session)
    assert report.passed, report.to_json()
    assert report.record.reports == ()
    return report


@pytest.mark.covering(1)
@pytest.mark.parametrize("machine", MACHINES, ids="-".join)
@pytest.mark.parametrize("variant", VARIANTS)
def test_variants(session, variant, machine):
    check(session, SHAPE, VARIANTS[variant], machine)


@pytest.mark.covering(1)
@pytest.mark.parametrize("machine", [MACHINES[i] for i in (3, -1)], ids="-".join)
@pytest.mark.parametrize("name", ["attention-keys", "attention-queries"])
def test_gradients_of_variants(session, name, machine):
    settings = {n: v for n, v in VARIANTS["all"].items() if n != "LSE"}
    tile = {"BLOCK_M": 32, "BLOCK_K2": 32, "WAVES_M": 2, "MMA_ROWS": 16}
    check(session, SHAPE, settings | tile, machine, name)


SERVED = {"CAUSAL": 1, "GROUP": 2, "PAGED": 1, "SOFTCAP": 2, "ALIBI": 1}


@pytest.mark.covering(1)
@pytest.mark.parametrize("machine", [MACHINES[i] for i in (4, -1)], ids="-".join)
@pytest.mark.parametrize("variant", [SERVED, {"TREE": 1, "PAGED": 1}])
def test_sequences_in_a_cache(session, variant, machine):
    shape = {"B": 2, "M": 9, "H": 2, "N": 17, "K1": 20, "K2": 70}
    check(session, shape, variant | TILE, machine, "attention-varlen")


TILE = {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K2": 32, "WAVES_M": 1, "MMA_ROWS": 16}
SIZES = [(1, 1), (1, 97), (31, 33), (33, 32), (97, 17), (32, 96)]


@pytest.mark.filterwarnings("ignore")  # a loop that stays as it is says so
@pytest.mark.covering(1)
@pytest.mark.parametrize("preset", ["default", "prefetch", "fetch-ahead"])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("machine", MACHINES[3:], ids="-".join)
@pytest.mark.parametrize("variant", ["causal", "window", "all"])
def test_loops_that_leave_tiles_out(session, variant, machine, sizes, preset):
    shape = {**SHAPE, "M": sizes[0], "K2": sizes[1]}
    check(session, shape, VARIANTS[variant] | TILE, machine, preset=preset)


def test_a_window_reads_no_tile_that_it_hides(session):
    shape = {"B": 1, "H": 1, "M": 512, "K2": 512, "N": 32, "K1": 32}
    tile = {"BLOCK_M": 32, "BLOCK_K2": 32, "BLOCK_N": 32, "WAVES_M": 1}
    products: list[int] = []
    for variant in ({}, {"CAUSAL": 1}, {"CAUSAL": 1, "WINDOW": 32}):
        report = check(session, shape, variant | tile, ("sim", "generic"))
        products.append(report.record.counters["instructions"]["mma"])
    # 16 x 16 tiles; on and below the diagonal; the diagonal and the one beside it.
    tiles = [16 * 16, 16 * 17 // 2, 2 * 16 - 1]
    assert products == [products[0] * each // tiles[0] for each in tiles]

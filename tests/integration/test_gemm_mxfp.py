"""The library's product of scaled small floats, against numpy in f64."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wave_core.compile import Config, Session, run_case
from wave_core.compile.alternatives import all_choices
from wave_core.compile.emission import emit
from wave_core.compile.kernels import make_case
from wave_core.diagnostics import UserError
from wave_isa_amdgcn.metrics import measure
from wave_kernels.cases.gemm_mxfp import FORMATS, RESULTS
from wave_kernels.definitions.gemm_mxfp import ORDERS

NAME = "gemm-mxfp"
SIZES = ((1, 1, 32), (31, 67, 96), (127, 129, 544), (128, 64, 256))
TILES = (
    {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 256, "WAVES_M": 2, "WAVES_N": 2},
    {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 128, "WAVES_M": 1, "WAVES_N": 2},
)


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def case(session, sizes=(64, 64, 64), target="gfx950", **settings):
    factory = session.plugins.load_kernel(NAME)
    return make_case(
        factory, NAME, dict(zip("MNK", sizes, strict=True)), settings, target
    )


def check(session, made, device, **options):
    given = replace(made.options, device=device, poison_outputs=True, **options)
    report = run_case(made, options=given, session=session)
    assert report.passed, report.to_json()
    assert report.record.reports == ()


@pytest.mark.covering(1)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("staged", [0, 1])
@pytest.mark.parametrize("tile", TILES, ids=("deep", "flat"))
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("name", FORMATS)
def test_scaled_operands(session, name, sizes, tile, staged, order):
    given = {"FORMAT": name, "STAGED": staged, "SHUFFLED": order}
    made = case(session, sizes, **given, **tile)
    for device in ("sim", "emulator"):
        check(session, made, device, preset="default")


@pytest.mark.parametrize("target", ["generic", "gfx942", "gfx950"])
@pytest.mark.parametrize("result", RESULTS)
def test_results(session, result, target):
    made = case(session, (33, 70, 160), target, RESULT=result)
    check(session, made, "sim")


@pytest.mark.covering(1)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("name", FORMATS)
def test_block_by_block(session, name, sizes, order):
    made = case(session, sizes, "gfx942", FORMAT=name, SHUFFLED=order)
    check(session, made, "emulator")


@pytest.mark.parametrize(
    ("sizes", "settings", "what"),
    [
        ((64, 64, 50), {}, "no whole number of blocks"),
        ((64, 64, 1), {}, "K=32"),
        ((64, 64, 64), {"FORMAT": "f16"}, "f4e2m1fn"),
        ((64, 64, 64), {"RESULT": 7}, "f32"),
        ((64, 64, 64), {"SHUFFLED": 1}, "none, scales, all"),
    ],
)
def test_refusals(session, sizes, settings, what):
    with pytest.raises(UserError, match=what) as caught:
        case(session, sizes, **settings)
    assert caught.value.code == "WV0823"


LIMITS = {
    "f4e2m1fn": {"none": 0.019, "scales": 0.0165, "all": 0.015},
    "f6e2m3fn": {"none": 0.027, "scales": 0.023, "all": 0.019},
    "f8e4m3fn": {"none": 0.033, "scales": 0.029, "all": 0.0255},
}
"""Instructions that are no products, by 1024 FLOPs of a wave."""


def lean(session, name, order, **options):
    """What a loop has beside products, by 1024 FLOPs, at tiles of 256."""
    tile = dict.fromkeys(("BLOCK_M", "BLOCK_N", "BLOCK_K"), 256)
    given = {"FORMAT": name, "SHUFFLED": order, "WAVES_M": 2, "WAVES_N": 2}
    made = case(session, (4096,) * 3, STAGED=1, **given, **tile)
    asked = replace(made.options, preset="default", **options)
    files = emit(asked, made.kernel, "asm", session).files
    (text,) = (data.decode() for name, data in files.items() if name.endswith(".s"))
    found = measure(text, "gemm_mxfp", session.target("gfx950"))
    assert found.hot is not None
    others = found.hot.counts["total"] - found.hot.counts["matrix"]
    assert found.resources.vgpr_spills == 0
    return others / (found.hot.flops / 1024)


@pytest.mark.covering(1)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", LIMITS)
def test_hot_loops_are_lean(session, name, order):
    """Scales of a wave are one read each, and three reads are two of 6-bit tiles."""
    assert lean(session, name, order) <= LIMITS[name][order]


@pytest.mark.parametrize("order", ORDERS)
def test_hot_loops_of_the_assembly_path_are_lean(session, order):
    """By hand somebody has written a loop with 0.017."""
    assert lean(session, "f4e2m1fn", order, backend="asm") <= 0.0165


def test_shuffled_weights_are_not_read_twice(session):
    """Waves lie side by side, and what lanes read in order counts as what it is."""
    found = {}
    for order in ORDERS:
        made = case(session, (4096,) * 3, SHUFFLED=order)
        _, first = all_choices(made, session)[0]
        found[order] = first
    waves = [str(symbol) for symbol, n in found["all"].subs.items() if n == 1]
    assert waves == ["WAVES_M"]
    cycles = {order: choice.figures["cycles"] for order, choice in found.items()}
    assert cycles["scales"] <= 0.75 * cycles["none"]
    assert cycles["all"] <= 0.75 * cycles["none"]

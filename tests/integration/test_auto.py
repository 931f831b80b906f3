"""Preset ``auto`` on kernels of the library: every choice is right; one is taken."""

from __future__ import annotations

from dataclasses import replace
from time import process_time

import pytest

from wave_core.compile import Config, Session, run_case, wave_compile
from wave_core.compile.bisect import bisect_case
from wave_core.compile.choosing import choices, settlements
from wave_core.compile.kernels import make_case
from wave_core.diagnostics import UserError
from wave_core.plugin import Choice
from wave_core.symbols import symbol
from wave_core.types import AddressSpace
from wave_passes_scheduling.auto.ways import ways_for

SESSION = Session(config=Config(cache=False), announce=lambda _: None)
TARGETS = ("gfx942", "gfx950")
LARGE = {
    "gemm": {"M": 8192, "N": 8192, "K": 8192},
    "attention": {"B": 64, "M": 4096, "N": 64, "K1": 64, "K2": 4096},
    "attention d128": {"B": 64, "M": 4096, "N": 128, "K1": 128, "K2": 4096},
    "attention-heads": {"B": 4, "M": 4096, "H": 32, "N": 64, "K1": 64, "K2": 4096},
    "conv2d": {"N": 32, "H": 64, "W": 64, "C": 64, "NF": 128},
    "conv2d-input": {"N": 32, "H": 64, "W": 64, "C": 64, "NF": 128},
    "conv2d-weight": {"N": 32, "H": 64, "W": 64, "C": 64, "NF": 128},
}
"""Sizes at which every way to compile the kernel has something to overlap."""
SMALL = {
    "gemm": {"M": 131, "N": 67, "K": 200},
    "attention": {"B": 1, "M": 67, "N": 64, "K1": 64, "K2": 200},
    "attention d128": {"B": 1, "M": 67, "N": 128, "K1": 128, "K2": 200},
    "attention-heads": {"B": 1, "M": 67, "H": 2, "N": 64, "K1": 64, "K2": 200},
    "conv2d": {"N": 1, "H": 9, "W": 8, "C": 24, "NF": 35},
    "conv2d-input": {"N": 1, "H": 9, "W": 8, "C": 24, "NF": 35},
    "conv2d-weight": {"N": 1, "H": 9, "W": 8, "C": 24, "NF": 35},
}
"""Sizes that no tile divides."""


def case_of(kernel, shape, target, **options):
    kernel = kernel.partition(" ")[0]
    factory = SESSION.plugins.load_kernel(kernel)
    case = make_case(factory, kernel, shape, {}, target)
    return replace(case, options=replace(case.options, preset="auto", **options))


def choices_of(kernel, target):
    case = case_of(kernel, LARGE[kernel], target)
    return choices(case.options, case.kernel, SESSION)


def fitting(kernel, target):
    return [each for each in choices_of(kernel, target) if not each.refused]


@pytest.mark.covering(1, "kernel", "target")
@pytest.mark.parametrize("place", range(12))
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel", SMALL)
def test_every_choice_is_right_as_machine_code(kernel, target, place):
    found = fitting(kernel, target)
    choice = found[place % len(found)]
    case = case_of(kernel, SMALL[kernel], target, device="emulator")
    subs = {**case.options.subs, **choice.subs}
    asked = replace(case.options, subs=subs, **choice.options, poison_outputs=True)
    report = run_case(case, options=asked, session=SESSION, seed=place)
    assert report.passed, report.to_json()
    assert report.record.reports == ()


BEYOND_PRESETS = [
    pytest.param(target, way, id=f"{target}-{way.options}")
    for target in ("gfx950", "sm_90a")
    for way in ways_for(SESSION.target(target))
    if way.options.keys() - {"preset"} and not way.chained
]
"""Ways for loops of one product; what is chained is tried with attention above."""


@pytest.mark.covering(1)
@pytest.mark.parametrize(("target", "way"), BEYOND_PRESETS)
@pytest.mark.parametrize("device", ["sim", "emulator"])
@pytest.mark.parametrize("sizes", [(1, 131, 127), (63, 65, 129), (64, 1, 192)], ids=str)
def test_ways_with_options_are_right_at_edges(target, way, sizes, device):
    found = choices_of("gemm", target)
    choice = min(
        (each for each in found if each.options == way.options),
        key=lambda each: each.figures["registers"],
    )
    shape = dict(zip("MNK", sizes, strict=True))
    case = case_of("gemm", shape, target, device=device)
    subs = {**case.options.subs, **choice.subs}
    asked = replace(case.options, subs=subs, **choice.options, poison_outputs=True)
    report = run_case(case, options=asked, session=SESSION, seed=7)
    assert report.passed, report.to_json()


@pytest.mark.covering(1)
@pytest.mark.parametrize("device", ["sim", "emulator"])
@pytest.mark.parametrize("kernel", [*SMALL, "softmax", "copy"])
def test_nothing_set_is_right(kernel, device):
    case = case_of(kernel, SMALL.get(kernel, {}), "gfx942", device=device)
    report = run_case(case, session=SESSION, seed=3)
    assert report.passed, report.to_json()


@pytest.mark.parametrize("set_", [{}, {"BLOCK_M": 64}], ids=["nothing", "one tile"])
def test_a_report_names_what_was_chosen(set_):
    factory = SESSION.plugins.load_kernel("gemm")
    case = make_case(factory, "gemm", {"M": 64, "N": 64, "K": 256}, set_, "gfx942")
    found = run_case(case, session=SESSION, seed=1).to_json()
    best = settlements(case.options, case.kernel, SESSION)[0]
    assert found["preset"] == best.preset != "auto"
    for name, value in found["settled"].items():
        assert str(value) == str(best.subs[symbol(name)])
    assert found["settled"].items() >= set_.items()
    assert found["waves"] == found["settled"]["WAVES_M"] * found["settled"]["WAVES_N"]


@pytest.mark.parametrize("sizes", [(1, 1, 1), (0, 64, 32), (127, 129, 33)], ids=str)
def test_sizes_at_the_edge(sizes):
    shape = dict(zip("MNK", sizes, strict=True))
    case = case_of("gemm", shape, "gfx950", device="emulator")
    report = run_case(case, session=SESSION, seed=5)
    assert report.passed, report.to_json()


@pytest.mark.parametrize("depth", [31, 200])
def test_a_product_whose_sizes_come_with_the_launch(depth):
    factory = SESSION.plugins.load_kernel("gemm")
    shape = {"M": 70, "N": 33, "K": depth}
    case = make_case(factory, "gemm", shape, {"DYNAMIC": 1}, "gfx942")
    asked = replace(case.options, device="emulator", poison_outputs=True)
    report = run_case(case, options=asked, session=SESSION, seed=depth)
    assert report.passed, report.to_json()
    best = settlements(asked, case.kernel, SESSION)[0]
    assert best.preset == "pingpong"
    assert not wave_compile(best, case.kernel, session=SESSION).compiled.warnings


@pytest.mark.parametrize("target", TARGETS)
def test_a_product_stages_and_pipelines_by_itself(target):
    best = fitting("gemm", target)[0]
    subs = {str(symbol): str(value) for symbol, value in best.subs.items()}
    assert subs["ADDRESS_SPACE"] == "shared"
    assert best.options["preset"] in {"fetch-ahead", "pingpong"}
    assert best.figures["% of matrix units"] > 85


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel", ["attention", "attention d128"])
def test_attention_stages_and_takes_the_instruction_of_most_rows(kernel, target):
    best = fitting(kernel, target)[0]
    subs = {str(symbol): str(value) for symbol, value in best.subs.items()}
    assert subs["ADDRESS_SPACE"] == "shared"
    assert subs["MMA_ROWS"] == "32"
    assert int(subs["BLOCK_N"]) == LARGE[kernel]["N"]


@pytest.mark.parametrize("keys", [1, 33, 127, 129])
def test_attention_of_few_keys(keys):
    shape = SMALL["attention"] | {"K2": keys}
    case = case_of("attention", shape, "gfx950", device="emulator")
    report = run_case(case, session=SESSION, seed=keys)
    assert report.passed, report.to_json()


@pytest.mark.parametrize("kernel", ["gemm", "attention"])
def test_choosing_costs_milliseconds(kernel):
    case = case_of(kernel, LARGE[kernel], "gfx942")
    tries = []
    for _ in range(3):  # The least counts: garbage may be collected during any.
        start = process_time()
        choices(case.options, case.kernel, SESSION)
        tries.append(process_time() - start)
    assert min(tries) < 0.25


def test_tiles_of_which_one_copy_fits_are_staged_and_fetched_ahead():
    tiles = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64}
    large = case_of("gemm", LARGE["gemm"], "gfx942")
    asked = replace(large.options, subs={**large.options.subs, **tiles})
    best = choices(asked, large.kernel, SESSION)[0]
    assert best.options == {"preset": "fetch-ahead"}
    assert best.subs[symbol("ADDRESS_SPACE")] is AddressSpace.SHARED
    assert best.figures["bytes of LDS"] == 2 * (128 + 256) * 64
    case = case_of("gemm", SMALL["gemm"], "gfx942", device="emulator")
    subs = {**case.options.subs, **tiles, **best.subs}
    settled = replace(case.options, subs=subs, **best.options, poison_outputs=True)
    report = run_case(case, options=settled, session=SESSION, seed=4)
    assert report.passed, report.to_json()


def test_tiles_that_fit_nowhere_are_read_unstaged_with_one_note():
    told = []
    session = Session(config=Config(cache=False), announce=told.append)
    case = case_of("gemm", {"M": 64, "N": 64, "K": 64}, "gfx942", device="emulator")
    tiles = {"BLOCK_M": 256, "BLOCK_N": 256, "BLOCK_K": 256, "WAVES_M": 2, "WAVES_N": 4}
    space = {symbol("ADDRESS_SPACE"): AddressSpace.SHARED}
    subs = {**case.options.subs, **tiles, **space}
    found = wave_compile(replace(case.options, subs=subs), case.kernel, session=session)
    assert found.options.preset == "naive"
    (note,) = told
    assert "`BLOCK_K=64` in place of 256 it fits" in note


def test_a_choice_that_needs_more_than_the_chip_has_gives_way_before_it_is_launched():
    tile, blocks = 512, (symbol("BLOCK_M"), symbol("BLOCK_N"))

    def choose(request):
        assert len(request.values) > 1
        yield Choice(dict.fromkeys(blocks, tile), {"preset": "naive"})

    session = Session(config=Config(cache=False), announce=lambda _: None)
    session.plugins.load_chooser = lambda _: choose
    case = case_of("gemm", {"M": 64, "N": 64, "K": 64}, "gfx942", device="emulator")
    report = run_case(case, session=session, seed=1)
    assert report.passed
    assert report.kernel.options.subs[blocks[0]] != tile


def test_what_nobody_chooses_for_is_compiled_as_by_default():
    case = case_of("gemm", {"M": 64, "N": 64, "K": 64}, "gfx942", device="sim")
    without = Config(cache=False, disabled_plugins=("passes_scheduling",))
    session = Session(config=without)
    assert "auto" not in session.plugins.choosers
    assert run_case(case, session=session, seed=2).kernel.options.preset == "default"


def test_a_kernel_that_no_way_fits_is_refused_as_by_default():
    case = case_of("gemm", {"M": 64, "N": 64, "K": 64}, "gfx942", device="emulator")
    tiles = dict.fromkeys(("BLOCK_M", "BLOCK_N"), 512) | {"BLOCK_K": 64}
    subs = {**case.options.subs, **tiles}
    asked = replace(case.options, subs=subs, cost_limit=None)
    plain = replace(settlements(asked, case.kernel, SESSION)[-1], preset="default")
    with pytest.raises(UserError) as usual:
        run_case(case, options=plain, session=SESSION)
    with pytest.raises(UserError) as chosen:
        run_case(case, options=asked, session=SESSION)
    assert chosen.value.code == usual.value.code


def test_bisection_settles_what_is_open():
    case = case_of("gemm", {"M": 40, "N": 64, "K": 64}, "gfx942", device="sim")
    found = bisect_case(case, session=SESSION, seed=1)
    assert found.first_wrong is None


@pytest.mark.parametrize(
    ("kernel", "take_turns"), [("gemm-nn", True), ("gemm-tn", False)]
)
def test_waves_that_turn_both_tiles_take_no_turns(kernel, take_turns):
    """Four workgroups keep matrix units 0.97 of the time busy, waves in turn 0.89."""
    case = case_of(kernel, dict.fromkeys("MNK", 4096), "gfx942")
    first, *_ = settlements(case.options, case.kernel, SESSION)
    assert (first.preset == "pingpong") == take_turns


@pytest.mark.parametrize("kernel", ["gemm-nn", "gemm-tn", "gemm-tt"])
def test_addresses_of_transposed_reads_are_not_computed_in_each_turn(kernel):
    """Of waves that alternate: the addresses would wait for the others' products."""
    case = case_of(kernel, LARGE["gemm"], "gfx950")
    found = choices(case.options, case.kernel, SESSION)
    through = [each.options for each in found if "passes" not in each.options]
    names = [(each["preset"], each.get("unroll_factor")) for each in through]
    assert names.index(("pingpong", 2)) < names.index(("pingpong", None))
    assert names[0] != ("pingpong", None)


@pytest.mark.parametrize("kernel", ["gemm", "gemm-tt"])
def test_large_products_are_copied_directly_two_iterations_ahead(kernel):
    case = case_of(kernel, LARGE["gemm"], "gfx950")
    first = choices(case.options, case.kernel, SESSION)[0]
    assert first.options["preset"] == "pingpong"
    assert first.options["multi_buffer_count"] == 3
    assert first.options["passes"] == ("copy-direct-to-lds{cheaper=true}",)


MEMORY_CYCLES = {"sm_80": 23200, "sm_90a": 18300, "gfx942": 13300, "gfx950": 10100}
"""In which the memory of a chip gives the weights below, by its data sheet."""


@pytest.mark.parametrize("rows", [1, 16])
@pytest.mark.parametrize("target", MEMORY_CYCLES)
def test_few_rows_are_narrow_tiles_on_all_compute_units(target, rows):
    case = case_of("gemm", {"M": rows, "N": 4096, "K": 4096}, target)
    best = choices(case.options, case.kernel, SESSION)[0]
    tile = {str(symbol): value for symbol, value in best.subs.items()}
    assert tile["BLOCK_M"] == 16
    peaks = SESSION.target(target).peaks
    assert 2 * 4096 / tile["BLOCK_N"] > 0.7 * peaks.compute_units
    least = MEMORY_CYCLES[target]
    assert least < best.figures["cycles"] < 1.7 * least


@pytest.mark.covering(1)
@pytest.mark.parametrize("target", MEMORY_CYCLES)
@pytest.mark.parametrize("rows", [1, 7, 16, 17])
@pytest.mark.parametrize("columns", [67, 96])
@pytest.mark.parametrize("depth", [1000, 1537, 2048])
def test_few_rows_are_right_as_machine_code(target, rows, columns, depth):
    """By what is chosen for many columns."""
    large = case_of("gemm", {"M": rows, "N": 4096, "K": 4096}, target)
    best = choices(large.options, large.kernel, SESSION)[0]
    shape = {"M": rows, "N": columns, "K": depth}
    case = case_of("gemm", shape, target, device="emulator")
    subs = {**case.options.subs, **best.subs}
    asked = replace(case.options, subs=subs, **best.options, poison_outputs=True)
    report = run_case(case, options=asked, session=SESSION, seed=rows)
    assert report.passed, report.to_json()
    assert report.record.reports == ()


@pytest.mark.parametrize("layout", ["bhsd", "bshd"])
def test_attention_is_pipelined_however_its_heads_lie(layout):
    shape = {"B": 1, "M": 256, "H": 2, "N": 128, "K1": 128, "K2": 256}
    factory = SESSION.plugins.load_kernel("attention-heads")
    settings = {"LAYOUT": layout, "CAUSAL": 1, "LSE": 0}
    case = make_case(factory, "attention-heads", shape, settings, "sm_90a")
    options = replace(case.options, preset="auto")
    assert not wave_compile(options, case.kernel, session=SESSION).compiled.warnings

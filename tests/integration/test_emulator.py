"""Machine code of every kernel, executed by the emulator.

Each result equals that of the lane simulator for the same chip within rounding, and
that of numpy in f64 or torch within the kernel's tolerance. The emulator looks for
hazards; none may be reported, and outputs count as unwritten before the launch.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
import torch
from kernel_shapes import SMALL
from machine_code import LARGE_ONLY, for_any_machine
from programs import PROGRAMS, distance

import wave_core.lang as language
from wave_core.compile import Session, wave_compile
from wave_core.compile.emission import emit
from wave_core.compile.kernels import make_case
from wave_core.diagnostics import UserError
from wave_kernels.plugin import KERNELS

CHIPS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
ROUNDING = 2e-5
"""Of the largest element: sums of a few hundred f32 products in another order."""

WEIGHTS = 5e-4
"""The same for attention, whose weights are rounded to f16 in between (2**-11)."""

WITHOUT_32X32 = {"gfx1100", "gfx1201"}
"""Chips whose matrix instructions have one shape, 16 by 16."""


@pytest.fixture(scope="module")
def session():
    return Session(announce=lambda _: None)


@pytest.fixture(scope="module")
def factories(session):
    return {spec.name: session.plugins.load_kernel(spec.name) for spec in KERNELS}


def launched(session, case, device, arguments):
    """The outputs of a case on copies of the arguments, and the record of it."""
    options = replace(case.options, device=device, poison_outputs=True)
    kernel = wave_compile(options, case.kernel, session=session)
    fresh = [copy(each) for each in arguments]
    kernel(*fresh)
    assert kernel.last_run.reports == ()
    return [fresh[position] for position in case.outputs], kernel


def check(session, factories, name, sizes, chip="gfx942", settings=None):
    """The emulator against the lane simulator and the reference; its record."""
    case = make_case(factories[name], name, sizes, settings or {}, chip)
    arguments = case.make_arguments(np.random.default_rng(0))
    wanted = case.reference(arguments)
    scale = case.scale(arguments) if case.scale is not None else 1.0
    emulated, kernel = launched(session, case, "emulator", arguments)
    # What `auto` has chosen once is not looked for again.
    settled = replace(case, options=kernel.options)
    simulated, _ = launched(session, settled, "sim", arguments)
    for got, same, want in zip(emulated, simulated, wanted, strict=True):
        assert np.abs(got - want).max(initial=0.0) <= case.tolerance * scale
        assert distance(got, same) <= rounding(name)
    return kernel.last_run


def rounding(name):
    return WEIGHTS if name.startswith("attention") else ROUNDING


@pytest.mark.covering(1)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", SMALL)
def test_kernel_of_the_library(session, factories, name, chip):
    check(session, factories, name, SMALL[name], chip)


@pytest.mark.covering(1)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("columns", [1025, 2100])
@pytest.mark.parametrize("name", ["layer-norm", "rms-norm", "softmax"])
def test_rows_that_waves_go_along(session, factories, name, columns, chip):
    sizes, settings = {"M": 2, "N": columns}, {"LONG": 1, "WAVES_N": 2}
    check(session, factories, name, sizes, chip, settings)


@pytest.mark.fuzz
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", SMALL)
def test_cycles_of_the_library(session, factories, name, chip):
    record = check(session, factories, name, SMALL[name], chip)
    assert record.counters["cycles"]["total"] > 0


def test_every_kernel_of_the_library_is_tested(factories):
    assert SMALL.keys() == factories.keys()


@pytest.mark.covering(1)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", ["copy", "gemm", "gemm-staged", "softmax"])
def test_sizes_that_come_with_the_launch(session, factories, name, chip):
    check(session, factories, name, SMALL[name], chip, {"DYNAMIC": 1})


@pytest.mark.parametrize("chip", ["gfx942", "gfx950"])
def test_softmax_is_as_accurate_as_it_says(session, factories, chip):
    case = make_case(factories["softmax"], "softmax", {"M": 6, "N": 257}, {}, chip)
    rows = np.random.default_rng(3).normal(0, 20, (6, 257)).astype("float32")
    rows[1, 200] = np.nan
    rows[2, 3] = np.inf
    rows[3] = -np.inf
    rows[4, 1:] = -np.inf
    (found,), _ = launched(session, case, "emulator", [rows, np.empty_like(rows)])
    wanted = torch.softmax(torch.from_numpy(rows).double(), 1).numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-30)


def test_softmax_takes_the_instruction_of_exp2_as_it_is(session, factories):
    case = make_case(factories["softmax"], "softmax", SMALL["softmax"], {}, "gfx942")
    files = emit(case.options, case.kernel, "asm", session).files
    text = files["softmax.s"].decode()
    assert "v_exp_f32" in text
    assert "v_ldexp_f32" not in text


def example(name, chip, device, monkeypatch):
    """An example's output, compiled for a chip, and what torch says it should be."""
    torch.manual_seed(20240517)
    program = PROGRAMS[name]
    module = import_module(program.script)
    arguments = program.arguments(module)
    if name not in LARGE_ONLY:
        if hasattr(module, "mfma_variant"):
            monkeypatch.setattr(module, "mfma_variant", (None, None))
        if program.script == "attention":
            arguments["mfma_variant"] = (None, None)
    monkeypatch.setattr(language, "wave_compile", compiler(name, chip, device))
    kernel, tensors, expected = module.build(**arguments)
    tensors[-1].fill_(float("nan"))
    kernel(*tensors)
    assert kernel.last_run.reports == ()
    return tensors[-1], expected


def compiler(name, chip, device):
    """`wave_compile` for a chip; kernels take what the chip has for matrices."""

    def run(options, kernel):
        chosen = replace(options, target=chip, device=device, poison_outputs=True)
        asked = kernel if name in LARGE_ONLY else for_any_machine(kernel)
        return wave_compile(chosen, asked)

    return run


@pytest.mark.covering(1)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_example(name, chip, monkeypatch):
    if chip in WITHOUT_32X32 and name in LARGE_ONLY:
        with pytest.raises(UserError, match="WV0318"):
            example(name, chip, "emulator", monkeypatch)
        return
    emulated, expected = example(name, chip, "emulator", monkeypatch)
    simulated, _ = example(name, chip, "sim", monkeypatch)
    assert distance(emulated, expected) <= PROGRAMS[name].tolerance
    assert distance(emulated, simulated) <= rounding(name)


TILE = 32
EXTENTS = (1, TILE - 1, TILE, TILE + 1, 67)
TILES = {"BLOCK_M": TILE, "BLOCK_N": TILE, "BLOCK_K": TILE}
ATTENTION = {"B": 2, "M": 7, "N": 5, "K1": 9, "K2": 11}


@pytest.mark.covering(2)
@pytest.mark.parametrize("dynamic", [0, 1])
@pytest.mark.parametrize("extent", EXTENTS)
@pytest.mark.parametrize("dim", "MNK")
@pytest.mark.parametrize("name", ["gemm", "gemm-staged"])
def test_products_at_the_edge_of_tiles(session, factories, name, dim, extent, dynamic):
    sizes = {"M": 37, "N": 35, "K": 41, dim: extent}
    settings = TILES | {"DYNAMIC": dynamic}
    check(session, factories, name, sizes, settings=settings)


@pytest.mark.covering(2)
@pytest.mark.parametrize("extent", EXTENTS)
@pytest.mark.parametrize("dim", "MN")
@pytest.mark.parametrize("name", ["copy", "softmax"])
def test_rows_at_the_edge_of_tiles(session, factories, name, dim, extent):
    sizes = {"M": 11, "N": 70, dim: extent}
    check(session, factories, name, sizes)


@pytest.mark.covering(1)
@pytest.mark.parametrize("extent", EXTENTS)
@pytest.mark.parametrize("dim", ["M", "N", "K1", "K2"])
def test_attention_at_the_edge_of_tiles(session, factories, dim, extent):
    settings = {"BLOCK_M": 64, "BLOCK_N": TILE, "BLOCK_K2": TILE}
    sizes = ATTENTION | {dim: extent}
    check(session, factories, "attention", sizes, settings=settings)


@pytest.mark.parametrize("name", ["gemm", "gemm-staged"])
@pytest.mark.parametrize("dynamic", [0, 1], ids=["static", "dynamic"])
def test_without_terms_a_product_is_zero(session, factories, name, dynamic):
    sizes, settings = {"M": 35, "N": 33, "K": 0}, TILES | {"DYNAMIC": dynamic}
    case = make_case(factories[name], name, sizes, settings, "gfx942")
    arguments = case.make_arguments(np.random.default_rng(0))
    (output,), _ = launched(session, case, "emulator", arguments)
    assert (output == 0.0).all()


@pytest.mark.parametrize("dim", "MN")
def test_an_empty_grid_launches_nothing(session, factories, dim):
    sizes = {"M": 35, "N": 33, "K": 9, dim: 0}
    case = make_case(factories["gemm"], "gemm", sizes, TILES, "gfx942")
    arguments = case.make_arguments(np.random.default_rng(0))
    (output,), _ = launched(session, case, "emulator", arguments)
    assert output.size == 0

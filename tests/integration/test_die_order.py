"""Workgroups of one die on neighbouring tiles: right, cheap, and less to fetch."""

from __future__ import annotations

from dataclasses import replace
from heapq import heapreplace
from math import prod

import numpy as np
import pytest
import torch

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Config, Session, run_case, wave_compile
from wave_core.compile.emission import emit
from wave_core.compile.kernels import make_case
from wave_core.constraints import DieOrder
from wave_core.constraints.geometry import Geometry
from wave_core.diagnostics import LaunchError
from wave_testing.dies import fetches, tiles_in_order

GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
SMALL = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 16, "WAVES_M": 1, "WAVES_N": 1}
HEADS = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K2": 16, "WAVES_M": 1, "MMA_ROWS": 16}
WIDE = {"BLOCK_M": 256, "BLOCK_N": 256, "BLOCK_K": 32, "WAVES_M": 2, "WAVES_N": 4}
LONG = {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K2": 32, "WAVES_M": 4, "MMA_ROWS": 32}
DIES, UNITS = 8, 38
"""Of an MI300X: dies, and compute units of each."""

UNITS_OF_H100 = 132


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def case(session, name, shape, settings):
    made = make_case(session.plugins.load_kernel(name), name, shape, settings, "gfx942")
    assert any(isinstance(row, DieOrder) for row in made.kernel.constraints)
    return made


@pytest.mark.parametrize("device", ["sim", "emulator"])
@pytest.mark.parametrize(
    ("name", "shape", "settings"),
    [
        ("gemm", {"M": 1, "N": 1, "K": 1}, SMALL),
        ("gemm", {"M": 80, "N": 48, "K": 16}, SMALL),
        ("gemm", {"M": 79, "N": 49, "K": 17}, SMALL),
        ("gemm", {"M": 81, "N": 47, "K": 15}, SMALL | {"DYNAMIC": 1}),
        ("attention", {"B": 3, "M": 49, "N": 17, "K1": 16, "K2": 33}, HEADS),
        ("attention-heads", {"B": 2, "M": 33, "H": 3, "K1": 16, "N": 16}, HEADS),
        ("attention-causal", {"B": 3, "M": 49, "N": 17, "K1": 16, "K2": 33}, HEADS),
        ("attention-causal", {"B": 0, "M": 5, "N": 17, "K1": 16, "K2": 33}, HEADS),
        ("attention-causal", {"B": 1, "M": 0, "N": 17, "K1": 16, "K2": 33}, HEADS),
    ],
)
def test_kernels_of_the_library_agree_with_f64(session, name, shape, settings, device):
    made = case(session, name, shape, settings)
    options = replace(made.options, device=device, poison_outputs=True)
    report = run_case(made, options=options, session=session)
    assert report.passed, report.to_json()


def copy_of_five_axes(*constraints):
    sym = tkl.sym
    dims = sym.A, sym.B, sym.C, sym.D, sym.E
    tiles = 1, 1, 1, 2, 64

    @tkw.wave(
        [
            *(
                tkw.WorkgroupConstraint(dim, tile, 4 - axis)
                for axis, (dim, tile) in enumerate(zip(dims, tiles, strict=True))
            ),
            tkw.HardwareConstraint(vector_shapes=dict.fromkeys(dims[:3], 0)),
            *constraints,
        ]
    )
    def kernel(
        x: tkl.Memory[*dims, GLOBAL, tkl.f32], y: tkl.Memory[*dims, GLOBAL, tkl.f32]
    ):
        tkw.write(tkw.read(x), y)

    return kernel


@pytest.mark.parametrize("device", ["sim-logical", "sim", "emulator"])
@pytest.mark.parametrize("dynamic", ["", "ABCDE"])
def test_five_axes_and_a_reordering(session, device, dynamic):
    """The last axes of a grid share one of the hardware."""
    turned = tkw.ReorderingConstraint(2 - tkw.WORKGROUP_2, 2)
    kernel = copy_of_five_axes(tkw.DieOrder(rows=2), turned)
    shape = {"A": 2, "B": 2, "C": 3, "D": 5, "E": 70}
    options = tkl.WaveCompileOptions(
        subs={n: size for n, size in shape.items() if n not in dynamic},
        dynamic_symbols=tuple(getattr(tkl.sym, name) for name in dynamic),
        target="gfx942",
        device=device,
    )
    x, y = torch.randn(*shape.values()), torch.full((*shape.values(),), torch.nan)
    wave_compile(options, kernel, session=session)(x, y)
    assert torch.equal(x, y)


def code(session, target, *constraints):
    options = tkl.WaveCompileOptions(
        subs={"A": 2, "B": 2, "C": 3, "D": 5, "E": 70}, target=target
    )
    kernel = copy_of_five_axes(*constraints)
    return emit(options, kernel, "asm", session).files


@pytest.mark.parametrize("target", ["gfx90a", "gfx1100", "gfx1201"])
def test_it_costs_nothing_on_one_die(session, target):
    assert code(session, target, tkw.DieOrder()) == code(session, target)


def test_it_is_arithmetic_before_the_kernel_on_several(session):
    assert code(session, "gfx942", tkw.DieOrder()) != code(session, "gfx942")


def fetched(made, session, axes_of):
    """How often dies fetch a tile of each operand: as ordered, and as the hardware."""
    options = made.options
    sizes = {name: n for name, n in options.subs.items() if isinstance(n, int)}
    geometry = Geometry(made.kernel.constraints, sizes, session.target("gfx942"))
    grid = tuple(extent.constant_value for extent in geometry.grid)
    for numbering in (geometry.numbering, ()):
        tiles = tiles_in_order(grid, numbering)
        yield sum(fetches(tiles, DIES, UNITS, axes) for axes in axes_of)


@pytest.mark.parametrize(
    ("name", "shape", "settings", "axes_of", "share"),
    [
        ("gemm", {"M": 4096, "N": 4096}, WIDE, ((0,), (1,)), 0.7),
        ("gemm", {"M": 4352, "N": 4352}, WIDE, ((0,), (1,)), 0.5),
        ("attention", {"B": 16, "M": 4096}, LONG, ((2,),), 0.2),
    ],
)
def test_dies_fetch_less(session, name, shape, settings, axes_of, share):
    """Keys and values of a head by one die, for one; strips of a GEMM by fewer."""
    made = case(session, name, shape, settings)
    ordered, counted = fetched(made, session, axes_of)
    assert ordered <= share * counted


def places(session, shape, target="sm_90a"):
    """Coordinates of the workgroups of causal attention, the first started first."""
    factory = session.plugins.load_kernel("attention-heads")
    words = {**LONG, "CAUSAL": 1}
    made = make_case(factory, "attention-heads", shape, words, target)
    sizes = {n: size for n, size in made.options.subs.items() if type(size) is int}
    geometry = Geometry(made.kernel.constraints, sizes, session.target(target))
    grid = tuple(extent.constant_value for extent in geometry.grid)
    return grid, tiles_in_order(grid, geometry.numbering)


@pytest.mark.parametrize("target", ["sm_90a", "gfx942"])
@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 300), (3, 70, 129), (1, 9, 4096)])
def test_each_tile_has_one_workgroup(session, shape, target):
    sizes = dict(zip(("B", "H", "M"), shape, strict=True))
    grid, found = places(session, sizes, target)
    assert len(np.unique(np.stack(found), axis=1)[0]) == prod(grid)


def ends(lengths, units):
    """When the last of some jobs is done, each begun where one ends."""
    busy = [0] * units
    for length in lengths:
        heapreplace(busy, busy[0] + length)
    return max(busy)


@pytest.mark.parametrize("shape", [(1, 32, 4096), (4, 8, 2048), (1, 9, 8192)])
def test_workgroups_of_causal_attention_end_together(session, shape):
    """Those with most keys begin first; counted by rows, units wait at the end."""
    sizes = dict(zip(("B", "H", "M"), shape, strict=True))
    grid, (rows, *_) = places(session, sizes)
    counted = np.arange(prod(grid)) % grid[0]
    ideal = (rows + 1).sum() / UNITS_OF_H100
    assert ends((rows + 1).tolist(), UNITS_OF_H100) <= 1.07 * ideal
    assert ends((counted + 1).tolist(), UNITS_OF_H100) >= 1.1 * ideal


def test_a_launch_has_no_more_workgroups_than_it_counts(session):
    m, n = tkl.sym.M, tkl.sym.N

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(n, 1, 0),
            tkw.WorkgroupConstraint(m, 1, 1, iters=n),
            tkw.DieOrder(),
            tkw.HardwareConstraint(),
        ]
    )
    def kernel(x: tkl.Memory[n, GLOBAL, tkl.f32], y: tkl.Memory[n, GLOBAL, tkl.f32]):
        tkw.write(tkw.read(x), y)

    options = tkl.WaveCompileOptions(
        subs={m: 1}, dynamic_symbols=(n,), target="gfx942", device="sim"
    )
    made = wave_compile(options, kernel, session=session)
    with pytest.raises(LaunchError) as error:
        made(torch.zeros(50_000), torch.zeros(50_000))
    assert error.value.code == "WV0324"
    assert "the grid 50000 x 50000 has more than 2147483647 workgroups" in str(
        error.value
    )

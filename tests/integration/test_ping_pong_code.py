"""Machine code of loops whose waves alternate: right, no hazard, and faster."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from product_loops import Tile, cycles_per_iteration, error_of

from wave_backend_amdgpu.compile.backend import compile_graph
from wave_core.compile import Config, Session, wave_compile
from wave_emulator_amdgcn import LaunchOptions, emulate, load
from wave_kernels.cases.attention import attention_case
from wave_kernels.definitions.attention import attention_kernel

TILES = [
    Tile((64, 64, 32), (2, 1)),
    Tile((128, 64, 32), (2, 2)),
    Tile((128, 128, 32), (2, 4)),
    Tile((96, 64, 48), (3, 2)),
    Tile((128, 128, 64), (2, 4), "gfx950"),
    Tile((64, 64, 32), (2, 2), "gfx90a"),
    Tile((64, 64, 32), (2, 2), "gfx1201"),
]
ORDERS = {
    "preset": {"preset": "pingpong"},
    "one-buffer": {"preset": "pingpong", "multi_buffer_count": 1},
    "prefetch": {"preset": "prefetch", "reorder": "pingpong"},
}


def staggered(kernel):
    reports = kernel.compiled.report.passes
    row = next(r for r in reports if r.name == "stagger-waves")
    return row.statistics.get("staggered_loops", 0)


@pytest.mark.covering(1)
@pytest.mark.parametrize("options", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("tile", TILES, ids=str)
def test_products_are_what_they_are_without_a_schedule(tile, options):
    assert staggered(tile.compile(6, **options)) == 1
    _, plain, _ = tile.launch(6)
    _, turned, result = tile.launch(6, **options)
    assert result.reports == ()
    assert error_of(turned) < 1e-3
    assert np.array_equal(plain[2], turned[2])


@pytest.mark.parametrize("trips", [0, 1, 2, 3])
def test_short_loops(trips):
    _, arguments, result = Tile((64, 64, 32), (2, 2)).launch(trips, preset="pingpong")
    assert result.reports == ()
    assert error_of(arguments) < 1e-3


@pytest.mark.parametrize("seed", range(8))
def test_every_order_of_waves_gives_the_same(seed):
    tile = Tile((64, 64, 32), (2, 2))
    _, arguments, _ = tile.launch(5, order=seed, preset="pingpong")
    assert error_of(arguments) < 1e-3


@pytest.mark.covering(1)
@pytest.mark.parametrize("strategy", ["prefetch", "prefetch-attention", "fetch-ahead"])
@pytest.mark.parametrize("waves", [2, 4, 8])
def test_attention(waves, strategy):
    shape = {"B": 1, "M": 16 * waves, "N": 32, "K1": 32, "K2": 96}
    tiles = {"BLOCK_M": 16 * waves, "BLOCK_N": 32, "BLOCK_K2": 16}
    tiles |= {"WAVES_M": waves, "STAGED": 1}
    case = attention_case(shape, tiles, "gfx942")
    passes = (f"schedule-loops{{strategy={strategy}}}",)
    options = dataclasses.replace(
        case.options, device="sim", passes=passes, reorder="pingpong"
    )
    session = Session(config=Config(cache=False))
    kernel = wave_compile(options, attention_kernel(), session=session)
    assert staggered(kernel) == 1
    code = load(compile_graph(kernel.graph, kernel.compiled.target).artifact.code)
    arguments = list(case.make_arguments(np.random.default_rng(waves)))
    (wanted,) = case.reference([array.copy() for array in arguments])
    result = emulate(code, arguments, grid=(1, 1, 1), options=LaunchOptions())
    assert result.reports == ()
    assert np.abs(arguments[3] - wanted).max() < case.tolerance


def test_halves_in_turn_take_fewer_cycles():
    tile = Tile((256, 256, 32), (2, 4))
    plain = cycles_per_iteration(tile)
    turned = cycles_per_iteration(tile, preset="pingpong")
    assert plain / turned >= 1.3
    # 4 units of 1024 multiplications a cycle in all.
    assert 256 * 256 * 32 / 1024 / turned >= 0.85


@pytest.mark.parametrize("tile", TILES[1:3], ids=str)
def test_groups_count_what_the_loop_has(tile):
    # More turns than the code generator unrolls.
    trips = 24
    kernel = tile.compile(trips, preset="prefetch", use_scheduling_groups=True)
    (loop,) = (op for op in kernel.graph.walk() if op.op_name == "iterate")
    stated = dict.fromkeys(("mma", "read_shared", "write_shared", "read_global"), 0)
    for op in loop.body.ops:
        if op.op_name == "scheduling_group_barrier":
            for name, count in op.instructions:
                stated[name] += count
    _, _, result = tile.launch(trips, preset="prefetch", use_scheduling_groups=True)
    waves = tile.waves[0] * tile.waves[1]
    looped = [b for b in result.program.executed() if b.count > waves]
    starts = {"mma": "V_MFMA", "read_shared": "DS_READ", "write_shared": "DS_WRITE",
              "read_global": "BUFFER_LOAD"}  # fmt: skip
    # The code generator may unroll, so a turn has several copies.
    found = {
        name: sum(b.count for b in looped if b.instruction.name.startswith(start))
        / (waves * (trips - 1))
        for name, start in starts.items()
    }
    assert found == stated

"""The fewest and widest loads and LDS writes, counted by the simulator."""

from __future__ import annotations

import numpy as np
import pytest
from staged import (
    GLOBAL,
    SHARED,
    K,
    M,
    N,
    compiled_gemm,
    ops,
    run_case,
    run_gemm,
    session,
    simulate,
)

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import wave_compile
from wave_core.ir import ACCESS

ROWS = [
    ((128, 64, 64), (2, 2), tkl.f16, 4),
    ((256, 64, 64), (2, 2), tkl.f16, 8),
    ((256, 256, 32), (4, 2), tkl.f16, 2),
    ((128, 64, 64), (2, 2), tkl.f8e4m3fn, 2),
    ((256, 64, 64), (2, 2), tkl.f8e4m3fn, 4),
    ((256, 256, 32), (4, 2), tkl.f8e4m3fn, 1),
    ((128, 64, 64), (2, 2), tkl.f32, 8),
    ((256, 64, 64), (2, 2), tkl.f32, 16),
    ((256, 256, 32), (4, 2), tkl.f32, 4),
]
"""Tile, waves, element type, accesses of A for each thread: tile elements / (threads *
elements of 128 bits)."""


def accesses(graph, name, memory):
    """The accesses of one kind to what is called ``memory``."""
    found = [op for op in ops(graph, name) if op.memory.attributes["label"] == memory]
    return [graph.facts.get(ACCESS, op) for op in found]


@pytest.mark.parametrize(("tile", "waves", "dtype", "count"), ROWS)
def test_loads_of_a_tile(tile, waves, dtype, count):
    sizes = (tile[0], tile[1], 2 * tile[2])
    kernel = compiled_gemm(sizes, tile, waves, dtype, "gfx950")
    rows = accesses(kernel.graph, "read", "a")
    assert len(rows) == count
    assert {row.registers * dtype.bits for row in rows} == {128}
    assert all(row.mask is None for row in rows)


@pytest.mark.parametrize(("tile", "waves", "dtype", "count"), ROWS)
def test_loads_and_writes_are_coalesced(tile, waves, dtype, count):
    sizes = (tile[0], tile[1], 2 * tile[2])
    kernel = compiled_gemm(sizes, tile, waves, dtype, "gfx950")
    error, result = run_gemm(kernel, sizes, dtype)
    counts = result.counters
    waves_run = counts.units * 2
    both = count + tile[1] * count // tile[0]
    assert error == 0
    assert counts.instructions["lds_write.b128"] == both * waves_run
    assert counts.instructions["global_read.b128"] == both * waves_run
    # The part of a cache line, or of a row where that is shorter, that a tile has.
    width = tile[2] * dtype.bytes
    parts = min(128, 2 * width) // width or 1
    lines = counts.cache_lines["global_read"]
    assert lines == counts.cache_lines_minimum["global_read"] * parts
    assert "global_read.misaligned" not in counts.instructions
    assert not counts.lds_conflict_cycles["write"]


def formula(elements, bits, threads):
    """The fewest accesses of 128 bits that each thread takes for a tile."""
    return -(-elements * bits // (threads * 128))


@pytest.mark.parametrize(
    ("tile", "dtype", "target"),
    [
        ((96, 40, 40), tkl.f16, "generic"),
        ((80, 48, 24), tkl.f16, "generic"),
        ((112, 48, 32), tkl.f32, "gfx942"),
        ((96, 64, 48), tkl.f8e4m3fn, "gfx950"),
    ],
)
def test_tiles_that_threads_do_not_divide_take_what_the_formula_says(
    tile, dtype, target
):
    sizes = (2 * tile[0] + 3, tile[1] + 1, 2 * tile[2])
    kernel = compiled_gemm(sizes, tile, (1, 1), dtype, target)
    error, result = run_gemm(kernel, sizes, dtype)
    assert (error, result.reports) == (0, ())
    for memory, rows in (("a", tile[0]), ("b", tile[1])):
        found = accesses(kernel.graph, "read", memory)
        assert len(found) == formula(rows * tile[2], dtype.bits, 64)


def mixed(dtype):
    """``c = a b^T`` with a in another element type than b, widened when it is read."""
    constraints = [
        tkw.WorkgroupConstraint(M, 128, 0),
        tkw.WorkgroupConstraint(N, 64, 1),
        tkw.TilingConstraint(K, 64),
        tkw.WaveConstraint(M, 64),
        tkw.WaveConstraint(N, 32),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(constraints)
    def kernel(
        a: tkl.Memory[M, K, SHARED, dtype],
        b: tkl.Memory[N, K, SHARED, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ) -> None:
        zero = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[zero])
        def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            return tkw.mma(tkw.cast(tkw.read(a), tkl.f16), tkw.read(b), acc)

        tkw.write(repeat, c)

    return kernel


@pytest.mark.parametrize(
    ("dtype", "target"),
    [(tkl.f8e4m3fn, "gfx950"), (tkl.f8e4m3fnuz, "gfx942")],
)
@pytest.mark.parametrize("sizes", [(128, 64, 128), (130, 33, 80), (1, 1, 1)])
def test_each_operand_has_the_width_of_its_own_type(dtype, target, sizes):
    subs = dict(zip((M, N, K), sizes, strict=True))
    options = tkl.WaveCompileOptions(subs=subs, target=target, preset="default")
    kernel = wave_compile(options, mixed(dtype), session=session())
    m, n, k = sizes
    rng = np.random.default_rng(0)
    a = rng.integers(-2, 3, (m, k)).astype(dtype.numpy())
    b = rng.integers(-2, 3, (n, k)).astype(np.float16)
    c = np.full((m, n), np.nan, dtype=np.float32)
    result = simulate(kernel, [a, b, c])
    assert result.reports == ()
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)
    if m == 128:
        widths = [len(accesses(kernel.graph, "read", name)) for name in "ab"]
        assert widths == [formula(128 * 64, 8, 256), formula(64 * 64, 16, 256)]


def test_copies_by_hand_become_fewer():
    kernel, result, right = run_case("gemm-staged", "gfx942")
    assert right
    assert not result.reports
    rows = accesses(kernel.graph, "read", "a")
    assert [row.registers for row in rows] == [8, 8]


def test_conditions_go_to_the_loads_where_tiles_are_uneven():
    kernel = compiled_gemm((130, 70, 40), (64, 64, 32))
    writes = [op for op in ops(kernel.graph, "write") if op.memory.type.physical]
    reads = [op for op in ops(kernel.graph, "read") if op.memory.type.physical]
    masks = [kernel.graph.facts.get(ACCESS, op).mask for op in (*writes, *reads)]
    assert masks == [None] * len(masks)
    assert all(row.mask is not None for row in accesses(kernel.graph, "read", "a"))


@pytest.mark.parametrize("tile", [(48, 16, 16), (16, 16, 16), (96, 32, 24)])
def test_tiles_that_do_not_fill_all_threads(tile):
    sizes = (tile[0] * 2 + 3, tile[1] + 1, tile[2] * 2)
    kernel = compiled_gemm(sizes, tile, (1, 1), target="generic")
    error, result = run_gemm(kernel, sizes)
    assert (error, result.reports) == (0, ())

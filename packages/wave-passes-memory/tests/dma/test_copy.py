"""Tiles copied directly to LDS: right, without races and bank conflicts, or refused."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from staged import (
    BLOCK_K,
    BLOCK_M,
    BLOCK_N,
    GLOBAL,
    K,
    M,
    N,
    case_of,
    check_case,
    gemm,
    ops,
    run_gemm,
    session,
    simulate,
)

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import wave_compile
from wave_core.diagnostics import UserError
from wave_core.executors import LaunchRequest
from wave_core.ir import ACCESS, erase, set_attributes

LARGE, SMALL = ((256, 256, 32), (4, 2)), ((128, 128, 32), (2, 2))
F8 = {"gfx942": tkl.f8e4m3fnuz, "gfx950": tkl.f8e4m3fn}
TARGETS = pytest.mark.parametrize("target", ["gfx942", "gfx950"])


def options_for(sizes, tile, target, **more):
    names = (M, N, K, BLOCK_M, BLOCK_N, BLOCK_K)
    subs = dict(zip(names, (*sizes, *tile), strict=True))
    asked = {"preset": "default", **more}
    return tkl.WaveCompileOptions(subs=subs, target=target, **asked)


def direct_gemm(sizes, tile, waves, target, dtype=tkl.f16, **more):
    options = options_for(sizes, tile, target, use_global_to_shared=True, **more)
    return wave_compile(options, gemm(waves, dtype), session=session())


def widths(kernel):
    """Bits that each lane copies, copy by copy."""
    graph = kernel.graph
    return [
        graph.facts.get(ACCESS, op).registers * op.source.type.dtype.bits
        for op in ops(graph, "gather_to_lds")
    ]


@TARGETS
@pytest.mark.parametrize("tile", [LARGE, SMALL])
def test_gemm_is_copied_directly(tile, target):
    (m, n, k), waves = tile
    sizes = (m, n, 2 * k)
    kernel = direct_gemm(sizes, tile[0], waves, target)
    error, result = run_gemm(kernel, sizes)
    assert (error, result.reports) == (0, ())
    assert not any(result.counters.lds_conflict_cycles.values())
    bits = 128 if target == "gfx950" else 32
    threads = 64 * waves[0] * waves[1]
    assert widths(kernel) == [bits] * ((m + n) * k * 16 // bits // threads)
    assert not any(op.memory.type.physical for op in ops(kernel.graph, "write"))


@TARGETS
@pytest.mark.parametrize("size", ["f8", "f32"])
def test_other_element_types(size, target):
    dtype = F8[target] if size == "f8" else tkl.f32
    tile = (128, 128, 64) if size == "f8" else (128, 128, 32)
    sizes = (128, 256, 2 * tile[2])
    kernel = direct_gemm(sizes, tile, (2, 2), target, dtype)
    error, result = run_gemm(kernel, sizes, dtype)
    assert (error, result.reports) == (0, ())
    assert set(widths(kernel)) == {128 if target == "gfx950" else 32}
    assert not any(result.counters.lds_conflict_cycles.values())


@TARGETS
@pytest.mark.parametrize("sizes", [(130, 120, 72), (1, 300, 8), (129, 127, 40)])
def test_elements_beyond_the_edges_become_zeros(sizes, target):
    kernel = direct_gemm(sizes, (128, 128, 32), (2, 2), target)
    error, result = run_gemm(kernel, sizes)
    assert (error, result.reports) == (0, ())
    assert widths(kernel)


@pytest.mark.parametrize("sizes", [(61, 61, 32), (61, 32, 32), (64, 37, 32)])
def test_rows_that_do_not_exist_change_places_with_none_that_do(sizes):
    tile, disabled = (64, 64, 32), ("pack-matrix-operands",)
    more = {"dtype": tkl.f32, "disable_passes": disabled}
    kernel = direct_gemm(sizes, tile, (2, 2), "gfx942", **more)
    error, result = run_gemm(kernel, sizes, tkl.f32)
    assert (error, result.reports) == (0, ())
    assert widths(kernel)


@TARGETS
@pytest.mark.parametrize("tile", [(48, 16, 16), (16, 16, 16), (96, 32, 32)])
def test_tiles_that_do_not_fill_all_threads(tile, target):
    sizes = (tile[0] * 2 + 3, tile[1] + 1, tile[2] * 2)
    kernel = direct_gemm(sizes, tile, (1, 1), target)
    error, result = run_gemm(kernel, sizes)
    assert (error, result.reports) == (0, ())


@TARGETS
@pytest.mark.parametrize("tile", [LARGE, SMALL])
def test_two_barriers_and_one_wait_an_iteration(tile, target):
    (m, n, k), waves = tile
    kernel = direct_gemm((m, n, 4 * k), tile[0], waves, target)
    barriers = ops(kernel.graph, "shared_memory_barrier")
    assert sorted(op.wait_async_ops for op in barriers) == [False, True]


def reported(kernel, graph, sizes):
    m, n, k = sizes
    a, b = np.ones((m, k), np.float16), np.ones((n, k), np.float16)
    device = session().plugins.load_executor("sim")
    arguments = [a, b, np.zeros((m, n), np.float32)]
    request = LaunchRequest.of(graph, kernel.compiled.target, arguments)
    return {row.code for row in device.launch(request).reports}


@TARGETS
def test_each_barrier_and_each_wait_is_needed(target):
    sizes = (128, 128, 96)
    kernel = direct_gemm(sizes, (128, 128, 32), (2, 2), target)
    count = len(ops(kernel.graph, "shared_memory_barrier"))
    for position in range(count):
        graph = kernel.graph.clone()
        erase(ops(graph, "shared_memory_barrier")[position])
        assert reported(kernel, graph, sizes) == {"WV0901"}
    graph = kernel.graph.clone()
    for op in ops(graph, "shared_memory_barrier"):
        set_attributes(op, wait_async_ops=False)
    assert reported(kernel, graph, sizes) == {"WV0901"}


def test_safe_barriers_wait_too():
    sizes = (128, 128, 96)
    disabled = ("place-minimal-barriers",)
    kernel = direct_gemm(sizes, SMALL[0], (2, 2), "gfx942", disable_passes=disabled)
    error, result = run_gemm(kernel, sizes)
    assert (error, result.reports) == (0, ())
    assert widths(kernel)


@pytest.mark.parametrize(("target", "direct"), [("gfx942", False), ("gfx950", True)])
def test_the_cost_decides_where_nobody_demands(target, direct):
    passes = ("copy-direct-to-lds{cheaper=true}",)
    options = options_for((256, 256, 64), LARGE[0], target, passes=passes)
    kernel = wave_compile(options, gemm(LARGE[1]), session=session())
    assert bool(widths(kernel)) == direct


def test_nothing_is_copied_directly_unless_asked():
    options = options_for((256, 256, 64), LARGE[0], "gfx950")
    assert not widths(wave_compile(options, gemm(LARGE[1]), session=session()))


def messages(kernel, options):
    found = wave_compile(options, kernel, session=session())
    return found, [(row.code, row.message) for row in found.compiled.warnings]


@pytest.mark.parametrize(
    ("target", "sizes", "why"),
    [
        ("gfx1100", (128, 128, 64), "has no direct copies to LDS"),
        ("gfx942", (128, 128, 65), "may exist in part"),
    ],
)
def test_what_cannot_be_copied_directly_says_why(target, sizes, why):
    options = options_for(sizes, SMALL[0], target, use_global_to_shared=True)
    kernel, found = messages(gemm((2, 2)), options)
    assert not widths(kernel)
    assert {code for code, _ in found} == {"WV0414"}
    assert why in found[0][1]
    assert run_gemm(kernel, sizes)[0] == 0


def by_hand(padding=0, mapping=None):
    """A kernel whose author lays out the buffer."""
    constraints = [
        tkw.WorkgroupConstraint(M, 64, 0),
        tkw.WorkgroupConstraint(N, 32, 1),
        tkw.WaveConstraint(M, 16),
        tkw.HardwareConstraint(),
    ]
    i, j = (tkw.IndexMapping.iterator(k) for k in range(2))
    turned = {M: (i + 16) % 64, N: j}
    other = tkw.IndexMapping(2, inputs=turned, outputs={M: i, N: j})

    @tkw.wave(constraints)
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, tkl.f16], c: tkl.Memory[M, N, GLOBAL, tkl.f16]
    ):
        shape, extents = ((M, N), (64, 32)) if mapping is None else ((N, M), (32, 64))
        buffer = tkw.allocate(shape, extents, tkl.f16, padding=padding)
        tkw.gather_to_lds(a, buffer, mapping)
        tkw.write(tkw.read(buffer, mapping=other if mapping is None else None), c)

    return kernel


def check_by_hand(**more):
    options = tkl.WaveCompileOptions(subs={M: 128, N: 64}, target="gfx942", **more)
    kernel = wave_compile(options, by_hand(), session=session())
    a = np.arange(128 * 64).reshape(128, 64).astype(np.float16)
    c = np.zeros_like(a)
    result = simulate(kernel, [a, c])
    halves = [np.roll(a[rows : rows + 64], -16, 0) for rows in (0, 64)]
    assert (c == np.concatenate(halves)).all()
    assert result.reports == ()
    return kernel


def test_gather_to_lds_means_a_read_and_a_write():
    assert not widths(check_by_hand())
    assert widths(check_by_hand(use_global_to_shared=True)) == [32] * 4


def test_padding_and_direct_copies_exclude_each_other():
    subs = {M: 128, N: 64}
    plain = tkl.WaveCompileOptions(subs=subs, target="gfx942")
    wave_compile(plain, by_hand(padding=4), session=session())
    both = tkl.WaveCompileOptions(subs=subs, target="gfx942", use_global_to_shared=True)
    with pytest.raises(UserError, match="longer than what is copied") as error:
        wave_compile(both, by_hand(padding=4), session=session())
    assert error.value.code == "WV0415"
    assert "padding" in " ".join(error.value.diagnostics[0].help)


def test_a_transposed_buffer_and_direct_copies_exclude_each_other():
    i, j = (tkw.IndexMapping.iterator(k) for k in range(2))
    turned = tkw.IndexMapping(2, inputs={M: i, N: j}, outputs={M: i, N: j})
    options = tkl.WaveCompileOptions(
        subs={M: 128, N: 64}, target="gfx942", use_global_to_shared=True
    )
    with pytest.raises(UserError, match="change order on the way") as error:
        wave_compile(options, by_hand(mapping=turned), session=session())
    assert error.value.code == "WV0415"


@TARGETS
@pytest.mark.parametrize("name", ["gemm", "gemm-staged", "attention"])
@pytest.mark.filterwarnings("ignore")
def test_kernels_of_the_library(name, target):
    case = case_of(name, target)
    options = dataclasses.replace(case.options, use_global_to_shared=True)
    kernel, result, right = check_case(dataclasses.replace(case, options=options))
    assert right
    assert result.reports == ()
    assert widths(kernel)

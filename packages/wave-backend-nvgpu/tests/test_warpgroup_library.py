"""The library's matrix product with waves of four warps, on the CPU and assembled."""

from __future__ import annotations

import numpy as np
import pytest
from emulated_kernels import compiled
from product_kernels import NUMPY_SUMS, check, matrices, numbers

import wave_core.lang as tkl
from wave_backend_nvgpu.compile.assemble import Limits, assemble
from wave_backend_nvgpu.compile.tools import find_assembler
from wave_kernels.definitions.epilogue import PLAIN, Epilogue
from wave_kernels.definitions.gemm import gemm_kernel
from wave_kernels.definitions.products import (
    BLOCK_K,
    BLOCK_M,
    BLOCK_N,
    WAVES_M,
    WAVES_N,
    K,
    M,
    N,
)

TILES = (BLOCK_M, BLOCK_N, BLOCK_K, WAVES_M, WAVES_N)
INSTRUCTIONS = {
    "bf16": "F32_64x{}x16_F16",
    "f16": "F32_64x{}x16_F16",
    "f8e4m3fn": "F32_64x{}x32_F8",
    "i8": "I32_64x{}x32_I8",
}
BYTES = ("f8e4m3fn", "i8")
ADDED = Epilogue(bias=True, activation="relu", residual=True)


def gemm(
    dtype,
    sizes,
    columns,
    preset,
    rows=128,
    waves=2,
    layout="NT",
    panels=1,
    ends=PLAIN,
    **options,
):
    """Tiles of 128 bytes of K or more, whose rows are shared evenly by waves."""
    kind = getattr(tkl, dtype)
    tile = (rows, columns, panels * 128 // kind.bytes, waves, 1)
    subs = dict(zip((*TILES, M, N, K), (*tile, *sizes), strict=True))
    subs[tkl.sym.ADDRESS_SPACE] = tkl.SHARED_ADDRESS_SPACE
    name = INSTRUCTIONS[dtype].format(columns)
    kernel = gemm_kernel(kind, name, layout=layout, epilogue=ends)
    options.setdefault("use_global_to_shared", True)
    return compiled(kernel, subs, "sm_90a", preset=preset, **options)


def across(layout, dtype, sizes):
    """Operands as they lie in memory, and as the product has them."""
    m, n, k = sizes
    rng = np.random.default_rng(m + n + k)
    given = [
        numbers(rng, shape if way == "N" else shape[::-1], dtype)
        for shape, way in zip([(m, k), (k, n)], layout, strict=True)
    ]
    meant = (
        each if way == "N" else each.T for each, way in zip(given, layout, strict=True)
    )
    return *given, *meant


@pytest.mark.parametrize(
    ("dtype", "sizes", "preset"),
    [
        ("bf16", (1, 1, 1), "default"),
        ("bf16", (127, 65, 63), "default"),
        ("bf16", (128, 64, 64), "naive"),
        ("bf16", (129, 63, 131), "prefetch"),
        ("bf16", (128, 64, 192), "modulo"),
        ("bf16", (128, 64, 192), "four-stage"),
        ("f16", (67, 31, 129), "default"),
        ("f8e4m3fn", (129, 64, 130), "default"),
        ("i8", (5, 67, 127), "default"),
    ],
    ids=str,
)
def test_sums_are_right(dtype, sizes, preset):
    made = gemm(dtype, sizes, 64, preset)
    assert made.count("wgmma.mma_async")
    assert not made.count("mma.sync")
    a, b, c = matrices(sizes, dtype)
    assert made.run(a, b, c) == []
    check(a, b, c)


@pytest.mark.parametrize(
    ("layout", "dtype", "columns", "panels", "sizes", "preset"),
    [
        ("NN", "bf16", 64, 1, (1, 1, 1), "default"),
        ("NN", "bf16", 128, 1, (127, 129, 63), "default"),
        ("NN", "f16", 256, 1, (64, 264, 136), "fetch-ahead"),
        ("NN", "bf16", 96, 2, (129, 104, 200), "modulo"),
        ("NN", "f8e4m3fn", 64, 1, (65, 80, 144), "default"),
        ("NT", "bf16", 128, 2, (130, 136, 264), "default"),
        ("NT", "i8", 64, 2, (65, 64, 272), "default"),
        ("TN", "bf16", 128, 1, (136, 136, 72), "prefetch"),
        ("TN", "i8", 64, 1, (80, 80, 144), "naive"),
        ("TT", "bf16", 64, 2, (136, 72, 264), "four-stage"),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore")
def test_sums_are_right_in_every_layout(layout, dtype, columns, panels, sizes, preset):
    """Descriptors name panels of K, and of M or N where these are innermost."""
    made = gemm(dtype, sizes, columns, preset, layout=layout, panels=panels)
    assert made.count("wgmma.mma_async")
    if sizes[2] % 8 == 0:
        detour = layout != "NT" and dtype in BYTES
        assert ("$WAVE" in str(made.kernel.graph)) == detour
    a, b, left, right = across(layout, dtype, sizes)
    c = np.full(sizes[:2], 7, NUMPY_SUMS.get(dtype, np.float32))
    assert made.run(a, b, c) == []
    check(left, right, c, across=True)


def test_words_in_registers_stay_until_the_product_is_done():
    """Rows at an edge are read from LDS, and a loop carries them."""
    sizes = (257, 129, 200)
    made = gemm("bf16", sizes, 128, "modulo", rows=256)
    a, b, c = matrices(sizes, "bf16")
    assert made.run(a, b, c) == []
    check(a, b, c)


@pytest.mark.parametrize("preset", ["default", "prefetch"])
@pytest.mark.parametrize("columns", [128, 256])
def test_accumulators_stay_in_registers(columns, preset):
    """One for each element of the wave's tile, and few beside them."""
    made = gemm("bf16", (4096, 4096, 4096), columns, preset)
    tool = find_assembler()
    assert tool is not None
    remarks = assemble(made.ptx, "sm_90a", tool, Limits(60, 8192)).remarks
    assert (remarks.errors, remarks.lost, remarks.spilled_bytes) == ((), (), 0)
    assert columns // 2 < remarks.registers <= 232


@pytest.mark.parametrize(
    ("layout", "dtype", "sizes", "preset"),
    [
        ("NT", "bf16", (255, 128, 264), "fetch-ahead"),
        ("TT", "f8e4m3fn", (256, 128, 256), "prefetch"),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore")
def test_nothing_is_written_or_awaited_between_products(layout, dtype, sizes, preset):
    """Zeros are in accumulators before the first, and no wait leaves none (C7517)."""
    made = gemm(dtype, sizes, 128, preset, rows=256, layout=layout)
    tool = find_assembler()
    assert tool is not None
    remarks = assemble(made.ptx, "sm_90a", tool, Limits(60, 8192)).remarks
    assert (remarks.errors, remarks.lost) == ((), ())
    a, b, left, right = across(layout, dtype, sizes)
    c = np.full(sizes[:2], 7, np.float32)
    assert made.run(a, b, c) == []
    check(left, right, c, across=True)


@pytest.mark.parametrize("preset", ["modulo", "fetch-ahead", "four-stage"])
@pytest.mark.filterwarnings("ignore")
def test_no_fence_stands_between_products_under_way(preset):
    """The assembler waits for products at a fence (C7517); copies come between them."""
    made = gemm("bf16", (131, 67, 1001), 128, preset, rows=256, layout="TN")
    tool = find_assembler()
    assert tool is not None
    remarks = assemble(made.ptx, "sm_90a", tool, Limits(60, 8192)).remarks
    assert (remarks.errors, remarks.lost) == ((), ())


@pytest.mark.covering(1)
@pytest.mark.parametrize("preset", ["default", "fetch-ahead", "four-stage"])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (128, 64, 192), (129, 65, 130)], ids=str)
@pytest.mark.filterwarnings("ignore")
def test_sums_are_finished_by_what_is_read_behind_them(sizes, preset):
    made = gemm("bf16", sizes, 128, preset, ends=ADDED)
    a, b, c = matrices(sizes, "bf16")
    rng = np.random.default_rng(7)
    bias, residual = (numbers(rng, shape, "bf16") for shape in (sizes[1], sizes[:2]))
    assert made.run(a, b, bias, residual, c) == []
    left, right = a.astype(np.float64), b.astype(np.float64).T
    wanted = np.maximum(left @ right + bias.astype(np.float64), 0) + residual
    assert (np.abs(c - wanted) <= 1e-6 * (np.abs(left) @ np.abs(right) + 9)).all()


@pytest.mark.covering(1)
@pytest.mark.parametrize("preset", ["default", "fetch-ahead"])
@pytest.mark.parametrize("activation", ["", "gelu", "silu"])
def test_sums_are_finished_in_few_registers(preset, activation):
    """Of the widest tile, whose sums take half of all registers."""
    ends = Epilogue(bias=True, activation=activation, residual=True)
    made = gemm("bf16", (4096, 4096, 4096), 256, preset, ends=ends)
    text = made.ptx
    assert text.rindex("wgmma.wait_group") < text.index("ld.global")
    tool = find_assembler()
    assert tool is not None
    # Where more are left, the assembler computes long functions of several sums.
    few = text.replace(".maxntid 256", ".maxntid 256\n.maxnreg 232")
    assert few != text
    for each in (text, few):
        remarks = assemble(each, "sm_90a", tool, Limits(60, 8192)).remarks
        assert (remarks.errors, remarks.lost, remarks.spilled_bytes) == ((), (), 0)
    assert remarks.registers <= 232

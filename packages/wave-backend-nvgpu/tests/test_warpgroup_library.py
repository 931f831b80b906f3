"""The library's matrix product with waves of four warps, on the CPU and assembled."""

from __future__ import annotations

import pytest
from emulated_kernels import compiled
from product_kernels import check, matrices

import wave_core.lang as tkl
from wave_backend_nvgpu.compile.assemble import Limits, assemble
from wave_backend_nvgpu.compile.tools import find_assembler
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


def gemm(dtype, sizes, columns, preset, rows=128):
    """Tiles of 128 bytes of K, half of the rows for each of two waves."""
    kind = getattr(tkl, dtype)
    tile = (rows, columns, 128 // kind.bytes, 2, 1)
    subs = dict(zip((*TILES, M, N, K), (*tile, *sizes), strict=True))
    subs[tkl.sym.ADDRESS_SPACE] = tkl.SHARED_ADDRESS_SPACE
    kernel = gemm_kernel(kind, INSTRUCTIONS[dtype].format(columns))
    return compiled(kernel, subs, "sm_90a", preset=preset, use_global_to_shared=True)


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

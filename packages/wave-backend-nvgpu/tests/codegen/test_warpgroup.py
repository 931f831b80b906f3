"""Products of four warps, whose operands stay in shared memory."""

from __future__ import annotations

import numpy as np
import pytest
from emulated_kernels import compiled
from product_kernels import GLOBAL, SUMS, K, M, N, check, matrices

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_backend_nvgpu.codegen.under_way import MOST_GROUPS, NOTHING, Past
from wave_backend_nvgpu.compile.assemble import Limits, assemble
from wave_backend_nvgpu.compile.tools import find_assembler


def held(dtype, tile, *, across=False):
    """``c = a b^T`` by buffers of the author, as large as the tile."""
    m, n, k = tile
    kind, total = getattr(tkl, dtype), getattr(tkl, SUMS.get(dtype, "f32"))
    dims, extents = ((K, N), (k, n)) if across else ((N, K), (n, k))

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 2 * m, 0),
            tkw.WorkgroupConstraint(N, n, 1),
            tkw.TilingConstraint(K, k),
            tkw.WaveConstraint(M, m),
            tkw.WaveConstraint(N, n),
            tkw.HardwareConstraint(threads_per_wave=128),
        ]
    )
    def kernel(
        a: tkl.Memory[M, K, GLOBAL, kind],
        b: tkl.Memory[(*dims, GLOBAL, kind)],
        c: tkl.Memory[M, N, GLOBAL, total],
    ) -> None:
        @tkw.iterate(K, init_args=[tkl.Register[M, N, total](0)])
        def repeat(acc: tkl.Register[M, N, total]) -> tkl.Register[M, N, total]:
            left = tkw.allocate((M, K), (2 * m, k), kind)
            right = tkw.allocate(dims, extents, kind)
            tkw.write(tkw.read(a), left)
            tkw.write(tkw.read(b), right)
            columns = tkw.read(right)
            if across:
                columns = tkw.permute(columns, [N, K])
            return tkw.mma(tkw.read(left), columns, acc)

        tkw.write(repeat, c)

    return kernel


CASES = [
    ("bf16", (64, 64, 64), False),
    ("f16", (64, 24, 32), False),
    ("bf16", (64, 8, 16), False),
    ("f16", (64, 64, 16), True),
    ("f16", (64, 32, 64), True),
    ("f8e4m3fn", (64, 48, 128), False),
    ("f8e5m2", (64, 16, 32), False),
    ("i8", (64, 32, 64), False),
]


@pytest.mark.parametrize(("dtype", "tile", "across"), CASES)
def test_products_are_right(dtype, tile, across):
    """Rows of a buffer are one panel, so that each order occurs."""
    m, n, k = tile
    sizes = (2 * m, n, 2 * k)
    subs = dict(zip((M, N, K), sizes, strict=True))
    found = compiled(held(dtype, tile, across=across), subs, "sm_90a", preset="naive")
    a, b, c = matrices(sizes, dtype, across=across)
    assert found.run(a, b, c) == []
    check(a, b, c, across=across)
    tool = find_assembler()
    assert tool is not None
    done = assemble(found.ptx, "sm_90a", tool, Limits(60, 8192))
    assert (done.remarks.errors, done.remarks.lost) == ((), ())
    assert done.remarks.spilled_bytes == 0


def from_two(a, b):
    """Products that each begin with 2: constants are one value for all of them."""

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 64, 0),
            tkw.WorkgroupConstraint(N, 8, 1),
            tkw.TilingConstraint(K, 16),
            tkw.HardwareConstraint(threads_per_wave=128),
        ]
    )
    def kernel(
        a: tkl.Memory[M, K, GLOBAL, tkl.f16],
        b: tkl.Memory[N, K, GLOBAL, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
        def repeat(acc: tkl.Register[M, N, tkl.f32]):
            held = tkw.allocate((N, K), (8, 16), tkl.f16)
            tkw.write(tkw.read(b), held)
            two = tkl.Register[M, N, tkl.f32](2.0)
            return acc * 0.5 + tkw.mma(tkw.read(a), tkw.read(held), two)

        tkw.write(repeat, c)

    subs = {M: a.shape[0], N: b.shape[0], K: a.shape[1]}
    return compiled(kernel, subs, "sm_90a", preset="default", unroll_factor=4)


def test_products_that_begin_with_the_same_constant_are_right():
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-4, 5, (rows, 64)).astype(np.float16) for rows in (64, 8))
    c = np.full((64, 8), np.nan, np.float32)
    code = from_two(a, b)
    assert code.count("wgmma.mma_async") == 4
    assert code.run(a, b, c) == []
    wanted = np.zeros((64, 8))
    for k in range(0, 64, 16):
        wanted = wanted / 2 + a[:, k : k + 16].astype("f8") @ b[:, k : k + 16].T + 2
    assert np.array_equal(c, wanted)


def test_text(golden):
    found = compiled(
        held("bf16", (64, 8, 16)), {M: 64, N: 8, K: 16}, "sm_90a", preset="naive"
    )
    rows = [row.strip() for row in found.ptx.splitlines()]
    kept = ("wgmma", "fence.proxy", "bar.sync")
    golden("\n".join(row for row in rows if row.startswith(kept)) + "\n")


@pytest.mark.parametrize(
    ("past", "products", "groups"),
    [
        (Past((4, 4), whole=False), 3, 0),
        (Past((4, 4), whole=False), 4, 1),
        (Past((8, 4), whole=False), 11, 1),
        (Past((4, 4), whole=False), 100, 2),
        (Past((4, 4), whole=True), 7, 1),
        (Past((4, 4), whole=True), 8, MOST_GROUPS),
        (NOTHING, 0, MOST_GROUPS),
    ],
)
def test_a_wait_leaves_no_more_groups_than_have_so_many_products(
    past, products, groups
):
    assert past.groups(products) == groups

"""Products of four warps, whose operands stay in shared memory."""

from __future__ import annotations

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

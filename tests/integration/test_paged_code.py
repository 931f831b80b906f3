"""Rows that a table of pages names, staged in LDS and fetched an iteration ahead."""

from __future__ import annotations

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import SchedulingType, wave_compile

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
PAGES, SLOT, COUNT = tkl.sym.PAGES, tkl.sym.SLOT, tkl.sym.COUNT
GLOBAL, SHARED = tkl.GLOBAL_ADDRESS_SPACE, tkl.SHARED_ADDRESS_SPACE


def paged_product(index):
    """``c = a b``; row k of b is row ``k % SLOT`` of page ``table[k // SLOT]``."""
    i, j = (tkw.IndexMapping.iterator(n) for n in range(2))
    page = tkw.IndexMapping.dynamic_val(0)
    rows = tkw.IndexMapping(
        2,
        inputs={PAGES: page, SLOT: j % SLOT, N: i},
        outputs={N: i, K: j},
        dynamic_val_mappings={K: j},
    )
    pages = tkw.IndexMapping(1, inputs={COUNT: i // SLOT}, outputs={K: i})
    constraints = [
        tkw.WorkgroupConstraint(M, 32, 0),
        tkw.WorkgroupConstraint(N, 32, 1),
        tkw.TilingConstraint(K, 16),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(constraints)
    def paged(
        a: tkl.Memory[M, K, SHARED, tkl.f16],
        b: tkl.Memory[PAGES, SLOT, N, SHARED, tkl.f16],
        table: tkl.Memory[COUNT, GLOBAL, index],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
        def loop(acc):
            at = tkw.read(table, mapping=pages)
            found = tkw.read(b, mapping=rows, mapping_dynamic_vals=(at,))
            return tkw.mma(tkw.read(a), found, acc)

        tkw.write(loop, c)

    return paged


@pytest.mark.covering(1)
@pytest.mark.parametrize("target", ["gfx942", "gfx1100", "gfx1201"])
@pytest.mark.parametrize(("index", "kind"), [(tkl.i32, np.int32), (tkl.i8, np.int8)])
def test_pages_that_are_fetched_an_iteration_ahead(target, index, kind):
    sizes = {M: 32, N: 32, K: 128, PAGES: 7, SLOT: 32, COUNT: 4}
    options = tkl.WaveCompileOptions(
        subs=sizes,
        target=target,
        device="emulator",
        schedule=SchedulingType.PREFETCH,
    )
    kernel = wave_compile(options, paged_product(index))
    rng = np.random.default_rng(3)
    a = rng.integers(-4, 5, (32, 128)).astype(np.float16)
    b = rng.integers(-4, 5, (7, 32, 32)).astype(np.float16)
    table = rng.integers(0, 7, 4).astype(kind)
    c = np.full((32, 32), np.nan, np.float32)
    kernel(a, b, table, c)
    wanted = a.astype(float) @ b[table].reshape(128, 32).astype(float)
    assert np.array_equal(c, wanted)

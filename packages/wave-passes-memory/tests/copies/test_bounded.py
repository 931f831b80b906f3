"""Copies of elements that exist only within bounds that the author gives."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from staged import (
    BLOCK_K,
    BLOCK_M,
    BLOCK_N,
    GLOBAL,
    SHARED,
    K,
    M,
    N,
    ops,
    session,
    simulate,
)

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import wave_compile
from wave_core.ir import ACCESS
from wave_core.types import AddressSpace

R, S = tkl.sym.R, tkl.sym.S
TILE = (64, 64, 32)
DIRECT = ("copy-direct-to-lds{cheaper=true}",)
SIZES = (65, 70, 40)
ENDS = (0, 1, 31, 32, 33, 40, 70)


def bounded(stored, ends):
    """``c = a b^T``, where b is ``stored`` by rows and counts up to ``ends``.

    What lies beyond is read nowhere, and counts as zero.
    """
    places = {N: tkw.IndexMapping.iterator(0), K: tkw.IndexMapping.iterator(1)}
    row, column = stored
    mapping = tkw.IndexMapping(
        num_iterators=2, inputs={R: places[row], S: places[column]}, outputs=places
    )

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, BLOCK_M, 0),
            tkw.WorkgroupConstraint(N, BLOCK_N, 1),
            tkw.TilingConstraint(K, BLOCK_K),
            tkw.WaveConstraint(M, BLOCK_M / 2),
            tkw.WaveConstraint(N, BLOCK_N / 2),
            tkw.HardwareConstraint(),
        ]
    )
    def kernel(
        a: tkl.Memory[M, K, SHARED, tkl.f16],
        b: tkl.Memory[R, S, SHARED, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
        END: tkl.SymbolBind[tkl.i32],
    ) -> None:
        zero = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[zero])
        def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            found = tkw.read(b, mapping=mapping, bounds={ends: tkl.sym.END})
            return tkw.mma(tkw.read(a), found, acc)

        tkw.write(repeat, c)

    return kernel


@cache
def compiled(stored, ends, target="gfx942", passes=(), device="sim"):
    """The kernel for `SIZES`; the launch says where elements end."""
    extents = dict(zip((M, N, K), SIZES, strict=True))
    rows = dict(zip((R, S), (extents[dim] for dim in stored), strict=True))
    tiles = dict(zip((BLOCK_M, BLOCK_N, BLOCK_K), TILE, strict=True))
    options = tkl.WaveCompileOptions(
        subs=extents | rows | tiles,
        target=target,
        preset="default",
        passes=passes,
        device=device,
    )
    return wave_compile(options, bounded(stored, ends), session=session())


def run(kernel, stored, ends, end):
    """The largest error, and what the simulator or the emulator says."""
    rng = np.random.default_rng()
    m, n, k = SIZES
    a = rng.integers(-2, 3, (m, k)).astype(np.float16)
    b = rng.integers(-2, 3, (n, k)).astype(np.float16)
    seen = b.astype(np.float32)
    (seen if ends is N else seen.T)[end:] = 0
    given = np.ascontiguousarray(b if stored == (N, K) else b.T)
    c = np.full((m, n), np.nan, dtype=np.float32)
    if kernel.options.device == "emulator":
        kernel(a, given, c, end)
        result = kernel.last_run
    else:
        result = simulate(kernel, [a, given, c, end], {"END": end})
    return np.abs(c - a.astype(np.float32) @ seen.T).max(), result


def in_shared_memory(kernel, *names):
    """The accesses of LDS by ops of these names."""
    found = [
        op for name in names or ("read", "write") for op in ops(kernel.graph, name)
    ]
    shared = [op for op in found if op.memory.type.space is AddressSpace.SHARED]
    return [kernel.graph.facts.get(ACCESS, op) for op in shared]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize(
    ("stored", "ends", "target", "passes"),
    [
        ((N, K), N, "gfx942", ()),
        ((K, N), K, "gfx942", ()),
        ((K, N), N, "gfx942", ()),
        ((N, K), N, "gfx950", DIRECT),
        ((K, N), K, "gfx1100", ()),
    ],
)
@pytest.mark.covering(1)
def test_what_is_out_of_bounds_counts_as_zero(stored, ends, target, passes, end):
    error, result = run(compiled(stored, ends, target, passes), stored, ends, end)
    assert (error, result.reports) == (0, ())


@pytest.mark.parametrize("end", [1, 33])
@pytest.mark.parametrize(("stored", "ends"), [((N, K), N), ((K, N), K)])
@pytest.mark.covering(1)
def test_machine_code_is_right(stored, ends, end):
    kernel = compiled(stored, ends, device="emulator")
    error, result = run(kernel, stored, ends, end)
    assert (error, result.reports) == (0, ())


@pytest.mark.parametrize(("stored", "ends"), [((N, K), N), ((K, N), K)])
def test_a_tile_that_is_filled_with_zeros_is_accessed_without_conditions(stored, ends):
    rows = in_shared_memory(compiled(stored, ends))
    assert rows
    assert [row.mask for row in rows if row.mask is not None] == []


def test_rows_in_bounds_are_turned_on_their_way():
    kernel = compiled((K, N), K)
    assert {row.registers for row in in_shared_memory(kernel)} >= {4, 8}


def test_rows_in_bounds_are_copied_directly():
    kernel = compiled((N, K), N, "gfx950", DIRECT)
    assert ops(kernel.graph, "gather_to_lds")
    assert in_shared_memory(kernel, "write") == []


def test_a_bound_within_a_row_leaves_the_copy_as_it_is():
    rows = in_shared_memory(compiled((K, N), N))
    assert any(row.mask is not None for row in rows)

"""Loops without the masks of their last iterations, executed on every kind of mask."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from pipelined_kernels import statistics

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Session
from wave_core.ir import ACCESS
from wave_core.ops.control import Iterate
from wave_core.ops.memory import Read

M, K = tkl.sym.M, tkl.sym.K
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
TILE = 8
SIZE = 304
"""Rows and columns: most workgroups have many tiles, all of them whole."""

MASKS = {
    "causal": (lambda m, k: m >= k, True),
    "strictly": (lambda m, k: k < m, True),
    "at-most": (lambda m, k: k <= m, True),
    "beyond": (lambda m, k: m > k, True),
    "window": (lambda m, k: (m >= k) & (k > m - 40), False),
    "narrow": (
        lambda m, k: (m.astype(np.int8) >= k.astype(np.int8)) & (k < m // 8 * 8 + 8),
        False,
    ),
    "below": (lambda m, k: m <= k, False),
    "even": (lambda m, k: k % 2 == 0, False),
}
"""Which elements count, and whether the first tiles surely do as a whole."""


def masked_sums(name):
    """The sums of what a mask leaves of each row, tile after tile."""

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 8, 0),
            tkw.TilingConstraint(K, TILE, iters=tiles_of(name)),
            tkw.HardwareConstraint(),
        ]
    )
    def sums(a: tkl.Memory[M, K, GLOBAL, tkl.f32], o: tkl.Memory[M, GLOBAL, tkl.f32]):
        nil = tkl.Register[M, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[nil])
        def loop(total):
            kept = tkw.select(seen(name), tkw.read(a), tkl.Register[M, K, tkl.f32](0.0))
            return total + tkw.sum(kept, dim=K)

        tkw.write(loop, o)

    return sums


def tiles_of(name):
    """How many tiles a workgroup looks at: as many as have an element that counts."""
    all_of_them = sympy.ceiling(K / TILE)
    if name in ("below", "even"):
        return all_of_them
    return sympy.Min(all_of_them, tkw.WORKGROUP_0 + 1)


def seen(name):
    """The mask in Wave's terms."""
    dtype = tkl.i8 if name == "narrow" else tkl.i32
    m, k = tkw.self_index(M, dtype), tkw.self_index(K, dtype)
    row = tkw.broadcast(m, target_shape=[M, K])
    column = tkw.broadcast(k, target_shape=[M, K])
    if name == "window":
        first = tkw.broadcast(tkw.apply_expr(m, lambda x: x - 40), target_shape=[M, K])
        return (row >= column) & (column > first)
    if name == "even":
        even = tkw.apply_expr(k, lambda x: x % 2 < 1)
        return tkw.broadcast(even, target_shape=[M, K])
    return row >= column if name == "narrow" else MASKS[name][0](row, column)


def checked(name, strategy, m, k, *, dynamic=False, **options):
    """Run it, compare it, and say how many loops were cut into two."""
    sizes = {} if dynamic else {M: m, K: k}
    given = tkw.WaveCompileOptions(
        subs=sizes,
        dynamic_symbols=(M, K) if dynamic else (),
        device="sim",
        passes=[f"schedule-loops{{strategy={strategy},profile=unit}}"],
        **options,
    )
    kernel = tkw.wave_compile(given, masked_sums(name), session=Session())
    a = np.random.default_rng(0).standard_normal((m, k)).astype(np.float32)
    o = np.full(m, np.nan, np.float32)
    kernel(a, o)
    rows, columns = np.ogrid[:m, :k]
    want = np.where(MASKS[name][0](rows, columns), a.astype(np.float64), 0).sum(1)
    assert np.allclose(o, want, rtol=1e-4, atol=1e-4)
    return statistics(kernel).get("tails", 0)


@pytest.mark.parametrize("name", MASKS)
def test_masks(name):
    assert checked(name, "prefetch", SIZE, SIZE) == MASKS[name][1]


@pytest.mark.parametrize("name", MASKS)
def test_tiles_that_end_where_the_row_does_not(name):
    """Where rows end is a mask as others are: there is always a last tile."""
    assert checked(name, "prefetch", SIZE, SIZE, dynamic=True) == 1
    assert checked(name, "prefetch", SIZE - 3, SIZE - 5) == 1


@pytest.mark.parametrize("strategy", ["four-stage", "modulo"])
@pytest.mark.parametrize(("m", "k"), [(SIZE, SIZE), (9, 305), (305, 9), (1, 1), (0, 8)])
def test_sizes(strategy, m, k):
    checked("causal", strategy, m, k)
    checked("causal", strategy, m, k, dynamic=True)


def test_accesses_have_masks_in_the_last_tiles_alone():
    given = tkw.WaveCompileOptions(
        dynamic_symbols=(M, K),
        device="sim",
        passes=["schedule-loops{strategy=prefetch,profile=unit}"],
    )
    kernel = tkw.wave_compile(given, masked_sums("below"), session=Session())
    graph = kernel.snapshots("schedule-loops")
    loops = [op for op in graph.walk() if isinstance(op, Iterate)]
    masked = [
        {
            str(name)
            for op in loop.body.ops
            if isinstance(op, Read)
            for name in graph.facts.known(ACCESS, op).mask.free_symbols
        }
        for loop in loops
    ]
    assert ["K" in names for names in masked] == [False, True]


def test_a_value_that_is_the_same_for_all_columns():
    """What is left without the mask has fewer registers than what was there."""

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 8, 0),
            tkw.TilingConstraint(K, TILE, iters=tiles_of("causal")),
            tkw.HardwareConstraint(),
        ]
    )
    def sums(a: tkl.Memory[M, GLOBAL, tkl.f32], o: tkl.Memory[M, GLOBAL, tkl.f32]):
        nil = tkl.Register[M, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[nil])
        def loop(total):
            none = tkl.Register[M, K, tkl.f32](0.0)
            return total + tkw.sum(tkw.select(seen("causal"), tkw.read(a), none), dim=K)

        tkw.write(loop, o)

    given = tkw.WaveCompileOptions(
        subs={M: SIZE, K: SIZE},
        device="sim",
        passes=["schedule-loops{strategy=prefetch,profile=unit}"],
    )
    a = np.random.default_rng(0).standard_normal(SIZE).astype(np.float32)
    o = np.full(SIZE, np.nan, np.float32)
    tkw.wave_compile(given, sums, session=Session())(a, o)
    assert np.allclose(o, a.astype(np.float64) * np.arange(1, SIZE + 1), rtol=1e-4)


@pytest.mark.parametrize("strategy", ["prefetch", "four-stage"])
@pytest.mark.parametrize("begins", [True, False], ids=["init", "capture"])
def test_a_loop_that_uses_what_another_one_gives(strategy, begins):
    """Both have masks in their last tiles, and the first one gives way first."""

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 8, 0),
            tkw.TilingConstraint(K, TILE),
            tkw.HardwareConstraint(),
        ]
    )
    def sums(a: tkl.Memory[M, K, GLOBAL, tkl.f32], o: tkl.Memory[M, GLOBAL, tkl.f32]):
        nil = tkl.Register[M, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[nil])
        def first(total):
            return total + tkw.sum(tkw.read(a), dim=K)

        @tkw.iterate(K, init_args=[first if begins else nil])
        def second(total):
            found = total + tkw.sum(tkw.read(a), dim=K)
            return found if begins else found + first

        tkw.write(second, o)

    m, k = 9, SIZE - 5
    given = tkw.WaveCompileOptions(
        subs={M: m, K: k},
        device="sim",
        passes=[f"schedule-loops{{strategy={strategy},profile=unit}}"],
    )
    a = np.random.default_rng(0).standard_normal((m, k)).astype(np.float32)
    o = np.full(m, np.nan, np.float32)
    kernel = tkw.wave_compile(given, sums, session=Session())
    kernel(a, o)
    times = 2 if begins else 1 + -(-k // TILE)
    assert statistics(kernel)["tails"] == 2
    assert np.allclose(o, times * a.astype(np.float64).sum(1), rtol=1e-4, atol=1e-3)

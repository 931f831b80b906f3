"""Pipelined kernels, executed: the same result as without, on every trip count."""

from __future__ import annotations

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Session

M, N, K, COUNT = tkl.sym.M, tkl.sym.N, tkl.sym.K, tkl.sym.COUNT
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
TILE = 16
STRATEGIES = ("prefetch", "four-stage", "modulo")


def staged_gemm():
    """A product staged through LDS, without barriers of the author's."""
    rows = [
        tkw.WorkgroupConstraint(M, 32, 0),
        tkw.WorkgroupConstraint(N, 32, 1),
        tkw.TilingConstraint(K, TILE),
        tkw.WaveConstraint(M, 16),
        tkw.WaveConstraint(N, 16),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(rows)
    def gemm(
        a: tkl.Memory[M, K, GLOBAL, tkl.f16],
        b: tkl.Memory[N, K, GLOBAL, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        start = tkl.Register[M, N, tkl.f32](0.0)
        a_shared = tkw.allocate((M, K), (32, TILE), tkl.f16)
        b_shared = tkw.allocate((N, K), (32, TILE), tkl.f16)

        @tkw.iterate(K, init_args=[start])
        def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            tkw.write(tkw.read(a), a_shared)
            tkw.write(tkw.read(b), b_shared)
            return tkw.mma(tkw.read(a_shared), tkw.read(b_shared), acc)

        tkw.write(repeat, c)

    return gemm


def delayed_sums():
    """Values that go round before they are used: what was added two tiles ago."""

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 8, 0),
            tkw.TilingConstraint(K, 8),
            tkw.HardwareConstraint(),
        ]
    )
    def sums(a: tkl.Memory[M, K, GLOBAL, tkl.f32], o: tkl.Memory[M, GLOBAL, tkl.f32]):
        one = tkl.Register[M, tkl.f32](1.0)
        two = tkl.Register[M, tkl.f32](2.0)
        nil = tkl.Register[M, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[one, two, nil])
        def loop(last, before, total):
            now = tkw.sum(tkw.read(a), dim=K)
            return now, last, total + before * now

        tkw.write(loop[2], o)

    return sums


def compiled(kernel, sizes, strategy, dynamic=(), **options):
    passes = [f"schedule-loops{{strategy={strategy},profile=unit}}"] if strategy else []
    given = tkw.WaveCompileOptions(
        subs=sizes, dynamic_symbols=dynamic, device="sim", passes=passes, **options
    )
    return tkw.wave_compile(given, kernel, session=Session())


def product(strategy, tiles, *, dynamic=False, extra=0):
    """A compiled product of ``tiles`` tiles, and its error."""
    m, n, k = 40, 33, max(TILE * tiles - extra, 0)
    sizes = {M: m, N: n} if dynamic else {M: m, N: n, K: k}
    kernel = compiled(staged_gemm(), sizes, strategy, (K,) if dynamic else ())
    rng = np.random.default_rng(tiles)
    a, b = (rng.standard_normal((i, k)).astype(np.float16) for i in (m, n))
    c = np.full((m, n), np.nan, np.float32)
    kernel(a, b, c)
    return np.abs(c - a.astype(np.float64) @ b.astype(np.float64).T).max()


@pytest.mark.covering(2)
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("tiles", [0, 1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_products_on_every_trip_count(strategy, tiles, dynamic):
    assert product(strategy, tiles, dynamic=dynamic) < 1e-4


def every_second_product():
    """A product of tiles that were read one iteration before, of every second one."""
    rows = [
        tkw.WorkgroupConstraint(M, 16, 0),
        tkw.WorkgroupConstraint(N, 16, 1),
        tkw.TilingConstraint(K, TILE),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(rows)
    def gemm(
        a: tkl.Memory[M, K, GLOBAL, tkl.f16],
        b: tkl.Memory[N, K, GLOBAL, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        start = tkl.Register[M, N, tkl.f32](0.0)
        left, right = tkl.Register[M, K, tkl.f16](0.0), tkl.Register[N, K, tkl.f16](0.0)
        carried = [start, left, right, tkw.scalar(0, tkl.i32)]

        @tkw.iterate(K, init_args=carried)
        def repeat(acc, left, right, count):
            tkw.set_symbol(COUNT, count)

            @tkw.conditional(COUNT % 2 > 0, else_return=[acc])
            def added(acc):
                return tkw.mma(left, right, acc)

            return added, tkw.read(a), tkw.read(b), count + 1

        tkw.write(repeat[0], c)

    return gemm


@pytest.mark.parametrize("tiles", [1, 2, 5])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_symbol_is_that_of_its_iteration(strategy, tiles):
    sizes = {M: 16, N: 16, K: tiles * TILE}
    kernel = compiled(every_second_product(), sizes, strategy)
    rng = np.random.default_rng(tiles)
    a, b = (
        rng.integers(-2, 3, (16, tiles * TILE)).astype(np.float16) for _ in range(2)
    )
    c = np.full((16, 16), np.nan, np.float32)
    kernel(a, b, c)
    wanted = np.zeros((16, 16))
    for tile in range(0, tiles - 1, 2):
        part = slice(tile * TILE, (tile + 1) * TILE)
        wanted += a[:, part].astype(np.float64) @ b[:, part].T
    assert np.array_equal(c, wanted)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_last_tile_that_is_cut(strategy):
    assert product(strategy, 6, extra=5) < 1e-4


def reference(a):
    total = np.zeros(len(a))
    last, before = np.ones(len(a)), np.full(len(a), 2.0)
    for tile in np.split(a.astype(np.float64), a.shape[1] // 8, axis=1):
        now = tile.sum(axis=1)
        total += before * now
        last, before = now, last
    return total


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("tiles", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_values_that_go_round_before_their_use(strategy, tiles, dynamic):
    sizes = {M: 11} if dynamic else {M: 11, K: 8 * tiles}
    kernel = compiled(delayed_sums(), sizes, strategy, (K,) if dynamic else ())
    a = np.random.default_rng(0).standard_normal((11, 8 * tiles)).astype(np.float32)
    o = np.full(11, np.nan, np.float32)
    kernel(a, o)
    assert np.allclose(o, reference(a), rtol=1e-4, atol=1e-4)

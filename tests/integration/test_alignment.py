"""Dims that are aligned by name: batch dims that operands lack or call otherwise.

A dim of which a workgroup holds one element is a coordinate: values may have it or not,
and two on one axis of the grid name the same place.
"""

from __future__ import annotations

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Config, Session, wave_compile

sym = tkl.sym
B, H, H_KV, M, N, K, K2 = (
    getattr(sym, x) for x in ("B", "H", "H_KV", "M", "N", "K", "K2")
)
S, BH, SLOT = sym.S, sym.BH, sym.SLOT
GLOBAL, SHARED = tkl.GLOBAL_ADDRESS_SPACE, tkl.SHARED_ADDRESS_SPACE
DEVICES = {
    "tiles": ("sim-logical", "gfx942"),
    "lanes": ("sim", "gfx942"),
    "gfx942": ("emulator", "gfx942"),
    "gfx950": ("emulator", "gfx950"),
}
iterator = tkw.IndexMapping.iterator


pytestmark = pytest.mark.covering(2)


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def launch(session, where, kernel, sizes, *arrays, **options):
    device, target = DEVICES[where]
    given = tkl.WaveCompileOptions(subs=sizes, device=device, target=target, **options)
    wave_compile(given, kernel, session=session)(*arrays)


@pytest.fixture(params=DEVICES, name="run")
def _run(request, session):
    def run(kernel, sizes, *arrays, **options):
        launch(session, request.param, kernel, sizes, *arrays, **options)

    return run


def small(rng, *shape):
    return rng.integers(-3, 4, shape).astype(np.float16)


def poisoned(*shape):
    return np.full(shape, np.nan, np.float32)


def shared_weights(tile, space):
    """``c[b] = x[b] w^T``: one weight for all of the batch."""
    rows = [
        tkw.WorkgroupConstraint(M, 32, 0),
        tkw.WorkgroupConstraint(N, 32, 1),
        tkw.WorkgroupConstraint(B, tile, 2),
        tkw.TilingConstraint(K, 16),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(rows)
    def kernel(
        x: tkl.Memory[B, M, K, space, tkl.f16],
        w: tkl.Memory[N, K, space, tkl.f16],
        c: tkl.Memory[B, M, N, GLOBAL, tkl.f32],
    ):
        @tkw.iterate(K, init_args=[tkl.Register[B, M, N, tkl.f32](0.0)])
        def loop(acc):
            return tkw.mma(tkw.read(x), tkw.read(w), acc)

        tkw.write(loop, c)

    return kernel


@pytest.mark.parametrize("space", [GLOBAL, SHARED])
@pytest.mark.parametrize("tile", [1, 2])
@pytest.mark.parametrize("sizes", [(3, 33, 31, 40), (1, 1, 7, 3), (0, 5, 5, 5)])
def test_an_operand_without_the_batch_is_the_same_for_all_of_it(
    run, sizes, tile, space
):
    b, m, n, k = sizes
    rng = np.random.default_rng(b)
    x, w, c = small(rng, b, m, k), small(rng, n, k), poisoned(b, m, n)
    run(shared_weights(tile, space), {B: b, M: m, N: n, K: k}, x, w, c)
    np.testing.assert_array_equal(c, x.astype(float) @ w.astype(float).T)


def grouped_attention(ratio, space):
    """Query heads of which ``ratio`` share the keys and values of one head."""
    i, j, k = map(iterator, range(3))
    shared = tkw.IndexMapping(
        3, inputs={H_KV: i // ratio, K2: j, K: k}, outputs={H_KV: i, K2: j, K: k}
    )
    values = tkw.IndexMapping(
        3, inputs={H_KV: i // ratio, N: j, K2: k}, outputs={H_KV: i, N: j, K2: k}
    )
    rows = [
        tkw.WorkgroupConstraint(M, 32, 0),
        tkw.WorkgroupConstraint(N, 32, 1),
        tkw.WorkgroupConstraint(H, 1, 2),
        tkw.WorkgroupConstraint(H_KV, 1, 2, primary=False),
        tkw.TilingConstraint(K2, 32),
        tkw.WaveConstraint(M, 16),
        tkw.HardwareConstraint(vector_shapes={H: 0, H_KV: 0}),
    ]

    @tkw.wave(rows)
    def kernel(
        q: tkl.Memory[H, M, K, GLOBAL, tkl.f16],
        k: tkl.Memory[H_KV, K2, K, space, tkl.f16],
        v: tkl.Memory[H_KV, N, K2, space, tkl.f16],
        c: tkl.Memory[H, M, N, GLOBAL, tkl.f32],
    ):
        largest = tkl.Register[H, M, tkl.f32](-1e6)
        total = tkl.Register[H, M, tkl.f32](0.0)
        out = tkl.Register[H, N, M, tkl.f32](0.0)

        @tkw.iterate(K2, init_args=[largest, total, out])
        def loop(before, summed, acc):
            zero = tkl.Register[H, K2, M, tkl.f32](0.0)
            scores = tkw.mma(tkw.read(k, mapping=shared), tkw.read(q), zero)
            x = tkw.permute(scores, target_shape=[H, M, K2])
            now = tkw.max(x, before, dim=K2)
            scale, e = tkw.exp2(before - now), tkw.exp2(x - now)
            total = tkw.sum(e, summed * scale, dim=K2)
            found = tkw.read(v, mapping=values)
            return now, total, tkw.mma(found, tkw.cast(e, tkl.f16), acc * scale)

        tkw.write(loop[2] / loop[1], c)

    return kernel


def attention(q, k, v):
    scores = np.einsum("hmk,hlk->hml", q.astype(float), k.astype(float))
    e = np.exp2(scores - scores.max(-1, keepdims=True))
    return np.einsum("hml,hnl->hmn", e / e.sum(-1, keepdims=True), v.astype(float))


def check_attention(run, sizes, space):
    h, kv, m, n, k, k2 = sizes
    rng = np.random.default_rng(h)
    draw = [(h, m, k), (kv, k2, k), (kv, n, k2)]
    q, keys, values = (rng.standard_normal(d).astype(np.float16) for d in draw)
    c = poisoned(h, m, n)
    subs = {H: h, H_KV: kv, M: m, N: n, K: k, K2: k2}
    run(grouped_attention(h // kv, space), subs, q, keys, values, c)
    wanted = attention(q, *(np.repeat(x, h // kv, 0) for x in (keys, values)))
    np.testing.assert_allclose(c, wanted, rtol=4e-3, atol=4e-3)


@pytest.mark.parametrize("space", [GLOBAL, SHARED])
@pytest.mark.parametrize("sizes", [(4, 2, 33, 31, 16, 40), (3, 1, 1, 7, 5, 33)])
def test_heads_that_share_keys_are_named_beside_them(run, sizes, space):
    check_attention(run, sizes, space)


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", ["lanes", "gfx950"])
@pytest.mark.parametrize("preset", sorted(Session().plugins.presets))
def test_heads_that_share_keys_under_every_preset(session, preset, where):
    def run(*call):
        launch(session, where, *call, preset=preset)

    check_attention(run, (4, 2, 32, 32, 16, 128), SHARED)


def paged_decode(space):
    """Sixteen query heads of one key head a workgroup; pages of keys by a table."""
    s, b, k = map(iterator, range(3))
    page = tkw.IndexMapping.dynamic_val(0)
    keys = tkw.IndexMapping(
        3,
        inputs={sym.PAGES: page, SLOT: b % SLOT, BH: s, K: k},
        outputs={BH: s, K2: b, K: k},
        dynamic_val_mappings={K2: b},
    )
    table = tkw.IndexMapping(
        2, inputs={S: s, sym.COUNT: b // SLOT}, outputs={S: s, K2: b}
    )
    rows = [
        tkw.WorkgroupConstraint(S, 1, 0),
        tkw.WorkgroupConstraint(BH, 1, 1),
        tkw.WorkgroupConstraint(B, 16, 1, primary=False),
        tkw.TilingConstraint(K2, 16),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(rows)
    def kernel(
        q: tkl.Memory[S, B, K, GLOBAL, tkl.f16],
        pages: tkl.Memory[sym.PAGES, SLOT, BH, K, space, tkl.f16],
        where: tkl.Memory[S, sym.COUNT, GLOBAL, tkl.i32],
        c: tkl.Memory[S, B, GLOBAL, tkl.f32],
    ):
        start = tkl.Register[S, B, tkl.f32](-1e6)

        @tkw.iterate(K2, init_args=[start])
        def loop(largest):
            at = tkw.read(where, mapping=table)
            found = tkw.read(pages, mapping=keys, mapping_dynamic_vals=(at,))
            zero = tkl.Register[S, K2, B, tkl.f32](0.0)
            scores = tkw.mma(found, tkw.read(q), zero)
            return tkw.max(scores, largest, dim=K2)

        tkw.write(loop, c)

    return kernel


@pytest.mark.parametrize("space", [GLOBAL, SHARED])
@pytest.mark.parametrize("sizes", [(3, 2, 21, 7, 9), (1, 1, 16, 16, 16)])
def test_a_key_head_beside_the_query_heads_that_it_serves(run, sizes, space):
    s, bh, k2, k, pages = sizes
    b, slot = 16 * bh, 8
    count = -(-k2 // slot)
    rng = np.random.default_rng(s)
    q, keys = small(rng, s, b, k), small(rng, pages, slot, bh, k)
    table = rng.integers(0, pages, (s, count)).astype(np.int32)
    subs = {S: s, B: b, BH: bh, K2: k2, K: k, SLOT: slot}
    subs |= {sym.PAGES: pages, sym.COUNT: count}
    c = poisoned(s, b)
    run(paged_decode(space), subs, q, keys, table, c)
    rows = keys[table].reshape(s, count * slot, bh, k)[:, :k2].astype(float)
    heads = q.reshape(s, bh, 16, k).astype(float)
    wanted = np.einsum("shik,slhk->shil", heads, rows).max(-1).reshape(s, b)
    np.testing.assert_array_equal(c, wanted)


def two_orders(*, halved):
    """Values over [M, N] and [N, M], added; one may come from a product."""
    rows = [
        tkw.WorkgroupConstraint(M, 32, 0),
        tkw.WorkgroupConstraint(N, 32, 1),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(rows)
    def kernel(
        a: tkl.Memory[M, K, GLOBAL, tkl.f16],
        b: tkl.Memory[N, K, GLOBAL, tkl.f16],
        bias: tkl.Memory[N, M, GLOBAL, tkl.f32],
        scale: tkl.Memory[N, GLOBAL, tkl.f32],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        zero = tkl.Register[M, N, tkl.f32](0.0)
        total = tkw.mma(tkw.read(a), tkw.read(b), zero)
        added = tkw.read(bias)
        total = added + total if halved else total * tkw.read(scale) + added
        where = total > added
        tkw.write(tkw.select(where, total, -added), c)

    return kernel


@pytest.mark.parametrize("halved", [True, False])
@pytest.mark.parametrize("sizes", [(33, 31, 16), (1, 7, 5), (32, 64, 32)])
def test_operands_in_two_orders_are_aligned_by_name(run, sizes, halved):
    m, n, k = sizes
    rng = np.random.default_rng(m)
    a, b = small(rng, m, k), small(rng, n, k)
    bias = rng.integers(-9, 9, (n, m)).astype(np.float32)
    scale = rng.integers(-3, 4, n).astype(np.float32)
    c = poisoned(m, n)
    run(two_orders(halved=halved), {M: m, N: n, K: k}, a, b, bias, scale, c)
    product = a.astype(float) @ b.astype(float).T
    total = product + bias.T if halved else product * scale + bias.T
    np.testing.assert_array_equal(c, np.where(total > bias.T, total, -bias.T))


def one_of_the_batch(space):
    """Rows of one head, which the registers of the kernel do not name."""
    i, j = map(iterator, range(2))
    rows_of_head = tkw.IndexMapping(
        2, inputs={H: tkw.WORKGROUP_2, M: i, K: j}, outputs={M: i, K: j}
    )
    rows = [
        tkw.WorkgroupConstraint(M, 16, 0),
        tkw.WorkgroupConstraint(N, 16, 1),
        tkw.WorkgroupConstraint(H, 1, 2),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(rows)
    def kernel(
        a: tkl.Memory[H, M, K, space, tkl.f16],
        b: tkl.Memory[H, N, K, space, tkl.f16],
        c: tkl.Memory[M, H, N, GLOBAL, tkl.f32],
    ):
        zero = tkl.Register[M, N, tkl.f32](0.0)
        found = tkw.read(a, mapping=rows_of_head)
        turned = tkw.mma(tkw.read(b), found, tkl.Register[H, N, M, tkl.f32](0.0))
        total = tkw.mma(tkw.read(a), tkw.read(b), zero)
        tkw.write(total + tkw.permute(turned, target_shape=[H, M, N]) - total, c)

    return kernel


@pytest.mark.parametrize("space", [GLOBAL, SHARED])
@pytest.mark.parametrize("sizes", [(3, 17, 15, 20), (1, 1, 1, 1)])
def test_a_register_may_lack_the_coordinate_of_its_memory(run, sizes, space):
    h, m, n, k = sizes
    rng = np.random.default_rng(h)
    a, b, c = small(rng, h, m, k), small(rng, h, n, k), poisoned(m, h, n)
    run(one_of_the_batch(space), {H: h, M: m, N: n, K: k}, a, b, c)
    wanted = np.einsum("hmk,hnk->mhn", a.astype(float), b.astype(float))
    np.testing.assert_array_equal(c, wanted)


def rows_in_a_loop(tile):
    """Rows one after the other: each is written, and all are added up."""
    rows = [
        tkw.WorkgroupConstraint(N, 32, 0),
        tkw.TilingConstraint(M, tile),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(rows)
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32],
        b: tkl.Memory[N, GLOBAL, tkl.f32],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
        total: tkl.Memory[N, GLOBAL, tkl.f32],
    ):
        once = tkw.read(b)

        @tkw.iterate(M, init_args=[tkl.Register[N, tkl.f32](0.0)])
        def loop(acc):
            tkw.write(once + acc, c)
            return acc + tkw.read(a)

        tkw.write(loop, total)

    return kernel


@pytest.mark.parametrize("tile", [1, None])
@pytest.mark.parametrize("sizes", [(5, 33), (1, 7), (0, 3)])
def test_an_iteration_names_the_row_that_it_writes(run, sizes, tile):
    m, n = sizes
    rng = np.random.default_rng(n)
    a = rng.integers(-9, 9, (m, n)).astype(np.float32)
    b = rng.integers(-9, 9, n).astype(np.float32)
    c, total = poisoned(m, n), poisoned(n)
    run(rows_in_a_loop(tile), {M: m, N: n}, a, b, c, total)
    np.testing.assert_array_equal(c, b + np.cumsum(a, 0) - a)
    np.testing.assert_array_equal(total, a.sum(0))


def named_by_a_mapping(place):
    """A row of ``c`` that a symbol names, which registers lack."""
    i = iterator(0)
    rows = [
        tkw.WorkgroupConstraint(N, 32, 0),
        tkw.WorkgroupConstraint(M, 1, 1),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(rows)
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32],
        at: tkl.Memory[M, GLOBAL, tkl.i32],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        row = tkw.IndexMapping(1, inputs={N: i}, outputs={M: place, N: i})
        tkw.set_symbol(sym.ROW, tkw.read(at))
        tkw.write(tkw.max(tkw.read(a), dim=M), c, mapping=row)

    return kernel


@pytest.mark.parametrize("place", [tkw.WORKGROUP_1, sym.ROW])
def test_a_mapping_may_name_the_row_by_a_symbol(run, place):
    rng = np.random.default_rng(0)
    a = rng.standard_normal((5, 40)).astype(np.float32)
    at = rng.permutation(5).astype(np.int32)
    c = poisoned(5, 40)
    run(named_by_a_mapping(place), {M: 5, N: 40}, a, at, c)
    wanted = a if place is tkw.WORKGROUP_1 else a[np.argsort(at)]
    np.testing.assert_array_equal(c, wanted)

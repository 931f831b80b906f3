"""``bounds=`` of reads and writes: elements outside read as 0 and are not written."""

from __future__ import annotations

import gather_gemm_scatter
import numpy as np
import pytest
import torch

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Config, Session, wave_compile
from wave_core.diagnostics import UserError
from wave_core.ir import ACCESS, parse_graph

sym = tkl.sym
M, N, K, T, SPACE = (getattr(sym, x) for x in ("M", "N", "K", "T", "SPACE"))
GLOBAL, SHARED = tkl.GLOBAL_ADDRESS_SPACE, tkl.SHARED_ADDRESS_SPACE
DEVICES = (
    ("sim-logical", "gfx942"),
    ("sim", "gfx942"),
    ("emulator", "gfx942"),
    ("emulator", "gfx950"),
)
PRESETS = ("default", "prefetch", "four-stage", "fetch-ahead", "modulo", "pingpong")
SIZES = ((1, 1), (15, 31), (16, 32), (17, 33), (37, 5), (0, 4))
i, j = (tkw.IndexMapping.iterator(n) for n in range(2))
dynamic = tkw.IndexMapping.dynamic_val
TILES = [
    tkw.WorkgroupConstraint(M, 16, 0),
    tkw.WorkgroupConstraint(N, 32, 1),
    tkw.WaveConstraint(N, 16),
    tkw.HardwareConstraint(threads_per_wave=64),
]


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def built(session, kernel, where, *, dynamic_symbols=(), preset="default", **subs):
    device, target = where
    options = tkl.WaveCompileOptions(
        subs={getattr(sym, name): size for name, size in subs.items()},
        dynamic_symbols=dynamic_symbols,
        device=device,
        target=target,
        preset=preset,
    )
    return wave_compile(options, kernel, session=session)


def poisoned(*shape):
    return np.full(shape, np.nan, np.float32)


def shifted(down, right):
    """The neighbour, which may lie outside on either side."""
    return tkw.IndexMapping(2, inputs={M: i + down, N: j + right}, outputs={M: i, N: j})


@tkw.wave(TILES)
def blur(a: tkl.Memory[M, N, SPACE, tkl.f32], b: tkl.Memory[M, N, GLOBAL, tkl.f32]):
    """The sum over nine neighbours, zeros around the image."""
    total = tkl.Register[M, N, tkl.f32](0.0)
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            near = shifted(down, right)
            total = total + tkw.read(a, mapping=near, bounds={M: M, N: N})
    tkw.write(total, b)


def check_blur(kernel, m, n):
    rng = np.random.default_rng(m + n)
    # Small integers add up exactly, in any order.
    a = rng.integers(-99, 99, (m, n)).astype(np.float32)
    b = poisoned(m, n)
    kernel(a, b)
    around = np.pad(a, 1)
    parts = [around[d : d + m, r : r + n] for d in range(3) for r in range(3)]
    np.testing.assert_array_equal(b, sum(parts))


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("size", SIZES)
def test_zeros_around_an_image(session, size, where):
    m, n = size
    kernel = built(session, blur, where, M=m, N=n, SPACE=GLOBAL)
    check_blur(kernel, m, n)


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("preset", PRESETS)
def test_zeros_around_staged_images_of_any_size(session, preset, where):
    given = {"dynamic_symbols": [M, N], "preset": preset, "SPACE": SHARED}
    kernel = built(session, blur, where, **given)
    for m, n in SIZES:
        check_blur(kernel, m, n)


# ---- places that are looked up

ROWS = [
    tkw.WorkgroupConstraint(T, 16, 0),
    tkw.TilingConstraint(K, 16),
    tkw.WorkgroupConstraint(N, 16, 1),
    tkw.HardwareConstraint(mma_type=tkw.MMAType.F32_16x16x16_F16),
]
FOUND = tkw.IndexMapping(
    2,
    inputs={M: dynamic(0), K: j},
    outputs={T: i, K: j},
    dynamic_val_mappings={T: i},
)
PUT = tkw.IndexMapping(
    2,
    inputs={T: i, N: j},
    outputs={M: dynamic(0), N: j},
    dynamic_val_mappings={T: i},
)


@tkw.wave(ROWS)
def products(
    a: tkl.Memory[M, K, SPACE, tkl.f16],
    at: tkl.Memory[T, GLOBAL, tkl.i32],
    w: tkl.Memory[N, K, SPACE, tkl.f16],
    to: tkl.Memory[T, GLOBAL, tkl.i32],
    c: tkl.Memory[M, N, GLOBAL, tkl.f32],
):
    """Rows of ``a`` times ``w``, to rows of ``c``; a row of -1 is padding."""
    rows, places = tkw.read(at), tkw.read(to)

    @tkw.iterate(K, init_args=[tkl.Register[T, N, tkl.f32](0.0)])
    def total(acc):
        found = tkw.read(a, mapping=FOUND, mapping_dynamic_vals=(rows,), bounds={M: M})
        return tkw.mma(found, tkw.read(w), acc)

    given = {"mapping": PUT, "mapping_dynamic_vals": (places,)}
    tkw.write(total, c, bounds={M: M}, **given)


def check_products(kernel, m, t, n, k):
    rng = np.random.default_rng(m + t)
    a, w = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((m, k), (n, k)))
    # Some lie outside on either side.
    at = rng.integers(-2, m + 2, t).astype(np.int32)
    at[: t // 3] = -1
    to = rng.permutation(np.arange(-t // 2, m + t // 2 + t))[:t].astype(np.int32)
    c = poisoned(m, n)
    kernel(a, at, w, to, c)
    expected = poisoned(m, n)
    for source, place in zip(at, to, strict=True):
        row = a[source] if 0 <= source < m else np.zeros(k)
        if 0 <= place < m:
            expected[place] = row.astype(np.float64) @ w.T.astype(np.float64)
    np.testing.assert_array_equal(c, expected)


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("space", [GLOBAL, SHARED])
def test_rows_that_are_padding(session, space, preset, where):
    sizes = {"M": 21, "T": 19, "N": 17, "K": 40}
    kernel = built(session, products, where, preset=preset, SPACE=space, **sizes)
    check_products(kernel, *sizes.values())


@pytest.mark.parametrize("where", DEVICES)
def test_rows_that_are_padding_of_any_size(session, where):
    given = {"dynamic_symbols": [M, T, N, K], "SPACE": SHARED}
    kernel = built(session, products, where, **given)
    for sizes in ((1, 1, 1, 1), (16, 16, 16, 16), (7, 33, 5, 0), (33, 15, 16, 17)):
        check_products(kernel, *sizes)


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(
    "sizes",
    [(1, 1, 1, 1, 1), (31, 33, 16, 2, 32), (40, 32, 40, 3, 33), (9, 5, 0, 2, 7)],
    ids=str,
)
def test_experts_gather_multiply_and_scatter(session, sizes, preset, where):
    m, n, k, experts, slots = sizes
    device, target = where
    torch.manual_seed(m)
    space = SHARED if PRESETS.index(preset) % 2 else GLOBAL
    kernel, arguments, expected = gather_gemm_scatter.build(
        *(m, n, k, experts, slots),
        space=space,
        session=session,
        device=device,
        target=target,
        preset=preset,
    )
    kernel(*arguments)
    assert kernel.last_run.reports == ()
    torch.testing.assert_close(arguments[-1], expected, rtol=0, atol=0)


# ---- other ends


@pytest.mark.parametrize("where", DEVICES)
def test_rows_that_end_where_a_register_says(session, where):
    """Of each row the first elements, as many as ``lengths`` has for it."""
    here = tkw.IndexMapping(2, {M: i, N: j}, {M: i, N: j}, dynamic_val_mappings={M: i})

    @tkw.wave(TILES)
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32],
        lengths: tkl.Memory[M, GLOBAL, tkl.i32],
        b: tkl.Memory[M, N, GLOBAL, tkl.f32],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        ends = tkw.read(lengths)
        given = {"mapping": here, "mapping_dynamic_vals": (ends,)}
        tkw.write(tkw.read(a, bounds={N: dynamic(0)}, **given), b)
        tkw.write(tkw.read(a), c, bounds={N: dynamic(0)}, **given)

    m, n = 19, 37
    a = np.random.default_rng(0).standard_normal((m, n)).astype(np.float32)
    lengths = np.random.default_rng(1).integers(-3, n + 9, m).astype(np.int32)
    b, c = poisoned(m, n), poisoned(m, n)
    built(session, kernel, where, M=m, N=n)(a, lengths, b, c)
    inside = np.arange(n) < lengths[:, None]
    np.testing.assert_array_equal(b, np.where(inside, a, 0))
    np.testing.assert_array_equal(c, np.where(inside, a, np.nan))


@pytest.mark.parametrize("where", DEVICES)
def test_ends_without_a_mapping(session, where):
    """A rectangle of an argument, and of a buffer in LDS."""

    @tkw.wave([tkw.WorkgroupConstraint(M, 64, 0), tkw.HardwareConstraint()])
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32],
        b: tkl.Memory[M, N, GLOBAL, tkl.f32],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        tile = tkw.allocate((M, N), (64, N), tkl.f32)
        tkw.write(tkw.read(a, bounds={N: N - 2}), tile)
        tkw.write(tkw.read(tile, bounds={M: 3}), b)
        tkw.write(tkw.read(a), c, bounds={M: 70, N: 3})

    a = np.random.default_rng(0).standard_normal((100, 7)).astype(np.float32)
    b, c = poisoned(100, 7), poisoned(100, 7)
    built(session, kernel, where, M=100, N=7)(a, b, c)
    rows, columns = np.indices(a.shape)
    np.testing.assert_array_equal(b, np.where((rows % 64 < 3) & (columns < 5), a, 0))
    kept = (rows < 70) & (columns < 3)
    np.testing.assert_array_equal(c, np.where(kept, a, np.nan))


@pytest.mark.parametrize("where", DEVICES)
def test_sums_leave_out_what_goes_nowhere(session, where):
    rows = [tkw.WorkgroupConstraint(T, 64, 0), tkw.HardwareConstraint()]

    @tkw.wave(rows)
    def kernel(
        x: tkl.Memory[T, GLOBAL, tkl.i32],
        at: tkl.Memory[T, GLOBAL, tkl.i32],
        h: tkl.Memory[M, GLOBAL, tkl.i32],
    ):
        tkw.scatter_add(tkw.read(x), tkw.read(at), M, h, bounds={M: M})

    rng = np.random.default_rng(0)
    x, at = (rng.integers(-3, 9, 100).astype(np.int32) for _ in range(2))
    h = np.zeros(6, np.int32)
    built(session, kernel, where, T=100, M=6)(x, at, h)
    expected = np.zeros(6, np.int32)
    inside = (at >= 0) & (at < 6)
    np.add.at(expected, at[inside], x[inside])
    np.testing.assert_array_equal(h, expected)


TO_ROW = tkw.IndexMapping(
    1, {T: i}, {M: tkw.IndexMapping.dynamic_val(0)}, dynamic_val_mappings={T: i}
)


def update_tile(x, at, h, old):
    more = {"mapping": TO_ROW, "mapping_dynamic_vals": (tkw.read(at),)}
    tkw.write(tkw.atomic_max(tkw.read(x), h, bounds={M: M}, **more), old)


@tkw.thread()
def update_one(x: tkl.i32, at: tkl.i32, h: tkl.Memory[M, GLOBAL, tkl.i32]):
    @tkw.conditional(x > 2, else_return=tkw.scalar(0, tkl.i32))
    def large():
        return tkw.atomic_cas(x, h, -50, at=at, bounds={M: M})

    return large


def update_elements(x, at, h, old):
    tkw.write(update_one(tkw.read(x), tkw.read(at), h), old)


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("update", [update_tile, update_elements])
def test_updates_leave_out_what_goes_nowhere(session, update, where):
    """Each place is named once, so that what was there before is known."""

    @tkw.wave([tkw.WorkgroupConstraint(T, 64, 0), tkw.HardwareConstraint()])
    def kernel(
        x: tkl.Memory[T, GLOBAL, tkl.i32],
        at: tkl.Memory[T, GLOBAL, tkl.i32],
        h: tkl.Memory[M, GLOBAL, tkl.i32],
        old: tkl.Memory[T, GLOBAL, tkl.i32],
    ):
        update(x, at, h, old)

    rng = np.random.default_rng(0)
    x = rng.integers(-9, 9, 100).astype(np.int32)
    at = rng.permutation(100).astype(np.int32) - 30
    h, old = np.full(40, -50, np.int32), np.full(100, 77, np.int32)
    built(session, kernel, where, T=100, M=40)(x, at, h, old)
    takes = (at >= 0) & (at < 40)
    if update is update_elements:
        takes &= x > 2
    expected = np.full(40, -50, np.int32)
    expected[at[takes]] = x[takes]
    np.testing.assert_array_equal(h, expected)
    np.testing.assert_array_equal(old, np.where(takes, -50, 0))


@pytest.mark.parametrize("where", DEVICES[:3])
def test_in_a_while_loop_the_end_of_a_dim_is_its_size(session, where):
    """Along K, whose symbol says elsewhere in the body where the loop stands."""
    tiles = [tkw.WorkgroupConstraint(M, 64, 0), tkw.TilingConstraint(K, 4)]
    before = tkw.IndexMapping(2, inputs={M: i, K: j - 1}, outputs={M: i, K: j})

    @tkw.wave([*tiles, tkw.HardwareConstraint()])
    def kernel(a: tkl.Memory[M, K, GLOBAL, tkl.f32], b: tkl.Memory[M, GLOBAL, tkl.f32]):
        zero = tkl.Register[M, tkl.f32](0.0)

        @tkw.iterate(K, start=0, condition=K < 3, init_args=[zero])
        def total(acc):
            found = tkw.read(a, mapping=before, bounds={K: K - 2})
            tkw.set_symbol(K, K + 1)
            return tkw.sum(found, acc, dim=K)

        tkw.write(total, b)

    a = np.random.default_rng(0).integers(-9, 9, (5, 11)).astype(np.float32)
    b = poisoned(5)
    built(session, kernel, where, M=5, K=11)(a, b)
    np.testing.assert_array_equal(b, a[:, :9].sum(1))


def test_bounds_are_text_that_parses_back():
    text = str(products.trace())
    assert "exists = " in text
    assert str(parse_graph(text)) == text


def test_bounds_that_hold_anyway_cost_nothing(session):
    def masks(bounds):
        @tkw.wave(TILES)
        def kernel(
            a: tkl.Memory[M, N, GLOBAL, tkl.f32], b: tkl.Memory[M, N, GLOBAL, tkl.f32]
        ):
            tkw.write(tkw.read(a, bounds=bounds), b, bounds=bounds)

        compiled = built(session, kernel, DEVICES[1], M=100, N=32)
        rows = (compiled.graph.facts.get(ACCESS, op) for op in compiled.graph.walk())
        return [row.mask for row in rows if row is not None]

    assert masks({M: M, N: N}) == masks(None)
    assert masks({M: 99, N: N}) != masks(None)


@pytest.mark.parametrize("where", DEVICES)
def test_without_bounds_an_element_outside_is_an_error(session, where):
    """The same image without saying that its neighbours may be missing."""

    @tkw.wave(TILES)
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32], b: tkl.Memory[M, N, GLOBAL, tkl.f32]
    ):
        tkw.write(tkw.read(a, mapping=shifted(-1, 0), bounds={N: N}), b)

    a = np.zeros((16, 32), np.float32)
    with pytest.raises(UserError, match=r"out of bounds|outside"):
        built(session, kernel, where, M=16, N=32)(a, a.copy())

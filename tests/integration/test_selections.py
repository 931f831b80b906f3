"""Top-k and the indices of extremes against numpy, ties and NaN included."""

from __future__ import annotations

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Config, Session, wave_compile
from wave_core.diagnostics import UserError

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
HARDWARE = tkw.HardwareConstraint(threads_per_wave=64)
DEVICES = (
    ("sim-logical", "gfx942"),
    ("sim", "gfx942"),
    ("emulator", "gfx942"),
    ("emulator", "gfx950"),
)
ROWS = {
    "one wave": [tkw.WorkgroupConstraint(M, 4, 0), HARDWARE],
    "four waves": [
        tkw.WorkgroupConstraint(M, 4, 0),
        tkw.WorkgroupConstraint(N, 256, 1),
        tkw.WaveConstraint(N, 64),
        HARDWARE,
    ],
}
SIZES = ((1, 1, 1), (5, 8, 8), (3, 127, 2), (6, 255, 3), (4, 256, 1))


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def launch(session, kernel, where, *arrays, dynamic=(), **sizes):
    device, target = where
    subs = {getattr(tkl.sym, name): size for name, size in sizes.items()}
    options = tkl.WaveCompileOptions(
        subs=subs, dynamic_symbols=tuple(dynamic), target=target, device=device
    )
    wave_compile(options, kernel, session=session)(*arrays)


def order(row):
    """Indices from the greatest element on: NaN first, ties by the lower index."""
    nan = np.isnan(row.astype(np.float64))

    def key(i):
        return (0, 0, i) if nan[i] else (1, -float(row[i]), i)

    return sorted(range(len(row)), key=key)


def some(rng, extents, dtype):
    """Few values, so that there are ties; floats with all that is special."""
    a = rng.integers(-5, 5, extents).astype(dtype.numpy())
    if dtype.is_float and extents[1] > 4:
        a[0, 1], a[0, 3] = np.nan, -np.inf
        a[-1, :3] = np.inf, np.nan, np.nan
        a[extents[0] // 2] = -np.inf
    return a


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("dtype", [tkl.f32, tkl.f16, tkl.i32, tkl.u8], ids=str)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("rows", ROWS)
def test_topk(session, rows, sizes, dtype, where):
    @tkw.wave(ROWS[rows])
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, dtype],
        v: tkl.Memory[M, K, GLOBAL, dtype],
        i: tkl.Memory[M, K, GLOBAL, tkl.i32],
    ):
        values, indices = tkw.topk(tkw.read(a), K, N)
        tkw.write(values, v)
        tkw.write(indices, i)

    m, n, k = sizes
    a = some(np.random.default_rng(1), (m, n), dtype)
    v, i = np.full((m, k), 77, a.dtype), np.full((m, k), 77, np.int32)
    launch(session, kernel, where, a, v, i, M=m, N=n, K=k)
    wanted = np.array([order(row)[:k] for row in a])
    assert (i == wanted).all()
    np.testing.assert_array_equal(v, np.take_along_axis(a, wanted, 1))


@pytest.mark.covering(1)
@pytest.mark.parametrize(
    "where", [*DEVICES, ("emulator", "gfx90a"), ("emulator", "gfx1201")], ids="-".join
)
@pytest.mark.parametrize("preset", ["default", "naive", "fetch-ahead", "modulo"])
@pytest.mark.parametrize("dtype", [tkl.f32, tkl.f16, tkl.i32, tkl.u8], ids=str)
@pytest.mark.parametrize("dim", [M, N])
@pytest.mark.parametrize("sizes", [(17, 17), (65, 30), (64, 64), (100, 99)], ids=str)
def test_many_of_the_greatest(session, sizes, dim, dtype, preset, where):
    """So many that all are sorted, along either dim of the tile."""
    other = M if dim is N else N
    shape = (other, K) if dim is N else (K, other)

    @tkw.wave([tkw.WorkgroupConstraint(other, 2, 0), tkw.HardwareConstraint()])
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, dtype],
        v: tkl.Memory[(*shape, GLOBAL, dtype)],
        at: tkl.Memory[(*shape, GLOBAL, tkl.i32)],
    ):
        values, indices = tkw.topk(tkw.read(a), K, dim, tag="sorted")
        tkw.write(values, v)
        tkw.write(indices, at)

    size, count = sizes
    a = some(np.random.default_rng(size), (3, size), dtype)
    a = a if dim is N else np.ascontiguousarray(a.T)
    rows = a if dim is N else a.T
    places = np.array([order(row)[:count] for row in rows])
    found = np.full((3, count), 77, dtype.numpy())
    found = found if dim is N else np.ascontiguousarray(found.T)
    indices = np.full(found.shape, -7, np.int32)
    device, target = where
    subs = {dim: size, other: 3, K: count}
    options = tkl.WaveCompileOptions(
        subs=subs, target=target, device=device, preset=preset
    )
    wave_compile(options, kernel, session=session)(a, found, indices)
    found, indices = (x if dim is N else x.T for x in (found, indices))
    np.testing.assert_array_equal(indices, places)
    np.testing.assert_array_equal(found, np.take_along_axis(rows, places, 1))


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("dtype", [tkl.f32, tkl.bf16, tkl.i32], ids=str)
@pytest.mark.parametrize("dim", [M, N])
def test_argmax_and_argmin(session, dim, dtype, where):
    """Along either dim; as in torch and numpy, NaN is both the greatest and least."""
    kept = N if dim is M else M

    @tkw.wave([tkw.WorkgroupConstraint(kept, 4, 0), HARDWARE])
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, dtype],
        most: tkl.Memory[kept, GLOBAL, tkl.i32],
        least: tkl.Memory[kept, GLOBAL, tkl.i32],
    ):
        x = tkw.read(a)
        tkw.write(tkw.argmax(x, dim), most)
        tkw.write(tkw.argmin(x, dim=dim), least)

    a = some(np.random.default_rng(2), (7, 65), dtype)
    axis = (M, N).index(dim)
    most, least = (np.full(a.shape[1 - axis], 77, np.int32) for _ in range(2))
    launch(session, kernel, where, a, most, least, M=7, N=65)
    wide = a.astype(np.float64)
    assert (most == wide.argmax(axis)).all()
    assert (least == wide.argmin(axis)).all()


def sorted_places(row, *, descending):
    """Indices from the least on, NaN the greatest; equal elements keep their order."""
    nan, sign = np.isnan(row.astype(np.float64)), -1 if descending else 1

    def key(i):
        number = 0.0 if nan[i] else sign * float(row[i])
        return (nan[i] != descending, number, i)

    return sorted(range(len(row)), key=key)


SORTED = ((1, 1), (5, 8), (3, 65), (2, 100), (4, 192), (3, 0))


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("dtype", [tkl.f32, tkl.f16, tkl.i32, tkl.u8], ids=str)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("extents", SORTED, ids=str)
def test_sort(session, extents, descending, dtype, where):
    @tkw.wave(ROWS["one wave"])
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, dtype],
        v: tkl.Memory[M, N, GLOBAL, dtype],
        i: tkl.Memory[M, N, GLOBAL, tkl.i32],
    ):
        values, indices = tkw.sort(tkw.read(a), N, descending=descending)
        tkw.write(values, v)
        tkw.write(indices, i)

    a = some(np.random.default_rng(4), extents, dtype)
    v, i = np.full_like(a, 77), np.full(extents, 77, np.int32)
    launch(session, kernel, where, a, v, i, M=extents[0], N=extents[1])
    rows = [sorted_places(row, descending=descending) for row in a]
    wanted = np.array(rows, np.int32).reshape(extents)
    assert (i == wanted).all()
    np.testing.assert_array_equal(v, np.take_along_axis(a, wanted, 1))


@pytest.mark.parametrize("where", DEVICES, ids="-".join)
def test_sort_along_the_slower_dim(session, where):
    @tkw.wave([tkw.WorkgroupConstraint(N, 16, 0), HARDWARE])
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, tkl.i32], v: tkl.Memory[M, N, GLOBAL, tkl.i32]
    ):
        tkw.write(tkw.sort(tkw.read(a), dim=M)[0], v)

    a = np.random.default_rng(5).integers(-99, 99, (37, 33)).astype(np.int32)
    v = np.full_like(a, 77)
    launch(session, kernel, where, a, v, M=37, N=33)
    assert (v == np.sort(a, axis=0)).all()


def test_sort_across_waves(session):
    @tkw.wave(ROWS["four waves"])
    def kernel(a: tkl.Memory[M, N, GLOBAL, tkl.f32]):
        tkw.write(tkw.sort(tkw.read(a), N)[0], a)

    with pytest.raises(UserError) as caught:
        launch(session, kernel, ("sim", "gfx942"), M=8, N=256)
    assert caught.value.code == "WV0342"
    text = str(caught.value)
    assert "a sort goes along `N`, which several waves share" in text
    assert "- 64 to each" in text
    assert "^ sorts along `N`" in text


def plain(k_dim=K):
    @tkw.wave(ROWS["one wave"])
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32], v: tkl.Memory[M, K, GLOBAL, tkl.f32]
    ):
        tkw.write(tkw.topk(tkw.read(a), k_dim, N)[0], v)

    return kernel


def test_more_than_there_are(session):
    with pytest.raises(UserError) as caught:
        launch(session, plain(), ("sim", "gfx942"), M=8, N=4, K=5)
    assert caught.value.code == "WV0231"
    text = str(caught.value)
    assert "`topk` picks 5 of 4 elements along `N`" in text
    assert "- `N` is 4" in text
    assert "^ `K` is 5" in text
    assert "let `K` be at most 4" in text


def test_more_than_there_are_at_the_launch(session):
    """A size that comes with the arguments is checked when they come."""

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 4, 0),
            tkw.WorkgroupConstraint(N, 64, 1),
            HARDWARE,
        ]
    )
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32], v: tkl.Memory[M, K, GLOBAL, tkl.f32]
    ):
        tkw.write(tkw.topk(tkw.read(a), K, N)[0], v)

    sizes = {"dynamic": (N,), "M": 2, "K": 3}
    for n, fits in ((64, True), (3, True), (2, False)):
        a = np.random.default_rng(3).standard_normal((2, n)).astype(np.float32)
        v = np.full((2, 3), 77, np.float32)
        if fits:
            launch(session, kernel, ("sim", "gfx942"), a, v, **sizes)
            assert (v == -np.sort(-a, axis=1)[:, :3]).all()
            continue
        with pytest.raises(UserError) as caught:
            launch(session, kernel, ("sim", "gfx942"), a, v, **sizes)
        assert caught.value.code == "WV0718"


def test_a_count_without_a_value(session):
    with pytest.raises(UserError) as caught:
        launch(session, plain(), ("sim", "gfx942"), M=8, N=4)
    assert caught.value.code == "WV0231"
    assert "bind it: WaveCompileOptions(subs={K: 4})" in str(caught.value)
